"""The page that `scripts/bench` makes of what benches print, with programs of a few lines in the place of the benches."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from .conftest import ROOT

PAGE = "# Speed\n\n<!-- bench: begin -->\nold\n<!-- bench: end -->\n\n## Since then\n"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, on a quiet machine, with a page of its own and benches that print their names."""
    loader = importlib.machinery.SourceFileLoader("scripts_bench", str(ROOT / "scripts/bench"))
    spec = importlib.util.spec_from_loader("scripts_bench", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    # where dataclasses look for the names of their fields' types; without a compiled file beside the script
    monkeypatch.setitem(sys.modules, "scripts_bench", module)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    (tmp_path / "page.md").write_text(PAGE)

    def build(benches: list[object], profile: str | None) -> dict[str, tuple[str, Path]]:
        return {one.name: (program(tmp_path, one.name), tmp_path) for one in module.BENCHES}

    for name, value in {
        "KEPT": tmp_path / "kept",
        "PAGE": tmp_path / "page.md",
        "LOAD_LIMIT": 0.0,
        "load": lambda: 0.25,
        "machine": lambda: "commit 0123abcd; 2 x A processor; Linux 6.1",
        "build": build,
    }.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return module


def program(folder: Path, name: str, text: str = 'echo "$0: $*"') -> str:
    file = folder / name
    if not file.exists():
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
    return str(file)


@pytest.fixture
def main(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    def call(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["bench", *arguments])
        return int(bench.main())

    return call


def test_a_whole_run_is_the_pages_part(bench: ModuleType, main: Callable[..., int], tmp_path: Path) -> None:
    assert main("--record") == 0
    page = bench.PAGE.read_text()
    head, rest = page.split(bench.BEGIN)
    part, tail = rest.split(bench.END)
    assert (head, tail) == ("# Speed\n\n", "\n\n## Since then\n")
    assert "commit 0123abcd; 2 x A processor; Linux 6.1." in part
    assert part.count("load average 0.25") == len(bench.BENCHES) == part.count("\n## ")
    for one in bench.BENCHES:
        more = "--record --bench" if one.records else "--bench"
        assert f"{tmp_path / one.name}: {more}\n" in part
    # once more changes no more than the times
    assert main("--record", "--only", "queues") == 0
    assert bench.PAGE.read_text().count("\n## ") == page.count("\n## ")


def test_parts_of_another_commit_are_no_page(
    bench: ModuleType, main: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main("--record", "--only", "queues") == 0
    assert bench.PAGE.read_text() == PAGE
    assert "no results of this commit on this machine of speed, deciding" in capsys.readouterr().err
    monkeypatch.setattr(bench, "machine", lambda: "commit 4567cdef; 2 x A processor; Linux 6.1")
    assert main("--record", "--only", "speed") == 0
    assert bench.PAGE.read_text() == PAGE
    assert "of queues, deciding" in capsys.readouterr().err


def test_a_busy_machine_and_a_bench_that_fails_are_no_result(
    bench: ModuleType,
    main: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    program(tmp_path, "queues", "echo begun; exit 3")
    program(tmp_path, "deciding", ":")
    assert main("--record", "--only", "queues", "--only", "deciding") == 1
    errors = capsys.readouterr().err
    assert "queues: exit code 3" in errors
    assert "deciding: it has printed nothing" in errors
    monkeypatch.setattr(bench, "load", lambda: 0.51)
    assert main("--record", "--only", "speed") == 1
    assert "speed: not run: the load average is 0.51" in capsys.readouterr().err
    assert list(tmp_path.glob("kept/*")) == []
    assert bench.PAGE.read_text() == PAGE


def test_quick_runs_record_nothing(
    bench: ModuleType, main: Callable[..., int], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main("--quick") == 0
    assert f"{tmp_path / 'forwarding'}: --pairs 20 --bench" in capfd.readouterr().out
    assert list(tmp_path.glob("kept/*")) == []
    for wrong in [("--record", "--quick"), ("--record", "--profile", "ci"), ("--only", "nothing")]:
        with pytest.raises(SystemExit) as raised:
            main(*wrong)
        assert raised.value.code == 2


def test_building_runs_nothing(main: Callable[..., int], capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main("--build") == 0
    assert str(tmp_path) not in capfd.readouterr().out


def test_output_becomes_markdown(bench: ModuleType) -> None:
    assert bench.readable("a  1\nb  2\n") == "```text\na  1\nb  2\n```"
    # a table whose bench prints no rule, with its title before and a note behind
    table = "\nBulk\n| what | ours |\n| 1 flow | 9.1 |\nA note.\n"
    assert bench.readable(table) == "Bulk\n\n| what | ours |\n| --- | --- |\n| 1 flow | 9.1 |\n\nA note."
    ruled = "| what | ours |\n| --- | --- |\n| 1 flow | 9.1 |\n"
    assert bench.readable(ruled) == ruled.rstrip()
