"""Sweeps on Ray: the driver, and what runs on the workers.

The driver hands out batches of points and keeps two batches for each core under way. What comes back
is one Arrow message a batch, which goes into the dataset at once: the driver holds no results. Ray
runs a batch again whose worker died; the dataset takes a point once, however often it comes.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from brimful._core import RunError, ScenarioError, SweepPlan, __version__

if TYPE_CHECKING:
    from brimful._core import SweepDataset

# A batch takes about so long, so that what a batch costs is small beside what it does, s.
MIN_BATCH_SECONDS = 0.5
# The driver takes in at most about so many batches a second.
BATCHES_A_SECOND = 200.0
# Limit of points in a batch: what a worker holds in memory, and what is lost if it dies.
MAX_BATCH = 256
# Batches under way for each core: one runs, one waits at the worker.
BATCHES_A_CORE = 2
# How often Ray begins a batch again whose worker died.
RETRIES = 3
# A cluster that does not answer for so long has vanished, s.
SILENCE = 6.0

_plans: dict[str, SweepPlan] = {}


def work(key: str, sent: list[Any], points: list[int]) -> tuple[bytes, float]:
    """Runs points on a worker, which keeps the plan for the next batch."""
    import ray

    plan = _plans.get(key)
    if plan is None:
        version, bundle, own = ray.get(sent[0])
        if version != __version__:
            raise RunError(f"Brimful is {__version__} on a worker, and {version} where the sweep was begun")
        _plans.clear()
        plan = SweepPlan.of_bundle(bundle, own)
        _plans[key] = plan
    start = time.perf_counter()
    outcome = plan.run(points)
    return outcome, time.perf_counter() - start


def import_ray() -> Any:
    """Ray, or why it is not there."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise ScenarioError(f"engine=\"ray\" needs Ray: {error}; pip install 'brimful[ray]'") from None
    return ray


# Ray gives its processes 30 s to begin, which a busy machine can take: it is begun so often at most.
ATTEMPTS = 5


def begin(ray: Any, **options: Any) -> None:
    """Begins a Ray of this machine's own."""
    for left in reversed(range(ATTEMPTS)):
        try:
            ray.init(address="local", include_dashboard=False, **options)
            return
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
            ray.shutdown()
            if left == 0:
                raise TimeoutError(f"its processes do not begin: {error}") from None


@contextmanager
def connected(address: str | None, workers: int | None) -> Iterator[Any]:
    """Ray with a cluster: that at the address, the one that this process is connected to already, or one of
    this machine's own with so many workers. Ends what it has begun."""
    ray = import_ray()
    if ray.is_initialized():
        if address is not None:
            raise ScenarioError(f"address={address!r}: this process is connected to a Ray cluster already")
        yield ray
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address != "local":
        knock(address)
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        if address == "local":
            begin(ray, num_cpus=workers, **quiet)
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if address != "local" and "RAY_AUTH_MODE" not in os.environ:
            reason += "; if it requires a token, set RAY_AUTH_MODE=token"
        where = f"the Ray cluster at {address}" if address != "local" else "a Ray of this machine's own"
        raise ScenarioError(f"{where} cannot be reached: {reason}") from None
    try:
        yield ray
    except Vanished:
        # Ray's hook would query the cluster before it shows what was raised
        if sys.excepthook.__module__.startswith("ray."):
            sys.excepthook = sys.__excepthook__
        raise
    except BaseException:
        ray.shutdown()
        raise
    else:
        ray.shutdown()


def knock(address: str) -> None:
    """Fails immediately if no process listens, where Ray would try for minutes and end the process."""
    if address.startswith("ray://"):
        raise ScenarioError(
            f"address={address!r}: give HOST:PORT of the cluster's head (6379 by default); Ray's client "
            "protocol is not used"
        )
    host, colon, port = address.rpartition(":")
    if not colon:
        if address == "auto":
            return
        raise ScenarioError(f"address={address!r}: expected HOST:PORT, or 'auto' for this machine's cluster")
    if not port.isdecimal() or not 0 < int(port) < 2**16:
        raise ScenarioError(f"address={address!r}: {port!r} is no port")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=SILENCE).close()
    except OSError as error:
        raise ScenarioError(f"the Ray cluster at {address} cannot be reached: {error}") from None


def _cores(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


class Vanished(RunError):
    """The cluster does not answer any more."""


class _Pulse:
    """Whether the cluster still answers: its head, and Ray's process on this machine.

    Ray itself would try for a minute, then end this process without a word of where the results are.
    """

    def __init__(self, ray: Any) -> None:
        context = ray.get_runtime_context()
        host, _, port = context.gcs_address.rpartition(":")
        now = time.monotonic()
        self._answered = {("head", host, int(port)): now}
        here = context.get_node_id()
        for node in ray.nodes():
            if node["NodeID"] == here:
                address = ("node", node["NodeManagerAddress"], int(node["NodeManagerPort"]))
                self._answered[address] = now
        self._looked = now

    def check(self) -> None:
        """Looks once a second at most; raises if one of them has been silent for too long."""
        if time.monotonic() - self._looked < 1.0:
            return
        for (what, host, port), answered in self._answered.items():
            try:
                socket.create_connection((host, port), timeout=2.0).close()
                self._answered[what, host, port] = time.monotonic()
            except OSError as error:
                if time.monotonic() - answered > SILENCE:
                    raise Vanished(
                        f"the Ray cluster does not answer any more ({what} {host}:{port}: {error}); what "
                        "was finished is in the dataset, and the same call goes on with the rest"
                    ) from None
        self._looked = time.monotonic()


class Driver:
    """Hands out batches and takes what comes back."""

    def __init__(
        self,
        ray: Any,
        plan: SweepPlan,
        dataset: SweepDataset,
        workers: int | None,
        look: Callable[[int, int], None],
        own: Mapping[str, Any],
    ) -> None:
        self._ray = ray
        self._plan = plan
        self._dataset = dataset
        cores = _cores(ray)
        self._cores = min(cores, workers or cores)
        # where not all cores are to be used, a batch that waits would find one
        self._limit = self._cores * BATCHES_A_CORE if self._cores == cores else self._cores
        self._look = look
        self._key = uuid.uuid4().hex
        # in a list, so that a worker fetches it once and not with every batch
        self._sent = [ray.put((__version__, plan.bundle(), dict(own)))]
        self.task = ray.remote(num_cpus=1, max_retries=RETRIES)(work)
        self._under_way: dict[Any, list[int]] = {}
        self._next = 0
        self._pending: list[int] = []
        # seconds that a point takes, as last measured
        self._seconds: float | None = None
        self._pulse = _Pulse(ray)

    def run(self) -> None:
        """Until no point is pending."""
        try:
            while self._submit() or self._under_way:
                self._take()
                self._pulse.check()
                self._dataset.tick()
                _, done, failed = self._dataset.status()
                self._look(done, failed)
        finally:
            self._dataset.flush()
        _, done, failed = self._dataset.status()
        self._look(done, failed)

    def _batch(self) -> list[int]:
        """The next points: as many as fill their time, fewer towards the end."""
        size = 1
        if self._seconds is not None:
            target = max(MIN_BATCH_SECONDS, self._cores / BATCHES_A_SECOND)
            size = min(MAX_BATCH, max(1, int(target / max(self._seconds, 1e-6))))
        if len(self._pending) < size * self._cores * BATCHES_A_CORE * 2:
            more = self._dataset.pending(self._next, 100_000)
            self._pending += more
            if more:
                self._next = more[-1] + 1
        # towards the end all cores are to end together
        size = max(1, min(size, len(self._pending) // (2 * self._cores)))
        batch, self._pending = self._pending[:size], self._pending[size:]
        return batch

    def _submit(self) -> bool:
        """Keeps the workers busy; true if anything was handed out."""
        handed = False
        while len(self._under_way) < self._limit:
            batch = self._batch()
            if not batch:
                break
            self._hand_out(batch)
            handed = True
        return handed

    def _hand_out(self, batch: list[int]) -> None:
        self._under_way[self.task.remote(self._key, self._sent, batch)] = batch

    def _take(self) -> None:
        """Waits a moment for batches, and takes those that have ended."""
        under_way = list(self._under_way)
        ready, _ = self._ray.wait(under_way, num_returns=1, timeout=0.2)
        if not ready:
            return
        if len(under_way) > 1:
            ready, _ = self._ray.wait(under_way, num_returns=len(under_way), timeout=0)
        for task in ready:
            points = self._under_way.pop(task)
            try:
                outcome, seconds = self._ray.get(task)
            except (
                self._ray.exceptions.WorkerCrashedError,
                self._ray.exceptions.OutOfMemoryError,
                self._ray.exceptions.NodeDiedError,
            ) as error:
                self._crashed(points, error)
            except self._ray.exceptions.RayTaskError as error:
                raise RunError(f"a worker cannot run the sweep: {error}") from None
            else:
                self._dataset.add(outcome)
                latest = seconds / len(points)
                known = self._seconds
                self._seconds = latest if known is None else 0.7 * known + 0.3 * latest

    def _crashed(self, points: list[int], error: BaseException) -> None:
        """The worker of a batch died again and again: which point is it?"""
        if len(points) > 1:
            for point in points:
                self._hand_out([point])
            return
        reason = str(error).strip().splitlines()
        summary = reason[0] if reason else type(error).__name__
        self._dataset.fail(self._plan, points[0], f"its worker died {RETRIES + 1} times: {summary}")
