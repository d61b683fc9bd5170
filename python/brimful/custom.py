"""Ideas of one's own in the simulator: congestion controllers and tunnel schedulers in Python (queue
managements are in `_queue.py`).

    class Steady(brimful.Controller):
        def on_ack(self, ack):
            self.pacing_rate = 8e6
            self.cwnd = 40 * self.mss

    brimful.run(scenario, set={"flow.bulk.cc": "python:steady"}, controllers={"steady": Steady})

It is for trying an idea: every event takes the interpreter, so such runs are many times slower (see
docs/python.md for how many). Runs stay deterministic if the controller is: it must not read clocks or
random sources; `random.Random(seed)` with a seed of its own is fine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from brimful._core import ScenarioError
from brimful._registry import Registry


@dataclass(frozen=True)
class Ack:
    """What an incoming acknowledgement reports to the sender. Times in s, sizes in bytes, rates in bit/s."""

    #: Time since the run began.
    now: float
    #: Payload newly acknowledged, cumulatively or selectively.
    newly_acked: int
    #: Payload newly found lost by this acknowledgement.
    newly_lost: int
    #: Payload in flight after it.
    bytes_in_flight: int
    #: Its round-trip sample, if it gave one.
    rtt: float | None
    #: Smoothed round-trip time.
    srtt: float
    #: Least round-trip time of the connection.
    min_rtt: float
    #: Delivery rate, where it gave a valid sample.
    delivery_rate: int | None
    #: The sender had nothing to send at some time of that sample.
    is_app_limited: bool
    #: True between a loss and the acknowledgement of all that was sent before it was found.
    is_recovering: bool
    #: True if the sender was limited by cwnd in the round before.
    is_cwnd_limited: bool
    #: True if this acknowledgement began a new round trip.
    is_round_start: bool
    #: ECN-Echo was set.
    ecn_echo: bool


@dataclass(frozen=True)
class Loss:
    """A new congestion event: reported once for each recovery episode."""

    #: Time since the run began, s.
    now: float
    #: "fast" (by acknowledgements), "timeout", or "ecn" (a mark, nothing was lost).
    kind: str
    #: Payload found lost so far, bytes.
    lost: int
    #: Payload in flight as it was found, bytes.
    bytes_in_flight: int


@dataclass(frozen=True)
class RecoveryEnd:
    """The end of a recovery episode."""

    #: Time since the run began, s.
    now: float
    #: True if every retransmission of it proved unnecessary.
    is_spurious: bool


class Controller:
    """A congestion controller: override `on_ack` and `on_loss`, set `cwnd` and `pacing_rate`.

    Both are read after each event. A cwnd below one segment is one segment. One instance is made
    for each end of a connection.
    """

    def __init__(self, mss: int, initial_window: int) -> None:
        #: Payload of a full segment, bytes.
        self.mss = mss
        #: Limit of payload in flight, bytes.
        self.cwnd: float = initial_window
        #: Rate at which packets leave, bit/s; None: as fast as cwnd allows.
        self.pacing_rate: float | None = None

    def on_ack(self, ack: Ack) -> None:
        """An acknowledgement arrived."""

    def on_loss(self, loss: Loss) -> None:
        """A congestion event began."""

    def on_recovery_end(self, end: RecoveryEnd) -> None:
        """All that was sent before a loss was found is acknowledged."""

    # What the simulator calls.

    def _on_ack(self, fields: dict[str, Any]) -> None:
        self.on_ack(Ack(**fields))

    def _on_loss(self, fields: dict[str, Any]) -> None:
        self.on_loss(Loss(**fields))

    def _on_recovery_end(self, fields: dict[str, Any]) -> None:
        self.on_recovery_end(RecoveryEnd(**fields))


@dataclass(frozen=True)
class PathView:
    """A path of a tunnel as its scheduler sees it. Sizes in packets, times in s, rates in bit/s."""

    #: Which path: what `choose` gives back.
    id: int
    #: Congestion window.
    cwnd: int
    #: Sent and neither acknowledged nor lost.
    in_flight: int
    #: Chosen for the path and not sent yet.
    queued: int
    #: Smoothed round-trip time; None before the first sample.
    srtt: float | None
    #: Least round-trip time.
    min_rtt: float | None
    #: The rate at which the path delivers, as far as it was used.
    delivery_rate: int | None
    #: What it can carry by a fresh radio report.
    radio_rate: int | None

    @property
    def has_room(self) -> bool:
        """True if the window takes another packet."""
        return self.in_flight + self.queued < self.cwnd


class Scheduler:
    """Chooses the path of each packet of a tunnel: override `choose`.

    One instance is made for each end of a tunnel, without arguments.
    """

    def choose(
        self, now: float, packets: int, size: int, paths: list[PathView]
    ) -> int | Iterable[int] | None:
        """The id of the path that the next packet takes; several: a copy on each; None: it waits.

        `packets` wait, the next of them has `size` bytes; `paths` may carry data now.
        """
        raise NotImplementedError

    def _choose(
        self, now: float, packets: int, size: int, paths: list[dict[str, Any]]
    ) -> list[int]:
        """What the simulator calls."""
        chosen = self.choose(now, packets, size, [PathView(**path) for path in paths])
        if chosen is None:
            return []
        return [chosen] if isinstance(chosen, int) else list(chosen)


Factory = Callable[[int, int], Controller]
C = TypeVar("C", bound=type[Controller])

#: Controllers that are registered for every run.
registered: Registry[Factory] = Registry("controllers", Controller, 'cc = "python:mine"')


def controller(name: str) -> Callable[[C], C]:
    """Makes a class known to all runs of this process as `cc = "python:NAME"`."""
    return registered.register(name)


def scheduler_factory(cls: type[Scheduler] | None) -> type[Scheduler] | None:
    """Checks that a class is a scheduler."""
    if cls is not None and not (isinstance(cls, type) and issubclass(cls, Scheduler)):
        raise ScenarioError(f"scheduler: {cls!r} is no class derived from Scheduler")
    return cls
