"""`python -m brimful._sweep_main`: what `brimful sweep --engine ray` runs."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TextIO

from brimful._core import RunError, ScenarioError, __version__
from brimful._ray import Vanished
from brimful._sweep import Sweep, sweep


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key, value


def _tell(found: Sweep, as_json: bool, out: TextIO) -> int:
    done = found.done
    if as_json:
        description = found.description
        told = {
            "scenario": description["name"],
            "points": found.points,
            "done": done,
            "failed": found.failed,
            "folder": str(found.folder),
            "hash": description["hash"],
            "version": __version__,
        }
        print(json.dumps(told, separators=(",", ":")), file=out)
    else:
        print(f"{found.description['name']}: {done} of {found.points} points are in {found.folder}", file=out)
    for failure in found.failures[:3]:
        last = (failure["error"].splitlines() or [""])[-1]
        print(f"point {failure['point']} failed: {last}\n  {failure['repeat']}", file=sys.stderr)
    if found.failed:
        print(
            f"error: {found.failed} points failed: {found.folder}/failed.jsonl has all, and the command "
            "that runs each alone; --retry-failed runs them again",
            file=sys.stderr,
        )
    return 1 if found.failed else 0


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m brimful._sweep_main", allow_abbrev=False)
    parser.add_argument("file")
    parser.add_argument("--set", action="append", default=[], type=_pair)
    parser.add_argument("--trace")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--address")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", required=True)
    parser.add_argument("--retry-failed", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    # what Ray's processes say is not what this command prints
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        found = sweep(
            given.file,
            engine="ray",
            out=given.out,
            address=given.address,
            workers=given.workers,
            set=dict(given.set),
            seed=given.seed,
            repeats=given.repeats,
            trace=given.trace,
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
    return _tell(found, given.json, out)


if __name__ == "__main__":
    sys.exit(main())
