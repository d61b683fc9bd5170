"""Measures the package against the command line: import, first result, overhead, mechanisms in Python.

    target/python/bin/python python/bench.py target/release/brimful

Prints a Markdown table. Both sides should be of the same build profile. Nothing is asserted.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LTE = str(ROOT / "scenarios" / "lte-epa.toml")
TIMES = 5

WIRE = """
name = "wire"
duration = "20 s"
[path]
rtt = "30 ms"
[link]
rate = "50 Mbit/s"
buffer = "190 kB"
[flow.bulk]
app = { kind = "continuous" }
"""

FIRST = f"""
import brimful
brimful.run({LTE!r}, set={{"duration": "10 s"}}, repeats=1, threads=1).summary
"""


def median(work: Callable[[], object]) -> float:
    """Seconds of the median of several times."""
    taken = []
    for _ in range(TIMES):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def main() -> None:
    """Measures and prints."""
    import brimful

    program = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target" / "release" / "brimful")

    first = median(lambda: subprocess.run([sys.executable, "-c", FIRST], check=True))

    settings = {"duration": "60 s"}
    ours, theirs = [], []
    for _ in range(TIMES):
        begin = time.perf_counter()
        result = brimful.run(LTE, set=settings, repeats=1, threads=1)
        assert isinstance(result, brimful.Result)
        _ = result.summary, result.flows
        # beside the run itself, that of the same process: the load of the machine is the same for both
        ours.append((time.perf_counter() - begin) / result.summary["wall_s"] - 1)
        ended = subprocess.run(
            [program, "run", LTE, "--set", "duration=60 s", "--repeats", "1", "--json"],
            check=True,
            capture_output=True,
            text=True,
        )
        theirs.append(result.summary["wall_s"] / json.loads(ended.stdout)["wall_s"] - 1)

    class Reno(brimful.Controller):
        """Slow start and congestion avoidance."""

        ssthresh = float("inf")

        def on_ack(self, ack: brimful.Ack) -> None:
            if self.cwnd < self.ssthresh:
                self.cwnd += ack.newly_acked
            else:
                self.cwnd += self.mss * ack.newly_acked / self.cwnd

        def on_loss(self, loss: brimful.Loss) -> None:
            self.ssthresh = self.cwnd = max(self.cwnd / 2, 2 * self.mss)

    class Tail(brimful.Queue):
        """Called twice for each packet, and always accepts."""

        def on_arrival(self, packet: brimful.Packet, state: brimful.QueueState) -> brimful.Verdict:
            return "accept"

        def on_departure(self, packet: brimful.Packet, state: brimful.QueueState) -> brimful.Verdict:
            return "accept"

    file = Path("/tmp") / f"brimful-bench-{time.monotonic_ns()}.toml"
    file.write_text(WIRE)
    try:

        def wire(cc: str) -> float:
            return median(
                lambda: brimful.run(
                    file, set={"flow.bulk.cc": cc}, threads=1, controllers={"reno": Reno}
                )
            )

        def queue(name: str) -> float:
            return median(
                lambda: brimful.run(file, set={"link.queue": name}, threads=1, queues={"tail": Tail})
            )

        slower = wire("python:reno") / wire("newreno")
        queued = queue("python:tail") / queue("drop-tail")
    finally:
        file.unlink()

    print("| measured, median of 5 | |")
    print("| --- | --- |")
    print(f"| new interpreter, import, first result of 10 s of LTE (5 users) | {first:.2f} s |")
    over = 100 * statistics.median(ours)
    print(f"| what the package adds to a run (60 s of LTE): files, tables, waiting | {over:.1f} % |")
    beside = 100 * statistics.median(theirs)
    print(f"| the run itself beside that of the command line | {beside:+.1f} % |")
    print(f"| a flow with a controller in Python (50 Mbit/s) beside one in Rust | {slower:.1f} x |")
    print(f"| a link with a queue in Python (50 Mbit/s) beside one in Rust | {queued:.1f} x |")


if __name__ == "__main__":
    main()
