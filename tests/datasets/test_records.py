"""Functions of whole records: `map` and `filter` with a dict of the fields; numbers of records."""

import argparse
import json
import logging
import pickle
import re
import subprocess
import sys
import threading
from types import MappingProxyType

import numpy as np
import pytest
from support import process_functions as own

import pyflowdata as flow

SIZE = 41
OF_BYTES = {b"": 1}
TEXTS = [b"ab" * (i % 4) for i in range(SIZE)]
TOKENS = [np.arange(i % 5) for i in range(SIZE)]


def made():
    samples = [
        {"x": np.full(2, i, np.float32), "y": i, "text": TEXTS[i], "tokens": TOKENS[i]}
        for i in range(SIZE)
    ]
    fields = ["x:float32[2]", "y:int64", "text:bytes", "tokens:int64[?]"]
    blobs = flow.GeneratorReader(samples, fields=fields)
    return flow.Dataset(dict(zip(("x", "y", "text", "tokens"), blobs, strict=True)))


def types(data):
    return {name: field.type for name, field in data.fields.items()}


def plain(records):
    """Records as lists and numbers of Python, which can be compared."""
    return [
        {name: value if isinstance(value, bytes) else np.asarray(value).tolist()
         for name, value in one.items()}
        for one in records
    ]  # fmt: skip


def batches(blobs, **options):
    with flow.DataLoader(blobs, **options) as loader:
        return list(loader)


# ---- map ----------------------------------------------------------------------------------------


def test_a_record_comes_in_as_it_is_shown_and_fields_come_out():
    seen = []

    def look(r):
        seen.append({**r})
        return {"n": len(r["text"])}

    data = made()
    more = data.map(look)
    assert types(more) == {**types(data), "n": "int64"}
    assert more[7]["n"] == len(TEXTS[7])
    shown = data[7]
    assert {name: type(value) for name, value in seen[-1].items()} == {
        name: type(value) for name, value in shown.items()
    }
    assert plain([seen[-1]]) == plain([shown]) and seen[-1]["x"].dtype == np.float32
    kinds = data.map(
        lambda r: {"i": int(r["y"]), "f": r["y"] / 2, "b": bool(r["y"] % 2), "s": f"né{r['y']}",
                   "raw": r["text"][:1], "list": [1.5, 2], "array": r["x"][:1], "some": r["tokens"]}
    )  # fmt: skip
    assert types(kinds) == {
        **types(data), "i": "int64", "f": "float64", "b": "bool", "s": "bytes", "raw": "bytes",
        "list": "float64[2]", "array": "float32[1]", "some": "int64[?]"
    }  # fmt: skip
    wanted = [
        {"i": i, "f": i / 2, "b": i % 2 == 1, "s": f"né{i}".encode(), "raw": TEXTS[i][:1],
         "list": [1.5, 2.0], "array": [float(i)], "some": TOKENS[i].tolist()}
        for i in range(SIZE)
    ]  # fmt: skip
    assert plain(kinds.project(list(wanted[0]))) == wanted


def in_place(r):
    r["n"] = len(r["text"])
    r["y"] += 1
    return r


def halves(r, scale=1.0):
    if r["y"] % 2:
        return {**r, "z": scale * 2}
    return {**r, "z": scale}


def hidden(r):
    """Its source does not show which fields it uses."""
    made = dict(r)
    made["z"] = 1.0 + made["y"] % 2
    return made


def test_fields_that_stay_are_not_copied_through_python():
    data = made()
    for function, fields in (
        (lambda r: {**r, "z": 1.0 + r["y"] % 2}, ("z",)),
        (halves, ("z",)),
        (in_place, ("y", "n")),
        (hidden, ("x", "y", "text", "tokens", "z")),
    ):
        mapped = data.map(function)
        made_there = [name for name in mapped.fields if name not in data.fields
                      or mapped._fields[name] is not data._fields[name]]  # fmt: skip
        assert sorted(made_there) == sorted(fields), function
        assert {**types(data), **types(mapped)} == types(mapped)  # hidden() keeps int64[?], too
        for one, other in zip(plain(mapped), plain(data), strict=True):
            if function is in_place:
                assert (one.pop("n"), one["y"]) == (len(other["text"]), other.pop("y") + 1)
                del one["y"]
            else:
                assert one.pop("z") == 1 + other["y"] % 2
            assert one == other
    assert [one["z"] for one in data.map(halves, scale=3.0).head(2)] == [3, 6]


def test_only_the_fields_that_it_uses_are_read():
    def refuse(x):
        raise AssertionError("read")

    data = made().map(refuse, "x", outputs={"x": "float32[2]"})
    assert data.map(lambda r: {"n": len(r["text"])}).project("n")[3]["n"] == len(TEXTS[3])
    assert data.map(lambda r: {**r, "n": r["y"] + 1}).project("n")[3]["n"] == 4
    assert len(data.filter(lambda r: r["y"] > 30)) == SIZE - 31


def test_a_source_that_was_edited_meanwhile_is_not_believed(tmp_path, monkeypatch):
    path = tmp_path / "edited_meanwhile.py"
    path.write_text('def f(r):\n    return {**r, "y": r["y"] + 1, "z": 1}\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    import edited_meanwhile

    path.write_text('def f(r):\n    return {**r, "z": len(r["text"]) + r["y"]}\n')
    with pytest.raises(flow.UserFunctionError, match="returned another 'y', .* edited meanwhile"):
        made().map(edited_meanwhile.f)
    assert made().map(edited_meanwhile.f, outputs=["y", "z"])[3]["y"] == 4


HALF = 0.5


def test_expressions_in_a_loop_give_what_calls_give(tmp_path, monkeypatch):
    three = 3

    def documented(r):
        """Has one expression and a variable from around."""
        return {**r, "z": r["y"] * three, "w": r["text"].upper() + b"%d" % r["y"]}

    path = tmp_path / "with_other_names.py"
    path.write_text(
        'type = len = lambda one: 7\nloop = [*range(99)]\n'
        'def f(r):\n    return {"z": len(r["text"]), "w": loop[r["y"]]}\n'
        f'def long(r):\n    return {{"z": r["y"]{" + 1" * 400}}}\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import with_other_names

    data = made()
    for function in (
        documented,
        with_other_names.f,
        with_other_names.long,
        lambda r: {"z": r["y"] * HALF + three if len(r["text"]) > 2 else -1.0},
        lambda r: {"x": r["x"] + r["x"], "z": len(f"{r['y']}")},
        lambda r, by=2: {"z": r["y"] * by},
        lambda r, *, by=2: {"z": r["y"] * by},
        lambda r: {"z": (n := r["y"]) + n},
        lambda r: {"z": sum(int(one) for one in r["x"] if r["y"] > 3)},
        lambda r: {"z": 1, "y": r["y"] + 1, **r},
        lambda r: {"z": 1, **{"z": r["y"]}},
        lambda r: {"z": len([*r["text"]]), "w": [*map(lambda one: one + r["y"], r["x"])]},
    ):  # fmt: skip
        wanted = plain({**one, **function(dict(one))} for one in data)
        assert plain(data.map(function)) == wanted, function
        for batch in batches(data.map(function).batch(SIZE).blobs):
            assert batch["z"].tolist() == [one["z"] for one in wanted]

    def f(r):
        return {"z": r["y"] + 1}

    mapped = data.map(f).batch(SIZE)["z"]
    f.__code__ = (lambda r: {"z": r["y"] + 2}).__code__  # as tools that load modules again do
    assert batches(mapped)[0].tolist() == [i + 2 for i in range(SIZE)]

    def counted(r):
        seen["n"] += 1
        return {"z": r["y"] * 2}

    def nothing(r):
        return None
        return {"z": r["y"]}

    seen = {"n": 0}
    batches(data.map(counted, outputs={"z": "int64"}).batch(SIZE)["z"])
    assert seen["n"] >= SIZE  # and those of batches ahead
    for function in (nothing, lambda r: {"z": (yield r["y"])}):
        wrong = data.map(function, outputs={"z": "int64"}).batch(SIZE)["z"]
        with pytest.raises(flow.UserFunctionError, match="must return a dict"):
            batches(wrong)


def test_lengths_and_cases_are_those_of_each_row(monkeypatch):
    texts = [bytes(range(256)) * 2, "Straße, İ, ǆ".encode(), b"@AZ[`az{\xff", *TEXTS]
    tokens = [np.arange(len(one) % 5) for one in texts]
    data = flow.from_arrays({"text": texts, "tokens": tokens, "letters": texts[::-1]})
    x = b"the variable"
    for function in (
        lambda r: {**r, "n": len(r["text"])},
        lambda r: {"b": r["letters"].lower(), "m": len(r["tokens"]), "a": r["text"].upper()},
        lambda r: {"text": r["text"].upper(), "letters": r["text"].lower()},
        lambda r: {"n": len(r["text"]), "m": len(r["letters"]) + 1},
        lambda r: {"n": len(x), "m": len(r["letters"]), "u": x.upper()},
    ):
        wanted = plain({**one, **function(dict(one))} for one in data)
        assert plain(data.map(function)) == wanted

    def n(r):
        return {"n": len(r["text"])}

    mapped = data.map(n).batch(len(texts)).blobs
    for dtype in ("int16", "float32"):
        (given,) = batches(data.map(n, outputs={"n": dtype}).batch(len(texts))["n"])
        assert given.dtype == dtype and given.tolist() == [*map(len, texts)]
    with pytest.raises(flow.UserFunctionError, match="has dtype int64, and uint8 is declared"):
        batches(data.map(n, outputs={"n": "uint8"}).batch(4)["n"])
    monkeypatch.setitem(globals(), "len", lambda one: 7)
    assert {*batches(mapped)[0]["n"].tolist()} == {7}


def test_types_may_be_given():
    def never(r):
        raise AssertionError("called")

    data = made()
    assert types(data.map(never, outputs={"a": "float32[?]"}))["a"] == "float32[?]"
    for function in (hidden, lambda r: {"z": 1.0 + r["y"] % 2}):
        given = data.map(function, outputs={"z": "float64"})
        assert types(given) == {**types(data), "z": "float64"}
        assert [one["z"] for one in given] == [1 + i % 2 for i in range(SIZE)]
    assert types(data.map(lambda r: {"a": 1, "b": 2.0}, outputs={"a": "int8", "b": None})) == {
        **types(data), "a": "int8", "b": "float64"
    }  # fmt: skip
    late = data.map(lambda r: {**r, "t": r["tokens"][:2]}, outputs=["t"])
    assert [len(one["t"]) for one in late] == [min(i % 5, 2) for i in range(SIZE)]


def test_which_form_a_function_has():
    data, one = made(), made().project("text")
    assert data.map(lambda y, x: {"s": y + x[0]})[5]["s"] == 10  # parameters are fields
    assert data.map(lambda y: y + 1)[5]["y"] == 6
    assert one.map(len)[3]["text"] == 6  # the only field of a function in C
    assert one.map(lambda text: len(text))[3]["text"] == 6
    assert one.map(lambda r: {"n": len(r["text"])})[3]["n"] == 6
    for call, text in (
        (lambda: data.map(lambda texts: {"n": 1}), "no field 'texts' for its parameter; did you"),
        (lambda: data.map(lambda a, b: a), "no fields were named, and there are 4"),
        (lambda: data.map(lambda r: {}, "x", batched=3), "leave out the fields"),
        (lambda: data.map(lambda r: {}, batched=-1), "batched = -1"),
        (lambda: data.map(lambda r, i: {"i": i}), "with with_index=True, the record and its"),
        (lambda: data.map(lambda r: {"n": 1}, with_index=True), "the record and its index"),
        (lambda: data.map(lambda r, rng: {"n": 1}, batched=4), "leave batched out"),
        (lambda: data.map(lambda r: {"n": 1}, num_proc=2), "'num_proc' here: write processes=n"),
        (lambda: data.map(lambda r, i: {"i": i}, with_indices=True), "write with_index=True"),
        (lambda: data.map(lambda y: {"n": y}, batched=3), "of a field, 'y': write lambda"),
        (lambda: data.map(lambda r: r, remove_columns=["x"]), r"call drop\(names\) after map"),
        (lambda: data.map(lambda x, y: x, "x", input_columns="x"), "fields after the function"),
        (lambda: data.map(lambda r, *, k: {"n": k}), "needs the argument 'k'"),
        (lambda: data.map(lambda r: {"n": None}), "the result 'n' is None"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=text):
            call()
    for function, text in (
        (lambda r: len(r["text"]), r"returned 0; it must return a dict .*test_records.py:\d+\)"),
        (lambda r: None, r"is a return missing\? .*test_records.py:\d+\)"),
        (lambda r: r["x"].sort() or r, r"read-only .*test_records.py:\d+\)"),
        (lambda r: {**r}, "makes no field"),
        (lambda r: {1: 2}, "with the key 1; keys are names of fields"),
        (lambda r: r["nowhere"], r"KeyError: 'nowhere'; .* x, y, text, tokens .*cords.py:\d+\)"),
        (lambda r: {"z": {"a": 1, "": 2}[r["text"]]}, "KeyError: b''; there is the key '': texts"),
        (lambda r: {"z": OF_BYTES[r["text"].decode()]}, "KeyError: ''; .* there is the key b''"),
        (lambda r: {"z": {b"a": 1}[r["text"]]}, r"KeyError: b'' \("),
        (lambda r: {"z": r["tokns"]}, r"'tokns'; .*; did you mean 'tokens'\? .*cords.py:\d+\)"),
    ):
        with pytest.raises(flow.UserFunctionError, match=text):
            data.map(function)


def test_a_parameter_is_the_field_of_its_name_also_where_the_loader_has_one():
    ids, rng = [[1, 2], [3], [4, 5, 6]], [7, 8, 9]
    data = flow.from_arrays({"ids": ids, "rng": np.array(rng), "x": np.arange(3)})
    sizes = [len(one) for one in ids]
    for made in (
        data.map(lambda ids: {"n": len(ids)}), data.map(lambda x, ids: {"n": len(ids)}),
        data.map(lambda ids: len(ids), "ids", outputs="n"),
        data.project("ids").map(lambda ids: {"n": len(ids)}),
        data.map(lambda one, ids: len(one), "ids", "x", outputs="n"),
        data.map(lambda r, *, ids, rng: {"n": len(r["ids"]) + 0 * len(ids)}),
        data.map(lambda r: {"n": [len(one) for one in r["ids"]]}, batched=True),
    ):  # fmt: skip
        assert made.column("n").tolist() == sizes
    assert data.map(lambda rng: {"n": rng + 1}).column("n").tolist() == [8, 9, 10]
    place = data.map(lambda x, *, ids: ids[1], "x", outputs="n")  # the loader's, by name alone
    assert place.column("n").tolist() == [0, 1, 2]
    assert data.drop("ids").map(lambda r, ids: {"n": ids[1]}).column("n").tolist() == [0, 1, 2]
    parts = data.project("ids").flat_map(lambda ids: [ids[:1], ids[:1]], "ids", fan_out=2)
    assert [one["ids"].tolist() for one in parts] == [[1], [1], [3], [3], [4], [4]]
    with flow.DataLoader(data.batch(3).map(lambda rng: rng * 2, "rng")["rng"]) as loader:
        assert next(iter(loader)).tolist() == [14, 16, 18]
    assert len(data.filter(lambda ids: ids.lengths > 1)) == 2
    for wrong in (lambda: data.explode(lambda ids: [{"n": 1}]),
                  lambda: data.map(lambda ids: {"n": 1}, batched=2)):  # fmt: skip
        with pytest.raises(flow.InvalidArgumentError, match="the record|a record"):
            wrong()


def test_an_error_at_the_first_records_says_which_the_call_had():
    for size, said in ((0, "number 3"), (3, "the numbers 3 to 3"), (9, "the numbers 0 to 3")):
        with pytest.raises(flow.UserFunctionError, match=f"{said} of the first records"):
            made().map(
                lambda r: {"z": [1 // abs(int(y) - 3) for y in np.atleast_1d(r["y"])]},
                batched=size,
            )


@pytest.mark.parametrize("processes", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("function", "batched", "text", "below"),
    [
        (own.fails_late, 0, "boom", 2),
        (own.fails_late_in_columns, 3, "record 4.*boom; its call has 3 records from this one", 2),
        (own.misnamed, 0, "record 0.*'tekst'; .*'text'. There are x, y, text, tokens", 1),
        (own.indexes_late, 0, "record 6.* IndexError", 3),
        (own.other_late, 0, "returned a, which does not have 'z'", 0),
        (own.none_late, 0, r"none_late\(\): the output 'z' is None.* None was returned for it", 0),
        (own.shorter, 3, "3 records, and its 'z' has 2 rows: .* flat_map", 0),
    ],
)
def test_an_error_names_the_line_in_every_mode(function, batched, text, below, processes):
    data = made().map(function, outputs={"z": "float64"}, batched=batched, processes=processes)
    line = function.__code__.co_firstlineno + below
    said = rf"{text}.*\(.*process_functions.py:{line}\)"
    with flow.DataLoader(data.batch(4)["z"]) as loader:
        with pytest.raises(flow.UserFunctionError, match=said):
            list(loader)


OWN = threading.local()  # each thread of a loader has a buffer
KEPT = {}


def buffer():
    if not hasattr(OWN, "rows"):
        OWN.rows = np.zeros((3, 2))
    return OWN.rows


def used_again(r):
    rows = buffer()
    rows[0] = r["y"]
    return {"b": rows[0], "raw": memoryview(rows[0]).cast("B")}


def used_again_in_columns(r):
    rows = buffer()[: len(r["y"])]
    rows[:] = r["y"][:, None]
    return {"b": rows}


def same_dict(r):
    KEPT["z"] = r["y"]
    return KEPT


def test_memory_that_a_function_uses_again_is_copied_in_time():
    data = made()
    for mapped in (data.map(used_again), data.map(used_again_in_columns, batched=3)):
        found = np.concatenate([one["b"] for one in batches(mapped.batch(8).blobs)])
        assert found.tolist() == [[i, i] for i in range(SIZE)]
    (one,) = batches(data.map(used_again).project("raw").batch(SIZE).blobs)
    raw = np.concatenate([np.frombuffer(row) for row in one["raw"].to_bytes_list()])
    assert raw.tolist() == [i for i in range(SIZE) for _ in "ab"]
    assert data.column(lambda r: used_again({"y": r["y"]})["b"]).tolist() == found.tolist()
    (same,) = batches(data.map(same_dict).project("y", "z").batch(SIZE).blobs)
    assert same["z"].tolist() == same["y"].tolist()


def in_some_form(r):
    y = int(r["y"])
    if y == SIZE - 1:
        return {"n": y, "text": b"other"}
    return [{**r, "n": y}, {"n": y, "y": r["y"]}, MappingProxyType({"n": y}), {"n": y, **r}][y % 4]


def test_results_may_differ_in_form_and_each_is_checked():
    data = made().map(in_some_form, outputs={"n": "int64"})
    found = data.take(SIZE - 1)
    assert [int(one["n"]) for one in found] == list(range(SIZE - 1))
    (batch,) = batches(found.project("n", "text").batch(SIZE - 1).blobs)
    assert batch["n"].tolist() == list(range(SIZE - 1))
    assert batch["text"].to_bytes_list() == TEXTS[:-1]
    with pytest.raises(flow.UserFunctionError, match=rf"record {SIZE - 1}.*also has 'text'"):
        batches(data.batch(8).blobs)
    with pytest.raises(flow.UserFunctionError, match="dtype (object|uint64|float64)"):
        batches(data.map(lambda r: {"m": 2**63}, outputs={"m": "int64"}).batch(8).blobs)


def careful(r):
    if r["y"] % 10 == 7:
        raise flow.CorruptDataError("is no good")
    return {"z": r["y"] * 2}


def test_a_damaged_record_is_left_out_alone():
    data = made().map(careful, outputs={"z": "int64"})
    with flow.DataLoader(data.batch(8, on_error="skip")["z"]) as loader:
        found = np.concatenate(list(loader)).tolist()
        assert [one.ordinal for one in loader.skipped] == [7, 17, 27, 37]
    assert found == [2 * y for y in range(SIZE) if y % 10 != 7]


@pytest.mark.parametrize("processes", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_columns_of_several_records(processes):
    data = made()
    mapped = data.map(own.of_columns, batched=3, processes=processes)
    assert plain(data.map(own.of_columns, batched=True)) == plain(mapped)
    assert types(mapped) == {
        **types(data), "n": "int64", "back": "bytes", "rest": "int64[?]", "sum": "float32"
    }  # fmt: skip
    wanted = [
        {"n": len(TEXTS[i]), "back": TEXTS[i][::-1], "rest": TOKENS[i].tolist(), "sum": 2.0 * i}
        for i in range(SIZE)
    ]
    names = list(wanted[0])
    assert plain(mapped.project(names)) == wanted
    for size in (7, 16) if processes else (1, 7, 16):
        found = []
        for one in batches(mapped.project(names).batch(size).blobs, num_threads=2):
            rows = [list(one[name].to_bytes_list() if name == "back" else one[name])
                    for name in names]  # fmt: skip
            found += [dict(zip(names, row, strict=True)) for row in zip(*rows, strict=True)]
        assert plain(found) == wanted


def test_the_number_of_a_record():
    data = made().project(["y", "text"])
    numbered = data.skip(5).map(lambda r, i: {"i": i, "y": int(r["y"])}, with_index=True)
    assert [(one["i"], one["y"]) for one in numbered] == [(i, i + 5) for i in range(SIZE - 5)]
    assert numbered[9]["i"] == 9 and numbered.shuffle(seed=3).select([4])[0].keys() == {
        "y", "text", "i"
    }  # fmt: skip
    order = numbered.shuffle(seed=3)
    assert sorted((one["i"], one["y"]) for one in order) == [(i, i + 5) for i in range(SIZE - 5)]
    columns = data.map(lambda c, i: {"i": i * 2}, with_index=True, batched=4)
    assert [one["i"] for one in columns] == [2 * i for i in range(SIZE)]
    field = data.shuffle(seed=3).enumerate("place")
    assert [one["place"] for one in field] == list(range(SIZE))
    assert [one["y"] for one in field] == [one["y"] for one in data.shuffle(seed=3)] != list(
        range(SIZE)
    )
    twice = data.concat(data).enumerate()
    assert [(twice[i]["index"], twice[i]["y"]) for i in (3, SIZE + 3)] == [(3, 3), (SIZE + 3, 3)]
    assert twice[SIZE + 3]["text"] == TEXTS[3]
    with pytest.raises(flow.InvalidArgumentError, match="there is a field of this name"):
        data.enumerate("y")


# ---- Order, state, processes --------------------------------------------------------------------


@pytest.mark.parametrize("processes", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_resumed_it_goes_on_exactly_and_in_processes_it_is_the_same(processes):
    def graph(count):
        data = made().map(own.with_noise, name="noise", processes=count).shuffle(seed=2)
        return data.batch(6, seed=5)[["y", "noise", "words"]]

    def told(batch):
        y, noise, words = batch
        return y.tolist(), noise.tolist(), words.to_bytes_list()

    with flow.DataLoader(*graph(0), num_threads=1) as loader:
        whole = list(map(told, loader))
    with flow.DataLoader(*graph(processes), num_threads=2) as loader:
        steps = iter(loader)
        first = [told(next(steps)) for _ in range(3)]
        state = json.loads(json.dumps(loader.state_dict()))
    with flow.DataLoader(*graph(processes), num_threads=2, prefetch=3) as loader:
        loader.load_state_dict(state)
        assert first + list(map(told, loader)) == whole
    assert len({noise for _, row, _ in whole for noise in row}) == SIZE
    again = pickle.loads(pickle.dumps(made().map(own.with_noise, name="noise")))
    assert plain(again.head(3)) == plain(made().map(own.with_noise, name="noise").head(3))


def test_a_state_refuses_another_function():
    def graph(add):
        return made().map(lambda r: {"z": r["y"] + add}).batch(4)["z"]

    with flow.DataLoader(graph(1)) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with flow.DataLoader(graph(1)) as loader:
        loader.load_state_dict(state)
    with flow.DataLoader(graph(2)) as loader, pytest.raises(flow.Error, match="lambda"):
        loader.load_state_dict(state)


# ---- filter -------------------------------------------------------------------------------------


def test_records_for_which_a_function_is_true():
    data = made()
    kept = data.filter(lambda r: r["y"] % 3 == 1 and len(r["text"]) > 2)
    assert [one["y"] for one in kept] == [
        i for i in range(SIZE) if i % 3 == 1 and len(TEXTS[i]) > 2
    ]
    assert len(kept) == len(list(kept)) and kept[-1]["y"] == 34
    assert len(data.filter("y > 3")) == len(data.filter(lambda y: y > 3)) == SIZE - 4
    assert data.column(lambda r: r["x"].sum()).tolist() == [2.0 * i for i in range(SIZE)]
    for predicate, text in (
        (lambda texts: texts != b"", "no field 'texts' for its parameter; did you mean 'text'"),
        (lambda r: r, "no field 'r' for its parameter; the fields are x, y, text, tokens, and a"),
        (lambda r: int(r["y"]), "one truth"),
        (lambda r: [b"a" in r["text"]], "gives a list for .*; it must give one truth"),
        (lambda r: None, r"reads no field of the record; .* a truth, .* lambda r: r\['x'\] > 0"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=text):
            len(data.filter(predicate))
    for predicate, text in (
        (lambda label: label != 3, r"a record, .* was compared; .*test_records.py:\d+\)"),
        (lambda r: r["y"] > 30 and 1 / 0, r"record 31.*ZeroDivisionError: .*test_records.py:\d+"),
        (lambda y: y[50], r"IndexError: .*test_records.py:\d+\), for the records 0 to 40"),
        (lambda r: r["tekst"] > 0, "record 0.*'tekst'; .*'text'. There are x, y, text, tokens"),
    ):
        with pytest.raises(flow.UserFunctionError, match=text):
            len(data.filter(predicate))
    for argument in ("batched", "with_index"):
        with pytest.raises(TypeError, match=f"filter.. has no argument '{argument}': a function"):
            data.filter(lambda r: r["y"] > 3, **{argument: True})


def test_fields_are_chosen_by_lists_as_well():
    data = made()
    assert list(data.project(["y", "x"]).fields) == ["y", "x"]
    assert list(data.drop(["text", "x"]).fields) == ["y", "tokens"]
    with pytest.raises(flow.InvalidArgumentError, match="no field 'z'"):
        data.drop(["z"])


# ---- Texts and names ----------------------------------------------------------------------------

WORD = "abab"
WORDS = {"ab", "abab"}
PLACES = {"a": ("ab",), "b": b"ab"}


@pytest.mark.parametrize("splits", [[0, 1, 100], [0, 5, 3], [1, 2, 3]])
def test_a_column_with_row_splits_beyond_its_values_is_refused(splits):
    def wrong(columns):
        return {"z": flow.Ragged(np.zeros(3, np.uint8), np.array(splits))}

    data = made().take(2).map(wrong, batched=2, outputs={"z": "bytes"})
    with pytest.raises(flow.UserFunctionError, match="'z', a Ragged of 3 elements whose rows"):
        list(data)


@pytest.mark.parametrize("shapes", [[[1, 1], [2, 1]], [[1 << 32, 1 << 32], [2, 1]]])
def test_a_column_whose_shapes_contradict_its_row_splits_is_refused(shapes):
    def wrong(columns):
        values, splits = np.zeros(4), np.array([0, 2, 4])
        return {"z": flow.Ragged(values, splits, shapes=np.array(shapes), row_shape=(None, None))}

    data = made().take(2).map(wrong, batched=2, outputs={"z": ("float64", (None, None))})
    with pytest.raises(flow.UserFunctionError, match="'z', a Ragged whose row_splits and shapes"):
        list(data)


EXECUTED = """
LIMIT = 3

class Scale:
    def of(self, value):
        return value * 2

def scaled(r):
    return {"z": [Scale().of(r["y"])][r["y"] // 39]}

def few(r):
    return r["y"] < LIMIT

def pieces(r):
    return [{"part": r["y"] + i} for i in range(2)]
"""


def executed(old="", new=""):
    names = {}
    exec(EXECUTED.replace(old, new) if old else EXECUTED, names)
    return names


def test_functions_made_by_exec_work_or_are_refused():
    data, own = made().project("y"), executed()
    scaled, few = data.map(own["scaled"]), data.filter(own["few"])
    assert [one["z"] for one in scaled.take(4)] == [0, 2, 4, 6]
    assert [one["y"] for one in few] == [0, 1, 2]
    assert [one["part"] for one in few.explode(own["pieces"])] == [0, 1, 1, 2, 2, 3]
    with pytest.raises(flow.UserFunctionError, match=r"record 39.*IndexError.*\(<string>:9\)"):
        batches(scaled.batch(8).blobs)
    with pytest.raises(flow.InvalidArgumentError, match="cannot be sent to processes .* top of a"):
        batches(data.map(own["pieces"], outputs={"z": "int64"}, processes=1).batch(8).blobs)

    def loader(names):
        mapped = data.filter(names["few"]).map(names["scaled"], outputs={"z": "int64"})
        return flow.DataLoader(mapped.batch(1).blobs)

    with loader(own) as first:
        next(iter(first))
        state = first.state_dict()
    for names in (executed(), executed("\nLIMIT", "# moved\n\nLIMIT")):
        with loader(names) as same:
            same.load_state_dict(state)
            assert [batch["y"].item() for batch in same] == [1, 2]
    for change in (("value * 2", "value * 3"), ("LIMIT = 3", "LIMIT = 2"), ("// 39", "// 40")):
        with loader(executed(*change)) as other:
            with pytest.raises(flow.InvalidArgumentError, match="belongs to another loader"):
                other.load_state_dict(state)


def test_a_program_without_a_file_has_its_functions_seen():
    program = '''
import pyflowdata as flow
data = flow.from_arrays({"text": [b"a"]})
by_exec = {}
exec("f = lambda r: r['text'] == 'a'", by_exec)
data.filter(by_exec["f"])
for wrong in (lambda r: r["text"] == "a", lambda r: r.get("text") is None):
    try:
        data.filter(wrong)
    except flow.InvalidArgumentError as failure:
        print(failure)
'''
    command = [sys.executable, "-c", program, "-c", "argument"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    first, second = ran.stdout.splitlines()
    assert "(<string>:7): r['text'] == 'a' compares bytes with a str" in first
    assert "(<string>:7): r.get('text') is None compares bytes with None" in second


def test_a_text_that_is_compared_with_a_str_is_refused_or_compared_as_utf_8():
    data = made()
    other, given = "ab", argparse.Namespace(word="ab", raw=b"ab")

    def later(r):
        text = r["text"].strip()
        return r["y"] > 3 and text != other

    for wrong, said in (
        (lambda r: r["text"] == "ab", r"r\['text'\] == 'ab'"),
        (lambda r: WORD != r["text"], r"WORD != r\['text'\]"),
        (lambda r: r["text"].lower() in ("ab", "abab"), r"in \('ab', 'abab'\)"),
        (lambda r: r["text"] not in WORDS, "not in WORDS"),
        (lambda r: {"ab": 1}.get(r["text"], 0) == 1, "get"),
        (later, "text != other"),
        (lambda r: r["text"] == PLACES["a"][0], r"== PLACES\['a'\]\[0\] compares bytes"),
        (lambda r: r["text"] != given.word, "!= given.word compares bytes"),
        (lambda r, word=other: r["text"] == word, r"\['text'\] == word compares bytes"),
        (lambda r: r["text"] == f"{WORD}", r"== f'\{WORD\}' compares bytes"),
        (lambda r: r["text"] is None, r"r\['text'\] is None compares bytes with None"),
        (lambda r: r["y"] > 3 and r["text"] is not None, r"\['text'\] is not None compares"),
        (lambda r: None == r["text"].strip(), "None == .* a null text is b''"),  # noqa: E711
        (lambda r: r.get("text") is None, r"r.get\('text'\) is None compares bytes with None"),
        (lambda r: r.get("text", "").lower() == "ab", r"r.get\('text', ''\).lower\(\) == 'ab'"),
        (lambda r: r["text"] >= "ab", r">= 'ab' .* which have no order.*where\('text >= "),
        (lambda r: "a" < r["text"] <= b"b", r"'a' < r.* which have no order.*where\('text > "),
        (lambda r: r["text"][:1] == "a", r"r\['text'\]\[:1\] == 'a' .*never equal"),
    ):
        for use in (data.filter, data.column, data.map):
            with pytest.raises(flow.InvalidArgumentError, match=said) as caught:
                use(wrong)
            assert "test_records.py:" in str(caught.value) and "b'" in str(caught.value)
    with pytest.raises(flow.InvalidArgumentError, match="text == 'ab'"):
        data.map(lambda text: {"is": text == "ab"}, "text")
    with pytest.raises(flow.InvalidArgumentError, match="== 'ab'"):
        data.explode(lambda r: [{"is": r["text"] == "ab"}])
    with pytest.raises(TypeError, match="data.where"):
        data["text"] == "ab"  # noqa: B015

    def of_rows(text):
        found = []
        for one in text:
            found.append(WORD != one)
        return found

    for of_columns, said in (
        (lambda text: [b"ab" in one for one in text], r"b'ab' in one .* r: b'...' in r\['text'\]"),
        (of_rows, "WORD != one compares an array"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=said):
            data.filter(of_columns)
    with pytest.raises(flow.InvalidArgumentError, match="text is None compares"):
        data.map(lambda text: {"is": text is None}, "text")

    def bound_again(text):
        text = text.decode()
        return {"n": text == "ab"}

    def stored(r):
        r["text"] = r["text"].decode()
        return {"n": r["text"] == "ab"}

    def updated(r):
        r.update(text=r["text"].decode())
        return {"n": r["text"] == "ab"}

    def stored_by_name(r):
        for name in ("text",):
            r[name] = r[name].decode()
        return {"n": r["text"] == "ab"}

    def made_again(r):
        r = {**r, "text": r["text"].decode()}
        return {"n": r["text"] == "ab"}

    def of_any(text=None):
        return {"n": text is not None and text == b"ab"}

    count = TEXTS.count(b"ab")
    for function, *fields in (
        (bound_again, "text"), (stored,), (updated,), (stored_by_name,), (made_again,),
        (of_any, "text"),
    ):  # fmt: skip
        mapped = data.map(function, *fields, outputs={"n": "bool"})
        assert sum(mapped.column("n")) == count, function
    for right in (
        "text == 'ab'",
        lambda text: text == "ab",  # of columns
        lambda text: [one.tobytes() == b"ab" for one in text],
        lambda text: [b"ab" == one for one in text.to_bytes_list()],
        lambda r: r.get("text") == b"ab" and r.get("other") is None,
        lambda r: r["text"] == b"ab",
        lambda r, word=b"ab": r["text"] == word and r["text"] != PLACES.get("a"),
        lambda r: r["text"] == PLACES["b"] == given.raw,
        lambda r: r["text"].decode() == "ab",
        lambda r: any(r["text"] == WORD for WORD in (b"ab",)),
        lambda r: (r["y"] == "ab") or r["text"] == b"ab",
        lambda r: r["y"] is None or r["text"] == b"ab",
        lambda r: r["text"] in ("ab", b"ab"),
        lambda r: r["text"] in () or r["text"] == b"ab",
    ):
        assert len(data.filter(right)) == count


def test_a_text_that_is_put_into_a_str_is_refused_also_in_columns_and_inner_functions():
    data, form, word = made(), "{}{}", "ab"

    def spoken(r):
        if r["y"] < 0:
            raise ValueError(f"{r['text']} of {r['y']}")
        assert r["y"] >= 0, f"bad {r['text']}"
        logging.debug(f"{r['text']}")
        return {"n": f"{r['text']!r}{r['text'].decode()}{r['y']}"}

    def looped(r):
        found = []
        texts = r["text"]
        for i, (text, y) in enumerate(zip(texts, r["y"], strict=True)):
            found.append(i + y if text == word else 0)
        return {"n": found}

    for wrong, said in (
        (lambda r: {"n": f"{r['text']}"}, r"makes a str with b'...'.*r\['text'\].decode\(\)"),
        (lambda r: {"n": f"a{r['text'].strip()!s}"}, r"write r\['text'\].strip\(\).decode\(\)"),
        (lambda r: {"n": str(r["text"])}, r": str\(r\['text'\]\) makes a str"),
        (lambda r: {"n": "%s" % r["text"]}, "'%s' % .* makes a str"),  # noqa: UP031
        (lambda r: {"n": "%d%s" % (r["y"], r["text"])}, "makes a str"),  # noqa: UP031
        (lambda r: {"n": form.format(r["y"], r["text"])}, "makes a str"),
        (lambda r: {"n": "{a}".format(a=r["text"])}, "makes a str"),  # noqa: UP032
        (lambda text: {"n": f"{text}"}, r"write text.decode\(\)"),
        (lambda r: {"n": (lambda c: c == "ab")(r["text"])}, "c == 'ab' compares bytes"),
        (lambda r: {"n": np.log(2 if r["text"] == "ab" else 1)}, "== 'ab' compares bytes"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=said) as caught:
            data.map(wrong)
        assert "test_records.py:" in str(caught.value)
    for wrong, said in (
        (lambda r: {"n": [c == "ab" for c in r["text"]]}, "c == 'ab' compares bytes with a str"),
        (lambda r: {"n": [f"{c}" for c in r["text"][:]]}, r"write c.decode\(\)"),
        (lambda r: {"n": [c == word for c, y in zip(r["text"], r["y"])]}, "== word"),  # noqa: B905
        (lambda r: {"n": list(map(lambda c: c == "ab", r["text"]))}, "c == 'ab'"),  # noqa: C417
        (lambda r: {"n": [r["text"][i] == "ab" for i in range(len(r["y"]))]}, r"\[i\] == 'ab'"),
        (looped, "text == word"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=said):
            data.map(wrong, batched=True)
    for of_rows in (
        lambda text: [len(f"{one}") for one in text],
        lambda text: [len(str(text[i])) for i in range(len(text))],
        lambda text: ["{} {}".format(i, one) for i, one in enumerate(text)],  # noqa: UP032
        lambda text: ["%s" % one for one in text],  # noqa: UP031
    ):
        said = r"puts an array into a str.*write bytes\((one|text\[i\])\).decode\(\)"
        for use in (data.filter, lambda wrong: data.batch(2).map(wrong, "text", outputs="n")):
            with pytest.raises(flow.InvalidArgumentError, match=said):
                use(of_rows)
    with pytest.raises(flow.InvalidArgumentError, match="one == b'ab' compares an array with"):
        data.batch(2).map(lambda text: [one == b"ab" for one in text], "text", outputs="n")
    sizes = data.batch(2).map(
        lambda text: np.array([len(f"{bytes(one).decode()}") for one in text]), "text", outputs="n"
    )
    with flow.DataLoader(sizes["n"]) as loader:
        assert next(iter(loader)).tolist() == [len(one["text"]) for one in data.head(2)]
    assert data.map(spoken)[1]["n"].startswith(b"b'")
    for right in (
        lambda r: {"n": str(r["text"], "utf-8") + "%s%r" % (r["y"], r["text"])},  # noqa: UP031
        lambda r: {"n": b"%s" % r["text"] + str(r["y"]).encode()},
        lambda r: {"n": "".join(f"{c}" for c in r["text"])},  # numbers of its bytes
    ):
        assert len(data.map(right)[2]["n"]) > 0
    count = TEXTS.count(b"ab")
    for right in (
        lambda r: {"n": [c == b"ab" for c in r["text"]]},
        lambda r: {"n": [c.decode() == "ab" for c in r["text"]]},
        lambda r: {"n": [f"{c.decode()}" == word for c in r["text"]]},
    ):
        assert sum(data.map(right, batched=True).column("n")) == count


def test_a_str_that_meets_a_text_is_told_that_texts_are_bytes():
    data = made()
    own = {
        "'fox' in r['text']": lambda: data.map(lambda r: {"n": "fox" in r["text"]}),
        "'a' + r['text'] + b'!'": lambda: data.map(
            lambda r: {"n": "a" + r["text"] + b"!"}, outputs={"n": "bytes"}).head(1),
        "t.split(' ')": lambda: data.map(
            lambda r: {"n": [t.split(" ") for t in r["text"]]}, batched=True),
        "' '.join([text])": lambda: data.map(lambda text: {"n": " ".join([text])}),
        "t.replace('a', 'b')": lambda: data.map(
            lambda t: {"n": t.replace("a", "b")}, "text", outputs={"n": "bytes"})[0],
        "r['text'].lower().find('a')": lambda: data.where(
            lambda r: r["text"].lower().find("a") == 0).head(1),
        "re.split('a', r['text'])": lambda: data.explode(
            lambda r: [{"n": one} for one in re.split("a", r["text"])]),
    }  # fmt: skip
    for expression, use in own.items():
        name = "t" if "t.replace" in expression else "text"
        said = f"'{name}' is bytes, as texts of a record are: in {expression} write b'...' for"
        with pytest.raises(flow.UserFunctionError) as caught:
            use()
        assert said in str(caught.value) and "test_records.py:" in str(caught.value)
    with pytest.raises(flow.UserFunctionError, match="are bytes, here 'text': decode"):
        data.map(lambda r: {"n": [r["y"], r["text"].casefold()]})
    for other in (lambda r: {"n": [r["y"] + "!", r["text"].decode("utf-8")]},
                  lambda r: {"n": (r["y"].casefold(), r["text"])}):  # fmt: skip
        with pytest.raises(flow.UserFunctionError) as caught:
            data.map(other)
        assert "bytes" not in str(caught.value)


def test_a_name_that_is_no_field_is_a_key_error_with_the_likely_one():
    data = made()
    shown = data[3], next(iter(data)), data.head(1)[0], data.rows([1, 2]), data.__getitems__([1])[0]
    for one in shown:
        with pytest.raises(KeyError) as caught:
            one["txet"]
        assert str(caught.value) == (
            "there is no field 'txet'; did you mean 'text'? There are x, y, text, tokens"
        )
        assert one.get("txet") is None and "txet" not in one
        assert pickle.loads(pickle.dumps(one)).keys() == one.keys() == {**one}.keys()
