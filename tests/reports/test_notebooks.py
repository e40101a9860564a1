"""What notebooks show: well-formed HTML that says what repr() says, with all text escaped."""

import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np

import pyflowdata as flow
from pyflowdata.words.html_text import Html, escape, table
from support.paths import ROOT

EVIL = "<script>alert(1)</script> & 'x' \"y\".csv"


def evil_csv(folder):
    path = folder / EVIL.replace("/", "")
    path.write_text("a,<b>\n" + "".join(f"{i},{i}\n" for i in range(20)))
    return path


def read(shown):
    """Its text, cells by row, and tags; the parser refuses what is not well-formed."""
    root = ET.fromstring(shown._repr_html_() if hasattr(shown, "_repr_html_") else shown)
    rows = [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]
    return "".join(root.itertext()), rows, {one.tag for one in root.iter()}


def test_text_is_escaped_once():
    assert escape("<a href='x'>&\"") == "&lt;a href=&#39;x&#39;&gt;&amp;&quot;"
    assert escape(escape("<")) == "&lt;" and escape(Html("<b>")) == "<b>" and escape(3) == "3"
    odd = "a\x00b\x1bc\udc80d\uffffe\té"
    assert escape(odd) == "a\\x00b\\x1bc\\xdc80d\\xffffe\té"
    assert read(table([["<i>", 1]], ("<u>", "&")))[1] == [["<u>", "&"], ["<i>", "1"]]


def test_data_sets(tmp_path):
    data = flow.open(evil_csv(tmp_path)).take(15).shuffle(seed=3)
    text, rows, tags = read(data)
    lines = repr(data).splitlines()
    assert rows == [["field", "type"], *(line.strip().split(": ") for line in lines[1:3])]
    assert lines[0] in text and lines[-1].strip() in text and "script" not in tags
    assert EVIL.replace("/", "") in text
    many = flow.from_arrays({f"f{number}": np.arange(3) for number in range(30)})
    assert "and 10 more fields" in read(many)[0] and len(read(many)[1]) == 21
    assert "20 records" not in text
    len(data)
    assert "Dataset of 15 records" in read(data)[0]


def test_blobs(tmp_path):
    blob = flow.open(evil_csv(tmp_path)).batch(4)["<b>"]
    text, rows, tags = read(blob)
    assert blob.name in text and dict(rows)["dtype"] == "int64" and "script" not in tags
    assert dict(rows)["bytes"] == "8 a row" and dict(rows)["shape"].startswith("(4,)")
    ragged = flow.GeneratorReader([], fields=["t:float32[?,3]"], batch_size=2)
    assert dict(read(ragged)[1])["bytes"] == "rows differ in size"


def test_ragged_batches():
    rows = [np.arange(length, dtype=np.float32) for length in (3, 0, 9, 1, 1, 1, 20)]
    whole = flow.Ragged(np.concatenate(rows), np.cumsum([0, *map(len, rows)]))
    text, cells, _ = read(whole)
    assert repr(whole) in text and "and 2 more rows" in text
    assert cells[1:4] == [
        ["0", "(3,)", "0.0, 1.0, 2.0"], ["1", "(0,)", ""],
        ["2", "(9,)", "0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, ..."],
    ]  # fmt: skip
    assert repr(whole[:0]) in read(whole[:0])[0]


def test_loaders(tmp_path):
    batch = flow.open(evil_csv(tmp_path)).shuffle(seed=11).batch(4, name="<i>mine</i>")
    loader = flow.DataLoader(batch.blobs)
    text, rows, tags = read(loader)
    assert {"script", "i"}.isdisjoint(tags)
    assert [row[0] for row in rows] == ["blob", "<i>mine</i>/a", "<i>mine</i>/<b>", "reader",
                                        "<i>mine</i>"]  # fmt: skip
    (reader,) = loader.readers
    assert rows[-1][1:3] == ["20", "1"] and rows[-1][4:] == ["4", reader.shuffle, "11"]
    said = repr(loader)
    assert said[said.index("steps=") : -1] in text and loader._opened.rank in text
    loader.close()
    assert "DataLoader, closed" in read(loader)[0]


def test_columns_stay_below_each_other(tmp_path):
    data = flow.open(evil_csv(tmp_path)).take(15)
    batch = data.batch(4)
    with flow.DataLoader(batch.blobs) as loader:
        list(loader)
        for shown in (data, batch[0], loader, loader.report(), loader.speed(steps=2)):
            root = ET.fromstring(f"<div>{shown._repr_html_()}</div>")
            blocks = [one for name in ("table", "pre") for one in root.iter(name)]
            assert blocks, shown
            assert all("font-family:ui-monospace" in one.get("style") for one in blocks), shown


def test_nothing_of_it_is_imported_with_the_package():
    code = """if True:
        import sys, pyflowdata
        own = {name for name in sys.modules if name.startswith("pyflowdata")}
        assert not own & {f"pyflowdata.{one}" for one in
                          ("html_text", "graphs.from_nodes", "graphs.svg", "loader.loader_html")}
        assert not {"html", "tqdm", "xml"} & {*sys.modules}
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
