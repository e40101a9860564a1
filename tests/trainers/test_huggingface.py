"""from_datasets: the rows of a dataset of Hugging Face, against indexing it by NumPy."""

import io
import pickle

import numpy as np
import pytest

# Not "datasets" alone, which is a folder of tests, too.
pytest.importorskip("datasets.arrow_dataset", reason="datasets is not installed")
import datasets  # noqa: E402

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.huggingface import ArrowRows, from_datasets  # noqa: E402

N = 203
X = np.random.default_rng(0).random((N, 4), np.float32)
LISTS = [np.arange(i % 5, dtype=np.int32) + i for i in range(N)]
BOXES = [np.full((i % 4, 2), i, np.float32) for i in range(N)]
COLUMNS = {
    "x": (datasets.List(datasets.Value("float32"), length=4), [row.tolist() for row in X]),
    "y": (datasets.Value("int64"), [*range(N)]),
    "half": (datasets.Value("float16"), [np.float16(i) for i in range(N)]),
    "small": (datasets.Value("uint8"), [i % 256 for i in range(N)]),
    "is_odd": (datasets.Value("bool"), [i % 2 == 1 for i in range(N)]),
    "label": (datasets.ClassLabel(names=["a", "b", "c"]), [i % 3 for i in range(N)]),
    "text": (datasets.Value("string"), ["gr\u00fc\u00df" * (i % 4) for i in range(N)]),
    "binary": (datasets.Value("large_binary"), [bytes([i]) * (i % 3) for i in range(N)]),
    "ids": (datasets.List(datasets.Value("int32")), [one.tolist() for one in LISTS]),
    "matrix": (datasets.Array2D((2, 3), "int16"), [np.full((2, 3), i, np.int16) for i in range(N)]),
    "boxes": (datasets.Array2D((None, 2), "float32"), BOXES),
}
TRUTH = {  # what NumPy has of them
    "x": [*X],
    "half": [np.float16(i) for i in range(N)],
    "text": [text.encode() for text in COLUMNS["text"][1]],
    "ids": LISTS,
    "matrix": [np.full((2, 3), i, np.int16) for i in range(N)],
    "boxes": BOXES,
} | {name: COLUMNS[name][1] for name in ("y", "small", "is_odd", "label", "binary")}


def make_rows(*names):
    names = names or tuple(COLUMNS)
    features = datasets.Features({name: COLUMNS[name][0] for name in names})
    return datasets.Dataset.from_dict({name: COLUMNS[name][1] for name in names}, features=features)


def on_disk(rows, folder):
    rows.save_to_disk(folder, num_shards=3)
    return datasets.load_from_disk(folder)


def check_values(batch, indexes):
    for name, column in batch.items():
        values = column.to_bytes_list() if name in ("text", "binary") else column
        for value, i in zip(values, indexes, strict=True):
            assert np.array_equal(value, TRUTH[name][i]), (name, i)


# ---- Values -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["memory", "disk", "chosen"])
def test_the_rows_are_those_of_the_dataset(kind, tmp_path):
    rows, numbers = make_rows(), np.arange(N)
    if kind == "disk":
        rows = on_disk(rows, tmp_path)
    if kind == "chosen":
        numbers = np.random.default_rng(1).permutation(N)[:90]
        rows = rows.select(numbers.tolist()).with_format("numpy")
    data = from_datasets(rows)
    assert len(data) == len(numbers)
    found = []
    with flow.DataLoader(data.shuffle(seed=3).batch(16, with_id=True)) as loader:
        for *batch, ids in loader:
            check_values(dict(zip(COLUMNS, batch, strict=True)), numbers[ids[:, 1]])
            found += ids[:, 1].tolist()
    assert sorted(found) == [*range(len(numbers))] and found != sorted(found)


def test_the_types_are_those_of_the_features():
    assert ArrowRows(make_rows()).fields == [
        "x:float32[4]", "y:int64", "half:float16", "small:uint8", "is_odd:bool", "label:int64",
        "text:bytes", "binary:bytes", "ids:int32[?]", "matrix:int16[2,3]", "boxes:float32[?,2]",
    ]  # fmt: skip
    assert ArrowRows(make_rows(), ["label", "y"]).fields == ["label:int64", "y:int64"]
    assert ArrowRows(make_rows().with_format("numpy", columns=["y"])).fields == ["y:int64"]


def test_images_are_the_bytes_of_their_files(tmp_path):
    image_module = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    pixels = np.random.default_rng(2).integers(0, 256, (6, 9, 7, 3), np.uint8)
    images = [image_module.fromarray(one) for one in pixels]
    images[3].save(tmp_path / "3.png")
    rows = datasets.Dataset.from_dict(
        {"image": [*images[:3], str(tmp_path / "3.png"), *images[4:]]},
        features=datasets.Features({"image": datasets.Image()}),
    )
    batch = from_datasets(rows).batch(6)
    with flow.DataLoader(flow.Resize(flow.ImageDecoder(batch["image"]), size=(9, 7))) as loader:
        [found] = loader
    assert np.array_equal(found, pixels)
    first = from_datasets(rows)[0]["image"]
    assert np.array_equal(image_module.open(io.BytesIO(bytes(first))), pixels[0])


def test_a_null_is_a_damaged_record():
    rows = datasets.Dataset.from_dict({"x": [1, None, 3, 4], "t": ["a", "b", "c", None]})
    batch = from_datasets(rows).batch(4, on_error="skip")
    with flow.DataLoader(batch["x"], batch["t"]) as loader:
        [(x, t)] = loader
        assert (x.tolist(), t.to_bytes_list()) == ([1, 3], [b"a", b"c"])
        assert ["'x' is null" in str(loader.skipped[0]), len(loader.skipped)] == [True, 2]
    with pytest.raises(flow.CorruptDataError, match="the column 'x' is null"):
        [*flow.DataLoader(from_datasets(rows).batch(4))]


def test_columns_may_have_the_names_of_a_readers_outputs():
    names = ("id", "mask", "id_", "mask__")
    rows = datasets.Dataset.from_dict({name: [i, i + 10] for i, name in enumerate(names)})
    data = from_datasets(rows)
    assert [*data.fields] == [*names]
    with flow.DataLoader(data.batch(2)[[*names]]) as loader:
        [batch] = loader
    assert [x.tolist() for x in batch] == [*rows.to_dict().values()]
    with pytest.raises(flow.InvalidArgumentError, match="a blob 'id'.*rename"):
        data.batch(2, with_id=True)
    renamed = data.rename({"id": "number"}).batch(1, with_id=True)
    with flow.DataLoader(renamed["number"], renamed["id"]) as loader:
        assert [(x.tolist(), ids.tolist()) for x, ids in loader] == [
            ([0], [[0, 0]]), ([10], [[0, 1]]),
        ]  # fmt: skip


# ---- Order --------------------------------------------------------------------------------------


def by(source):
    if source == "from_datasets":
        return from_datasets(make_rows("y", "x"))
    rows = make_rows("y", "x").with_format("numpy" if source == "numpy" else None)
    return flow.Dataset(flow.GeneratorReader(rows, fields=["y:int64", "x:float32[4]"]))


@pytest.mark.parametrize("source", ["from_datasets", "numpy", "plain"])
@pytest.mark.parametrize("world_size", [1, 3])
def test_order_ranks_and_resume_are_those_of_an_array(source, world_size):
    """The truth is from_arrays() of the same rows; the state of one rank is loaded by others."""
    truth, data = flow.from_arrays({"y": np.arange(N), "x": X}), by(source)

    def epochs(data, rank, state=None, *, world_size=world_size):
        batch = data.shuffle(seed=7).batch(24, rank=rank, world_size=world_size)
        with flow.DataLoader(batch["y"], batch["x"]) as loader:
            if state is not None:
                loader.load_state_dict(state)
            found, middle = [], None
            for _ in range(2 if state is None else 1):
                for step, (y, x) in enumerate(loader):
                    assert np.array_equal(x, X[y])
                    found.append(y.tolist())
                    middle = loader.state_dict() if step == 4 and len(found) < 6 else middle
            return found, middle

    for rank in range(world_size):
        expected = epochs(truth, rank)[0]
        found, middle = epochs(data, rank)
        assert found == expected
        assert epochs(data, rank, middle)[0] == found[5:9]
    elsewhere = [epochs(data, rank, middle, world_size=2)[0] for rank in range(2)]
    alone = epochs(truth, 0, world_size=1)[0][5:9]
    assert [a + b for a, b in zip(*elsewhere, strict=True)] == alone


def test_it_can_be_pickled(tmp_path):
    data = pickle.loads(pickle.dumps(from_datasets(on_disk(make_rows("y"), tmp_path))))
    with flow.DataLoader(data.batch(N)) as loader:
        [[y]] = loader
    assert y.tolist() == [*range(N)]


# ---- What is refused ----------------------------------------------------------------------------


def nested():
    return datasets.Dataset.from_dict({"y": [1], "deep": [[[1], [2, 3]]]})


@pytest.mark.parametrize("make, text", [
    (nested, "the column 'deep' is list<.*name the other columns in columns="),
    (lambda: datasets.Dataset.from_dict({"at": [{"a": 1}]}), "the column 'at' is struct<a: int64>"),
    (lambda: datasets.DatasetDict(train=nested()), "give a datasets.Dataset; of a DatasetDict one"),
    (lambda: nested().to_iterable_dataset(), "give a datasets.Dataset"),
    (lambda: nested().with_transform(lambda rows: rows), "the dataset has a transform"),
    (lambda: datasets.Dataset.from_dict({"a=b": [1]}), "cannot have the name 'a=b'"),
    (lambda: datasets.Dataset.from_dict({"": [1]}), "cannot have the name ''"),
    (lambda: datasets.Dataset.from_dict({"y": []}), "the dataset has no rows"),
    (lambda: nested().filter(lambda row: False), "the dataset has no rows"),
])  # fmt: skip
def test_what_is_refused(make, text):
    with pytest.raises(flow.InvalidArgumentError, match=text):
        from_datasets(make())


def test_columns_that_are_not_there():
    with pytest.raises(flow.InvalidArgumentError, match="no column 'z'; there are: y, deep"):
        from_datasets(nested(), ["z"])
    assert [*from_datasets(nested(), ["y"]).fields] == ["y"]


def test_one_column_may_be_named_alone():
    text = make_rows("text", "y")
    assert [*from_datasets(text, "text").fields] == ["text"]
    for columns, said in (([], "no column is named"), (["y", "y"], "'y' is named twice")):
        with pytest.raises(flow.InvalidArgumentError, match=said):
            from_datasets(text, columns)


def test_functions_that_do_not_take_one_name_the_one_that_does():
    rows = make_rows("y")
    of_tables = (flow.from_arrays, flow.from_arrow)
    for call in (*of_tables, flow.Dataset, flow.open):
        if hasattr(type(rows), "__arrow_c_stream__") and call in of_tables:
            assert call(rows).column("y").tolist() == COLUMNS["y"][1]
            continue
        with pytest.raises(flow.InvalidArgumentError, match=r"huggingface\.from_datasets\(\)"):
            call(rows)
