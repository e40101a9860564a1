"""What commands show while they work: on a terminal, and nowhere else."""

import io
import sys
import threading

from support.cli_files import examples
from support.command import here

from pyflowdata.cli import bars
from pyflowdata.formats import Source, open_source


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """Bars are there at once, as lines that are written over.  A test calls this itself, since
    pytest sets stderr when the test begins."""
    monkeypatch.setattr(bars, "_AFTER", 0.0)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


CALLS = {
    "reading": ["stats", "a.tfrecord"],
    "finding the types of columns": ["stats", "a.csv"],
    "converting": ["convert", "a.tfrecord", "b.csv"],
    "checking a.tfrecord": ["verify", "a.tfrecord"],
}


def test_bars_on_a_terminal(here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = terminal(monkeypatch)
    examples(tmp_path, {"x": [1, 2, 3]})
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4\n")
    for what, call in CALLS.items():
        shown.truncate(shown.seek(0))
        assert here(*call)[0] == 0
        said = shown.getvalue()
        assert f"\rpyflowdata: {what}: " in said and said.endswith("\r\033[K")
    shown.truncate(shown.seek(0))
    assert here("convert", "a.tfrecord", "c.csv", "--quiet")[0] == 0 and not shown.getvalue()


def test_no_bars_elsewhere(here, tmp_path, monkeypatch):
    monkeypatch.setattr(bars, "_AFTER", 0.0)
    monkeypatch.chdir(tmp_path)
    examples(tmp_path, {"x": [1, 2, 3]})
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4\n")
    for call in [*CALLS.values(), ["index", "a.csv"]]:
        status, _, err = here(*call)
        assert (status, err) == (0, "")


def test_what_cannot_be_counted_shows_seconds(monkeypatch):
    monkeypatch.setattr(bars, "_REDRAW", 0.01)
    shown, is_shown = [], threading.Event()
    monkeypatch.setattr(
        terminal(monkeypatch), "write", lambda text: (shown.append(text), is_shown.set())
    )
    with bars.waiting("indexing a.csv"):
        assert is_shown.wait(60)
    assert shown[0].startswith("\rindexing a.csv: 0 s") and shown[-1] == "\r\033[K"


def test_types_are_told(tmp_path, monkeypatch):
    """How many records were looked at so far, after each batch."""
    monkeypatch.setattr("pyflowdata.formats.base.source._BATCH_BYTES", 40)
    (tmp_path / "a.csv").write_text("a\n" + "10\n" * 100)
    done: list[int] = []
    source: Source = open_source([tmp_path / "a.csv"])
    source.with_types(progress=done.append)
    assert done == sorted(done) and done[-1] == 100 and len(done) > 3
