"""The command `index`: builds indexes, and describes them."""

from __future__ import annotations

import shutil

import pytest
from support import programs
from support.indexes import ROWS, cache, data, stored  # noqa: F401
from support.paths import ROOT
from support.plugin_sources import build

from pyflowdata import cli


def command(*arguments):
    return cli.main(["index", *map(str, arguments)])


def test_the_command_builds_and_describes(data, cache, capsys):
    one = ("--op", "mini_reader", "--index-dir", cache)  # tests before this one made other readers
    assert command(*one, data) == 0
    first = capsys.readouterr().out
    assert first.startswith(f"MiniReader: {data}: 3 files, 30.8 KB, {ROWS} records")
    assert "built  in" in first and str(stored(cache)[0]) in first
    assert command(*one, "--attr", "part_name_prefix=part-", data) == 0
    assert "found  in" in capsys.readouterr().out
    assert command(*one, "--sequential", data) == 0
    assert "built  in" in capsys.readouterr().out and len(stored(cache)) == 2


def test_the_command_says_why_an_index_is_not_kept(data, capsys, monkeypatch):
    monkeypatch.delenv("PYFLOWDATA_INDEX_DIR", raising=False)
    assert command("--op", "MiniReader", data) == 0
    assert "in memory (below 16 MB; --index-dir keeps it)" in capsys.readouterr().out
    assert command("--op", "MiniReader", "--index-dir", "none", data) == 0
    assert "in memory: it is not kept" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong, said",
    [
        (["--attr", "nothing"], "--attr nothing: it must be NAME=VALUE"),
        (["--attr", "seed=1", "--attr", "seed=2"], "--attr seed is given twice"),
        (["--attr", "data_dir=x"], "that is the argument PATH"),
        (["--attr", "data_part_nun=2"], "'data_part_num'"),
        (["--attr", "data_part_num=many"], "attr 'data_part_num' = 'many'"),
        (["--attr", "shuffle_after_epoch=yes"], "attr 'shuffle_after_epoch' = 'yes'"),
        (["--op", "MiniRaeder"], "MiniReader"),
        (["--op", "Affine"], "Affine reads no files"),
    ],
)
def test_the_command_called_wrongly(data, capsys, wrong, said):
    assert command("--op", "MiniReader", data, *wrong) == 2
    error = capsys.readouterr().err
    assert "usage:" in error and said in error


@pytest.mark.slow
def test_the_command_with_a_plugin(data, cache, tmp_path):
    """Runs in a separate process, which knows no other plugin."""
    page = (ROOT / "docs/how-to/add-an-op.md").read_text()
    source = page.partition("```c\n")[2].partition("```")[0]
    entry = 'PFD_PLUGIN("number_reader", "1.0", &pfd_op_number_reader)\n'
    library = build(tmp_path, source + entry, compiler=shutil.which("gcc") or "cc")

    def ran(*more, path=data):
        return programs.run(programs.COMMAND, "index", "--index-dir", cache, *more, path)

    alone = ran(path=f"{data}/part-000")
    assert alone.returncode == 0 and alone.stdout.startswith("CSVReader: "), alone.stderr
    loaded = ran("--plugin", str(library))
    assert loaded.returncode == 0 and loaded.stdout.startswith("NumberReader: "), loaded.stderr
    named = ran("--plugin", str(library), "--op", "MiniReader")
    assert named.returncode == 0 and named.stdout.startswith("MiniReader: "), named.stderr
