"""JSONLinesReader: values, defaults, strictness, and what is said where a line is wrong."""

from __future__ import annotations

import gzip
import json
import math
import os
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import stored
from support.oracle import fewer

import pyflowdata as flow


def rows_of(part: Any) -> list[Any]:
    """The rows of a field: bytes of strings, lists of other arrays."""
    is_bytes = isinstance(part, flow.Ragged) and part.dtype == np.uint8
    return [bytes(row) if is_bytes else np.asarray(row).tolist() for row in part]


def read(path: Path | str, fields: list[str], batch_size: int = 5, **attrs: Any) -> list[list[Any]]:
    """One epoch: a list of rows for each field, and for the ids if these are asked for."""
    blobs = flow.JSONLinesReader(files=path, fields=fields, batch_size=batch_size, **attrs)
    blobs = blobs if isinstance(blobs, tuple) else (blobs,)
    out: list[list[Any]] = [[] for _ in blobs]
    with flow.DataLoader(*blobs) as loader:
        for batch in loader:
            for rows, part in zip(out, batch if len(blobs) > 1 else (batch,), strict=True):
                rows.extend(rows_of(part))
    return out


@pytest.fixture
def lines(tmp_path: Path):
    def write(*texts: str | bytes, name: str = "a.jsonl", end: bytes = b"\n") -> Path:
        path = tmp_path / name
        encoded = [text.encode() if isinstance(text, str) else text for text in texts]
        path.write_bytes(b"".join(text + end for text in encoded))
        return path

    return write


# ---- What a line means, by Python's json --------------------------------------------------------


class Whole(str):
    """The text of an integer."""


class Real(str):
    """The text of a number with a fraction or an exponent."""


def refuse(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for key, value in pairs:
        json.dumps([key, value], ensure_ascii=False).encode()  # raises for a lone surrogate
    return dict(pairs)


def depth_of(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth_of, inner), default=0)


def parsed(line: bytes) -> dict[str, Any]:
    """The object of a line; ValueError: it is not one that may be read."""
    found = json.loads(
        line.decode(), parse_constant=refuse, parse_int=Whole, parse_float=Real,
        object_pairs_hook=checked,
    )  # fmt: skip
    if not isinstance(found, dict) or depth_of(found) > 64:
        raise ValueError("no object")
    return found


MISSING = object()


def at_path(value: Any, *steps: str | int) -> Any:
    for step in steps:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step, MISSING)
        elif isinstance(step, int) and isinstance(value, list):
            value = value[step] if step < len(value) else MISSING
        else:
            return MISSING
    return value


def number(value: Any, dtype: str) -> Any:
    """A value of a field of numbers; ValueError: it is of another kind, or out of range."""
    kind = np.dtype(dtype)
    if dtype == "bool":
        if not isinstance(value, bool):
            raise ValueError(value)
        return value
    if kind.kind == "f":
        if not isinstance(value, Whole | Real):
            raise ValueError(value)
        with np.errstate(over="ignore"):
            rounded = kind.type(float(value))
        if math.isinf(rounded):
            raise ValueError(value)
        return float(rounded)
    if not isinstance(value, Whole) or not np.iinfo(kind).min <= int(value) <= np.iinfo(kind).max:
        raise ValueError(value)
    return int(value)


def string(value: Any) -> bytes:
    if not isinstance(value, str) or isinstance(value, Whole | Real):
        raise ValueError(value)
    return value.encode()


FIELDS = {  # field: its path, its default, and what is done with its value
    "i:int64=3": (("i",), 3, lambda value: number(value, "int64")),
    "u:uint64=7": (("u",), 7, lambda value: number(value, "uint64")),
    "f:float64=0.5": (("f",), 0.5, lambda value: number(value, "float64")),
    "g=f:float32=0.25": (("f",), 0.25, lambda value: number(value, "float32")),
    "s:str=no=ne": (("s",), b"no=ne", string),
    "b:bool=true": (("b",), True, lambda value: number(value, "bool")),
    "m.x:int8=-1": (("m", "x"), -1, lambda value: number(value, "int8")),
    "m.'a.b':bytes=": (("m", "a.b"), b"", string),
    "t[1]:float32=2": (("t", 1), 2.0, lambda value: number(value, "float32")),
    "t[2].y:uint8=9": (("t", 2, "y"), 9, lambda value: number(value, "uint8")),
    "r:int64[?]=": (("r",), [], lambda value: [number(one, "int64") for one in items(value)]),
    "p=m.p:int16[2]=4": (
        ("m", "p"), [4, 4], lambda value: [number(one, "int16") for one in items(value, 2)]
    ),
}  # fmt: skip


def items(value: Any, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or length not in (None, len(value)):
        raise ValueError(value)
    return value


def expected(line: bytes) -> list[Any]:
    """The values of FIELDS; ValueError: the line is refused."""
    found = parsed(line)
    values = ((at_path(found, *path), default, of) for path, default, of in FIELDS.values())
    return [default if v is MISSING or v is None else of(v) for v, default, of in values]


def outcomes(path: Path, given: list[bytes]) -> None:
    """Compares the rows of a file of these lines with those that Python's json has."""
    wanted = {}
    for i, line in enumerate(given):
        try:
            wanted[i] = expected(line)
        except (ValueError, RecursionError):
            continue
    found = read(path, list(FIELDS), 64, on_error="skip", max_skipped=1.0, with_id=True)
    rows = dict(zip((one[1] for one in found[-1]), zip(*found[:-1], strict=True), strict=True))
    assert sorted(rows) == sorted(wanted), [
        given[i] for i in sorted(rows.keys() ^ wanted.keys())[:3]
    ]
    for i, values in wanted.items():
        assert repr(list(rows[i])) == repr(values), given[i]  # repr tells -0.0 from 0.0


# ---- Random documents ---------------------------------------------------------------------------

STRINGS = ["", "a", "é", "😀", 'q"\\/', "\x00\x1f\x7f", "\b\f\n\r\t", "日本語" * 5, "x" * 70, "[1,{"]


def random_number(rng: random.Random) -> str:
    return rng.choice([
        str(rng.randint(-9, 9)), str(rng.randint(-(2**63), 2**63 - 1)), "-0", "0",
        repr(rng.uniform(-1, 1)), repr(rng.lognormvariate(0, 99)),
        f"{rng.random()}E+{rng.randint(0, 30)}",
        str(rng.getrandbits(64)), "9007199254740993", "1e-400", "123456789012345678901234567890e-9",
    ])  # fmt: skip


def random_value(rng: random.Random, depth: int) -> str:
    kind = rng.randrange(9 if depth < 4 else 6)
    blank = rng.choice(["", "", " ", "\t", " \r "])
    if kind < 2:
        return random_number(rng)
    if kind < 4:
        text = json.dumps(rng.choice(STRINGS), ensure_ascii=rng.random() < 0.5)
        return text.replace("/", rng.choice(["/", "\\/", "\\u002F"]))
    if kind < 6:
        return rng.choice(["true", "false", "null", "[]", "{}"])
    if kind == 6:
        ones = [str(rng.randint(-5, 300)) for _ in range(rng.randrange(4))]
        return f"[{blank}{f'{blank},{blank}'.join(ones)}{blank}]"
    if kind == 7:
        return f"[{','.join(random_value(rng, depth + 1) for _ in range(rng.randrange(4)))}]"
    return random_object(rng, depth + 1)


LIKELY = {
    "i": lambda rng: str(rng.randint(-(2**63), 2**63 - 1)),
    "u": lambda rng: str(rng.getrandbits(64)),
    "f": random_number,
    "s": lambda rng: json.dumps(rng.choice(STRINGS)),
    "b": lambda rng: rng.choice(["true", "false"]),
    "x": lambda rng: str(rng.randint(-128, 127)),
    "a.b": lambda rng: json.dumps(rng.choice(STRINGS)),
    "p": lambda rng: f"[{rng.randint(-9, 9)} , {rng.randint(-9, 9)}]",
    "r": lambda rng: "[" + ",".join(str(rng.randint(-9, 9)) for _ in range(rng.randrange(9))) + "]",
    "y": lambda rng: str(rng.randint(0, 255)),
    "t": lambda rng: f'[null, {rng.random()}, {{"y":{rng.randint(0, 255)}}}]',
    "m": lambda rng: random_object(rng, 1),
}  # fmt: skip


def random_object(rng: random.Random, depth: int = 0) -> str:
    names = rng.choices([*LIKELY, "other", "é"], k=rng.randrange(1, 12))
    members = []
    for name in names:  # some of them twice
        likely = name in LIKELY and depth < 4 and rng.random() < 0.95
        value = LIKELY[name](rng) if likely else random_value(rng, depth)
        key = json.dumps(name)
        if rng.random() < 0.1:
            key = '"' + "".join(f"\\u{ord(c):04x}" for c in name) + '"'
        blank = rng.choice(["", " ", "\t "])
        members.append(f"{blank}{key}{blank}:{blank}{value}")
    return "{" + ",".join(members) + rng.choice(["", " "]) + "}"


def test_random_documents_read_as_by_pythons_json(lines) -> None:
    rng = random.Random(1)
    given = [random_object(rng).encode() for _ in range(fewer(6000))]
    good = 0
    for line in given:
        try:
            expected(line)
            good += 1
        except ValueError:
            pass
    assert len(given) / 3 < good < 0.97 * len(given)
    outcomes(lines(*given), given)


def test_members_that_begin_alike_in_other_objects_are_other_members(lines) -> None:
    rng = random.Random(3)
    shapes = [{"a": {"x": 0, "y": 0}}, {"b": {"x": 0, "y": 0}}, {"x": 0, "y": 0}, {"a": 0, "y": 0},
              {"tags": ["u", "\u00e9", 1, "\n", []], "x": 0}]  # fmt: skip
    texts = [
        re.sub(r"\b0\b", lambda _: str(rng.randrange(1, 99)), json.dumps(rng.choice(shapes)))
        for _ in range(400)
    ]
    paths = [("a", "x"), ("b", "x"), ("b", "y"), ("x",), ("y",)]

    def value_at(row: Any, path: tuple[str, ...]) -> int:
        for name in path:
            row = row.get(name) if isinstance(row, dict) else None
        return -1 if row is None else row

    fields = [f"{'_'.join(path)}={'.'.join(path)}:int64=-1" for path in paths]
    found = read(lines(*texts), fields, batch_size=100)
    for path, column in zip(paths, found, strict=True):
        assert column == [value_at(json.loads(text), path) for text in texts]


LINES = int(os.environ.get("JSON_LINES", "4000"))  # that are mutated; make soak has more
PIECES = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0", b"-", b".", b"e", b"null", b"tru",
          b"\\ud83d", b"\\ude00", b"\x00", b"\x1f", b"\x80", b"\xc3", b"\xf0\x9f", b"NaN", b" ",
          b"'", b"1e999", b"\\u0061", b"Infinity", b"//", b"\x0c", b"\xc2\xa0", b"01",
          b"+1"]  # fmt: skip


def mutated(rng: random.Random, given: bytes) -> bytes:
    line = bytearray(given)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at = rng.randrange(len(line) + 1)
        action = rng.randrange(4)
        if action == 0:
            line[at:at] = rng.choice(PIECES)
        elif action == 1:
            del line[at : at + rng.choice([1, 1, 2, 9])]
        elif action == 2:
            line[at : at + 1] = bytes([rng.randrange(256)])
        else:
            line[at:at] = line[rng.randrange(len(line) + 1) :][: rng.randrange(9)]
    return bytes(line).replace(b"\n", b" ")


def test_mutated_lines_are_read_or_refused_as_by_pythons_json(lines) -> None:
    for seed in range(0, LINES, 4000):
        rng = random.Random(2 + seed)
        base = [line for line in (random_object(rng).encode() for _ in range(400)) if is_good(line)]
        given = [b'{"i": 1}']
        while len(given) < 4000:
            line = mutated(rng, rng.choice(base))
            if line.strip(b" \t\r"):
                given.append(line)
        assert 400 < sum(map(is_good, given)) < 3600
        outcomes(lines(*given), given)


def is_good(line: bytes) -> bool:
    try:
        expected(line)
    except ValueError:
        return False
    return True


# ---- Bytes that are not UTF-8 -------------------------------------------------------------------

BYTES = [b"a", b"\\n", b"\\u00e9", *map(str.encode, "é€😀"), b"\x80", b"\xbf", b"\xc0",
         b"\xc2", b"\xe0", b"\xe0\xa0", b"\xed\xa0\x80", b"\xe2\x82", b"\xf0\x90", b"\xf0\x9f\x98",
         b"\xf4\x90", b"\xf5", b"\xff"]  # fmt: skip


def test_bytes_that_are_not_utf8_are_replaced_as_by_python_or_kept(lines) -> None:
    rng = random.Random(3)
    texts = [b"".join(rng.choices(BYTES, k=rng.choice([1, 2, 5, 90]))) for _ in range(2000)]
    given = [b'{"\xe9": 1, "m": ["%s", 1], "s": "%s"}' % (text, text) for text in texts]
    path = lines(*given)
    read_as = [line.decode(errors="replace") for line in given]
    texts_of = ["s:str", "m:json", "m[1]:int8"]
    found = read(path, [*texts_of, "n=\ufffd:int8=0"], invalid_utf8="replace")
    assert found[0] == [json.loads(text)["s"].encode() for text in read_as]
    assert [json.loads(text) for text in found[1]] == [json.loads(text)["m"] for text in read_as]
    assert found[2:] == [[1] * 2000, [1] * 2000]
    kept = read(path, texts_of, invalid_utf8="keep")
    unescaped = [text.replace(b"\\n", b"\n").replace(b"\\u00e9", "é".encode()) for text in texts]
    assert kept == [unescaped, [b'["%s", 1]' % text for text in texts], [1] * 2000]
    with pytest.raises(flow.CorruptDataError, match=r":1 \(byte 2\): column 3: .* UTF-8"):
        read(path, texts_of)


def test_strings_with_escapes_share_the_memory_of_their_line(lines) -> None:
    """Also where two fields read a string, names are repeated, and bytes are replaced."""
    numbers = random.Random(1)
    pieces = ["plain ", "x" * 70, "\n", '"', "\\", "é", "\u2028", "\U0001f600"]

    def some() -> str:
        return "".join(numbers.choices(pieces, k=numbers.randint(0, 30)))

    def line(a: str, m: str, items: list[str]) -> bytes:
        texts = [json.dumps(one, ensure_ascii=numbers.random() < 0.5) for one in (some(), a, m)]
        return (f'{{"a": {texts[0]}, "l": {json.dumps(items)}, "m": {{"b": {texts[2]}}}, '
                f'"a": {texts[1]}}}').encode()  # fmt: skip

    rows = [(some(), some(), [some(), some()]) for _ in range(300)]
    fields = ["a:str", "again=a:str", "m.b:str", "second=l[1]:str"]
    expected = [[a.encode() for a, _, _ in rows]] * 2
    expected += [[m.encode() for _, m, _ in rows], [items[1].encode() for _, _, items in rows]]
    written = [line(*row) for row in rows]
    assert read(lines(*written), fields, batch_size=64) == expected
    damaged = [one.replace(b"}, ", b'}, "z": "\xff", ') for one in written]
    assert read(lines(*damaged), fields, 64, invalid_utf8="replace") == expected


@pytest.mark.parametrize("policy", ["replace", "keep"])
@pytest.mark.parametrize("line, says", [
    (b'{"s": "\xff\xff", "x": \xff}', r"\(byte 34\): column 18: expected a value, found '\\xff'"),
    (b'{"s": "\xe2\x82", "x": "a"}', r"\(byte 34\): column 18: .* an integer, found '\"a\"'"),
])  # fmt: skip
def test_errors_beside_such_bytes_name_the_byte_of_the_file(
    lines, line: bytes, says: str, policy: str
) -> None:
    with pytest.raises(flow.CorruptDataError, match=says):
        read(lines(b'{"x": 1, "s":""}', line), ["s:str", "x:int64"], invalid_utf8=policy)


def test_fields_are_found_in_lines_that_are_not_utf8(lines) -> None:
    path = lines(b'{"s": "a\xff"}')
    with pytest.raises(flow.CorruptDataError, match=r"its byte 8 is not UTF-8 .invalid_utf8="):
        flow.open(path)
    with flow.DataLoader(flow.open(path, invalid_utf8="replace").batch(1)) as loader:
        assert [rows_of(batch) for (batch,) in [next(iter(loader))]] == [["a\ufffd".encode()]]
    kept = flow.JSONLinesReader(files=path, fields=["s"], batch_size=1, invalid_utf8="keep")
    with flow.DataLoader(kept) as loader:
        assert rows_of(next(iter(loader))) == [b"a\xff"]


# ---- RFC 8259 -----------------------------------------------------------------------------------

ACCEPTED = [
    "[]", "{}", "[[]]", "[{}]", '""', '"a"', "0", "-0", "-1", "1.5", "1e3", "1E+3", "1e-3", "0e0",
    "0.0",
    "-0.1e-0", "true", "false", "null", " 1", "1 ", "\t1\r", "[1 , 2]", '{"a" : 1 , "b" : 2}',
    "1e400",
    '{"a":1,"a":2}', '{"":0}', r'"\""', r'"\\"', r'"\/"', r'"\b\f\n\r\t"', r'"\u0000"', r'"\u00e9"',
    r'"\u00E9"', r'"\ud83d\ude00"', r'"\uD83D\uDE00"', r'"\uffff"', '"\x7f"', '"é"', '"😀"',
    '"\u2028"',
    '"\ufeff"', '"' + "a" * 500 + '"', "1" * 400, "0." + "0" * 400 + "1", "[" * 63 + "]" * 63,
    r'"\\u12"', r'"\\\""', '"//"', '"\'"', "[null, 1, \"a\", true]",
    '"\u2029\uffff\U0010fffe"', r'"\ud83f\udffe\uFDD0"', '{"a":1,"a":1}',
    "-1e-78", "1E22", "1e99999",
]  # fmt: skip
REFUSED = [
    "", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1,,2]", "[1 2]", "[1}", "{", "}", '{"a"', '{"a":',
    '{"a":1',
    '{"a":1,', '{"a":1,}', '{,"a":1}', '{"a":1,,"b":2}', '{"a" 1}', '{"a"::1}', "{a:1}", "{'a':1}",
    "{1:1}", "{null:1}", '{"a":1]', "01", "-01", "00", "+1", "-", "--1", "- 1", "1.", ".5", "-.5",
    "1.e1",
    "1e", "1e+", "1e1.5", "1ee1", "0x10", "1_000", "1,5", "1a", "Infinity", "-Infinity", "NaN",
    "nan",
    "inf", "True", "FALSE", "nul", "nulll", "truefalse", "undefined", "'a'", '"', '"a', '"\\"',
    r'"\x41"',
    r'"\a"', r'"\0"', r'"\u"', r'"\u12"', r'"\u12g4"', r'"\U00e9"', r'"\ud83d"', r'"\ude00"',
    r'"\ude00\ud83d"', r'"\ud83d\u0041"', r'"\ud83dx"', r'"\ud83d\ud83d\ude00"', '"\t"', '"\x00"',
    '"\x1f"',
    "1 1", "[] []", '"a" "b"', "// 1", "1 // a", "/* */ 1", "# 1", "\x0c1", "\x0b1", "\xa01",
    "\u30001",
    "\ufeff1", "<1>", "(1)", "1;", "\x00", "`a`", "[" * 64 + "]" * 64, "[1,2", '["a',
    '{"a":{"b":1}', "[1:2]", "[1;2]", "[*]", "[-]", "[,]", "[1]//", "[\x0b]", "[<null>]",
    '{"a":1 "b":2}',
    "{\U0001f1e8}", "9.e+", "0E+", "1.0e+", "1 000", "-1x", "\uff11", "\u2060", "\xe5", "-NaN",
    "[\x00]",
    '"\\\t"', '"\\\x00"', '"\\\U0001f300"', r'"\ud800\"', r'"\ud800\u1"', r'"\ud800\u1x"',
    "[" * 100_000, '[{"":' * 50_000,
]  # fmt: skip
NOT_UTF8 = [b'"\xff"', b'"\x80"', b'"\xc3"', b'"\xc0\x80"', b'"\xed\xa0\x80"',
b'"\xf4\x90\x80\x80"',
            b'"\xe2\x82"', b'"\xf8\x88\x80\x80\x80"', b'"\xe9"', b"\xff", b"\xef\xbb1",
            b'\xff\xfe"\0a\0"\0', b'"\\\xe5"', b'"\\u\xe5"', b"[\xe5]", b"1\xe5"]  # fmt: skip


@pytest.mark.parametrize("key", ["v", "w"], ids=["wanted", "passed"])
def test_exactly_what_rfc_8259_allows_is_accepted(lines, key: str) -> None:
    cases = [text.encode() for text in ACCEPTED + REFUSED] + NOT_UTF8
    wanted = [text.encode() for text in ACCEPTED]
    given = [b'{"' + key.encode() + b'":' + case + b"}" for case in cases]
    for case, line in zip(cases, given, strict=True):
        assert (case in wanted) == is_json(line), case
    attrs: dict[str, Any] = {"on_error": "skip", "max_skipped": 1.0, "with_id": True}
    values, ids = read(lines(*given), ["v:json=0"], 64, **attrs)
    found = [cases[one[1]] for one in ids]
    assert found == wanted
    assert values == [case.strip(b" \t\r") if key == "v" else b"0" for case in wanted]


def is_json(line: bytes) -> bool:
    try:
        parsed(line)
    except (ValueError, RecursionError):
        return False
    return True


@pytest.mark.parametrize(
    "line", ["[]", "1", '"a"', "null", "{} {}", "{},", "a", "{}x", "[{}]", ","]
)
def test_a_line_is_one_object(lines, line: str) -> None:
    with pytest.raises(flow.CorruptDataError, match="a line is one JSON object"):
        read(lines("{}", line), ["a:int64=1"])


# ---- Types --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_integers_are_read_exactly_to_the_limits(lines, dtype: str) -> None:
    limits = np.iinfo(dtype)
    good = [limits.min, limits.max, 0, 1, limits.max - 1]
    path = lines(*(f'{{"a":{one}}}' for one in good))
    assert read(path, [f"a:{dtype}"]) == [good]
    for bad in (limits.min - 1, limits.max + 1, 10**19 * 2, -(10**40)):
        with pytest.raises(flow.CorruptDataError) as failure:
            read(lines(f'{{"a":{bad}}}'), [f"a:{dtype}"])
        message = f"a:{dtype}': expected an integer from {limits.min} to {limits.max}, for {dtype}"
        assert message in str(failure.value)


def test_floats_are_the_nearest_ones(lines) -> None:
    rng = random.Random(3)
    texts = [random_number(rng) for _ in range(500)]
    assert not any(math.isinf(float(text)) for text in texts)
    texts += ["1.7976931348623157e308", "5e-324", "2.4703282292062327e-324", "3.4028235e38"]
    path = lines(*(f'{{"a": {text}}}' for text in texts))
    (found,) = read(path, ["a:float64"])
    assert list(map(repr, found)) == [repr(float(text)) for text in texts]
    small = [text for text in texts if abs(float(text)) <= 3.4028235e38] + ["1e-46"]
    (found,) = read(lines(*(f'{{"a": {text}}}' for text in small)), ["a:float32"])
    assert list(map(repr, found)) == [repr(float(np.float32(float(text)))) for text in small]


def test_arrays_of_fixed_and_varying_shapes(lines) -> None:
    path = lines(
        '{"a": [[1,2],[3,4]], "r": [[1,2,3],[4,5,6]], "n": [1], "s": [true, false]}',
        '{"a": [[5,6],[7,8]], "r": [], "n": [], "s": [false, true]}',
        '{"a": [[9,10],[11,12.5]], "r": [[7,8,9]], "n": [1,2,3], "s": [true, true]}',
    )
    fields = ["a:float32[2,2]", "r:int16[?,3]", "q=r:int64[?,?]", "n:float64[?]", "s:bool[2]"]
    found = read(path, fields)
    assert found == [
        [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12.5]]],
        [[[1, 2, 3], [4, 5, 6]], [], [[7, 8, 9]]],
        [[[1, 2, 3], [4, 5, 6]], [], [[7, 8, 9]]],
        [[1], [], [1, 2, 3]],
        [[True, False], [False, True], [True, True]],
    ]


def test_a_long_array_and_numbers_of_uint8(lines) -> None:
    numbers = list(range(-5000, 5000))
    path = lines(json.dumps({"a": numbers, "b": [0, 255]}), '{"a": [], "b": []}')
    blobs = flow.JSONLinesReader(files=path, fields=["a:int32[?]", "b:uint8[?]"], batch_size=2)
    with flow.DataLoader(*blobs) as loader:
        a, b = next(iter(loader))
    assert [row.tolist() for row in a] == [numbers, []]
    assert [row.tolist() for row in b] == [[0, 255], []]


def test_one_path_for_several_fields_and_what_is_below_it(lines) -> None:
    path = lines('{"m": {"a": [1, {"b": "x"}]}, "k": 2}', '{"k": 3, "m": null}')
    fields = ["m:json=0", "a=m.a:json=[]", "b=m.a[1].b:str=-", "k:int8", "f=k:float32",
              "e=m.a[0]:int8=5"]  # fmt: skip
    assert read(path, fields) == [
        [b'{"a": [1, {"b": "x"}]}', b"null"], [b'[1, {"b": "x"}]', b"[]"], [b"x", b"-"],
        [2, 3], [2, 3], [1, 5],
    ]  # fmt: skip


def test_names_in_quotes(lines) -> None:
    path = lines(json.dumps({"a.b": {"c:d": 1, "[0]": 2, "it's": 3, "": 4}, "é x": 5, "-": 6}))
    fields = ["'a.b'.'c:d':int8", "x='a.b'.'[0]':int8", "y='a.b'.'it''s':int8", "'a.b'.'':int8",
              "é x:int8", "-:int8"]  # fmt: skip
    assert [rows[0] for rows in read(path, fields)] == [1, 2, 3, 4, 5, 6]


def test_the_last_of_equal_names_counts(lines) -> None:
    path = lines(
        '{"a": {"x": 1}, "a": {"y": 2}}', '{"a": {"x": "no"}, "a": {"x": 3}}',
        '{"a": {"x": 1}, "\\u0061": null}', '{"a": {"x": 1, "x": 2, "y": 3}}',
    )  # fmt: skip
    assert read(path, ["a.x:int8=-1", "a.y:int8=-2"]) == [[-1, 3, -1, 2], [2, -2, -2, 3]]


# ---- Missing values -----------------------------------------------------------------------------


def test_defaults(lines) -> None:
    path = lines("{}", '{"a": null, "m": 5}', '{"m": [1]}')
    fields = ["a:int64=-3", "f:float32[2]=1.5", "n:float64=nan", "i:float32=-inf", "s:str=x:y=z",
              "r:float32[?,4]=", "m.q:bool=true", "m[1]:uint64=18446744073709551615",
              "j:json={}"]  # fmt: skip
    found = read(path, fields)
    assert str(found) == str([
        [-3] * 3, [[1.5, 1.5]] * 3, [math.nan] * 3, [-math.inf] * 3, [b"x:y=z"] * 3, [[]] * 3,
        [True] * 3,
        [2**64 - 1] * 3, [b"{}"] * 3,
    ])  # fmt: skip


@pytest.mark.parametrize("line, says", [
    ('{"b": 1}', "field 'm.a:int64': the line has no such value; a default, as in 'm.a:int64=0'"),
    ('{"m": 3}', "the line has no such value"),
    ('{"m": {"a": null}}', "field 'm.a:int64': the value is null; a default, as in 'm.a:int64=0'"),
])  # fmt: skip
def test_a_missing_value_without_a_default(lines, line: str, says: str) -> None:
    path = lines('{"m": {"a": 1}}', "", line)
    with pytest.raises(flow.CorruptDataError) as failure:
        read(path, ["m.a:int64"])
    assert says in str(failure.value) and f"{path}:3 " in str(failure.value)


# ---- What is said -------------------------------------------------------------------------------


@pytest.mark.parametrize("field, value, says", [
    ("a:int8", "1.0", "expected an integer, without fraction and exponent, for int8, found '1.0'"),
    ("a:int64", "1e3", "without fraction and exponent, for int64, found '1e3'"),
    ("a:uint8", "-1", "expected an integer from 0 to 255, for uint8, found '-1'"),
    ("a:int8=5", '"5"', "expected an integer, found '\"5\"'"),
    ("a:int8", "true", "expected an integer, found 'true'"),
    ("a:bool", "1", "expected true or false, found '1'"),
    ("a:float32", "1e39", "expected a number that is not too large for float32, found '1e39'"),
    ("a:float64", "-1e309", "expected a number that is not too large for float64, found '-1e309'"),
    ("a:float64=0", '{"b": 1}', "expected a number, found '{\"b\": 1}'"),
    ("a:str=x", "5", "expected a string (the type json takes any value), found '5'"),
    ("a:float32[3]", "[1, 2]", "expected 3 items, and there are 2, found '[1, 2]'"),
    ("a:float32[1]", "[1, 2, 3]", "expected 1 items, and there are 3, found '[1, 2, 3]'"),
    ("a:float32[3]=0", "5", "expected an array, found '5'"),
    ("a:int64[?]", "[1, null]", "expected an integer, found 'null'"),
    ("a:int64[?]", "[1, [2]]", "expected an integer, found '[2]'"),
    ("a:int64[?,2]", "[[1, 2], [3]]", "expected 2 items, and there are 1, found '[3]'"),
    ("a:int64[?,?]", "[[1], [3, 4]]", "expected 1 items as in the array before, and there are 2"),
])  # fmt: skip
def test_a_value_that_does_not_fit(lines, field: str, value: str, says: str) -> None:
    path = lines("{}" if "=" in field else "", f'{{"x": 1, "a": {value}}}')
    with pytest.raises(flow.CorruptDataError) as failure:
        read(path, [field])
    message = str(failure.value)
    assert says in message and f"field '{field}'" in message
    column = int(re.search(r"column (\d+)", message)[1])  # type: ignore[index]
    start = path.read_bytes().splitlines()[1]
    assert f"{path}:2 (byte {path.read_bytes().index(start) + column - 1})" in message
    assert message.rsplit("found '")[1].startswith(start[column - 1 :].decode()[:1])


@pytest.mark.parametrize("line, says", [
    ('{"a": 1,}', "column 9: expected a key in quotes, found '}'; a line is one JSON object"),
    ('{"a": 1', "column 8: expected a comma or }, found the end of the line"),
    ('{"a": "\\ud83d"}', "column 8: expected the escapes of surrogates to be pairs"),
    ('{"a": "\\x"}', "column 8: expected an escape such as"),
    ('{"a": NaN}', "column 7: expected a value, found 'N'"),
    ("[1]", "column 1: expected an object, found '['"),
    ('{"z": "\xff"}'.encode("latin-1"), "column 8: expected valid UTF-8, found '\\xff'"),
])  # fmt: skip
def test_a_line_that_is_not_json(lines, line: str | bytes, says: str) -> None:
    path = lines('{"a": 1}', line)
    with pytest.raises(flow.CorruptDataError) as failure:
        read(path, ["a:json"])
    assert says in str(failure.value) and f"{path}:2 " in str(failure.value)


@pytest.mark.parametrize("field, says", [
    ("a", "no record of the first 1 has such a value; give its type, as 'a:int64=0'"),
    ("a:text", "neither 'bytes' or 'str|json' nor a dtype"),
    ("a:float16", "has a float of 16 bits"),
    ("a:int8=", "has a default that is not one int8"),
    ("a:int8=300", "has a default that is not one int8"),
    ("a:int8=1.5", "has a default that is not one int8"),
    ("a:bool=1", "has a default that is not one bool"),
    ("a:float32=x", "has a default that is not one float32"),
    ("a:int8[?]=3", "has a default, and its size varies"),
    ("a:int8[?,0]", "a dimension varies and another one is 0"),
    ("a:json={", "has a default that is not JSON"),
    ("a..b:int8", "a name is empty"),
    (".a:int8", "a name is empty"),
    ("a.:int8", "a name is empty"),
    ("[0]:int8", "a name is empty"),
    ("a[x]:int8", "an element is written [N]"),
    ("a[-1]:int8", "an element is written [N]"),
    ("a[1:int8", "an element is written [N]"),
    ("a[99999999999]:int8", "an element is written [N]"),
    ("a[0]b:int8", "a name follows without a dot"),
    ("'a:int8", "a quote is not closed"),
    ("a'b:int8", "a name follows without a dot"),
    (".".join("a" * 65) + ":int8", "it has more than 64 steps"),
])  # fmt: skip
def test_a_field_that_is_written_wrong(lines, field: str, says: str) -> None:
    with pytest.raises(flow.InvalidArgumentError, match=re.escape(says)) as failure:
        read(lines("{}"), [field])
    assert failure.value.attr == "fields"


# ---- Files --------------------------------------------------------------------------------------


def numbered(n: int) -> list[str]:
    return [json.dumps({"key": i, "text": "é" * (i % 7), "x": [i / 8] * (i % 3)}) for i in range(n)]


def test_blank_lines_line_ends_and_a_mark(lines) -> None:
    texts = ["\ufeff" + '{"a": 1}', "", " \t", '{"a": 2} ', "", '\t{"a": 3}']
    for end in (b"\n", b"\r\n"):
        assert read(lines(*texts, end=end), ["a:int8"]) == [[1, 2, 3]]
    assert read(lines("\ufeff", *texts[1:]), ["a:int8"]) == [[2, 3]]


@pytest.mark.parametrize("pack, name", [
    (gzip.compress, "a.jsonl.gz"), (stored.zstd, "a.jsonl.zst"), (bytes, "a.ndjson"),
])  # fmt: skip
def test_compressed_files(tmp_path: Path, pack: Any, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(pack(("\ufeff" + "\n".join(numbered(500))).encode()))
    keys, texts, xs = read(path, ["key:int64", "text:str", "x:float32[?]"])
    assert keys == list(range(500))
    assert texts == [("é" * (i % 7)).encode() for i in range(500)]
    assert xs == [[i / 8] * (i % 3) for i in range(500)]


def test_shuffle_ranks_and_resume(lines) -> None:
    path = lines(*numbered(203))
    attrs: dict[str, Any] = {"files": path, "fields": ["key:int64", "text:str"], "batch_size": 4,
                             "random_shuffle": True, "seed": 3}  # fmt: skip
    halves = []
    for rank in range(2):
        blobs = flow.JSONLinesReader(**attrs, rank=rank, world_size=2)
        with flow.DataLoader(*blobs) as loader:
            halves += [key for keys, _ in loader for key in keys.tolist()]
    assert set(halves) == set(range(203)) and halves != sorted(halves)
    with flow.DataLoader(*flow.JSONLinesReader(**attrs)) as loader:
        batches = iter(loader)
        for _ in range(7):
            next(batches)
        state = loader.state_dict()
        rest = [(keys.tolist(), rows_of(texts)) for keys, texts in batches]
    with flow.DataLoader(*flow.JSONLinesReader(**attrs)) as loader:
        loader.load_state_dict(state)
        assert [(keys.tolist(), rows_of(texts)) for keys, texts in loader] == rest


@pytest.mark.parametrize("on_error", ["skip", "pad"])
def test_damaged_lines_are_left_out(lines, on_error: str) -> None:
    texts = numbered(40)
    for i in (0, 7, 8, 39):
        texts[i] = texts[i][:-2]
    texts[20] = '{"key": "twenty"}'
    good = [i for i in range(40) if i not in (0, 7, 8, 20, 39)]
    attrs: dict[str, Any] = {"last_batch": "pad"} if on_error == "pad" else {}
    found = read(lines(*texts), ["key:int64"], 5, on_error=on_error, max_skipped=10, **attrs)
    assert [key for key in found[0] if key != 0] == good
