"""ManifestReader: against json and the files that were written."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from formats.imagefolder.image_trees import picture, write_tree

import pyflowdata as flow
from pyflowdata import cli
from pyflowdata.formats import detect, open_source

USAGES = ["train", "Eval", "TRAIN", "inference"]


def entry(source, usage="train", *labels, **more):
    annotation = [{"type": "modelarts/image_classification", "name": one, "property": {"a": [1]}}
                  for one in labels]  # fmt: skip
    return {"id": "x", "source": str(source), "usage": usage, "annotation": annotation, **more}


def write(folder, entries, name="all.manifest", end="\n"):
    folder.mkdir(exist_ok=True)
    path = folder / name
    lines = (one if isinstance(one, str) else json.dumps(one) for one in entries)
    path.write_text(end.join(lines) + end, encoding="utf-8")
    return path


def read(files, **attrs):
    """All records: (bytes, label) of each."""
    blobs = flow.ManifestReader(files=files, batch_size=attrs.pop("batch_size", 3), **attrs)
    with flow.DataLoader(list(blobs)) as loader:
        return [
            (image.tobytes(), label.tolist())
            for images, labels in loader
            for image, label in zip(images, labels, strict=True)
        ]


@pytest.fixture
def data(tmp_path):
    """A manifest of 24 images beside it, in one place with an absolute path, and its entries."""
    folder = tmp_path / "set"
    images = {f"images/{i}.png": picture(i) for i in range(24)}
    write_tree(folder, images)
    entries = [
        entry(f"images/{i}.png" if i != 5 else folder / f"images/{i}.png", USAGES[i % 4],
              ["roße", "daisy", 'a "b"\\c', "tulip"][i * 5 % 7 % 4])
        for i in range(24)
    ]  # fmt: skip
    return write(folder, entries), entries


def truth(path, entries, usage, classes=None):
    names = {one["name"] for each in entries for one in each["annotation"]}
    classes = classes or sorted(names, key=str.encode)
    return [
        ((path.parent / each["source"]).read_bytes(), classes.index(each["annotation"][0]["name"]))
        for each in entries
        if usage.lower() in (each["usage"].lower(), "")
        and each["annotation"][0]["name"] in classes
    ]


def test_images_and_labels_of_a_usage(data):
    path, entries = data
    classes = sorted({"roße", "daisy", 'a "b"\\c', "tulip"}, key=str.encode)
    image, label = flow.ManifestReader(files=path, batch_size=2)
    assert image.node.values["classes"] == classes
    assert (image.shape, label.shape, label.dtype) == ((2, None), (2,), np.int64)
    for usage in ("train", "EVAL", "inference", ""):
        expected = truth(path, entries, usage)
        assert len(expected) == {"train": 12, "": 24}.get(usage, 6)
        assert read(path, usage=usage) == expected
    for ending in ("\r\n", "\n\n  \n"):
        other = write(path.parent, entries, "other.manifest", ending)
        assert read(other) == truth(path, entries, "train")
    marked = path.parent / "marked.manifest"
    marked.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().rstrip(b"\n"))
    assert read(marked) == truth(path, entries, "train")
    assert read(marked, file_access="read") == truth(path, entries, "train")
    escaped = path.parent / "escaped.manifest"
    escaped.write_text(path.read_text().replace('"usage": "E', r'"usage": "\u0045'))
    assert read(escaped, usage="eval") == truth(path, entries, "eval")
    assert read(escaped, usage="") == truth(path, entries, "")


def test_classes_may_be_named(data):
    path, entries = data
    for classes in (["tulip", "daisy"], ["roße"]):
        expected = truth(path, entries, "train", classes)
        assert 0 < len(expected) < 12 and read(path, classes=classes) == expected
        numbers = [9, -4][: len(classes)]
        assert read(path, classes=classes, class_numbers=numbers) == [
            (image, numbers[label]) for image, label in expected
        ]


def test_several_labels(tmp_path):
    write_tree(tmp_path, {f"{i}.png": bytes([i]) for i in range(4)})
    entries = [entry("0.png", "train", "b", "a", "b"), entry("1.png", "train", "c", "c"),
               entry("2.png", "train"), entry("3.png", "train", "d")]  # fmt: skip
    entries[2].pop("annotation")
    path = write(tmp_path, entries)
    assert read(path, multi_label=True) == [(b"\0", [1, 0]), (b"\1", [2]), (b"\2", []),
                                            (b"\3", [3])]  # fmt: skip
    assert read(path, multi_label=True, classes=["b", "c"]) == [
        (b"\0", [0]), (b"\1", [1]), (b"\2", [])
    ]  # fmt: skip
    assert read(path, on_error="skip") == [(b"\1", 2), (b"\3", 3)]
    for batch, said in ((0, "more than one label"), (2, "has no label")):
        blobs = flow.ManifestReader(files=path, batch_size=1)
        with flow.DataLoader(list(blobs)) as loader:
            loader.seek(batch)
            with pytest.raises(flow.CorruptDataError, match=said) as caught:
                next(iter(loader))
            assert (caught.value.file, caught.value.line) == (str(path), batch + 1)


def test_images_are_found_from_another_folder(data, tmp_path, monkeypatch):
    path, entries = data
    expected = truth(path, entries, "train")
    monkeypatch.chdir(tmp_path)
    blobs = flow.ManifestReader(files="set/all.manifest", batch_size=5)
    with flow.DataLoader(list(blobs)) as loader:
        monkeypatch.chdir("/")
        assert [int(n) for _, labels in loader for n in labels] == [n for _, n in expected]
    monkeypatch.chdir(path.parent / "images")
    assert read("../all.manifest") == expected


def test_images_that_cannot_be_read(data):
    path, entries = data
    expected = truth(path, entries, "train")
    (path.parent / "images/2.png").unlink()
    (path.parent / "images/8.png").write_bytes(b"")
    found = read(path, on_error="skip")
    assert found == [one for n, one in enumerate(expected) if n not in (1, 4)]
    padded = read(path, on_error="pad")
    assert [n for n, one in enumerate(padded) if one[0] == b""] == [1, 4]
    blobs = flow.ManifestReader(files=path, batch_size=12, on_error="skip")
    with flow.DataLoader(list(blobs)) as loader:
        list(loader)
        one, two = loader.skipped[:2]
    assert (one.file, one.line, one.ordinal) == (str(path), 3, 1)
    assert "images/2.png cannot be opened: No such file" in one.message
    assert (two.line, two.ordinal) == (9, 4) and "images/8.png is empty" in two.message
    assert read(path, usage="eval") == truth(path, entries, "eval")  # of another usage: no matter


def refused(match, *args, error=flow.CorruptDataError, **attrs):
    with pytest.raises(error, match=match) as caught:
        flow.DataLoader(list(flow.ManifestReader(files=args, **attrs))).close()
    return caught.value


def test_lines_that_are_wrong(data, tmp_path):
    path, entries = data
    for wrong, said in (
        ('{"source": "a.png", "usage": "eval"', "expected a comma or }"),
        ("[1]", "expected an object"),
        ('{"usage": "train"}', 'expected a member "source"'),
        ('{"source": 7}', "expected a string"),
        ('{"source": "a\\u0000b"}', "without"),
        ('{"source": "a", "annotation": {"name": "b"}}', "expected an array"),
        ('{"source": "a", "annotation": [{"name": ["b"]}]}', "expected a string"),
        ('{"source": "a"} {"source": "b"}', "expected"),
        ("cat.png cat", "expected an object"),
    ):
        bad = write(tmp_path, [*entries[:6], "", wrong, *entries[6:]], "bad.manifest")
        for attrs in ({}, {"classes": ["daisy"]}):
            caught = refused(said, bad, **attrs)
            assert (caught.file, caught.line) == (str(bad), 8)
    caught = refused("no line has it.*'train', 'Eval', 'TRAIN', 'inference'", path, usage="test")
    assert caught.reason == "no-records" and caught.attr == "usage"
    refused("together with one of the classes", path, classes=["nothing"])
    refused("has a name twice", path, classes=["a", "a"], error=flow.InvalidArgumentError)
    refused("has 3 numbers", path, class_numbers=[1, 2, 3], error=flow.InvalidArgumentError)
    packed = tmp_path / "all.manifest.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    refused("the manifest is compressed", packed, error=flow.UnsupportedError)


def test_shuffle_ranks_and_resume(data):
    path, entries = data
    expected = truth(path, entries, "")
    attrs = {"usage": "", "random_shuffle": True, "seed": 4}
    blobs = flow.ManifestReader(files=path, batch_size=5, with_id=True, **attrs)
    with flow.DataLoader(list(blobs), num_threads=3) as loader:
        rows = [row for batch in loader for row in zip(*batch, strict=True)]
    order = [int(number) for _, _, (_, number) in rows]
    assert sorted(order) == list(range(24)) != order
    assert [(image.tobytes(), label) for image, label, _ in rows] == [expected[n] for n in order]
    ranks = [read(path, batch_size=4, rank=rank, world_size=2, **attrs) for rank in range(2)]
    assert sorted(ranks[0] + ranks[1]) == sorted(expected)
    blobs = list(flow.ManifestReader(files=path, batch_size=5, **attrs))
    with flow.DataLoader(blobs) as loader:
        batches = iter(loader)
        _ = next(batches), next(batches)
        state, rest = loader.state_dict(), [labels for _, labels in batches]
    with flow.DataLoader(blobs) as loader:
        loader.load_state_dict(state)
        assert all(map(np.array_equal, rest, (labels for _, labels in loader)))
    with path.open("a") as file:
        file.write(json.dumps(entry("images/1.png", "train", "daisy")) + "\n")
    with flow.DataLoader(blobs) as loader:
        with pytest.raises(flow.InvalidArgumentError, match="belongs to another loader"):
            loader.load_state_dict(state)


def test_commands(data, capsys, tmp_path):
    path, entries = data
    plain = path.with_name("list.json")
    plain.write_bytes(path.read_bytes())
    assert detect(path).format == detect(plain).format == "manifest"
    assert [field.name for field in open_source([path]).fields] == ["image", "label"]
    plain.write_text('{"source": "a wiki", "text": "b"}\n{"source": "c", "usage": "train"}\n')
    assert detect(plain).format == "json"
    assert cli.main(["head", str(path)]) == 0
    assert "manifest, 12 records" in capsys.readouterr().out
    os.remove(path.parent / "images/2.png")
    assert cli.main(["verify", "--attr", "usage=", str(path)]) == 1
    said = capsys.readouterr().out
    assert f"{path}:3" in said and "23 records whole" in said
    target = tmp_path / "eval.tfrecord"
    assert cli.main(["convert", "--attr", "usage=eval", str(path), str(target)]) == 0
    record = flow.TFRecordReader(files=target, batch_size=10)
    blobs = flow.ExampleDecoder(record, features=["image/encoded:bytes", "image/class/label:int64"])
    with flow.DataLoader(list(blobs)) as loader:
        images, labels = next(iter(loader))
    assert [(image.tobytes(), label) for image, label in zip(images, labels, strict=True)] == (
        truth(path, entries, "eval")
    )
