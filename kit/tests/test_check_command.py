"""`pyflowdata check`: --quick, --only, --watch, and groups that run beside each other."""

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from box_samples import PAYLOADS, write_box_samples
from faulty_plugins import compiled
from support.command import here  # noqa: F401  (a fixture)
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata import testing
from pyflowdata_kit.commands import check as check_command
from pyflowdata_kit.options import command_words
from pyflowdata_kit import group_process
from pyflowdata_kit.checks import GROUPS, Group
from pyflowdata_kit.group_process import GroupProcess, run_groups
from pyflowdata_kit.spec import Job, Spec

FAULTY = ROOT / "kit/tests/faulty"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    return write_box_samples(tmp_path_factory.mktemp("box") / "samples")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return compiled(FAULTY / "good.c", tmp_path_factory.mktemp("good"))


@pytest.fixture
def box(good, samples, here):  # noqa: F811
    """The command over the good plugin, and its status and words."""

    def call(*options):
        done = here(
            "check", good, "--op", "BoxReader", "--attr", f"data_dir={samples}", "--checksums",
            *options,
        )  # fmt: skip
        return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)

    return call


# ---- --input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "output, says",
    [("", "it has 2 outputs: write which one feeds the input, as BoxReader.values or "
          "BoxReader.size (mask and id are the host's)"),
     (".sizes", "output 'sizes' is not there; name one of values, size (mask and id are")],
)  # fmt: skip
def test_an_input_names_the_output_of_several(good, samples, here, output, says):  # noqa: F811
    done = here(
        "check", "--op", "MiniDecoder", "--plugin", good, "--quick",
        "--input", f"BoxReader{output} data_dir={samples}",
    )  # fmt: skip
    assert done.returncode == 2
    assert says in re.sub(r"\s+", " ", done.stdout)


# ---- --quick ------------------------------------------------------------------------------------


def test_quick_says_what_it_leaves_out(good, samples, here):  # noqa: F811
    done = here(
        "check", good, "--op", "BoxReader", "--attr", f"data_dir={samples}", "--checksums",
        "--quick", "--json",
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert done.returncode == 0 and report["passed"], done.stdout
    quick = {group.name for group in GROUPS if group.is_quick}
    assert set(report["groups"]) - {"descriptor"} <= quick and "records" in report["groups"]
    (said,) = report["left_out"]
    assert said.startswith("with --quick: all of ") and "loader" in said
    assert re.search("most cases of .*failures", said)
    tried = int(re.match(r"\d+", report["groups"]["damage: cut"])[0])
    assert 0 < tried < sum(map(len, map(b"".join, PAYLOADS)))


def test_quick_finds_what_shows_at_once(samples, tmp_path):
    library = compiled(FAULTY / "reads_past_record.c", tmp_path)
    spec = Spec("BoxReader", attrs={"data_dir": str(samples)})
    report = testing.run_checks(spec, [library], quick=True)
    assert [fault.id for fault in report.causes] == ["reads-past-record"], report


def test_where_the_text_is_exact_no_cause_is_guessed(good, samples, tmp_path):  # noqa: F811
    (tmp_path / "none.so").write_text("no library")
    for id, library, attrs in (("descriptor", tmp_path / "none.so", {}),
                               ("attrs", good, {"data_dir": str(samples), "gap": 3})):  # fmt: skip
        (found,) = testing.run_checks(Spec("BoxReader", attrs=attrs), [library]).causes
        assert (found.id, found.likely) == (id, ()), found


def test_quick_and_only_are_there_in_python():
    blob = flow.MiniReader(str(ROOT / "data"))
    assert "loader" not in testing.check_reader(blob, quick=True).groups
    assert set(testing.check_reader(blob, only="leaks").groups) == {"descriptor", "leaks"}
    with pytest.raises(testing.UnknownCaseError, match="no group of checks named 'leeks'"):
        testing.check_reader(blob, only="leeks")


# ---- --only -------------------------------------------------------------------------------------


def test_only_runs_one_case(box):
    status, said = box("--only", "records/fillers")
    assert status == 0 and said.startswith("BoxReader: passed descriptor:")
    assert " records: " in said and " leaks: " not in said


@pytest.mark.parametrize(
    ("only", "says"),
    [
        ("nonsense", "no group of checks named 'nonsense'; those of BoxReader are descriptor, "),
        ("types", "the group 'types' does not suit BoxReader"),
        ("damage: flipped/nonsense", "has no case 'nonsense' for this sample; it has 'bit 0 of"),
        ("damage: cut/part-1 cut to 4 bytes", "it has 'part-1 cut to 4"),
        ("descriptor/x", "the group 'descriptor' has no case 'x'"),
    ],
)
def test_what_is_not_there_is_wrong_usage(box, only, says):
    status, said = box("--only", only)
    assert status == 2 and says in said and said.startswith("usage: ")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--quick", "--asan", "--source", "good.c"], "--quick leaves out sanitizers"),
        (["--watch", "--json"], "--watch prints for people"),
    ],
)
def test_options_that_exclude_each_other(box, options, says):
    options = [str(FAULTY / one) if one.endswith(".c") else one for one in options]
    status, said = box(*options)
    assert status == 2 and says in said


_NOT_REPEATED = {"help", "quick", "watch", "only", "asan", "ubsan", "tsan", "fuzz", "json"}


def test_a_case_is_repeated_with_all_options_that_can_matter():
    parser = argparse.ArgumentParser()
    check_command.add_arguments(parser)
    given, options = ["my.c", "a.so"], {"also": ".=2", "input": "'Reader.out path=a,b'",
                                        "fuzzer": "own", "attr": "text=it's; all",
                                        "cflags": "-lz -g"}  # fmt: skip
    for action in parser._actions:
        name = action.option_strings[-1] if action.option_strings else ""
        if not name or name[2:] in _NOT_REPEATED:
            continue
        value = [] if action.nargs == 0 else [options.get(name[2:], "7").strip("'")]
        given.append("=".join([name, *value]))
    args = parser.parse_args(given)
    words = command_words(check_command._spec(args), args.library,
                          check_command._options(args, False, {}), args.plugin)  # fmt: skip
    assert words[:2] == ["pyflowdata", "check"]
    again = vars(parser.parse_args(words[2:]))
    assert again == vars(args)
    untold = [name for name, value in again.items() if value == parser.get_default(name)]
    assert {*untold} == _NOT_REPEATED - {"help"}


def test_python_repeats_a_case_with_the_same_options(good, samples, tmp_path, here):  # noqa: F811
    more = tmp_path / "more"
    shutil.copytree(samples, more)
    report = testing.run_checks(
        Spec("BoxReader", attrs={"data_dir": str(samples)}), [good], records=99, checksums=True,
        also={str(more): 77}, timeout=20.0, corpus=tmp_path / "corpus", groups=["sizes"],
    )  # fmt: skip
    (found,) = [fault for fault in report.faults if "records (PFD_OK), where 77" in fault.text]
    words = shlex.split(found.repeat)
    said = {"--records": "99", "--also": f"{more}=77", "--timeout": "20.0",
            "--corpus": str(tmp_path / "corpus")}  # fmt: skip
    assert said.items() <= dict(zip(words, words[1:])).items() and "--checksums" in words
    again = here(*words[1:], "--json")
    assert found.text in [one["text"] for one in json.loads(again.stdout)["findings"]]


# ---- --watch ------------------------------------------------------------------------------------


class Watching:
    """Runs the command in a separate process, whose output is read round by round."""

    def __init__(self, *arguments):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pyflowdata", "check", *map(str, arguments), "--watch"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT,
            start_new_session=True,
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()

    def round(self):
        """Returns what the command prints until it waits."""
        lines = []
        for line in self._process.stdout:
            lines.append(line)
            if "watched; Ctrl-C ends it" in line:
                return " ".join("".join(lines).split())
        raise AssertionError("".join(lines))

    def stop(self):
        """Ends the command as Ctrl-C does; returns the exit status."""
        self._process.send_signal(signal.SIGINT)
        self._process.communicate()
        return self._process.returncode


def save(path, text):
    """Saves as an editor does: a new file replaces the former."""
    Path(f"{path}.new").write_text(text)
    Path(f"{path}.new").replace(path)


def test_watch_follows_the_source_its_header_and_the_sample(samples, tmp_path):
    for name in ("box.h", "box_plugin.h"):
        shutil.copy(FAULTY / name, tmp_path)
    sample = shutil.copytree(samples, tmp_path / "sample")
    source, good = tmp_path / "plugin.c", (FAULTY / "good.c").read_text()
    source.write_text(good)
    given = (source, "--op", "BoxReader", "--attr", f"files={sample}/part-*", "--only", "records")
    with Watching(*given) as command:
        assert "BoxReader: passed (2 groups" in command.round()
        save(source, (FAULTY / "reads_past_record.c").read_text())
        said = command.round()
        assert "BoxReader: 1 fault" in said and "FAULT reads-past-record (records)" in said
        save(tmp_path / "box.h", "#error broken")
        said = command.round()
        assert re.match(r"[\d:]{8} the plugin cannot be compiled: .*#error broken", said), said
        assert "\\n" not in said
        save(source, good)
        assert "#error broken" in command.round()
        shutil.copy(FAULTY / "box.h", tmp_path)
        assert "passed" in command.round()
        (sample / "part-1").write_bytes(b"BOX1")
        assert "FAULT sample-fails" in command.round()
        assert command.stop() == 1


def test_watch_runs_all_checks_when_the_quick_ones_pass(good, samples, tmp_path):
    library = tmp_path / "plugin.so"
    shutil.copy(good, library)
    given = (library, "--op", "BoxReader", "--attr", f"data_dir={samples}", "--checksums")
    with Watching(*given) as command:
        said = command.round()
        assert re.search(r"passed \(quick checks, .* passed \(\d+ groups of checks, ", said), said
        assert command.stop() == 0


def test_watch_does_not_begin_where_the_call_is_wrong():
    with Watching("nowhere.so", "--op", "X") as command:
        with pytest.raises(AssertionError, match="there is no file nowhere.so"):
            command.round()
        assert command.stop() == 2


# ---- Groups beside each other -------------------------------------------------------------------


def job_of(tmp_path, **options):
    return Job(Spec("MiniReader", attrs={"data_dir": str(ROOT / "data")}), (), None, False, (), 2.0,
               str(tmp_path), **options)  # fmt: skip


def test_results_come_in_the_order_of_the_groups(tmp_path):
    """Groups that need all cores run alone."""
    at_work, log = tmp_path / "at work", tmp_path / "log"
    alone = {group.name for group in GROUPS if group.is_alone}
    assert alone >= {"threads", "loader"}

    def run_child(job, group, pipe):
        at_work.mkdir(exist_ok=True)
        (at_work / group.replace(":", "")).touch()
        with log.open("a") as file:
            file.write(f"{group} {len(list(at_work.iterdir()))}\n")
        said = {"groups": [one.name for one in GROUPS]} if group == "descriptor" else {}
        os.write(pipe, json.dumps({**said, "done": job.folder}).encode() + b"\n")
        (at_work / group.replace(":", "")).unlink()
        return 0

    results = list(run_groups(job_of(tmp_path), run_child, lambda group: None))
    assert [name for name, _ in results] == ["descriptor", *(group.name for group in GROUPS)]
    folders = [said[0]["done"] for _, said in results]
    assert len(set(folders)) == len(folders) and all(Path(one).is_dir() for one in folders)
    counts = dict(line.rsplit(" ", 1) for line in log.read_text().splitlines())
    assert {counts[name] for name in alone} == {"1"}


def test_a_group_that_waits_for_ever_is_ended_long_before_its_time():
    """The limit of a group is 2 s of work, and by the clock ten times as much."""

    def run_child(job, group, pipe):
        signal.pause()
        return 0

    begin = time.monotonic()
    process = GroupProcess(job_of(Path()), "records", run_child)
    while not process.is_late():
        time.sleep(0.1)
    process.kill()
    (said,), _ = process.close()
    assert said["id"] == "waits" and "and did nothing" in said["text"]
    assert 2.0 <= time.monotonic() - begin < 20


def test_a_busy_machine_makes_no_group_late():
    """The time in line for a processor does not count."""
    cpu = min(os.sched_getaffinity(0))

    def run_child(job, group, pipe):
        os.sched_setaffinity(0, {cpu})
        end = time.process_time() + 0.12
        while time.process_time() < end:
            pass
        return 0

    busy = f"import os; os.sched_setaffinity(0, [{cpu}])\nwhile True: pass"
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            other = stack.enter_context(subprocess.Popen([sys.executable, "-S", "-c", busy]))
            stack.callback(other.kill)
        process = GroupProcess(replace(job_of(Path()), limit=0.04), "records", run_child)
        begin = time.monotonic()
        while not process.has_ended() and time.monotonic() < begin + 30:
            assert not process.is_late()
            time.sleep(0.02)
    assert time.monotonic() - begin > 0.04 * 10
    process.close()


def test_a_group_that_waited_is_repeated_alone(tmp_path, monkeypatch):
    """It waited for a slow disk, say: only what waits again is told."""
    monkeypatch.setattr(group_process, "_LEAST_STALL", 0.3)

    def run_child(job, group, pipe):
        if group == "descriptor":
            said = {"groups": ["records", "damage: cut"], "done": ""}
            os.write(pipe, json.dumps(said).encode() + b"\n")
            return 0
        again = tmp_path / group.partition(":")[0]
        if group != "records" or not again.exists():
            again.touch()
            signal.pause()
        os.write(pipe, b'{"done": "again"}\n')
        return 0

    job = replace(job_of(tmp_path), limit=0.1)
    found = dict(run_groups(job, run_child, lambda group: None))
    assert found["records"] == [{"done": "again"}]
    assert [one["id"] for one in found["damage: cut"]] == ["waits"]


def test_a_group_has_a_name_of_its_own():
    names = [group.name for group in GROUPS]
    assert len(set(names)) == len(names) and "descriptor" not in names
    assert all(isinstance(group, Group) and "/" not in group.name for group in GROUPS)
