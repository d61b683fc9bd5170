"""Measures sweeps on Ray beside threads: what two workers are worth, and what a point costs.

    target/python/bin/python python/bench_sweep.py

Prints a Markdown table. Ray is started before and not measured with the sweeps. Nothing is asserted.
"""

from __future__ import annotations

import os
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import brimful
from brimful import _ray

TIMES = 3
POINTS = 200
SMALL = 2_000


def scenario(points: int, seconds: int) -> dict[str, Any]:
    """A flow over a wire, with losses at random."""
    return {
        "name": "bench",
        "duration": f"{seconds} s",
        "path": {"rtt": "20 ms"},
        "link": {"rate": "50 Mbit/s"},
        "flow": {"bulk": {"app": {"kind": "continuous"}}},
        "sweep": {"sample": {"points": points, "ranges": {"link.loss": [0.0, 0.001]}}},
    }


def cpu() -> float:
    """Processor time of this process so far, s."""
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])


def measured(what: dict[str, Any], engine: Any, workers: int) -> tuple[float, float]:
    """Seconds of a sweep, and those that this process computed."""
    with tempfile.TemporaryDirectory() as folder:
        begin, before = time.perf_counter(), cpu()
        brimful.sweep(what, engine=engine, workers=workers, out=Path(folder) / "s", progress=False)
        return time.perf_counter() - begin, cpu() - before


def main() -> None:
    """Measures and prints."""
    ray = _ray.import_ray()
    begin = time.perf_counter()
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    started = time.perf_counter() - begin

    # the workers are there, and have read the package
    measured(scenario(64, 20), "ray", 2)
    large = scenario(POINTS, 20)
    rounds = [[measured(large, engine, n)[0] for engine in ("local", "ray") for n in (1, 2)] for _ in range(TIMES)]
    local, ray_alone = ([r[at] / r[at + 1] for r in rounds] for at in (0, 2))
    beside = [r[3] / r[1] for r in rounds]

    small = scenario(SMALL, 1)
    costs, driver, single = [], [], []
    for _ in range(TIMES):
        threads, _ = measured(small, "local", 1)
        tasks, computed = measured(small, "ray", 1)
        costs.append((tasks - threads) / SMALL)
        driver.append(computed / SMALL)
        usual, _ray.MAX_BATCH = _ray.MAX_BATCH, 1
        _, computed = measured(small, "ray", 1)
        _ray.MAX_BATCH = usual
        single.append(computed / SMALL)

    found = Path(tempfile.mkdtemp()) / "s"
    swept = brimful.sweep(small, workers=2, out=found, progress=False)
    size = {
        name: sum(path.stat().st_size for path in found.glob(f"{name}/*/*.parquet")) / SMALL
        for name in ("points", "queues")
    }
    parts = len(list(found.glob("points/*/*.parquet")))
    begin = time.perf_counter()
    brimful.sweep(small, workers=2, out=found, progress=False)
    resumed = time.perf_counter() - begin

    def row(what: str, values: list[float], unit: str, scale: float = 1.0) -> str:
        low, high = min(values) * scale, max(values) * scale
        return f"| {what} | {statistics.median(values) * scale:.2f} {unit} | {low:.2f} to {high:.2f} |"

    a_point = statistics.median(r[2] for r in rounds) / POINTS
    print(f"| median of {TIMES} | | least to most |")
    print("| --- | --- | --- |")
    print(f"| Ray begins on this machine | {started:.1f} s | once |")
    print(row(f"{POINTS} points of {1000 * a_point:.0f} ms: two of Ray's workers beside one", ray_alone, "x"))
    print(row("the same by threads", local, "x"))
    print(row("time by two of Ray's workers beside two threads", beside, "x"))
    print(row(f"{SMALL} small points: what Ray costs a point beside a thread", costs, "ms", 1000))
    print(row("processor time of the driver, a point of a large batch", driver, "ms", 1000))
    print(row("processor time of the driver, a batch of one point", single, "ms", 1000))
    print(f"| a row of `points/` and of `queues/`, in Parquet | {size['points']:.0f} and {size['queues']:.0f} B | once |")
    print(f"| {SMALL} points ({parts} parts) read as a sweep goes on | {1000 * resumed:.0f} ms | once |")
    assert swept.done == SMALL
    ray.shutdown()


if __name__ == "__main__":
    main()
