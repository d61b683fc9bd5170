"""`python -m brimful._sweep_main`: what `brimful sweep --engine ray` runs.

It prints errors; the command prints the state of the dataset in the end.
"""

from __future__ import annotations

import argparse
import os
import sys

from brimful._core import RunError, ScenarioError
from brimful._ray import Vanished
from brimful._sweep import sweep


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key, value


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m brimful._sweep_main", allow_abbrev=False)
    parser.add_argument("file")
    parser.add_argument("--set", action="append", default=[], type=_pair)
    parser.add_argument("--trace")
    parser.add_argument("--uplink-trace")
    parser.add_argument("--trace-offset")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--address")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", required=True)
    parser.add_argument("--retry-failed", action="store_true")
    given = parser.parse_args()
    try:
        sweep(
            given.file,
            engine="ray",
            out=given.out,
            address=given.address,
            workers=given.workers,
            set=dict(given.set),
            seed=given.seed,
            repeats=given.repeats,
            trace=given.trace,
            uplink_trace=given.uplink_trace,
            trace_offset=given.trace_offset,
            retry_failed=given.retry_failed,
        )
    except ScenarioError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except Vanished as error:
        print(f"error: {error}", file=sys.stderr)
        sys.stderr.flush()
        # at an orderly end Ray would wait for the cluster
        os._exit(1)
    except RunError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            f"interrupted: what was finished is in {given.out}; the same command goes on with the rest",
            file=sys.stderr,
        )
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
