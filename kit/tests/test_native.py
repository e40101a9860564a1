"""Plugins that are compiled again: sanitizers, fuzzers, and the corpus of inputs."""

import ctypes
import re
import shlex
import shutil
import stat
import subprocess

import pytest
from box_samples import write_samples
from faulty_plugins import FOLDER, FUZZED, GOOD, ONLY_SANITIZED, PLUGINS
from support.command import here  # noqa: F401  (a fixture)
from support.pairs import folder, pairs  # noqa: F401
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata_kit import testing
from pyflowdata_kit.recompiled import sanitizers
from pyflowdata_kit.recompiled.compiling import Compiler
from pyflowdata_kit.recompiled.fuzzing import reduced
from pyflowdata_kit.recompiled.sanitizers import leaks_alone, summary

SANITIZERS = ("asan", "ubsan", "tsan")
OTHERS = {  # which the plain kit finds too
    "reads_past_file": ("asan", r"Sanitizer: SEGV; .* from faulty_index\(\) at reads_past_file.c"),
    "leaks_memory": ("asan", r"malloc\(\) memory is not given back"),
    "data_race": ("tsan", r"data race.* in faulty_at\(\) at data_race.c:\d+"),
}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    return write_samples(tmp_path_factory.mktemp("samples"))


@pytest.fixture
def run(tmp_path, samples):
    """Runs a plugin under sanitizers or a fuzzer."""

    def check(name, sanitizers=(), **options):
        plugin = PLUGINS[name]
        libraries = plugin.compile(tmp_path)
        others = {libraries[0]: [plugin.reader]} if plugin.reader else {}
        native = testing.Native(
            [plugin.path], sanitizers=sanitizers, others=others,
            **{key: options.pop(key) for key in ("flags", "fuzz", "fuzzer") if key in options},
        )  # fmt: skip
        return testing.run_checks(
            plugin.spec(samples), libraries, timeout=plugin.seconds, native=native, groups=[],
            corpus=tmp_path / "corpus", **options,
        )  # fmt: skip

    return check


# ---- Sanitizers ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
def test_a_good_plugin_is_clean_under_each_sanitizer(run, monkeypatch, name):
    monkeypatch.setattr(sanitizers, "_DAMAGED", 4)  # of each kind: this is for many plugins
    report = run(name, SANITIZERS, flags=["-O0", "-g0"])  # no line is named
    assert report.findings == [], report
    for sanitizer in SANITIZERS:
        samples = re.match(r"compiled again and run over (\d+) samples", report.groups[sanitizer])
        assert int(samples[1]) > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ONLY_SANITIZED, *OTHERS])
def test_a_sanitizer_names_function_line_and_case(run, name):
    words = PLUGINS[name].words
    sanitizer, says = OTHERS.get(name) or (words["sanitizer"], words["says"])
    report = run(name, [sanitizer])
    (found,) = [fault for fault in report.faults if fault.id == fault.group == sanitizer]
    assert re.search(says, found.text), found.text
    assert found.likely, found
    assert found.case and found.text.endswith(f"(with {found.case})")
    assert found.repeat.endswith(shlex.join(["--only", f"{sanitizer}/{found.case}"]))
    again = run(name, only=f"{sanitizer}/{found.case}")
    assert [fault.case for fault in again.faults if fault.id == sanitizer] == [found.case]


@pytest.mark.slow
def test_the_command_takes_sources_of_two_plugins(samples, here):  # noqa: F811
    done = here(
        "check", FOLDER / "good_decoder_of_other.c", "--op", "Noise", "--plugin",
        FOLDER / "good.c", "--input", f"BoxReader.values data_dir={samples}",
        "--only", "asan/the sample",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "asan: compiled again and run over 1 samples" in done.stdout


def test_a_leak_that_the_sources_have_no_part_in_is_not_told():
    said = "==7==ERROR: LeakSanitizer: detected memory leaks\n"
    of_driver = "Direct leak of 8 byte(s) in 1 object(s) allocated from:\n" + (
        "    #0 0x7f in calloc (/lib/libasan.so.8+0xb)\n    #1 0x55 in job_read /kit/job.c:66\n"
    )
    of_plugin = "Direct leak of 9 byte(s) in 3 object(s) allocated from:\n" + (
        "    #0 0x7f in malloc (/lib/libasan.so.8+0xb)\n    #1 0x55 in compute /my/reader.c:12\n"
    )
    assert summary(said + of_driver, ["/my"]) == "" and leaks_alone(said + of_driver)
    found = summary(said + of_driver + of_plugin, ["/my"])
    assert found.endswith("leaks; 9 byte(s) in 3 allocation(s); in compute() at reader.c:12")


def test_an_op_without_sources_is_left_out():
    native = testing.Native([], sanitizers=["asan", "tsan"], fuzz=1)
    report = testing.run_checks(
        testing.spec_of(flow.MiniReader(str(ROOT / "data")).node), groups=[], native=native
    )
    assert len(report.left_out) == 3 and report.left_out[0].startswith("asan: MiniReader is built")


def test_a_python_function_is_checked_without_sanitizers():
    """Forks of this process check the op, which only this process has."""

    @flow.register_decoder(outputs={"out": "float64"}, per="row", replace=True)
    def kit_total(x):
        return x.sum()

    blob = kit_total(flow.MiniReader(str(ROOT / "data")))
    native = testing.Native([], sanitizers=["asan"])
    report = testing.check_decoder(blob, native=native, quick=True)
    assert {"records", "types", "threads"} <= report.groups.keys()
    assert "asan: KitTotal is a function of Python or numba, which has no" in str(report)


def test_a_function_of_numba_is_checked_without_sanitizers(folder):  # noqa: F811
    numba = pytest.importorskip("numba", reason="numba is not installed: pip install numba")
    row = ("float64", (1,))

    @flow.register_decoder(
        inputs={"x": row, "y": row}, outputs={"out": row}, per="row", replace=True
    )
    @numba.njit
    def numba_checked(x, y, out, scale=2.0):
        out[0] = scale * x[0] + y[0]

    x, y = pairs(folder)
    report = testing.check_decoder(
        numba_checked(x, y), quick=True, native=testing.Native([], sanitizers=["asan", "tsan"])
    )
    assert {"records", "types", "threads"} <= report.groups.keys()
    assert [said for said in report.left_out if said.startswith("tsan: NumbaChecked is a function")]


def test_c_and_cpp_go_into_one_library(tmp_path):
    (tmp_path / "a.c").write_text("int twice(int i) { return 2 * i + (int)sizeof('a') - 4; }\n")
    (tmp_path / "b.cpp").write_text(
        '#include <string>\nextern "C" int twice(int);\n'
        'extern "C" int entry() { return twice(static_cast<int>(std::string("abc").size())); }\n'
    )
    library = tmp_path / "both.so"
    Compiler.usual().library(
        [str(tmp_path / "a.c"), str(tmp_path / "b.cpp")], ["-Wall", "-lm"], library
    )
    assert ctypes.CDLL(str(library)).entry() == 6


# ---- Fuzzing ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", FUZZED)
def test_the_own_fuzzer_finds_what_no_other_check_does(run, tmp_path, name):
    report = run(name, fuzz=60, fuzzer="own")
    (found,) = report.faults
    assert found.id == "fuzz" and re.search(PLUGINS[name].words["fuzz"], found.text), found.text
    (kept,) = (tmp_path / "corpus" / "part-1").glob("pyflowdata-fuzz-*")
    assert found.case == f"part-1/{kept.name}" and str(kept) in found.text
    again = run(name, only=f"fuzz/{found.case}", fuzzer="own")
    assert [fault.case for fault in again.faults] == [found.case]


@pytest.mark.slow
def test_the_own_fuzzer_finds_nothing_in_a_good_plugin(run, tmp_path):
    report = run("good", fuzz=2, fuzzer="own")
    assert report.findings == [], report
    inputs = int(re.match(r"([\d,]+) inputs", report.groups["fuzz"])[1].replace(",", ""))
    kept = list((tmp_path / "corpus" / "part-1").iterdir())
    assert inputs > 50 and 2 < len(kept) < inputs


@pytest.mark.slow
def test_the_own_fuzzer_needs_no_sanitizer(run, tmp_path, monkeypatch):
    """With a compiler that refuses -fsanitize, guarded memory still shows reads past the end."""
    compiler = tmp_path / "old-cc"
    compiler.write_text('#!/bin/sh\ncase "$*" in *-fsanitize*) exit 1 ;; esac\nexec cc "$@"\n')
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", str(compiler))
    report = run("reads_past_file", fuzz=60, fuzzer="own")
    (found,) = report.faults
    assert found.text.startswith("reads-past-read: ") and "without Addr" in report.groups["fuzz"]


LEAST_TARGET = "int LLVMFuzzerTestOneInput(char *data, long size) { return data && size < 0; }"


def need_lib_fuzzer(folder):
    """Skips a test where clang is missing, or has no libraries for what it compiles."""
    if shutil.which("clang") is None:
        pytest.skip("clang is not here, which has libFuzzer")
    command = ["clang", "-fsanitize=address,fuzzer", "-x", "c", "-", "-o", str(folder / "probe")]
    linked = subprocess.run(command, input=LEAST_TARGET, capture_output=True, text=True)
    if linked.returncode != 0:
        said = linked.stderr[-300:]
        pytest.skip(f"clang cannot link libFuzzer, which is in libclang-rt-dev of Debian: {said}")


@pytest.mark.slow
def test_lib_fuzzer_keeps_the_same_corpus(run, tmp_path):
    need_lib_fuzzer(tmp_path)
    report = run("reads_past_file", fuzz=60, fuzzer="clang")
    (found,) = report.faults
    assert "libFuzzer" in report.groups["fuzz"] and "reads-past-read: " in found.text
    assert list((tmp_path / "corpus" / "part-1").glob("pyflowdata-fuzz-*"))


def test_lib_fuzzer_is_told_to_be_missing(run, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    report = run("good", fuzz=1, fuzzer="clang")
    assert report.left_out == [
        "fuzz: clang is missing, which has libFuzzer: install it, or use the kit's own fuzzer"
    ]


# ---- The corpus ---------------------------------------------------------------------------------


def test_a_plain_check_reads_the_corpus(samples, tmp_path):
    """The corpus is beside the library, and its inputs stand in for files of the sample."""
    (library,) = PLUGINS["reads_past_record"].compile(tmp_path)
    inputs = tmp_path / "reads_past_record-corpus" / "part-0"
    inputs.mkdir(parents=True)
    (inputs / "whole").write_bytes((samples / "part-0").read_bytes())
    (inputs / "pyflowdata-fuzz-1").write_bytes((samples / "part-0").read_bytes()[:-1])
    spec = PLUGINS["reads_past_record"].spec(samples)
    report = testing.run_checks(spec, [library], groups=["corpus"])
    (found,) = report.faults
    assert (found.id, found.case) == ("reads-past-record", "part-0/whole")
    assert testing.run_checks(spec, [library], only="corpus/part-0/pyflowdata-fuzz-1").passed
    assert "corpus" not in testing.run_checks(spec, [library], corpus=tmp_path / "none").groups


def test_an_input_is_reduced_to_what_matters():
    sample = bytes(range(64))
    damaged = bytes(255 - byte for byte in sample)

    def fails(data):
        return len(data) > 40 and data[9] == 246 and data[30] == 225

    expected = bytearray(sample)
    expected[9], expected[30] = 246, 225
    assert reduced(damaged, sample, fails)[:41] == bytes(expected[:41])
    assert len(reduced(damaged, sample, fails)) == 41
    assert reduced(damaged, sample, lambda data: False) == damaged


def test_the_command_keeps_the_corpus_beside_the_source(samples, tmp_path, here):  # noqa: F811
    source = tmp_path / "my_reader.c"
    for name in ("box.h", "box_plugin.h"):
        shutil.copy(FOLDER / name, tmp_path)
    shutil.copy(FOLDER / "good.c", source)
    (tmp_path / "my_reader-corpus" / "part-1").mkdir(parents=True)
    (tmp_path / "my_reader-corpus" / "part-1" / "empty").write_bytes(b"")
    done = here(
        "check", source, "--op", "BoxReader", "--attr", f"data_dir={samples}", "--only", "corpus"
    )
    assert done.returncode == 0 and "corpus: 1 input" in done.stdout, done.stdout + done.stderr
