"""Queues in Python: against those of the crate `queue`, and the broken ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

import brimful
from tests.conftest import HANG_LIMIT, Command, toml_file
from tests.test_run import one


class DropTail(brimful.Queue):
    """75 kB, first in, first out."""

    def on_arrival(self, packet: brimful.Packet, state: brimful.QueueState) -> brimful.Verdict:
        return "accept" if state.bytes + packet.size <= 75_000 else "drop"


class CoDel(brimful.Queue):
    """RFC 8289, sections 5.3 to 5.6, in whole nanoseconds as the simulator counts."""

    target, interval, mtu = 5_000_000, 100_000_000, 1514

    def __init__(self) -> None:
        self.first_above: int | None = None
        self.drop_next = self.count = self.last_count = 0
        self.is_dropping = self.is_step_due = False

    def law(self, t: int) -> int:
        return t + round(self.interval * (1 / sqrt(self.count)))

    def on_departure(self, packet: brimful.Packet, state: brimful.QueueState) -> brimful.Verdict:
        now, sojourn = round(state.now * 1e9), round(packet.sojourn * 1e9)
        is_standing = False
        if sojourn < self.target or state.bytes <= self.mtu:
            self.first_above = None
        elif self.first_above is None:
            self.first_above = now + self.interval
        else:
            is_standing = now >= self.first_above
        if not is_standing:
            self.is_dropping = self.is_step_due = False
            return "accept"
        if not self.is_dropping:
            delta = self.count - self.last_count
            is_recent = now - self.drop_next < 16 * self.interval
            self.is_dropping, self.count = True, delta if delta > 1 and is_recent else 1
            self.drop_next, self.last_count = self.law(now), self.count
            return "mark"
        if self.is_step_due:
            self.is_step_due, self.drop_next = False, self.law(self.drop_next)
        if now < self.drop_next:
            return "accept"
        self.count, self.is_step_due = self.count + 1, True
        return "mark"


class Red(brimful.Queue):
    """Floyd and Jacobson 1993, in its plainest form."""

    low, high, weight, steepest = 15_000, 45_000, 0.002, 0.1

    def __init__(self) -> None:
        self.average = 0.0

    def on_arrival(self, packet: brimful.Packet, state: brimful.QueueState) -> brimful.Verdict:
        self.average += self.weight * (state.bytes - self.average)
        share = (self.average - self.low) / (self.high - self.low)
        if share >= 1:
            return "drop"
        return "mark" if self.random.random() < self.steepest * share else "accept"


def measured(result: brimful.Result) -> dict[str, Any]:
    """All that was measured."""
    return {"flows": result.summary["flows"], "queues": result.summary["queues"]}


def test_drop_tail_in_python_is_drop_tail_to_the_bit(wired: dict[str, Any]) -> None:
    theirs = one(brimful.run(wired, set={"link.buffer": "75 kB"}))
    # twice the room: what is dropped is dropped by the class
    changed = {"link.buffer": "150 kB", "link.queue": "python:tail"}
    ours = one(brimful.run(wired, set=changed, queues={"tail": DropTail}))
    assert ours.flows["lost"].to_pylist()[0] > 0
    assert measured(ours) == measured(theirs)
    assert ours.samples.equals(theirs.samples)
    # and the room that the scenario gives holds for any class
    held = {"link.buffer": "75 kB", "link.queue": "python:any"}
    kept = one(brimful.run(wired, set=held, queues={"any": brimful.Queue}))
    assert measured(kept) == measured(theirs)


@pytest.mark.parametrize("ecn", ["off", "classic"])
def test_codel_in_python_is_codel_to_the_bit(wired: dict[str, Any], ecn: str) -> None:
    shared = {"duration": "8 s", "link.buffer": "400 kB", "flow.bulk.ecn": ecn}
    theirs = one(brimful.run(wired, set={**shared, "link.queue": "codel"}))
    ours = one(
        brimful.run(wired, set={**shared, "link.queue": "python:codel"}, queues={"codel": CoDel})
    )
    assert measured(ours) == measured(theirs)
    assert ours.samples.equals(theirs.samples)
    tail = one(brimful.run(wired, set=shared))
    assert max(theirs.series("bulk", "rtt_ms")["value"].to_pylist()) < max(
        tail.series("bulk", "rtt_ms")["value"].to_pylist()
    )


def test_red_in_python_drops_before_the_buffer_is_full(wired: dict[str, Any]) -> None:
    shared = {"duration": "6 s", "link.buffer": "400 kB"}
    tail = one(brimful.run(wired, set=shared))
    changed = {**shared, "link.queue": "python:red"}
    red = [one(brimful.run(wired, set=changed, queues={"red": Red})) for _ in range(2)]
    assert measured(red[0]) == measured(red[1])
    delays = [result.summary["flows"][0]["rtt_ms"]["p95"] for result in (red[0], tail)]
    assert delays[0] < 0.5 * delays[1]
    # each repeat draws from a stream of its own
    assert len(set(red[0].flows["lost"].to_pylist())) > 1


#: Two downloads over the bearer of one phone.
CELL: dict[str, Any] = {
    "duration": "3 s",
    "seed": 5,
    "repeats": 1,
    "path": {"rtt": "30 ms"},
    "cell": {
        "rat": "nr",
        "bandwidth": "20 MHz",
        "queues": {"rlc": {"algorithm": "dynrlc"}, "sdap": {"algorithm": "codel"}},
    },
    "ue": {"phone": {"channel": {"kind": "constant-cqi", "cqi": 7}}},
    "flow": {"bulk": {"app": {"kind": "continuous"}}, "more": {"app": {"kind": "continuous"}}},
}


class CellCoDel(CoDel):
    mtu = 1500


def test_codel_in_python_above_a_bearer_is_codel_to_the_bit() -> None:
    theirs = one(brimful.run(CELL))
    assert theirs.flows["lost"].to_pylist()[0] > 0
    changed = {"cell.queues.sdap.algorithm": "python:codel"}
    ours = one(brimful.run(CELL, set=changed, queues={"codel": CellCoDel}))
    assert measured(ours) == measured(theirs)
    assert ours.samples.equals(theirs.samples)


class Slots(brimful.Queue):
    """Keeps what it is called with."""

    slots: list[brimful.Slot] = []
    limits: set[tuple[int | None, int | None]] = set()

    def on_arrival(self, packet: brimful.Packet, state: brimful.QueueState) -> brimful.Verdict:
        assert packet.sojourn == 0 and packet.qfi == 9 and packet.ecn == "not-ect"
        self.limits.add((self.capacity_bytes, self.capacity_packets))
        return "accept"

    def on_slot(self, slot: brimful.Slot) -> None:
        self.slots.append(slot)


def test_a_layer_of_the_cell_is_printed_of_slots_and_of_its_capacity() -> None:
    Slots.slots.clear()
    Slots.limits.clear()
    layers = {"rlc": {"algorithm": "python:slots"}, "sdap": {"algorithm": "drop-tail"}}
    bearer = [{"downlink-buffer": "300 kB"}]
    scenario = {
        **CELL,
        "cell": {**CELL["cell"], "queues": layers},
        "ue": {"phone": {**CELL["ue"]["phone"], "bearer": bearer}},
    }
    one(brimful.run(scenario, set={"duration": "1 s"}, queues={"slots": Slots}, threads=1))
    assert Slots.limits == {(300_000, None)}
    times = [slot.now for slot in Slots.slots]
    assert len(times) > 100 and times == sorted(times)
    assert any(slot.bytes > 0 and slot.packets > 0 for slot in Slots.slots)
    assert all(slot.tti == 0.0005 and slot.bytes <= 302_000 for slot in Slots.slots)
    assert max(slot.capacity for slot in Slots.slots) > 0


class Priority(brimful.Queue):
    """QoS flow 1 before all others."""

    def band(self, packet: brimful.Packet) -> int:
        return 0 if packet.qfi == 1 else 1


def test_a_priority_in_python_is_that_of_the_classes_to_the_bit() -> None:
    game = {"app": {"kind": "gaming"}, "transport": "udp", "qfi": 1}
    queues = {"rlc": {"algorithm": "dynrlc"}, "sdap": {"capacity": "unlimited"}}
    scenario = {
        **CELL,
        "cell": {**CELL["cell"], "queues": queues},
        "flow": {**CELL["flow"], "game": game},
    }
    theirs = one(brimful.run(scenario, set={"cell.queues.classes": [[1]]}))
    changed = {"cell.queues.sdap.algorithm": "python:priority"}
    ours = one(brimful.run(scenario, set=changed, queues={"priority": Priority}))
    assert measured(ours) == measured(theirs)
    assert ours.samples.equals(theirs.samples)
    # which is not what a queue without bands gives
    assert measured(one(brimful.run(scenario))) != measured(theirs)


class Fair(brimful.Queue):
    """Each flow in turn, and none with more than 100 kB waiting."""

    def __init__(self) -> None:
        self.held: dict[int, int] = {}
        self.turn = 0

    def on_arrival(self, packet: brimful.Packet, state: brimful.QueueState) -> brimful.Verdict:
        held = self.held.get(packet.flow, 0) + packet.size
        if held > 100_000:
            return "drop"
        self.held[packet.flow] = held
        return "accept"

    def on_departure(self, packet: brimful.Packet, state: brimful.QueueState) -> brimful.Verdict:
        self.held[packet.flow] -= packet.size
        return "accept"

    def band(self, packet: brimful.Packet) -> int:
        return packet.flow

    def choose(self, now: float, bands: list[brimful.Band]) -> int:
        later = [band.number for band in bands if band.number > self.turn]
        self.turn = later[0] if later else bands[0].number
        assert all(band.packets > 0 and band.head.sojourn >= 0 for band in bands)
        assert all(band.bytes == self.held[band.number] for band in bands)
        return self.turn


def test_flows_in_turn_share_a_link_with_a_flood(wired: dict[str, Any]) -> None:
    flood = {"app": {"kind": "cbr", "rate": "30 Mbit/s", "packet": "1448 B"}, "transport": "udp"}
    scenario = {**wired, "flow": {**wired["flow"], "flood": flood}}
    changed = {"duration": "6 s", "link.buffer": "1 MB"}

    def rates(queue: str) -> list[float]:
        result = one(
            brimful.run(
                scenario, set={**changed, "link.queue": queue}, repeats=1, queues={"fair": Fair}
            )
        )
        return [flow["goodput_bps"]["mean"] for flow in result.summary["flows"]]

    bulk, flooded = rates("python:fair")
    assert 8.5e6 < bulk < 10.5e6 and 8.5e6 < flooded < 11e6
    assert rates("drop-tail")[0] < 3e6


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("band", -1, "band gave -1; expected a whole number from 0"),
        ("band", 2**64, "band gave 18446744073709551616; expected"),
        ("band", 1.5, "band gave 1.5; expected"),
        ("band", None, "band gave None; expected"),
        ("band", True, "band gave True; expected"),
        ("choose", 17, "choose gave 17; expected the number of a band that it was shown"),
        ("choose", None, "choose gave None; expected"),
        ("choose", [], "choose gave []; expected"),
    ],
)
def test_what_is_no_band_fails_the_run(
    wired: dict[str, Any], name: str, wrong: Any, message: str
) -> None:
    def band(self: brimful.Queue, packet: brimful.Packet) -> int:
        return int(packet.flow)

    broken = type("Wrong", (brimful.Queue,), {"band": band, name: lambda self, *_: wrong})
    more = {**wired["flow"], "more": {"app": {"kind": "continuous"}}}
    with pytest.raises(brimful.RunError) as error:
        brimful.run(
            {**wired, "flow": more}, set={"link.queue": "python:x"}, queues={"x": broken}
        )
    assert message in str(error.value)


def test_a_registered_queue_manages_any_path(wired: dict[str, Any]) -> None:
    brimful.queue("registered")(DropTail)
    compared = brimful.compare(
        wired, vary={"link.queue": ["codel", "python:registered"]}, repeats=1
    )
    assert all(v.flows["lost"].to_pylist()[0] > 0 for v in compared.variants)
    assert compared.variants[1].resolved["link"]["queue"] == "python:registered"


class Broken(brimful.Queue):
    """Wrong in a way of its own from the first second on."""

    wrong: Any = None

    def on_departure(self, packet: brimful.Packet, state: brimful.QueueState) -> Any:
        return self.wrong if state.now > 1 else "accept"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (None, "on_departure gave None; expected"),
        (float("nan"), "on_departure gave nan; expected"),
        ("keep", "on_departure gave 'keep'; expected"),
        (True, "on_departure gave True; expected"),
        (b"drop", "on_departure gave b'drop'; expected"),
    ],
)
def test_what_is_no_verdict_fails_the_run(wired: dict[str, Any], wrong: Any, message: str) -> None:
    broken = type("Wrong", (Broken,), {"wrong": wrong})
    with pytest.raises(brimful.RunError) as error:
        brimful.run(wired, set={"link.queue": "python:broken"}, queues={"broken": broken})
    assert message in str(error.value) and "queue python:broken" in str(error.value)
    assert "seed 3" in str(error.value)


class Raising(brimful.Queue):
    def on_arrival(self, packet: brimful.Packet, state: brimful.QueueState) -> brimful.Verdict:
        if state.packets > 10:
            raise KeyError("my mistake")
        return "accept"


class Unmade(brimful.Queue):
    def __init__(self) -> None:
        raise KeyError("my mistake")


class Slotless(brimful.Queue):
    def on_slot(self, slot: brimful.Slot) -> None:
        raise KeyError("my mistake")


@pytest.mark.parametrize("cls", [Raising, Unmade, Slotless])
def test_what_is_raised_is_printed_with_its_traceback(cls: type[brimful.Queue]) -> None:
    with pytest.raises(brimful.RunError) as error:
        brimful.run(CELL, set={"cell.queues.sdap.algorithm": "python:x"}, queues={"x": cls})
    assert "KeyError: 'my mistake'" in str(error.value)
    assert 'raise KeyError("my mistake")' in str(error.value)
    # the process goes on
    assert one(brimful.run(CELL)).seeds == [5]


def test_a_sweep_records_the_points_that_a_queue_fails_and_goes_on(
    wired: dict[str, Any], tmp_path: Path
) -> None:
    grid = {"link.queue": ["drop-tail", "python:raising", "python:fair"]}
    swept = brimful.sweep(
        wired,
        grid,
        repeats=1,
        out=tmp_path / "s",
        progress=False,
        queues={"raising": Raising, "fair": Fair},
    )
    assert (swept.points, swept.done, swept.failed) == (3, 2, 1)
    assert set(swept.to_pandas()["link.queue"]) == {"drop-tail", "python:fair"}
    failed = (tmp_path / "s" / "failed.jsonl").read_text()
    assert "KeyError: 'my mistake'" in failed and "python:raising" in failed


def test_a_factory_of_something_else_fails_the_run(wired: dict[str, Any]) -> None:
    with pytest.raises(brimful.RunError, match="17 is no instance of a class derived from Queue"):
        brimful.run(
            wired,
            set={"link.queue": "python:x"},
            queues={"x": lambda: 17},  # type: ignore[dict-item, return-value]
        )


def test_what_is_no_queue_is_refused(wired: dict[str, Any]) -> None:
    named = {"link.queue": "python:x"}
    for queues in ({}, {"x": int}, {"x": 3}, {"": DropTail}, {"python:x": DropTail}):
        with pytest.raises(brimful.ScenarioError):
            brimful.run(wired, set=named, queues=queues)  # type: ignore[arg-type]
    with pytest.raises(brimful.ScenarioError, match='"python:" is not known'):
        brimful.run(wired, set={"link.queue": "python:"}, queues={"x": DropTail})


def test_the_command_line_has_none(
    command: Command, wired: dict[str, Any], tmp_path: Path
) -> None:
    named = {**wired, "link": {**wired["link"], "queue": "python:mine"}}
    for name, scenario in (
        ("wire", named),
        ("cell", {**CELL, "cell": {**CELL["cell"], "queues": {"rlc": {"algorithm": "python:mine"}}}}),
    ):
        file = toml_file(scenario, tmp_path / f"{name}.toml")
        ended = command("run", str(file), "--out", "out")
        assert ended.returncode == 2, ended.stderr
        assert 'queue management "python:mine" is not known here' in ended.stderr
        assert not (tmp_path / "out").exists()


ENDLESS = """
import brimful
class Slow(brimful.Queue):
    is_printed = False
    def on_departure(self, packet, state):
        if not self.is_printed:
            print("running", flush=True)
            self.is_printed = True
        return "accept"
scenario = {
    "duration": "100000 s", "path": {"rtt": "20 ms"},
    "link": {"rate": "100 Mbit/s", "queue": "python:slow"},
    "flow": {"bulk": {"app": {"kind": "continuous"}}},
    "sample-interval": "100 s",
}
try:
    brimful.run(scenario, repeats=1, queues={"slow": Slow})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_an_interruption_ends_a_run_with_a_queue_in_python() -> None:
    process = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=HANG_LIMIT)
    assert "interrupted" in output and process.returncode == 0
