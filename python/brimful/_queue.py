"""Queue managements in Python.

    class Short(brimful.Queue):
        def on_departure(self, packet, state):
            return "mark" if packet.sojourn > 0.020 and state.packets else "accept"

    brimful.run(scenario, set={"link.queue": "python:short"}, queues={"short": Short})

The class decides which packets are marked or dropped and, if it puts them into bands, from which band the
next one comes; in a band the first in is the first out.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from brimful._registry import Registry

#: The verdict on a packet. "mark": it signals congestion to its transport, marked (ECN) if that
#: understands marks, else dropped.
Verdict: TypeAlias = Literal["accept", "mark", "drop"]


class Packet(NamedTuple):
    """A packet that comes to a queue, or may leave it."""

    #: Bytes that it takes in the queue.
    size: int
    #: Its flow: the same number for all its packets.
    flow: int
    #: QoS flow identifier, 0 to 63.
    qfi: int
    #: Its ECN codepoint: "not-ect", "ect0", "ect1", or "ce" once it is marked.
    ecn: str
    #: How long it has waited, s; 0 on arrival.
    sojourn: float


class QueueState(NamedTuple):
    """The queue as it is, the packet in question left out."""

    #: Time since the run began, s.
    now: float
    #: Other packets waiting: all on arrival, those behind it in its band on departure.
    packets: int
    #: Their bytes.
    bytes: int
    #: True if the packet fits beside them. On arrival one that does not is dropped, whatever is
    #: answered; on departure always true.
    has_room: bool


class Band(NamedTuple):
    """Packets of a queue that wait in one line."""

    #: What `band` gave for them.
    number: int
    #: Packets in it.
    packets: int
    #: Their bytes.
    bytes: int
    #: The first of them.
    head: Packet


class Slot(NamedTuple):
    """A slot of the cell that has been served."""

    #: Time since the run began, s.
    now: float
    #: From the slot before to this one, s.
    tti: float
    #: What it could have carried for this queue, bytes.
    capacity: int
    #: Packets that wait after it.
    packets: int
    #: Their bytes.
    bytes: int


class Queue:
    """A queue's management: override what is to be decided. Without more it is drop-tail.

    One instance is made for each queue, without arguments: for each direction of a link, for each
    bearer of a cell.
    """

    #: What the queue may hold, bytes; None: not counted in bytes. Set after the constructor.
    capacity_bytes: int | None = None
    #: What the queue may hold, packets; None: not counted in packets. Set after the constructor.
    capacity_packets: int | None = None

    _seed: int = 0
    _random: Random | None = None

    @property
    def random(self) -> Random:
        """A random source of this queue's own, of the run's seed."""
        if self._random is None:
            self._random = Random(self._seed)
        return self._random

    def on_arrival(self, packet: Packet, state: QueueState) -> Verdict:
        """A packet comes."""
        return "accept"

    def on_departure(self, packet: Packet, state: QueueState) -> Verdict:
        """The first packet may leave. After a drop it is called for the next one immediately."""
        return "accept"

    def band(self, packet: Packet) -> int:
        """The line in which a packet waits that has been accepted: any number from 0, as
        `packet.flow`."""
        return 0

    def choose(self, now: float, bands: list[Band]) -> int:
        """The number of the band that the next packet comes from, called where packets wait in several.
        They are in ascending order: without more the lowest goes first. A band keeps its turn until
        its packet has left or was dropped."""
        return bands[0].number

    def on_slot(self, slot: Slot) -> None:
        """A slot has been served in which something waited; never in a link."""

    # What the simulator calls, with the fields in their order.

    def _on_arrival(self, packet: tuple[Any, ...], state: tuple[Any, ...]) -> Verdict:
        return self.on_arrival(_new(Packet, packet), _new(QueueState, state))

    def _on_departure(self, packet: tuple[Any, ...], state: tuple[Any, ...]) -> Verdict:
        return self.on_departure(_new(Packet, packet), _new(QueueState, state))

    def _band(self, packet: tuple[Any, ...]) -> int:
        return self.band(_new(Packet, packet))

    def _choose(self, now: float, bands: list[tuple[int, int, int, tuple[Any, ...]]]) -> int:
        views = [Band(n, packets, size, _new(Packet, head)) for n, packets, size, head in bands]
        return self.choose(now, views)

    def _on_slot(self, slot: tuple[Any, ...]) -> None:
        self.on_slot(_new(Slot, slot))


#: As `_make` of a named tuple, in half of its time.
_new = tuple.__new__

QueueFactory = Callable[[], Queue]
Q = TypeVar("Q", bound=type[Queue])

#: Queues that are registered for every run.
registered: Registry[QueueFactory] = Registry("queues", Queue, 'queue = "python:mine"')


def queue(name: str) -> Callable[[Q], Q]:
    """Makes a class known to all runs of this process as `queue = "python:NAME"`."""
    return registered.register(name)


def begin(
    factory: QueueFactory, capacity_bytes: int | None, capacity_packets: int | None, seed: int
) -> dict[str, Callable[..., Any] | None]:
    """Makes a queue. What is to be called of it, None where it has no method of its own."""
    made = factory()
    if not isinstance(made, Queue):
        raise TypeError(f"{made!r} is no instance of a class derived from Queue")
    made.capacity_bytes = capacity_bytes
    made.capacity_packets = capacity_packets
    made._seed = seed
    calls: dict[str, Callable[..., Any] | None] = {}
    for name in ("on_arrival", "on_departure", "band", "choose", "on_slot"):
        # a method may have been put into the instance, too
        function = getattr(getattr(made, name), "__func__", None)
        calls[name] = None if function is getattr(Queue, name) else getattr(made, f"_{name}")
    return calls
