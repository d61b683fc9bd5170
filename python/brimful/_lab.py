"""Runs on this machine's kernel: which world, and by which program."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sized
from pathlib import Path

from brimful._core import RunError, ScenarioError, __version__

#: Names the `brimful` program, instead of the one found in PATH.
PROGRAM = "BRIMFUL"


def lab_program(world: str, *custom: Sized | type | None) -> str | None:
    """The program whose daemons run in the lab's hosts; None for the simulator.

    `custom` are the mechanisms written in Python, which run in the simulator only.
    """
    if world == "sim":
        return None
    if world != "lab":
        raise ScenarioError(f"world: {world!r}: expected 'sim' or 'lab'")
    if any(given is not None and (isinstance(given, type) or len(given) > 0) for given in custom):
        raise ScenarioError("world: 'lab' takes no controllers, queues or scheduler in Python: they run in 'sim'")
    program = os.environ.get(PROGRAM) or shutil.which("brimful")
    if program is None:
        raise RunError(
            f"world='lab' needs the program brimful, whose daemons run in the lab: put it into PATH, or its path into {PROGRAM}"
        )
    _check_version(program)
    return os.fspath(Path(program).resolve())


def _check_version(program: str) -> None:
    """Raises unless the program is of this package's version."""
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise RunError(f"{program} --version: {error}") from None
    version = answer.stdout.split()[-1] if answer.stdout.split() else ""
    if version != __version__:
        raise RunError(f"{program} is version {version or '(none)'}, this package {__version__}: install the same of both")
