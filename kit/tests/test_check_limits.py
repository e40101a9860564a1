"""`pyflowdata check` with a sample, arguments or a machine that it cannot use."""

import json
import struct

import pytest
from support.command import here  # noqa: F401  (a fixture)

from pyflowdata_kit import testing
from pyflowdata_kit.causes import is_finding
from pyflowdata_kit.report import Report
from pyflowdata_kit.checking_process import part_of


@pytest.mark.parametrize(
    "options, said",
    [
        (["--records", "-3"], "--records -3: it cannot be negative"),
        (["--also", "/none/such=3"], "there is no folder /none/such"),
        (["--timeout", "nan"], "--timeout and --fuzz are seconds"),
        (["--ignore", "leakthread"], "did you mean leaves-thread?"),
    ],
)
def test_wrong_arguments_are_refused_at_once(here, options, said):  # noqa: F811
    done = here("check", "--op", "TFRecordReader", *options)
    assert done.returncode == 2
    assert said in done.stderr


def test_json_tells_that_the_plugin_does_not_compile(here, tmp_path):  # noqa: F811
    (tmp_path / "bad.c").write_text("int x = ;\n")
    done = here("check", str(tmp_path / "bad.c"), "--op", "BadReader", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 2 and not report["passed"]
    assert [one["id"] for one in report["findings"]] == ["build-fails"]


def test_ids_with_an_open_end_and_without_causes_are_findings():
    assert is_finding("reads-past-record") and is_finding("sample-poor")
    assert not is_finding("reads")


def test_the_first_and_last_of_many_files_are_looked_at(tmp_path):
    files = []
    for i in range(200):
        path = tmp_path / f"part-{i}.bin"
        path.write_bytes(struct.pack("<I", i))
        files.append(str(path))
    index = tmp_path / "part-0.idx"
    index.write_bytes(b"")
    part = part_of([*files, str(index)])
    assert part == [*files[:32], *files[-32:]]
    assert part_of(files[:64]) == []


def test_fuzzing_beside_a_source_that_cannot_be_written_keeps_inputs_elsewhere(tmp_path):
    report = Report("AnyReader")
    (tmp_path / "file").write_text("")
    native = testing.Native(["a.c"], fuzz=1)
    corpus = testing._writable(tmp_path / "file" / "a-corpus", native, report)
    assert corpus.is_dir()
    assert f"they are in {corpus}" in report.left_out[0]
    corpus.rmdir()
