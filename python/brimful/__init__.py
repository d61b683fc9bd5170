"""Brimful: RAN-aware transport for 4G and 5G, simulated.

    import brimful

    result = brimful.run("scenarios/lte-epa.toml", seed=1)
    result.summary["flows"][0]["goodput_bps"]["mean"]
    result.samples.to_pandas()

A scenario is a file or a dict with the same keys. What the command line refuses (exit code 2) is a
`ScenarioError`, a run that fails (exit code 1) a `RunError`, both with the command line's messages.
"""

from brimful._core import RunError, ScenarioError, __version__
from brimful._queue import Band, Packet, Queue, QueueState, Slot, Verdict, queue
from brimful._results import Comparison, Reproduction, Result
from brimful._running import ScenarioWarning, compare, reproduce, run
from brimful._sweep import Sweep, sweep
from brimful.custom import Ack, Controller, Loss, PathView, RecoveryEnd, Scheduler, controller

__all__ = [
    "Ack",
    "Band",
    "Comparison",
    "Controller",
    "Loss",
    "Packet",
    "PathView",
    "Queue",
    "QueueState",
    "RecoveryEnd",
    "Reproduction",
    "Result",
    "RunError",
    "ScenarioError",
    "ScenarioWarning",
    "Scheduler",
    "Slot",
    "Sweep",
    "Verdict",
    "__version__",
    "compare",
    "controller",
    "queue",
    "reproduce",
    "run",
    "sweep",
]
