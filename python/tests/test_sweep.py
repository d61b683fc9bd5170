"""Sweeps on threads and on a real Ray of several processes."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pyarrow.parquet
import pytest

import brimful
from brimful import Sweep, _ray, sweep
from brimful._core import SweepDataset, SweepPlan
from brimful._running import Source, given
from brimful._sweep import _axes
from tests.conftest import BRIMFUL, HANG_LIMIT, toml_file, wait_until

SCENARIO: dict[str, Any] = {
    "name": "tiny",
    "path": {"rtt": "20 ms"},
    "link": {"rate": "20 Mbit/s"},
    "flow": {"bulk": {"app": {"kind": "bulk", "size": "50 kB"}}},
    "sweep": {"sample": {"points": 30, "ranges": {"link.loss": [0.0, 0.02]}}},
}
GRID = {"path.rtt": ["10 ms", "20 ms", "40 ms"], "flow.bulk.cc": ["cubic", "bbr"]}
POINTS = 180


def rows(found: Sweep) -> tuple[list[Any], list[Any]]:
    """All rows of both tables, in an order of their own."""
    flows = [tuple(row.values()) for row in found.flows.to_pylist()]
    queues = [tuple(row.values()) for row in found.queues.to_pylist()]
    return sorted(flows, key=repr), sorted(queues, key=repr)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """The sweep as threads of this process make it."""
    return sweep(SCENARIO, GRID, out=tmp_path_factory.mktemp("local") / "s", progress=False)


SLOW = {**SCENARIO, "repeats": 3, "flow": {"bulk": {"app": {"kind": "bulk", "size": "300 kB"}}}}


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """A sweep that lasts long enough to be disturbed, undisturbed."""
    return sweep(SLOW, GRID, out=tmp_path_factory.mktemp("slow") / "s", progress=False)


@pytest.fixture(scope="module")
def ray_head() -> Iterator[Any]:
    """A Ray of two worker processes, for all tests."""
    ray = pytest.importorskip("ray")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    _ray.begin(ray, num_cpus=2, log_to_driver=False)
    yield ray
    ray.shutdown()


def test_threads_fill_the_dataset(local: Sweep) -> None:
    assert (local.points, local.done, local.failed) == (POINTS, POINTS, 0)
    frame = local.to_pandas()
    assert len(frame) == POINTS and set(frame["path.rtt"]) == {"10 ms", "20 ms", "40 ms"}
    assert frame["path.rtt [ms]"].mean() == pytest.approx(70 / 3)
    assert (frame["goodput_bps"] > 0).all() and frame["link.loss"].between(0, 0.02).all()
    assert local.to_polars().height == POINTS
    assert [axis["name"] for axis in local.axes] == ["link.loss", "path.rtt", "flow.bulk.cc"]


def test_what_is_there_is_not_run_again_and_another_sweep_is_refused(local: Sweep) -> None:
    before = sorted(local.folder.rglob("*.parquet"))
    again = sweep(SCENARIO, GRID, out=local.folder, progress=False)
    assert again.done == POINTS and sorted(local.folder.rglob("*.parquet")) == before
    with pytest.raises(brimful.ScenarioError, match="path.rtt.* has 3 elements there, 1 here"):
        sweep(SCENARIO, {**GRID, "path.rtt": ["10 ms"]}, out=local.folder)
    with pytest.raises(brimful.ScenarioError, match="expected a list"):
        sweep(SCENARIO, {"path.rtt": "10 ms"}, out=local.folder)
    with pytest.raises(brimful.ScenarioError, match="add engine='ray'"):
        sweep(SCENARIO, GRID, address="auto", out=local.folder)
    with pytest.raises(brimful.ScenarioError, match="holds no sweep"):
        Sweep(local.folder / "nowhere")


def test_flows_and_queues_of_a_folder_are_read_apart(local: Sweep) -> None:
    again = Sweep(local.folder)
    for table, name in ((again.flows, "points"), (again.queues, "queues")):
        files = sorted((local.folder / name).glob("block=*/part-*.parquet"))
        own = pyarrow.dataset.dataset(files, format="parquet").schema
        assert table.column_names == own.names
        assert table.num_rows == sum(pyarrow.parquet.read_metadata(file).num_rows for file in files)
    assert "flow" not in again.queues.column_names and "queue" not in again.flows.column_names


def test_ray_gives_the_same_dataset_although_a_worker_is_killed(
    slow: Sweep, ray_head: Any, tmp_path: Path
) -> None:
    killed: list[int] = []
    plan, dataset = _opened(SLOW, tmp_path)

    def look(done: int, failed: int) -> None:
        if done > 0 and not killed and (worker := _a_busy_worker()):
            killed.append(worker)
            os.kill(worker, signal.SIGKILL)

    _ray.Driver(ray_head, plan, dataset, None, look, given(None, None, None)).run()
    dataset.close()
    found = Sweep(tmp_path / "s")
    assert killed and (found.done, found.failed) == (POINTS, 0)
    assert rows(found) == rows(slow)


def test_a_point_that_always_kills_its_worker_is_recorded(ray_head: Any, tmp_path: Path) -> None:
    plan, dataset = _opened(SCENARIO, tmp_path)
    driver = _ray.Driver(ray_head, plan, dataset, 2, lambda done, failed: None, given(None, None, None))
    driver.task = ray_head.remote(num_cpus=1, max_retries=0)(_deadly)
    driver.run()
    dataset.close()
    found = Sweep(tmp_path / "s")
    assert (found.done, found.failed) == (POINTS - 1, 1)
    [failure] = found.failures
    assert failure["point"] == 77 and "worker died" in failure["error"] and failure["seed"] == 1
    assert set(failure["axes"]) == {"link.loss", "path.rtt", "flow.bulk.cc"}
    repaired = sweep(SCENARIO, GRID, out=tmp_path / "s", retry_failed=True, progress=False)
    assert (repaired.done, repaired.failed) == (POINTS, 0)


def test_the_sweep_of_a_killed_driver_is_continued(slow: Sweep, ray_head: Any, tmp_path: Path) -> None:
    out = tmp_path / "s"
    program = (
        "import json, sys, brimful\n"
        "scenario, grid = json.loads(sys.argv[1])\n"
        "brimful.sweep(scenario, grid, out=sys.argv[2], engine='ray', address=sys.argv[3], workers=1)\n"
    )
    address = ray_head.get_runtime_context().gcs_address
    arguments = [json.dumps([SLOW, GRID]), str(out), address]
    child = subprocess.Popen([sys.executable, "-c", program, *arguments])
    wait_until(lambda: child.poll() is not None or list(out.glob("points/*/part-*.parquet")))
    child.kill()
    child.wait()
    before = Sweep(out).done
    assert 0 < before < POINTS
    found = sweep(SLOW, GRID, out=out, engine="ray", progress=False)
    assert (found.done, found.failed) == (POINTS, 0)
    assert rows(found) == rows(slow)


class Brittle(brimful.Controller):
    """Steady, but it fails behind long paths."""

    def on_ack(self, ack: brimful.Ack) -> None:
        if ack.min_rtt > 0.03:
            raise ZeroDivisionError("too long a path")
        self.cwnd = 20 * self.mss


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_points_whose_controller_raises_fail_and_the_others_do_not(
    engine: Any, ray_head: Any, tmp_path: Path
) -> None:
    grid = {"path.rtt": ["10 ms", "20 ms", "40 ms"], "flow.bulk.cc": ["cubic", "python:brittle"]}
    few = {**SCENARIO, "sweep": {"sample": {"points": 2, "ranges": {"link.loss": [0.0, 0.01]}}}}
    own = {"brittle": Brittle}
    found = sweep(few, grid, engine=engine, controllers=own, out=tmp_path / "s", progress=False)
    assert (found.done, found.failed) == (10, 2)
    for failure in found.failures:
        assert failure["axes"]["path.rtt"] == "40 ms" and failure["axes"]["flow.bulk.cc"] == "python:brittle"
        assert "Traceback" in failure["error"] and 'raise ZeroDivisionError("too long a path")' in failure["error"]
    # it is the same sweep with the same controllers only
    with pytest.raises(brimful.ScenarioError, match="code"):
        sweep(few, grid, controllers={"brittle": brimful.Controller}, out=tmp_path / "s")


class Thin(brimful.Queue):
    """Drops at random, more where it is fuller: its draws are of the point's seed."""

    def on_arrival(self, packet: brimful.Packet, state: brimful.QueueState) -> brimful.Verdict:
        return "drop" if self.random.random() < state.bytes / 40_000 else "accept"


def test_a_queue_in_python_gives_the_same_dataset_on_ray(ray_head: Any, tmp_path: Path) -> None:
    grid = {"path.rtt": ["10 ms", "20 ms"], "link.queue": ["drop-tail", "python:thin"]}
    few = {**SCENARIO, "sweep": {"sample": {"points": 4, "ranges": {"link.loss": [0.0, 0.01]}}}}
    local, ray = (
        sweep(few, grid, engine=engine, queues={"thin": Thin}, out=tmp_path / engine, progress=False)
        for engine in ("local", "ray")
    )
    assert (ray.done, ray.failed) == (16, 0)
    assert rows(ray) == rows(local)
    frame = ray.to_pandas()
    losses = frame.groupby("link.queue")["retransmits"].sum()
    assert losses["python:thin"] > losses["drop-tail"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("head", "address='head': expected HOST:PORT"),
        ("head:x", "address='head:x': 'x' is no port"),
        ("127.0.0.1:99999", "'99999' is no port"),
        ("ray://head:10001", "Ray's client protocol is not used"),
    ],
)
def test_what_is_no_address_is_rejected(address: str, message: str) -> None:
    with pytest.raises(brimful.ScenarioError, match=re.escape(message)):
        _ray.knock(address)


def test_a_connected_process_accepts_no_other_address(ray_head: Any, tmp_path: Path) -> None:
    with pytest.raises(brimful.ScenarioError, match="connected to a Ray cluster already"):
        sweep(SCENARIO, GRID, engine="ray", address="auto", out=tmp_path / "s")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("request_to_end", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_ended_keeps_what_is_finished(
    request_to_end: signal.Signals, ray_head: Any, tmp_path: Path
) -> None:
    address = ray_head.get_runtime_context().gcs_address
    arguments = [_brimful(tmp_path), "sweep", "s.toml", "--engine", "ray", "--out", "d"]
    arguments += ["--set", "flow.bulk.app.size=3 MB", "--repeats", "8", "--address", address]
    environment = {**_environment(), "RAY_AUTH_MODE": "token"}
    child = subprocess.Popen(arguments, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: child.poll() is not None or list(tmp_path.glob("d/points/*/part-*.parquet")))
        # to the command alone: it passes it on
        child.send_signal(request_to_end)
        _, err = child.communicate(timeout=HANG_LIMIT)
    finally:
        child.kill()
    assert child.returncode == 130 and "the same command goes on with the rest" in err, err
    assert 0 < Sweep(tmp_path / "d").done < POINTS


def test_a_cluster_that_is_not_there_is_reported(tmp_path: Path) -> None:
    arguments = [_brimful(tmp_path), "sweep", "s.toml", "--engine", "ray", "--out", "d"]
    arguments += ["--address", "127.0.0.1:1"]
    ended = subprocess.run(
        arguments, cwd=tmp_path, env=_environment(), capture_output=True, text=True, timeout=HANG_LIMIT
    )
    message = "the Ray cluster at 127.0.0.1:1 cannot be reached"
    assert ended.returncode == 2 and message in ended.stderr, ended.stderr
    assert ended.stdout == "" and not (tmp_path / "d").exists()


def test_a_cluster_that_vanishes_is_reported_and_the_command_goes_on(local: Sweep, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    port, scratch = _begin_cluster()
    arguments = [_brimful(tmp_path), "sweep", "s.toml", "--engine", "ray", "--json", "--out", "d"]
    arguments += ["--set", "flow.bulk.app.size=3 MB", "--repeats", "8", "--address", f"127.0.0.1:{port}"]
    child = subprocess.Popen(
        arguments, cwd=tmp_path, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until(lambda: child.poll() is not None or list(tmp_path.glob("d/points/*/part-*.parquet")))
        assert child.poll() is None, child.communicate()
        for process in _processes(scratch):
            os.kill(process, signal.SIGKILL)
        out, err = child.communicate(timeout=HANG_LIMIT)
    finally:
        child.kill()
        for process in _processes(scratch):
            os.kill(process, signal.SIGKILL)
        shutil.rmtree(scratch, ignore_errors=True)
    assert child.returncode == 1 and "the Ray cluster does not answer any more" in err, err
    assert out == ""
    assert 0 < Sweep(tmp_path / "d").done < POINTS
    again = [word for word in arguments[:-2] if word not in ("--engine", "ray")]
    ended = subprocess.run(again, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_LIMIT)
    summary = json.loads(ended.stdout)
    assert (ended.returncode, summary["done"], summary["failed"]) == (0, POINTS, 0), ended.stderr


def _begin_cluster() -> tuple[int, str]:
    """A cluster on this machine: its port and its folder. Ray gives its own processes 30 s to begin, which a busy
    machine may exceed: then it is begun again."""
    for _ in range(5):
        port = _free_port()
        begin = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", f"--port={port}", "--num-cpus=2"]
        # short: the sockets of Ray lie in it, and their names have at most 107 bytes
        scratch = tempfile.mkdtemp(prefix="r-", dir="/tmp")
        begin += ["--include-dashboard=false", "--node-ip-address=127.0.0.1", f"--temp-dir={scratch}"]
        begun = subprocess.run(begin, env=_environment(), capture_output=True, text=True, timeout=HANG_LIMIT)
        if begun.returncode == 0:
            return port, scratch
        for process in _processes(scratch):
            os.kill(process, signal.SIGKILL)
        shutil.rmtree(scratch, ignore_errors=True)
    raise AssertionError(begun.stderr)


def _opened(scenario: dict[str, Any], folder: Path) -> tuple[SweepPlan, SweepDataset]:
    source = Source.of(scenario, _axes(GRID), None, None, None, None, None)
    plan = SweepPlan(source.settings, given(None, None, None))
    return plan, SweepDataset(plan, folder / "s", False, "")


def _brimful(folder: Path) -> str:
    """The command line, with the sweep as a file."""
    scenario = {**SCENARIO, "sweep": {**SCENARIO["sweep"], **GRID}}
    toml_file(scenario, folder / "s.toml")
    return str(BRIMFUL)


def _environment() -> dict[str, str]:
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith("RAY_")},
        "BRIMFUL_PYTHON": sys.executable,
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
    }


def _free_port() -> int:
    """A port of loopback where no process listens; above those that Ray gives its workers."""
    for port in range(21_000 + os.getpid() % 5000, 32_000):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise AssertionError("no port is free")


def _processes(scratch: str) -> list[int]:
    """The processes of the Ray that has this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if scratch.encode() in words:
            found.append(int(process.name))
    return found


def _a_busy_worker() -> int | None:
    """The number of a process in which Ray runs points now."""
    mine = os.getpid()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
            parent = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
        if words.startswith(b"ray::work") and _descends(parent, mine):
            return int(process.name)
    return None


def _descends(process: int, ancestor: int) -> bool:
    """True if a process was started by another, or by one that it started."""
    while process > 1:
        if process == ancestor:
            return True
        try:
            stat = Path(f"/proc/{process}/stat").read_text()
        except OSError:
            return False
        process = int(stat.rsplit(")", 1)[1].split()[1])
    return False


def _deadly(key: str, bundle: list[Any], points: list[int]) -> tuple[bytes, float]:
    """As the worker's own, but that point 77 ends the process."""
    if 77 in points:
        os._exit(3)
    return _ray.work(key, bundle, points)


class _Late:
    """A Ray whose processes take too long to begin so many times."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.ended = 0

    def init(self, **_options: Any) -> None:
        if self.left > 0:
            self.left -= 1
            raise Exception("The current node timed out during startup. This could happen because")  # noqa: TRY002

    def shutdown(self) -> None:
        self.ended += 1


def test_a_ray_that_begins_late_is_begun_again() -> None:
    late = _Late(_ray.ATTEMPTS - 1)
    _ray.begin(late, num_cpus=1)
    assert (late.left, late.ended) == (0, _ray.ATTEMPTS - 1)
    with pytest.raises(TimeoutError, match="its processes do not begin: The current node"):
        _ray.begin(_Late(_ray.ATTEMPTS), num_cpus=1)
