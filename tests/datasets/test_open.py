"""flow.open: which files, which fields, and what is said where they cannot be read as asked."""

import errno
import glob
import gzip
import os
import shutil

import numpy as np
import pytest
from formats import format_samples as samples

import pyflowdata as flow
from pyflowdata.io import CSVWriter, NpyWriter, TFRecordWriter
from pyflowdata.insight.sheet import encode_png


def examples(folder):
    return [samples.FIXTURES / "tensorflow" / "examples.tfrecord"]


def image_folder(folder):
    for name in ("cats", "dogs"):
        (folder / name).mkdir()
        for number in range(3):
            pixels = np.full((4, 4, 3), number, np.uint8)
            (folder / name / f"{number}.png").write_bytes(encode_png(pixels))
    return [folder]


@pytest.fixture
def folder(tmp_path):
    for part in range(3):
        with CSVWriter(tmp_path / f"part-{part}.csv") as writer:
            for row in range(10):
                writer.write({"n": 10 * part + row, "x": row / 4})
    return tmp_path


def numbers(data):
    return [int(record["n"]) for record in data]


def compressed(folder):
    for part in range(3):
        path = folder / f"part-{part}.csv"
        with gzip.open(f"{path}.gz", "wb") as file:
            file.write(path.read_bytes())
    return [folder / f"part-{part}.csv.gz" for part in range(3)]


def test_files_patterns_and_folders(folder):
    one = folder / "part-1.csv"
    for paths, wanted in (
        (str(one), range(10, 20)),
        (one, range(10, 20)),
        ([folder / "part-2.csv", one], [*range(20, 30), *range(10, 20)]),
        (str(folder / "part-[02].csv"), [*range(10), *range(20, 30)]),
        (folder, range(30)),
    ):
        data = flow.open(paths)
        assert numbers(data) == [*wanted] and len(data) == len([*wanted])
    with pytest.raises(flow.InvalidArgumentError, match="part-1.csv' is named twice"):
        len(flow.open([str(folder / "*.csv"), one]))
    (folder / "deep" / "er").mkdir(parents=True)
    shutil.copy(one, folder / "deep" / "er" / "a.csv")
    assert len(flow.open(str(folder / "**" / "*.csv"))) == 40
    assert numbers(flow.open(folder)) == [*range(30)]  # not what is in its folders
    (folder / "_notes").write_text("no data")
    (folder / ".hidden").write_text("no data")
    assert len(flow.open(folder)) == 30


PATTERNS = [
    "*/*.csv", "**/*.csv", "a/**/?.csv", "**/b/*.csv", "[ab]/1.csv", "*/.*.csv", "a/[!1].csv",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_stand_for_the_files_of_glob(pattern, tmp_path, monkeypatch):
    for i, name in enumerate(["1.csv", "a/1.csv", "a/2.csv", "a/.3.csv", "b/1.csv", "a/b/4.csv",
                              ".c/1.csv", "a/b/c/b/5.csv"]):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"n\n{i}\n")
    monkeypatch.chdir(tmp_path)
    for full in (pattern, str(tmp_path / pattern)):
        files = [one for one in sorted(glob.glob(full, recursive=True)) if os.path.isfile(one)]
        assert numbers(flow.open(full)) == numbers(flow.open(files))


@pytest.mark.parametrize("link", ["part-1.csv", "b"])
@pytest.mark.parametrize("target", ["", "/mnt/unmounted/part-1.csv"])
def test_a_link_that_leads_nowhere_is_not_left_out(link, target, folder, monkeypatch):
    target = target or link  # a circle
    (folder / "a").mkdir()
    shutil.copy(folder / "part-0.csv", folder / "a" / "1.csv")
    (folder / "a" / ".#1.csv").symlink_to("somebody@somewhere")  # an editor's lock
    (folder / "a" / "up").symlink_to("../a")
    (folder / link).unlink(missing_ok=True)
    (folder / link).symlink_to(target)
    monkeypatch.chdir(folder)
    patterns = {"b": ["*/1.csv", "*/*.csv", "**/1.csv", "."],
                "part-1.csv": ["*.csv", "part-[12]*", "."]}  # fmt: skip
    for pattern in [*patterns[link], link]:
        calls = [lambda: flow.open(pattern), lambda: flow.CSVReader(files=pattern, batch_size=1)]
        for call in calls if "**" not in pattern and pattern != "." else calls[:1]:
            with pytest.raises(flow.FileError, match="link") as caught:
                call()
            assert os.path.basename(caught.value.file) == link, caught.value
            assert repr(target) in caught.value.message and "remove" in caught.value.message
    assert numbers(flow.open("a")) == numbers(flow.open("a/*.csv")) == [*range(10)]


@pytest.mark.parametrize("pattern", ["*/*.csv", "**/1.csv", "b"])
def test_what_cannot_be_read_is_not_left_out(pattern, tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / name).mkdir()
        for file in "12":
            (tmp_path / name / f"{file}.csv").write_text("n\n1\n")
    real, fails = os.listdir, str(tmp_path / "b")

    def failing(path=".", **options):
        if os.path.join(str(path), "") == os.path.join(fails, ""):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return real(path, **options)

    monkeypatch.setattr(os, "listdir", failing)
    with pytest.raises(flow.FileError, match="cannot be read: Stale file handle") as caught:
        flow.open(str(tmp_path / pattern))
    assert caught.value.reason == "transient"


def test_fields_are_chosen_and_typed(folder):
    data = flow.open(folder / "part-0.csv")
    assert [(one.name, one.dtype) for one in data.fields.values()] == [
        ("n", "int64"), ("x", "float64")
    ]  # fmt: skip
    assert list(flow.open(folder / "part-0.csv", fields="x").fields) == ["x"]
    typed = flow.open(folder / "part-0.csv", fields=["x:float32", "n:int8"])
    assert typed[3]["x"] == np.float32(0.75) and typed[3]["n"].dtype == np.int8
    renamed = flow.open(folder / "part-0.csv", fields=["width=x", "n"])
    assert list(renamed.fields) == ["width", "n"] and renamed[3]["width"] == 0.75
    (folder / "a.jsonl").write_text('{"meta": {"score": 0.5, "lang": "de"}, "ids": [1, 2]}\n')
    fields = ["score=meta.score", "lang=meta.lang", "tokens=ids"]
    read = flow.JSONLinesReader(files=folder / "a.jsonl", fields=fields, batch_size=1)
    opened = flow.open(folder / "a.jsonl", fields=fields)
    assert list(opened.fields) == ["score", "lang", "tokens"]
    assert [opened.fields[blob.name.rpartition("/")[2]].dtype for blob in read] == [
        "float64", "bytes", "int64"
    ]  # fmt: skip
    assert opened[0]["score"] == 0.5 and opened[0]["lang"] == b"de"
    as_dict = flow.open(folder / "part-0.csv", fields={"x": "float32", "n": "int64=-1"})
    assert as_dict[3] == {"x": np.float32(0.75), "n": 3} and as_dict[3]["x"].dtype == np.float32
    for wrong in ({"x": np.float32}, {"x": ""}, {3: "int8"}):
        with pytest.raises(flow.InvalidArgumentError, match="a dict has the type of each field"):
            flow.open(folder / "part-0.csv", fields=wrong)
    np.save(folder / "x.npy", np.zeros((3, 4), np.float32))
    for same in ("out:float32", "out:float32[4]", "y=out", "y=out:float32"):
        (field,) = flow.open(folder / "x.npy", fields=[same]).fields.values()
        assert field.type == "float32[4]"
    for other, says in (
        ("out:float64", r"its type is float32\[4\].*map\(flow.Cast, 'out', dtype='float64'\)"),
        ("out:float32[?]", "leave the type out$"), ("out:garbage", "leave the type out$"),
        ("out:float32=1", "nor a default"), ({"out": "bytes"}, "leave the type out$"),
    ):  # fmt: skip
        with pytest.raises(flow.InvalidArgumentError, match=says):
            flow.open(folder / "x.npy", fields=other)
    for spec in ("z", "x=z"):
        with pytest.raises(flow.InvalidArgumentError, match="no field 'z'; there are n, x"):
            flow.open(folder / "part-0.csv", fields=[spec])


def test_a_field_that_comes_after_the_first_records(tmp_path):
    lines, late = '{"i": 1, "text": "' + "a" * 40 + '"}\n', '{"i": 2, "late": 7}\n'
    (tmp_path / "late.jsonl").write_text(3000 * lines + late)
    with TFRecordWriter(tmp_path / "late.tfrecord") as writer:
        for i in range(300):
            writer.write({"i": [i], **({"late": [7]} if i == 299 else {})})
    for name in ("late.jsonl", "late.tfrecord"):
        with pytest.raises(flow.InvalidArgumentError, match=r"[Tt]here are i.*; only the first \d+ "
                           "records were looked at: if it comes later, write 'late:int64=-1'"):
            flow.open(tmp_path / name, fields=["i", "late"])
        given = flow.open(tmp_path / name, fields=["i", "late:int64=-1"])
        assert [int(given[i]["late"]) for i in (0, len(given) - 1)] == [-1, 7]
    (tmp_path / "all.jsonl").write_text(lines)
    with pytest.raises(flow.InvalidArgumentError, match="There are i, text$"):
        flow.open(tmp_path / "all.jsonl", fields=["late"])


def test_texts_of_a_generator_are_declared_as_those_of_json_lines():
    fields = ["text:str", "t=other:str", "n:int64"]
    texts = [("a", b"bc", 1), ("\u00e4", "", 2)]
    samples = [{"text": text, "other": other, "n": n} for text, other, n in texts]
    found = list(flow.Dataset(flow.GeneratorReader(samples, fields=fields, batch_size=1)))
    assert [(r["text"], r["t"], r["n"]) for r in found] == [
        (b"a", b"bc", 1), ("\u00e4".encode(), b"", 2)
    ]  # fmt: skip
    says = "neither 'bytes' or 'str' nor a dtype .*did you mean 'bytes'"
    with pytest.raises(flow.InvalidArgumentError, match=says):
        flow.GeneratorReader(samples, fields=["text:string"], batch_size=1)


MAKERS = [
    samples.mini, samples.tfrecord, samples.shard, samples.text_lines, samples.table,
    samples.manifest, samples.coco, samples.mds_index, samples.mds_alone, samples.mindrecord,
    samples.mnist, samples.mnist_gzip, samples.cifar_100, samples.tokens, examples, image_folder,
]  # fmt: skip


def test_every_format_can_be_looked_at_by_number(tmp_path):
    readers = set()
    for maker in MAKERS:
        (tmp_path / maker.__name__).mkdir()
        data = flow.open(maker(tmp_path / maker.__name__)[0])
        in_order = list(data)
        assert len(data) == len(in_order) > 1, maker
        for place in (0, len(data) // 2, -1):
            assert_same(data[place], in_order[place])
        backwards = data[::-1].rows(range(len(data)))
        for place, record in enumerate(reversed(in_order)):
            assert_same({name: backwards[name][place] for name in record}, record)
        readers.add(repr(data).partition(":")[2].partition(",")[0])
    assert len(readers) >= 12, readers


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, value in other.items():
        value = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value
        found = np.frombuffer(one[name], np.uint8) if isinstance(one[name], bytes) else one[name]
        assert np.array_equal(found, value), name


def test_several_formats_make_one_data_set_where_fields_agree(folder):
    with NpyWriter(folder / "n.npy") as writer:
        writer.write_batch(np.arange(100, 105))
    both = flow.open(folder / "part-0.csv", fields=["n"]).concat(
        flow.open(folder / "n.npy").rename({"out": "n"})
    )
    assert numbers(both) == [*range(10), *range(100, 105)]
    with pytest.raises(flow.InvalidArgumentError, match=r"part-0.csv is CSV, .*n.npy is NumPy"):
        flow.open([folder / "part-0.csv", folder / "n.npy"])
    with pytest.raises(flow.InvalidArgumentError, match=r"is CSV, .* is CSV \(gzip\)"):
        flow.open([folder / "part-0.csv", compressed(folder)[0]])


def test_compressed_files_are_read_in_sequence(folder):
    data = flow.open(compressed(folder))
    assert numbers(data) == [*range(30)] and len(data.head(3)) == 3 and bool(data)
    assert "a stream without len()" in repr(data)
    for wrong in (lambda: len(data), lambda: data[3], lambda: data.rows([3])):
        with pytest.raises(TypeError, match="read in sequence"):
            wrong()
    both = flow.from_arrays({"n": np.arange(5), "x": np.arange(5) / 4})
    for wrong in (
        lambda: data.take(3), lambda: data[3:], lambda: data.where("n > 3"), lambda: data[[1]],
        lambda: data.shuffle(seed=1).take(3), lambda: data.split([0.5, 0.5]),
        lambda: data.concat(both), lambda: both.concat(data),
        lambda: data.zip(flow.from_arrays({"z": np.arange(30)})),
        lambda: flow.Dataset({"n": flow.Cast(data["n"], dtype="int8")}).repeat(2),
    ):  # fmt: skip
        with pytest.raises(flow.UnsupportedError, match=r"\(gzip\).*shuffle\(\) and batch"):
            wrong()
    with flow.DataLoader(data.shuffle(seed=1).batch(4).blobs) as loader:
        found = [int(n) for batch in loader for n in batch["n"]]
    assert sorted(found) == [*range(30)] != found
    assert numbers(data.cache(folder / "cache").take(3)[::-1]) == [2, 1, 0]
    (folder / "plain").mkdir()
    plain = NpyWriter(folder / "plain" / "a.npy")
    with plain as writer:
        writer.write_batch(np.arange(5))
    packed = folder / "plain" / "b.npy.gz"
    packed.write_bytes(gzip.compress((folder / "plain" / "a.npy").read_bytes()))
    assert [int(one["out"]) for one in flow.open(packed)[::-2]] == [4, 2, 0]  # is in memory


def test_files_without_records_are_data_sets_of_none(folder):
    (folder / "none.csv").write_text("n,x\n")
    data = flow.open(folder / "none.csv", fields=["n:int64", "x:float64"])
    assert len(data) == 0 and not data and list(data) == [] and data.head() == []
    assert len(data.take(3)) == 0
    with pytest.raises(IndexError, match="record 0 of 0 records"):
        data[0]
    (folder / "empty.csv").write_bytes(b"")
    with pytest.raises(flow.InvalidArgumentError, match='give them, as in fields='):
        flow.open(folder / "empty.csv")


def test_wrong_arguments_are_refused(folder):
    path = folder / "part-0.csv"
    for attrs, words in (
        ({"batch_size": 4}, r"give it to batch\(batch_size=...\)"),
        ({"on_error": "skip"}, r"give it to batch\(on_error=...\)"),
        ({"random_shuffle": True}, r"use shuffle\(\)"),
        ({"last_batch": "drop"}, r"give it to batch\(last=...\)"),
        ({"shuffle_window": 4}, r"use shuffle\(\)"),
        ({"columns": ["n"]}, r"takes fields= in place of columns=, as in fields=\['n'\]"),
        ({"files": "a"}, "files is the first argument"),
        ({"delimeter": ";"}, "unknown attr 'delimeter'"),
        ({"format": "cvs"}, "format = 'cvs'; it must be one of .*; did you mean 'csv'"),
        ({"format": "jsonl"}, "did you mean 'json'"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=words):
            flow.open(path, **attrs)
    for paths in (3, None, {"a": 1}, [3], b"a", []):
        with pytest.raises(flow.InvalidArgumentError, match="path|no files were given"):
            flow.open(paths)
    rows = type("Dataset", (), {"__module__": "datasets.arrow_dataset"})()
    with pytest.raises(flow.InvalidArgumentError, match=r"huggingface\.from_datasets\(\) takes it"):
        flow.open(rows)
    (folder / "nothing").mkdir()
    for paths in (folder / "no.csv", str(folder / "*.tfrecord"), folder / "nothing"):
        with pytest.raises(flow.FileError, match="no file matches|is not there|folder is empty"):
            flow.open(paths)


def test_a_folder_of_pairs_has_each_once(tmp_path):
    samples.tokens(tmp_path)
    assert len(flow.open(tmp_path)) == 20
    assert repr(flow.open(tmp_path)).endswith("Megatron .bin/.idx, tokens.bin\n  tokens: uint16[?]")


def test_attrs_of_the_reader(folder):
    (folder / "semicolons.csv").write_text("n;x\n1;2\n3;4\n")
    data = flow.open(folder / "semicolons.csv", delimiter=";")
    assert numbers(data) == [1, 3]
    assert "delimiter" not in repr(data)  # of the file, not of what is done with it
    data = flow.open(folder / "part-0.csv", index_dir=str(folder / "indexes"))
    assert len(data) == 10 and any(os.scandir(folder / "indexes"))


def test_a_format_that_is_named_with_attrs_of_its_reader(tmp_path):
    rows = np.arange(12, dtype=np.int16).reshape(4, 3)
    rows.tofile(tmp_path / "rows.bin")
    data = flow.open(tmp_path / "rows.bin", format="raw", shape=(3,), dtype="int16")
    assert np.array_equal(data.rows(range(4))["out"], rows)


# ---- Columns that nothing uses ------------------------------------------------------------------


def delivered(data, names, **options):
    """What two epochs of shuffled batches of some fields have, and the states after each batch."""
    found, states = [], []
    with flow.DataLoader(data.project(names).shuffle(seed=3).batch(4).blobs, **options) as loader:
        for _ in range(2):
            for batch in loader:
                rows = zip(*(np.asarray(batch[name]).tolist() for name in names), strict=True)
                found.append(list(rows))
                states.append(loader.state_dict())
    return found, states


def test_a_column_that_nothing_uses_is_not_read_and_no_order_or_state_depends_on_it(tmp_path):
    rows = [(i, i / 2, "broken" if i == 7 else i) for i in range(30)]
    lines = [f'{{"a":{a},"b":{b},"c":{f"{c!r}" if c != "broken" else "[]"}}}' for a, b, c in rows]
    (tmp_path / "x.csv").write_text("a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    fields = ["a:int64", "b:float64", "c:int64"]
    for name in ("x.csv", "x.jsonl"):
        data = flow.open(tmp_path / name, fields=fields)
        with pytest.raises(flow.CorruptDataError, match=name):
            delivered(data, ["a", "c"])
        few, states = delivered(data, ["a"])
        more, others = delivered(data, ["b", "a"])
        assert few == [[(a,) for _, a in batch] for batch in more]
        for names, state, place in (("a", others[8], 9), ("ba", states[8], 9)):
            blobs = data.project(list(names)).shuffle(seed=3).batch(4).blobs
            with flow.DataLoader(blobs) as loader:  # each takes the state of the other one
                loader.load_state_dict(state)
                assert next(iter(loader))["a"].tolist() == [a for (a,) in few[place]]
        joined = data.project("b").concat(data.project("a").rename(a="b").map(
            lambda r: {"b": float(r["b"])}))  # fmt: skip
        assert [r["b"] for r in joined] == [b for _, b, _ in rows] + [a for a, *_ in rows]
        halves = data.take(5).map(lambda a, b: {"half": a == 2 * b})
        assert all(halves.column("half")) and len(halves.drop("c").where("half")) == 5
    first, second = flow.CSVReader(files=tmp_path / "x.csv", columns=["a:int64", "b=1:float64"])
    second = flow.Dataset({"a": first, "b": second}).project("b")
    assert len(second) == 30  # the name "a" makes the first line a header
    reader = flow.CSVReader(files=tmp_path / "x.csv", columns=fields, batch_size=10, with_id=True)
    with flow.DataLoader(reader[-1]) as ids:
        assert [batch[:, 1].tolist() for batch in ids] == [[*range(i, i + 10)] for i in (0, 10, 20)]
