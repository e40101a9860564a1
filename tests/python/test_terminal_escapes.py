"""No text about a program's names, values and files controls the terminal that shows it."""

import numpy as np
import pytest

import pyflowdata as flow

RED = "\x1b[31m"


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / f"folder{RED}"
    folder.mkdir()
    path = folder / f"a{RED}.csv"
    path.write_text(f"a,b{RED}\n1,2\n3,x\n")
    return path


class Red:
    def __repr__(self):
        return f"{RED}Red\x07"


def check(text):
    assert "\\x1b[31m" in text
    assert all(one.isprintable() or one == "\n" for one in text), text


def test_what_is_shown(path):
    data = flow.open(path)
    check(repr(data))
    check(repr(data.rename({"a": f"new{RED}"}).shuffle()))
    check(repr(data.batch(1)))
    blob = flow.CSVReader(files=path, columns=["a:float64"], name=f"name{RED}", batch_size=1)
    check(repr(blob))
    check(repr(blob.node))
    with flow.DataLoader(blob) as loader:
        check(repr(loader))
        check(str(loader.readers[0]))


def test_errors(path):
    def read(files=path, **attrs):
        with flow.DataLoader(flow.CSVReader(files=files, batch_size=1, **attrs)) as loader:
            list(loader)

    for attrs in (
        {"columns": [f"b{RED}:float64"]},
        {"columns": [f"missing{RED}:float64"]},
        {"columns": Red()},
        {"columns": ["a:float64"], "files": path.parent / "missing"},
    ):
        with pytest.raises(flow.Error) as caught:
            read(**attrs)
        check(str(caught.value))
    with pytest.raises(flow.Error) as caught:
        flow.open(path)["missing"]
    check(str(caught.value))


def test_errors_of_functions():
    def failing(x):
        raise ValueError(f"of{RED} a function")

    data = flow.Dataset(flow.GeneratorReader(np.arange(3), fields=["x:int64"]))
    batches = data.map(failing, "x", outputs={"x": "int64"}).batch(1)
    with flow.DataLoader(batches["x"]) as loader, pytest.raises(flow.Error) as caught:
        list(loader)
    check(str(caught.value))
