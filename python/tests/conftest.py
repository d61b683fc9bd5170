"""What all tests share."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BRIMFUL = Path(os.environ.get("BRIMFUL") or ROOT / "target" / "ci" / "brimful")


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


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Records a skipped test in the file that BRIMFUL_SKIPPED names."""
    record = os.environ.get("BRIMFUL_SKIPPED")
    if report.skipped and record and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        with open(record, "a") as file:
            file.write(f"{report.nodeid}\t{reason}\n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Under CI=true a skip of a test that could have run is a failure."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true" and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not reason.startswith(("needs data", "needs a kernel", "Python 3.10 ")):
            report.outcome = "failed"
            report.longrepr = f"{reason}: CI=true does not allow that skip"
    return report


Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs the command line in an empty folder."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(BRIMFUL), *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
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
