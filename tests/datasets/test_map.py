"""Functions over fields of data sets; fields chosen and named; several rows of a record."""

import json
import math
import os
import pickle

import numpy as np
import pytest
from support import process_functions as own

import pyflowdata as flow
from pyflowdata.errors import InvalidArgumentError, UserFunctionError

SIZE = 41


def text_of(i):
    return "ab" * (i % 4)


SAMPLES = [
    {"x": np.full(2, i, np.float32), "y": i, "text": text_of(i), "tokens": np.arange(3 * (i % 5))}
    for i in range(SIZE)
]


def made(*names):
    specs = {"x": "x:float32[2]", "y": "y:int64", "text": "text:bytes", "tokens": "tokens:int64[?]"}
    names = names or tuple(specs)
    blobs = flow.GeneratorReader(SAMPLES, fields=[specs[name] for name in names])
    return flow.Dataset(dict(zip(names, blobs if len(names) > 1 else [blobs], strict=True)))


def types(data):
    return {name: field.type for name, field in data.fields.items()}


def records(data):
    return [{name: np.asarray(value).tolist() for name, value in one.items()} for one in data]


def batches(batch, **options):
    with flow.DataLoader(batch.blobs, **options) as loader:
        return list(loader)


# ---- Fields -------------------------------------------------------------------------------------


def test_fields_are_chosen_dropped_and_renamed():
    data = made()
    assert list(data.project("y", "x").fields) == ["y", "x"]
    assert list(data.drop("text", "x").fields) == ["y", "tokens"]
    renamed = data.rename({"x": "y", "y": "x"}).rename(text="words")
    assert types(renamed) == {
        "y": "float32[2]", "x": "int64", "words": "bytes", "tokens": "int64[?]"
    }  # fmt: skip
    assert renamed[7]["x"] == 7 and renamed[7]["words"] == text_of(7).encode()
    order = [one["y"] for one in data.shuffle(seed=3)]
    assert [one["y"] for one in data.shuffle(seed=3).project("y")] == order != list(range(SIZE))
    with pytest.raises(flow.InvalidArgumentError, match="no field 'z'; there are y, x, words"):
        renamed.map(len, "z")
    for wrong, text in (
        (lambda: data.project("z"), "no field 'z'; there are x, y, text, tokens"),
        (lambda: data.project("x", "x"), "'x' is named twice"),
        (lambda: data.drop("z"), "no field 'z'"),
        (lambda: data.project("x").drop("x"), "of all fields"),
        (lambda: data.rename(x="y"), "two fields would be called 'y'"),
        (lambda: data.rename(x=""), "the new name of 'x' is ''"),
        (lambda: data.rename(z="a"), "no field 'z'"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=text):
            wrong()


# ---- map ----------------------------------------------------------------------------------------


def test_an_op_takes_the_place_of_its_field():
    data = made("x", "y").map(flow.Affine, "x", scale=2.0, shift=1.0)
    assert types(data) == {"x": "float32[2]", "y": "int64"}
    assert data[5]["x"].tolist() == [11, 11]
    added = data.map(flow.Affine, "y", outputs="z", scale=0.5)
    assert list(added.fields) == ["x", "y", "z"] and added[5]["z"] == 2.5
    padded = made("tokens").map(flow.Pad, outputs=["ids", "valid"], shape=[12], with_mask=True)
    assert padded[1]["ids"].tolist() == [0, 1, 2] + [0] * 9
    with pytest.raises(flow.InvalidArgumentError, match="gives 2 results; outputs must have"):
        made("tokens").map(flow.Pad, shape=[4], with_mask=True)
    with pytest.raises(flow.InvalidArgumentError, match="for Python functions, and Affine is"):
        data.map(flow.Affine, "x", scale=2.0, processes=1)


def test_a_function_of_rows():
    data = made()
    doubled = data.map(own.double, "x")
    assert types(doubled) == types(data) and doubled[4]["x"].tolist() == [8, 8]
    more = data.map(own.lengths, "text", "x", factor=10)
    assert types(more) == {**types(data), "length": "int64", "sum": "float64"}
    assert [(one["length"], one["sum"]) for one in more] == [
        (20 * (i % 4), 2.0 * i) for i in range(SIZE)
    ]
    upper = data.map(bytes.upper, "text", outputs="upper").map(len, "upper", outputs="n")
    assert types(upper)["upper"] == "bytes" and types(upper)["n"] == "int64"
    assert upper[3]["upper"] == b"ABABAB" and upper[3]["n"] == 6
    texts = data.map(lambda text, y: f"{text.decode()}{y}", "text", "y", outputs={"name": "bytes"})
    assert texts[11]["name"] == b"ababab11"
    both = data.map(lambda x, y: (x + 1, float(y)), "x", "y")
    assert types(both)["y"] == "float64" and both[3]["x"].tolist() == [4, 4]


@pytest.mark.parametrize("processes", [0, 1])
def test_an_error_names_the_line_of_the_function(processes):
    data = made("y").map(own.fails_at_six, "y", outputs={"z": "float64"}, processes=processes)
    line = own.fails_at_six.__code__.co_firstlineno + 2
    with flow.DataLoader(data.batch(4)["z"]) as loader:
        with pytest.raises(flow.UserFunctionError, match=rf"boom \(.*_functions.py:{line}\)"):
            list(loader)


@pytest.mark.parametrize("processes", [0, 1])
@pytest.mark.parametrize("outputs", [None, {"n": "int64"}])
def test_an_error_of_a_function_without_lines_names_none(processes, outputs):
    data = flow.from_arrays({"text": [b"1", b"one"]})
    with pytest.raises(flow.UserFunctionError) as caught:
        data.map(int, "text", outputs=outputs, processes=processes)[1]
    message = caught.value.message.removesuffix(
        ", for number 1 of the first records, from which map finds the types"
    )
    assert message.endswith("invalid literal for int() with base 10: b'one'")


def test_fields_may_have_any_name():
    names = ["name", "in", "seed", "a b", "rng"]
    blobs = flow.GeneratorReader([(1,) * 5] * 3, fields=[f"f{i}=y:int64" for i in range(5)])
    data = flow.Dataset(dict(zip(names, blobs, strict=True)))
    for field in names:
        mapped = data.map(lambda name: name + 1, field)
        assert list(mapped.fields) == names and mapped[1][field] == 2
    assert data.map(lambda x: x, "name", outputs={"a,b": "int64"})[0]["a,b"] == 1


def test_types_are_those_of_the_first_records_or_given():
    data = made()
    cut = data.map(lambda tokens: tokens[:2], "tokens", outputs="cut")
    assert types(cut)["cut"] == "int64[?]"  # the first records have 0, 2, 2, 2
    given = data.map(
        lambda x: (x[0], x.tolist()), "x", outputs={"a": "float32", "b": "float32[2]"}
    )
    assert types(given)["b"] == "float32[2]" and given[9]["b"].tolist() == [9, 9]
    short = data.map(lambda y: np.zeros(max(y, 4)), "y")  # the first ones are alike
    assert types(short)["y"] == "float64[4]"
    with pytest.raises(flow.UserFunctionError, match=r"\(5,\), and \(4,\) is declared"):
        short[5]
    for function, text in (
        (lambda x: None, "the result 'x' is None"),
        (lambda x: {"a": object()}, "the result 'a'"),
        (lambda x: (x, x), "gives 2 results"),
        (lambda x, z: x, r"takes x, z, and 1 field is given"),
        (lambda: 1, r"takes no rows, and 1 field is given"),
        (lambda x, *, k: x, r"needs the argument 'k'"),
        (lambda x: x if x[0] else 1, "is int64 .* for one record"),
        (7, "must be a function"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=text):
            data.map(function, "x")
    with pytest.raises(flow.InvalidArgumentError, match=r"outputs=\{'y': 'int64\[\?\]'\}"):
        data.map(lambda r: {"y": [list(range(i)) for i in range(len(r["x"]))]}, batched=True)
    with pytest.raises(flow.InvalidArgumentError, match="has no parameter 'j'; it has x"):
        data.map(own.double, "x", j=1)
    with pytest.raises(flow.InvalidArgumentError, match="no fields were named, and there are 4"):
        data.map(lambda a, b: a)
    with pytest.raises(flow.InvalidArgumentError, match=r"name those .* map\(function, '\w+'\)"):
        data.batch(2).map(lambda r: r)
    with pytest.raises(flow.InvalidArgumentError, match="'bytes' for bytes and texts; dtypes"):
        data.map(own.double, "x", outputs={"a": "str"})


def test_nothing_is_read_where_types_are_given():
    class Watched(list):
        def __getitem__(self, i):
            raise AssertionError("read")

    blob = flow.GeneratorReader(Watched(SAMPLES), fields=["y:int64"])
    data = flow.Dataset({"y": blob}).map(lambda y: y, outputs={"z": "int64"})
    assert list(data.fields) == ["y", "z"]


def test_random_numbers_belong_to_the_record():
    data = made("x").map(own.noise, "x", outputs={"noise": "float64"}, name="noise", scale=2.0)
    batch = data.shuffle(seed=1).batch(8, seed=4)
    seen = {}
    for options in ({"num_threads": 1}, {"num_threads": 2, "prefetch": 3}):
        found = {}
        for one in batches(batch, **options):
            for x, noise in zip(one["x"], one["noise"], strict=True):
                found[x[0]] = noise
        assert len(set(found.values())) == SIZE and 0 < max(found.values()) < 2
        assert seen in ({}, found)
        seen = found
    for one in batches(data.batch(5, seed=4)):
        for x, noise in zip(one["x"], one["noise"], strict=True):
            assert seen[x[0]] == noise
    twice = data.repeat(2).batch(64, seed=4)
    first, second = np.concatenate([one["noise"] for one in batches(twice)]).reshape(2, SIZE)
    assert not np.any(first == second)  # each draw of a record has its own


@pytest.mark.slow
def test_in_processes_it_is_the_same():
    data = made("x", "text", "tokens")
    outputs = {"length": "int64", "pid": "int64"}
    seen = []
    for processes in (0, 2):
        mapped = data.map(own.lengths_and_pid, "text", "x", outputs=outputs, processes=processes)
        assert mapped[3]["pid"] == mapped.head(1)[0]["pid"] == os.getpid()
        seen.append(batches(mapped.shuffle(seed=1).batch(9)))
    for one, other in zip(*seen, strict=True):
        assert one["length"].tolist() == other["length"].tolist()
        assert one["x"].tolist() == other["x"].tolist()
    assert set(seen[0][0]["pid"].tolist()) == {os.getpid()}
    pids = set(np.concatenate([one["pid"] for one in seen[1]]).tolist())
    assert os.getpid() not in pids and 1 <= len(pids) <= 2


def test_views_and_maps_in_any_order():
    data = made("x", "y")
    one = data.map(own.double, "x").take(20).shuffle(seed=5)
    other = data.take(20).shuffle(seed=5).map(own.double, "x")
    assert records(one) == records(other)
    assert sorted(x["y"] for x in records(one)) == list(range(20))
    mixed = data.take(2).map(own.double, "x").concat(data.skip(39))
    assert [x["x"][0] for x in records(mixed)] == [0, 2, 39, 40]


def test_a_mapped_data_set_can_be_pickled():
    data = made("x", "y").map(own.double, "x").map(own.double, "y", outputs="z")
    again = pickle.loads(pickle.dumps(data))
    assert records(again) == records(data)
    assert data.map(own.double, "x")["x"].node.op is data.map(own.double, "x")["x"].node.op


# ---- Batches ------------------------------------------------------------------------------------


def test_a_function_of_batches():
    batch = made("x", "y", "tokens").batch(8)
    more = batch.map(lambda x, y: x - x.mean(axis=0) + y[:, None], "x", "y", outputs="centred")
    more = more.map(lambda tokens: [row[::-1] for row in tokens], outputs={"back": "int64[?]"},
                    *["tokens"])  # fmt: skip
    assert list(more.blobs) == ["x", "y", "tokens", "centred", "back"]
    assert more["centred"].shape == (8, 2) and more["back"].shape == (8, None)
    for one in batches(more):
        x, y = one["x"], one["y"]
        assert np.allclose(one["centred"], x - x.mean(axis=0) + y[:, None])
        for a, b in zip(one["tokens"], one["back"], strict=True):
            assert a.tolist() == b[::-1].tolist()
    again = batch.map(flow.Affine, "x", scale=3.0)
    assert list(again.blobs) == ["x", "y", "tokens"]
    centre = flow.register_decoder(
        lambda x: x - x.mean(axis=0), outputs={"out": lambda x: x}, name="CentreOfMap", replace=True
    )
    one, _, _ = next(iter(batches(batch.map(centre, "x")))).values()
    assert one[:, 0].tolist() == [i - 3.5 for i in range(8)]
    with pytest.raises(flow.InvalidArgumentError, match="use it after batch"):
        made("x").map(centre, "x")
    with pytest.raises(flow.UserFunctionError, match=r"shape \(1, 2\), and \(8, 2\)"):
        batches(batch.map(lambda x: x[:1], "x", outputs={"x": "float32[2]"}))


# ---- flat_map -----------------------------------------------------------------------------------


def test_row_p_is_part_of_record():
    data = made("tokens", "y").map(lambda y: y + 0.5, "y", outputs="z")
    flat = data.flat_map(own.thirds, "tokens", fan_out=3, outputs={"part": "int64[?]"})
    assert types(flat) == {"tokens": "int64[?]", "y": "int64", "z": "float64", "part": "int64[?]"}
    assert len(flat) == 3 * SIZE
    wanted = [
        (own.thirds(one["tokens"])[part].tolist(), one["y"], one["tokens"].tolist())
        for one in SAMPLES for part in range(3)
    ]  # fmt: skip
    assert [(x["part"], x["y"], x["tokens"]) for x in records(flat)] == wanted
    for at in (0, 1, 50, 3 * SIZE - 1):
        assert flat[at]["part"].tolist() == wanted[at][0] and flat[at]["y"] == wanted[at][1]
    for size in (1, 2, 7):
        shuffled = batches(flat.shuffle(seed=2).batch(size, seed=1), num_threads=2)
        seen = [(row.tolist(), y) for one in shuffled for row, y in zip(one["part"], one["y"])]
        assert sorted(seen) == sorted((part, y) for part, y, _ in wanted)
        assert seen != [(part, y) for part, y, _ in wanted]


def test_dense_parts_and_several_outputs():
    images = [np.arange(12, dtype=np.uint8).reshape(2, 2, 3) + i for i in range(9)]
    blob = flow.GeneratorReader(images, fields=["image:uint8[2,2,3]"])
    data = flow.Dataset({"image": blob})
    flat = data.flat_map(own.corners, "image", fan_out=2, outputs=["corner", "which"])
    assert types(flat) == {
        "image": "uint8[2,2,3]", "corner": "uint8[1,1,3]", "which": "int64"
    }  # fmt: skip
    for p, one in enumerate(flat):
        image = images[p // 2]
        assert one["which"] == p % 2 and np.array_equal(one["image"], image)
        assert np.array_equal(one["corner"], [[image[-1, -1] if p % 2 else image[0, 0]]])
    twice = flat.flat_map(lambda which: [which, which + 10, which + 20], "which", fan_out=3)
    assert [one["which"] for one in records(twice)] == [
        p // 3 % 2 + p % 3 * 10 for p in range(54)
    ]


def test_a_record_is_computed_once_for_its_rows():
    calls = []

    def parts(y):
        calls.append(int(y))
        return [y, y, y, y]

    flat = made("y").flat_map(parts, "y", fan_out=4, outputs={"part": "int64"})
    loaded = batches(flat.batch(16), num_threads=1, prefetch=1)
    assert np.concatenate([one["part"] for one in loaded]).tolist() == [
        p // 4 for p in range(4 * SIZE)
    ]
    assert calls[:SIZE] == list(range(SIZE))  # then those of the next epoch


def test_parts_have_random_numbers_of_their_own():
    flat = made("y").flat_map(lambda y: [y] * 4, "y", fan_out=4)
    noisy = flat.map(own.noise, "y", outputs={"noise": "float64"}, name="noise")
    found = np.concatenate([one["noise"] for one in batches(noisy.batch(6, seed=3))])
    assert len(set(found.tolist())) == 4 * SIZE
    shuffled = {
        (y, noise)
        for one in batches(noisy.shuffle(seed=1).batch(9, seed=3))
        for y, noise in zip(one["y"].tolist(), one["noise"].tolist(), strict=True)
    }
    assert shuffled == {(p // 4, noise) for p, noise in enumerate(found.tolist())}


def test_damaged_records_lose_all_their_rows():
    def careful(y):
        if y == 5:
            raise flow.CorruptDataError("is no good")
        return [y, y]

    flat = made("y").flat_map(careful, "y", fan_out=2, outputs={"y": "int64"})
    with flow.DataLoader(flat.batch(8, on_error="skip")["y"]) as loader:
        found = np.concatenate(list(loader)).tolist()
        assert [one.ordinal for one in loader.skipped] == [5, 5]
    assert found == [y for y in range(SIZE) if y != 5 for _ in range(2)]


def test_parts_must_be_as_many():
    data = made("y")
    for function, fan_out, text in (
        (lambda y: [y, y], 3, r"attr 'fan_out' = 3; the rows of input number 0 are int64 \(2,?\)"),
        (lambda y: y, 3, "attr 'fan_out' = 3"),
        (lambda y: [y], 0, "fan_out.* = 0"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=text):
            data.flat_map(function, "y", fan_out=fan_out)
    varying = data.flat_map(lambda y: np.zeros(2 + y // 3), "y", fan_out=2)
    assert varying[0]["y"] == 0
    with pytest.raises(flow.CorruptDataError, match="has 3 elements in this record; .* says 2"):
        varying[2 * 4]


def test_damaged_records_are_no_sample(tmp_path):
    """What a function returns is seen in records that can be read; on_error decides on others."""
    (tmp_path / "rows.csv").write_text("".join(f"{'?' if i < 5 else i}\n" for i in range(40)))

    def halved(x):
        if x == 5:
            raise flow.CorruptDataError("a record to be left out")
        return x / 2

    rows = flow.open(str(tmp_path / "rows.csv"), fields=["x=0:int64"], header="no")
    data = rows.map(halved, "x")
    assert types(data) == {"x": "float64"}
    with flow.DataLoader(data.batch(40, on_error="skip")) as loader:
        ((x,),) = loader
        assert x.tolist() == [i / 2 for i in range(6, 40)] and len(loader.skipped) == 6
    with pytest.raises(flow.CorruptDataError, match=r"rows\.csv:1"):
        rows.take(3).map(halved, "x")


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        (1, 1.5, "'n' has dtype float64, and int64 is declared, by outputs or by the first "
                 "records: declare .*{'n': 'float64'}"),
        (1, "one", "'n' is a text or bytes, and int64 is declared.*: declare .*{'n': 'bytes'}"),
        ("one", 1, "'n' is 1, and bytes or a text are declared"),
    ],
)
def test_a_later_result_of_another_type_is_named_with_the_type_to_declare(first, later, message):
    def value(r):
        return {"n": later if r["id"] > 2000 else first}

    with pytest.raises(flow.UserFunctionError, match=message):
        list(flow.range(3000).map(value))


@pytest.mark.parametrize(("dtype", "number"), [("float32", 1e300), ("float16", 70_000)])
def test_a_finite_number_that_a_declared_float_cannot_hold_is_refused(dtype, number):
    data = flow.range(7)
    for shape, value in (("", number), ("[2]", [1, number]), ("[?]", [number] * 3)):
        outputs = {"z": f"{dtype}{shape}"}
        said = rf"'z' has dtype (float|int)64, and {dtype} is declared"
        with pytest.raises(flow.UserFunctionError, match=said + r".*\(.*test_map\.py:\d+\)"):
            data.map(lambda r, value=value: {"z": value}, outputs=outputs)[0]
        with pytest.raises(flow.UserFunctionError, match=said):
            data.map(lambda id, value=value: value, "id", outputs=outputs)[0]
        with pytest.raises(flow.UserFunctionError, match=said):
            data.map(lambda b, value=value: {"z": [value] * len(b["id"])}, batched=True,
                     outputs=outputs)[0]  # fmt: skip
    held = data.map(lambda r: {"z": [math.inf, -math.inf, math.nan]}, outputs={"z": f"{dtype}[3]"})
    np.testing.assert_array_equal(held[0]["z"], [np.inf, -np.inf, np.nan])


def test_explode_of_texts_of_json_advises_to_parse_them(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"tags": ["a", "b"]}\n{"tags": ["c"]}\n')
    with pytest.raises(flow.InvalidArgumentError, match=r"JSON, json.loads\(r\['tags'\]\)"):
        flow.open(path).explode("tags")


def test_the_default_that_is_advised_for_a_late_gap_is_one_of_fields(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("name,seats\n" + "a,1\n" * 30_000 + "b,\n")
    with pytest.raises(flow.CorruptDataError, match="write 'seats:int64=0', which puts 0 there"):
        flow.open(path).column("seats")
    assert flow.open(path, fields=["seats:int64=0"]).column("seats")[-1] == 0


def test_values_that_no_field_holds_and_their_remedies():
    """What a message says to return can be returned."""
    data = flow.from_arrays({"text": [b"a b", b"c"], "n": np.arange(2)})
    for wrong, said, right, first in (
        (lambda r: {"k": r["text"].split()}, r'b"\\n".join\(\) of it; explode',
         lambda r: {"k": b"\n".join(r["text"].split())}, b"a\nb"),
        (lambda r: {"k": r["text"].decode().split()}, r"json.dumps\(\) of it; explode",
         lambda r: {"k": json.dumps(r["text"].decode().split())}, b'["a", "b"]'),
        (lambda r: {"k": {"a": int(r["n"])}}, r"a name of its own, or json.dumps\(\)",
         lambda r: {"k": json.dumps({"a": int(r["n"])})}, b'{"a": 0}'),
        (lambda r: {"k": None if r["n"] else 1.5}, r'float\("nan"\)',
         lambda r: {"k": float("nan") if r["n"] else 1.5}, 1.5),
    ):  # fmt: skip
        with pytest.raises((flow.InvalidArgumentError, flow.UserFunctionError), match=said):
            data.map(wrong).column("k")
        assert data.map(right)[0]["k"] == first and len(data.map(right).column("k")) == 2
    with pytest.raises(flow.UserFunctionError, match=r'A missing number is float\("nan"\)'):
        data.map(lambda n: None if n else 1.5, "n", outputs={"k": "float64"}).column("k")


@pytest.mark.parametrize("view", ["map", "explode"])
def test_texts_of_numpy_and_lists_that_may_be_empty(view):
    def made(r):
        i = int(r["n"])
        one = {"a": np.array(["cat", "dog"])[i % 2], "b": np.array([b"x", b"yz"])[i % 2],
               "ids": [i] * (i % 3)}  # fmt: skip
        return [one] if view == "explode" else one

    data = flow.from_arrays({"n": np.arange(7)})
    found = list(getattr(data, view)(made))
    assert [r["a"] for r in found] == [[b"cat", b"dog"][i % 2] for i in range(7)]
    assert [r["b"] for r in found] == [[b"x", b"yz"][i % 2] for i in range(7)]
    assert [r["ids"].tolist() for r in found] == [[i] * (i % 3) for i in range(7)]
    assert found[0]["ids"].dtype == np.int64


def test_results_that_no_field_holds():
    data = flow.from_arrays({"n": np.arange(9)})
    with pytest.raises(InvalidArgumentError, match=r'empty list.*outputs=\{"y": "int64\[\?\]"\}'):
        data.map(lambda r: {"y": [] if r["n"] < 8 else [1]})
    with pytest.raises(InvalidArgumentError, match=r"masked array.*filled"):
        data.map(lambda r: {"y": np.ma.array([1, 2], mask=[0, 1])})
    late = data.map(lambda r: {"y": np.zeros(2) if r["n"] < 8 else np.ma.zeros(2)})
    with pytest.raises(UserFunctionError, match=r"masked array.*filled"):
        late[8]
    with pytest.raises(UserFunctionError, match=r"object, which no field holds.*str\(number\)"):
        data.map(lambda r: {"y": 1 if r["n"] < 8 else 2**70})[8]


@pytest.mark.parametrize("name", ["processes", "batched", "with_index"])
def test_an_array_as_an_argument_of_map(name):
    data = flow.from_arrays({"n": np.arange(9)})
    with pytest.raises(InvalidArgumentError, match=f"{name} = array"):
        data.map(lambda r: {"y": 1}, **{name: np.array([1, 2])})
