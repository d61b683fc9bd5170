"""Ideas of one's own: controllers in Python, the good and the broken ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import brimful
from tests.conftest import without_wall
from tests.test_run import one


class Steady(brimful.Controller):
    """8 Mbit/s, whatever happens."""

    def on_ack(self, ack: brimful.Ack) -> None:
        self.pacing_rate = 8e6
        self.cwnd = 40 * self.mss


class Reno(brimful.Controller):
    """RFC 5681, congestion avoidance and slow start in their plainest form."""

    def __init__(self, mss: int, initial_window: int) -> None:
        super().__init__(mss, initial_window)
        self.ssthresh = float("inf")

    def on_ack(self, ack: brimful.Ack) -> None:
        if ack.is_recovering or not ack.is_cwnd_limited:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += ack.newly_acked
        else:
            self.cwnd += self.mss * ack.newly_acked / self.cwnd

    def on_loss(self, loss: brimful.Loss) -> None:
        self.ssthresh = max(self.cwnd / 2, 2 * self.mss)
        self.cwnd = self.ssthresh if loss.kind != "timeout" else self.mss


def with_cc(wired: dict[str, Any], cc: str) -> dict[str, Any]:
    return {**wired, "flow": {"bulk": {"app": {"kind": "continuous"}, "cc": cc}}}


def test_a_rate_of_ones_own_is_kept(wired: dict[str, Any]) -> None:
    scenario = with_cc(wired, "python:steady")
    result = one(brimful.run(scenario, controllers={"steady": Steady}))
    goodput = result.summary["flows"][0]["goodput_bps"]["mean"]
    assert 7e6 < goodput < 8e6
    assert result.summary["flows"][0]["cc"] == "python:steady"


def test_reno_in_python_does_what_reno_does(wired: dict[str, Any]) -> None:
    ours = one(
        brimful.run(with_cc(wired, "python:reno"), controllers={"reno": Reno}, set={"duration": "10 s"})
    ).summary["flows"][0]
    theirs = one(
        brimful.run(with_cc(wired, "newreno"), set={"duration": "10 s"})
    ).summary["flows"][0]
    assert ours["lost"] > 0
    assert ours["goodput_bps"]["mean"] == pytest.approx(theirs["goodput_bps"]["mean"], rel=0.1)


def test_runs_repeat_bit_for_bit_on_any_number_of_threads(wired: dict[str, Any]) -> None:
    scenario = with_cc(wired, "python:reno")
    runs = [
        one(brimful.run(scenario, controllers={"reno": Reno}, threads=threads))
        for threads in (1, 2)
    ]
    assert without_wall(runs[0].summary) == without_wall(runs[1].summary)
    assert runs[0].samples.equals(runs[1].samples)


def test_a_registered_controller_is_known_everywhere(wired: dict[str, Any]) -> None:
    brimful.controller("registered")(Steady)
    scenario = with_cc(wired, "cubic")
    compared = brimful.compare(
        scenario, vary={"flow.bulk.cc": ["cubic", "python:registered"]}
    )
    rates = [v.summary["flows"][0]["goodput_bps"]["mean"] for v in compared.variants]
    assert rates[0] > 15e6 and rates[1] < 8e6


class Broken(brimful.Controller):
    """Wrong in a way of its own from the first second on."""

    wrong: Any = None

    def on_ack(self, ack: brimful.Ack) -> None:
        if ack.now > 1:
            self.cwnd = self.wrong


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (float("nan"), "cwnd is NaN after on_ack"),
        (float("inf"), "cwnd is inf after on_ack"),
        (-1, "cwnd is -1 after on_ack"),
        (0, "cwnd is 0 after on_ack"),
        ("much", "must be real number, not str"),
        (None, "must be real number, not NoneType"),
    ],
)
def test_what_is_no_window_fails_the_run(
    wired: dict[str, Any], wrong: Any, message: str
) -> None:
    broken = type("Wrong", (Broken,), {"wrong": wrong})
    with pytest.raises(brimful.RunError) as error:
        brimful.run(with_cc(wired, "python:broken"), controllers={"broken": broken})
    assert message in str(error.value) and "python:broken" in str(error.value)
    assert "seed 3" in str(error.value)


class Raising(brimful.Controller):
    def on_ack(self, ack: brimful.Ack) -> None:
        self.cwnd += ack.newly_acked

    def on_loss(self, loss: brimful.Loss) -> None:
        raise KeyError("my mistake")


class Unmade(brimful.Controller):
    def __init__(self, mss: int, initial_window: int) -> None:
        raise KeyError("my mistake")


@pytest.mark.parametrize("cls", [Raising, Unmade])
def test_what_is_raised_is_reported_with_its_traceback(
    wired: dict[str, Any], cls: type[brimful.Controller]
) -> None:
    with pytest.raises(brimful.RunError) as error:
        brimful.run(with_cc(wired, "python:x"), controllers={"x": cls})
    assert "KeyError: 'my mistake'" in str(error.value)
    assert 'raise KeyError("my mistake")' in str(error.value)
    # the process goes on
    assert one(brimful.run(wired)).seeds == [3, 4]


def test_what_is_no_controller_is_refused(wired: dict[str, Any]) -> None:
    scenario = with_cc(wired, "python:x")
    for controllers in ({}, {"x": int}, {"x": 3}, {"": Steady}, {"python:x": Steady}):
        with pytest.raises(brimful.ScenarioError):
            brimful.run(scenario, controllers=controllers)  # type: ignore[arg-type]


class Cheapest(brimful.Scheduler):
    """The first path whose window has room: what cpf does with rising costs."""

    def choose(
        self, now: float, packets: int, size: int, paths: list[brimful.PathView]
    ) -> int | None:
        free = [path for path in paths if path.has_room]
        return free[0].id if free else None


class Turns(brimful.Scheduler):
    """In turn, room or not."""

    def __init__(self) -> None:
        self.turn = 0

    def choose(
        self, now: float, packets: int, size: int, paths: list[brimful.PathView]
    ) -> int | None:
        free = [path.id for path in paths if path.has_room]
        self.turn += 1
        return free[self.turn % len(free)] if free else None


SHORT = {"duration": "2.6 s"}


def carried(result: brimful.Result) -> list[float]:
    return [path["carried_bytes"] for path in result.summary["tunnel"]["paths"]]


def test_a_scheduler_chooses_the_paths_of_a_tunnel(root: Path) -> None:
    def run(scheduler: type[brimful.Scheduler]) -> brimful.Result:
        file = root / "scenarios" / "nested-cc" / "default.toml"
        return one(brimful.run(file, set=SHORT, repeats=1, scheduler=scheduler))

    first, turns = run(Cheapest), run(Turns)
    assert sum(carried(turns)) > 1e5
    assert min(carried(turns)) / sum(carried(turns)) > min(carried(first)) / sum(carried(first))
    assert without_wall(run(Turns).summary) == without_wall(turns.summary)


class Lost(brimful.Scheduler):
    def choose(
        self, now: float, packets: int, size: int, paths: list[brimful.PathView]
    ) -> int | None:
        return 17


class Nothing(brimful.Scheduler):
    pass


@pytest.mark.parametrize(("cls", "message"), [(Lost, "choose gave 17"), (Nothing, "NotImplemented")])
def test_a_broken_scheduler_fails_the_run(
    root: Path, cls: type[brimful.Scheduler], message: str
) -> None:
    file = root / "scenarios" / "nested-cc" / "default.toml"
    with pytest.raises(brimful.RunError, match=message):
        brimful.run(file, set=SHORT, repeats=1, scheduler=cls)
    with pytest.raises(brimful.ScenarioError):
        brimful.run(file, scheduler=int)  # type: ignore[arg-type]
