"""What all tests share."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BRIMFUL = Path(os.environ.get("BRIMFUL") or ROOT / "target" / "ci" / "brimful")

#: Seconds after which waiting is a hang: far longer than any step takes on a busy machine.
HANG_LIMIT = 300.0


#: Begins of reasons for a skip that a CI machine may have, too: what `scripts/setup` cannot install.
ALLOWED_IN_CI = ("needs data", "needs a kernel")


def _skipped(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Records that a test is skipped; gives what is wrong with that, if anything is."""
    place = report.longrepr
    reason = str(place[2] if isinstance(place, tuple) else place).removeprefix("Skipped: ")
    if record := os.environ.get("BRIMFUL_SKIPPED"):
        # one write a line: tests of several processes append to the same file
        with open(record, "a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\t{reason}\n")
    if os.environ.get("CI") == "true" and not reason.startswith(ALLOWED_IN_CI):
        return f"{report.nodeid} is skipped ({reason}), and CI=true does not allow that skip"
    return ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A skip of a test that could have run is a failure under CI."""
    report = yield
    # an expected failure is reported as a skip, too
    if report.skipped and not hasattr(report, "wasxfail") and (problem := _skipped(report)):
        report.outcome, report.longrepr = "failed", problem
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same of a module that is skipped as a whole."""
    report = yield
    if report.skipped and (problem := _skipped(report)):
        report.outcome, report.longrepr = "failed", problem
    return report


def wait_until(condition: Callable[[], Any]) -> None:
    """Polls a condition until it holds; after the hang limit that is a failure."""
    deadline = time.monotonic() + HANG_LIMIT
    while not condition():
        assert time.monotonic() < deadline, f"not within {HANG_LIMIT} s"
        time.sleep(0.01)


@pytest.fixture
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture
def wired() -> dict[str, Any]:
    """A short download over a wire."""
    return {
        "duration": "3 s",
        "seed": 3,
        "repeats": 2,
        "path": {"rtt": "20 ms"},
        "link": {"rate": "20 Mbit/s", "buffer": "100 kB"},
        "flow": {"bulk": {"app": {"kind": "continuous"}}},
    }


Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs the command line in an empty folder."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(BRIMFUL), *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=HANG_LIMIT
        )

    return run


def without_wall(value: Any) -> Any:
    """A summary without the time that it took."""
    if isinstance(value, dict):
        return {k: without_wall(v) for k, v in value.items() if k != "wall_s"}
    if isinstance(value, list):
        return [without_wall(item) for item in value]
    return value


def toml(value: Any) -> str:
    """A plain value as TOML, written independently of the package."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + " }"
    return json.dumps(value)


def toml_file(scenario: dict[str, Any], path: Path) -> Path:
    """Writes a scenario as a file."""
    path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in scenario.items()))
    return path
