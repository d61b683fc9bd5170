"""`run` and `compare`: the numbers of the command line, as tables, and its refusals."""

from __future__ import annotations

import _thread
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import brimful
from tests.conftest import HANG_LIMIT, Command, toml_file, wait_until, without_wall


def one(result: brimful.Result | list[brimful.Result]) -> brimful.Result:
    assert isinstance(result, brimful.Result)
    return result


def test_the_numbers_are_those_of_the_command_line_bit_for_bit(
    root: Path, command: Command
) -> None:
    file = root / "scenarios" / "lte-epa.toml"
    arguments = ["--set", "duration=2 s", "--seed", "7", "--repeats", "2"]
    ended = command("run", str(file), *arguments, "--json", "--out", "out")
    assert ended.returncode == 0, ended.stderr
    ours = one(brimful.run(file, set={"duration": "2 s"}, seed=7, repeats=2))
    assert without_wall(ours.summary) == without_wall(json.loads(ended.stdout))


#: An upload over a cell whose radio is the file `t`.
OVER_TRACE = """duration = "2 s"
[path]
rtt = "60 ms"
[cell]
rat = "lte"
bandwidth = "20 MHz"
[ue.phone.channel]
kind = "trace"
file = "t"
[flow.up]
direction = "up"
app = { kind = "continuous" }
"""


def rate(path: Path, mbps: int) -> Path:
    path.write_text(f"time_s,rate_mbps\n0,{mbps}\n20,{mbps}\n")
    return path


def test_folders_of_traces_and_uplink_traces_give_the_numbers_of_the_command_line(
    tmp_path: Path, command: Command
) -> None:
    file = tmp_path / "s.toml"
    file.write_text(OVER_TRACE)
    folder = tmp_path / "traces"
    folder.mkdir()
    for mbps in (4, 8, 12):
        rate(folder / f"{mbps}", mbps)
    up = rate(tmp_path / "up", 2)
    arguments = ["--trace", str(folder), "--uplink-trace", str(up), "--repeats", "2"]
    ended = command("run", str(file), *arguments, "--json")
    assert ended.returncode == 0, ended.stderr
    with pytest.warns(brimful.ScenarioWarning, match="3 traces, all 2 repeats with each"):
        ours = one(brimful.run(file, trace=folder, uplink_trace=up, repeats=2))
    assert without_wall(ours.summary) == without_wall(json.loads(ended.stdout))
    assert (ours.summary["unit"], ours.summary["units"]) == ("trace", 3)
    directions = [trace["direction"] for trace in ours.summary["traces"]]
    assert directions == ["down", "up"] * 3
    assert ours.seeds == [1, 2] * 3
    with pytest.warns(brimful.ScenarioWarning):
        compared = brimful.compare(
            file, {"flow.up.cc": ["cubic", "bbr"]}, trace=folder, uplink_trace=up, repeats=2
        )
    assert without_wall(compared.variants[0].summary) == without_wall(ours.summary)
    with pytest.raises(brimful.ScenarioError, match="the folder has no traces"):
        empty = tmp_path / "empty"
        empty.mkdir()
        brimful.run(file, trace=empty)


def test_tables_are_those_of_the_parquet_files(
    wired: dict[str, Any], tmp_path: Path
) -> None:
    result = one(brimful.run(wired, out=tmp_path / "out"))
    assert pq.read_table(tmp_path / "out" / "flows.parquet").equals(result.flows)
    written = pq.read_table(tmp_path / "out" / "samples.parquet")
    assert written.equals(result.samples.combine_chunks()) or written.equals(result.samples)
    assert result.samples.num_rows > 10
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["points"][0]["seeds"] == result.seeds == [3, 4]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary == result.summary


def test_frames_share_the_numbers_of_the_tables(wired: dict[str, Any]) -> None:
    result = one(brimful.run(wired))
    goodput = result.flows["goodput_bps"].to_pylist()
    assert result.to_pandas()["goodput_bps"].tolist() == goodput
    assert result.to_polars()["goodput_bps"].to_list() == goodput
    assert goodput[0] > 15e6
    assert np.mean(goodput) == pytest.approx(result.summary["flows"][0]["goodput_bps"]["mean"])
    assert set(result.queues["queue"].to_pylist()) == {q["name"] for q in result.summary["queues"]}
    cwnd = result.series("bulk", "cwnd_bytes", repeat=1)
    assert cwnd.column_names == ["time_s", "value"] and cwnd.num_rows > 10
    assert result.loss_decisions is None
    assert result.applications is None


def test_applications_have_their_measures(wired: dict[str, Any]) -> None:
    wired["flow"] = {"video": {"app": {"kind": "video", "startup": "2 s"}}}
    result = one(brimful.run(wired))
    table = result.applications
    assert table is not None
    rows = {(row["repeat"], row["measure"]): row["value"] for row in table.to_pylist()}
    mean = result.summary["flows"][0]["application"]["startup_delay_s"]["mean"]
    delays = [rows[repeat, "startup_delay_s"] for repeat in range(len(result.seeds))]
    assert np.mean(delays) == pytest.approx(mean)
    assert set(table["application"].to_pylist()) == {"video"}


def test_a_table_is_taken_without_a_copy(wired: dict[str, Any]) -> None:
    core = one(brimful.run(wired))._outcome.flows()

    def address() -> int:
        buffer = pa.table(core)["goodput_bps"].chunk(0).buffers()[1]
        assert buffer is not None
        return int(buffer.address)

    assert address() == address()


def test_a_dict_is_the_same_as_a_file(
    wired: dict[str, Any], tmp_path: Path, command: Command
) -> None:
    file = toml_file({"name": "wired", **wired}, tmp_path / "wired.toml")
    ours = one(brimful.run({"name": "wired", **wired}))
    ended = command("run", str(file), "--json")
    assert ended.returncode == 0, ended.stderr
    assert without_wall(json.loads(ended.stdout)) == without_wall(ours.summary)


def test_any_number_of_threads_gives_the_same(wired: dict[str, Any]) -> None:
    one_thread, two = (one(brimful.run(wired, threads=n, repeats=4)) for n in (1, 2))
    assert without_wall(one_thread.summary) == without_wall(two.summary)
    assert one_thread.flows.equals(two.flows)


def test_a_sweep_gives_its_points_in_order(wired: dict[str, Any]) -> None:
    results = brimful.run({**wired, "sweep": {"path.rtt": ["10 ms", "40 ms"]}}, repeats=1)
    assert isinstance(results, list)
    assert [r.axes for r in results] == [{"path.rtt": "10 ms"}, {"path.rtt": "40 ms"}]
    least = [r.summary["flows"][0]["rtt_ms"]["min"] for r in results]
    assert least[0] >= 10 and least[1] >= 40


def test_variants_are_compared_as_by_the_command_line(
    wired: dict[str, Any], tmp_path: Path, command: Command
) -> None:
    file = toml_file({"name": "wired", **wired}, tmp_path / "wired.toml")
    ours = brimful.compare(
        {"name": "wired", **wired}, vary={"flow.bulk.cc": ["cubic", "bbr"]}, out=tmp_path / "out"
    )
    ended = command("compare", str(file), "--vary", "flow.bulk.cc=cubic,bbr", "--json")
    assert ended.returncode == 0, ended.stderr
    assert without_wall(ours.summary) == without_wall(json.loads(ended.stdout))
    assert [v.label for v in ours.variants] == ["flow.bulk.cc=cubic", "flow.bulk.cc=bbr"]
    assert ours.flows.num_rows == 4
    # the flow has a column cc of its own, and the key is another
    assert ours.flows.column("flow.bulk.cc").to_pylist() == ["cubic", "cubic", "bbr", "bbr"]
    samples = ours.samples
    assert samples.num_rows == sum(variant.samples.num_rows for variant in ours.variants)
    assert set(samples.column("variant").to_pylist()) == {"flow.bulk.cc=cubic", "flow.bulk.cc=bbr"}
    bbr = ours.series("bulk", "goodput_bps", repeat=1).to_pandas()
    own = ours.variants[1].series("bulk", "goodput_bps", repeat=1).to_pandas()
    assert list(bbr[bbr["variant"] == "flow.bulk.cc=bbr"]["value"]) == list(own["value"])
    assert ours.to_pandas().shape[0] == ours.table.num_rows > 0
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": {"rttt": "1 ms"}}, 'scenario[path.rttt]: unknown key "rttt"'),
        ({"path": {"rtt": 10}}, "scenario[path.rtt]: "),
        ({"path": {"rtt": "10 parsecs"}}, "scenario[path.rtt]: "),
        ({"path": {"rtt": None}}, "scenario[path.rtt]: None is of type NoneType"),
        ({"path": {"rtt": float("nan")}}, "scenario[path.rtt]: nan is no number"),
        ({"path": {3: "x"}}, "scenario[path]: the key 3 is of type int"),
        ({"repeats": 2**70}, "scenario[repeats]: "),
        ({"flow": {"bulk": {"app": {"kind": "continous"}}}}, 'did you mean "continuous"?'),
        (
            {"flow": {"bulk": {"app": {"kind": "continuous"}, "cc": "cubik"}}},
            'scenario[flow.bulk.cc]: unknown congestion control "cubik"',
        ),
        ({"path": {}}, 'scenario[path]: [path] has no key "rtt"'),
        ({"pathh": {}}, 'scenario[pathh]: '),
        ({"flow": {"b\n[x]": {"app": 1}}}, "is no name of a flow"),
        ({"extends": "no-such-file.toml"}, "cannot be read"),
        ({"seed": b"1"}, "scenario[seed]: b'1' is of type bytes"),
    ],
)
def test_a_wrong_dict_is_refused_by_its_keys(
    wired: dict[str, Any], change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(brimful.ScenarioError) as error:
        brimful.run({**wired, **change}, out=tmp_path / "out")
    assert message in str(error.value)
    assert "<scenario>" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_refusals_are_those_of_the_command_line(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('[path]\nrttt = "1 ms"\n')
    cases: list[tuple[list[str], dict[str, Any]]] = [
        ([], {}),
        (["--set", "x=1"], {"set": {"x": 1}}),
        (["--trace", "t"], {"trace": "t"}),
        (["--trace-offset", "somewhere"], {"trace_offset": "somewhere"}),
        (["--uplink-trace", "u"], {"uplink_trace": "u"}),
    ]
    for arguments, options in cases:
        ended = command("run", str(file), "--json", *arguments)
        assert ended.returncode == 2
        with pytest.raises(brimful.ScenarioError) as error:
            brimful.run(file, **options)
        assert ended.stderr == f"error: {error.value}\n"
    assert isinstance(error.value, ValueError)


def test_wrong_arguments_are_refused(wired: dict[str, Any]) -> None:
    wrong: list[dict[str, Any]] = [
        {"seed": -1},
        {"seed": 1.5},
        {"seed": True},
        {"repeats": 0},
        {"threads": 0},
        {"set": {"path.rttt": "1 ms"}},
        {"set": {"path": {"rtt": "1 ms"}}},
    ]
    for arguments in wrong:
        with pytest.raises(brimful.ScenarioError):
            brimful.run(wired, **arguments)
    for vary in ({}, {"path.rtt": ["1 ms"]}, {"path.rtt": "1 ms"}, {"seed": [1, 2]}):
        with pytest.raises(brimful.ScenarioError):
            brimful.compare(wired, vary=vary)
    with pytest.raises(brimful.ScenarioError):
        brimful.run(3)  # type: ignore[arg-type]


def test_a_folder_that_cannot_be_is_a_run_error(wired: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(brimful.RunError, match="a file has this name"):
        brimful.run(wired, out=file)
    assert file.read_text() == "mine"


def test_numbers_of_numpy_are_numbers(wired: dict[str, Any]) -> None:
    plain = one(brimful.run({**wired, "seed": 5}))
    numpy = one(brimful.run({**wired, "seed": np.int64(5), "repeats": np.uint8(2)}))
    assert without_wall(plain.summary) == without_wall(numpy.summary)


def test_other_threads_run_during_runs(wired: dict[str, Any], tmp_path: Path) -> None:
    """Another thread interrupts runs that would take days."""

    def interrupt() -> None:
        # the result folder is made before anything runs
        wait_until(lambda: any(tmp_path.iterdir()))
        _thread.interrupt_main()

    endless = {**wired, "duration": "100000 s", "sample-interval": "100 s"}
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        brimful.run(endless, repeats=4, out=tmp_path / "out")
    thread.join()


ENDLESS = """
import brimful, sys, threading
scenario = {
    "duration": "100000 s", "repeats": 4, "path": {"rtt": "20 ms"},
    "link": {"rate": "1 Gbit/s", "buffer": "1 MB"},
    "flow": {"bulk": {"app": {"kind": "continuous"}}},
    "sample-interval": "100 s",
}
print("running", flush=True)
try:
    brimful.run(scenario, out=sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", threading.active_count(), len(__import__("os").listdir("/proc/self/task")))
"""


def test_an_interruption_ends_the_runs_and_writes_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    # its result folder is begun before anything runs
    wait_until(lambda: process.poll() is not None or any(tmp_path.iterdir()))
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=HANG_LIMIT)
    assert output.startswith("interrupted 1 "), output
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_progress_is_shown(wired: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    brimful.run(wired, progress=True)
    assert "2/2" in capsys.readouterr().err
    brimful.run(wired)
    assert capsys.readouterr().err == ""


def test_what_a_bar_raises_ends_the_runs(
    wired: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bar(*_: object) -> Any:
        def begin(runs: int) -> Any:
            def advance(n: int) -> None:
                raise KeyboardInterrupt

            return advance

        return begin

    monkeypatch.setattr("brimful._running._bar", bar)
    with pytest.raises(KeyboardInterrupt):
        brimful.run(wired, repeats=1, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_results_show_themselves(wired: dict[str, Any]) -> None:
    result = one(brimful.run({**wired, "name": "a<b"}))
    assert repr(result).startswith("<brimful.Result a<b: bulk ")
    assert "a&lt;b" in result._repr_html_() and "bulk" in result._repr_html_()
    assert "bulk" in str(result)


def test_notes_are_warnings(root: Path) -> None:
    with pytest.warns(brimful.ScenarioWarning):
        brimful.run(
            root / "scenarios" / "lte-epa.toml",
            set={"duration": "1 s", "ue.walker.channel": '{ kind = "constant-cqi", cqi = 9 }'},
            repeats=1,
        )
