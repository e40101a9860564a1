"""Predicates in text: each row beside what Python's eval() gives for it."""

import random
import re

import numpy as np
import pytest

import pyflowdata.errors as errors
from pyflowdata.datasets.expressions import Expression, empty_column
from pyflowdata.ragged import Ragged

N = 200


def ragged(rows, dtype):
    splits = np.cumsum([0, *(len(row) for row in rows)])
    return Ragged(np.array([one for row in rows for one in row], dtype), splits)


def make_columns(seed):
    """Columns, and the same as a dict of Python values for each row."""
    draw = random.Random(seed)
    names = ["", "cat", "dog", "cats", "a much longer name than the others"]
    rows = [
        {
            "label": draw.randrange(-5, 6),
            "small": draw.randrange(256),
            "big": draw.choice([0, 1, 2**63 - 1, 2**64 - 1]),
            "x": draw.choice([0.0, -1.5, 2.25, 1e30, float("nan"), float("inf")]),
            "flag": draw.random() < 0.5,
            "box": [draw.randrange(-9, 9) for _ in range(3)],
            "name": draw.choice(names),
            "other": draw.choice(names),
            "ids": [draw.randrange(100) for _ in range(draw.randrange(4))],
        }
        for _ in range(N)
    ]
    dtypes = {"label": np.int64, "small": np.uint8, "big": np.uint64, "x": np.float64}
    columns = {name: np.array([row[name] for row in rows], dtypes[name]) for name in dtypes}
    columns["flag"] = np.array([row["flag"] for row in rows])
    columns["box"] = np.array([row["box"] for row in rows], np.int8)
    for name in ("name", "other"):
        columns[name] = ragged([row[name].encode() for row in rows], np.uint8)
    columns["ids"] = ragged([row["ids"] for row in rows], np.int32)
    return columns, rows


FUNCTIONS = {
    "startswith": str.startswith,
    "endswith": str.endswith,
    "isnan": lambda x: x != x,
    "nan": float("nan"),
}

TRUE_FOR_PYTHON = """
    label != 3 and label > -4
    label == 1 or label == 2 or flag
    not (label > 0)
    not flag and not label <= 0
    -3 <= label < 4
    0 < label <= small < 200
    label in (1, 2, -5)
    label not in [0]
    small in {1, 300, 255, -1}
    label in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)
    small + 1 > 255
    small - 256 < -100
    -small < -200
    small * small >= 40000
    label * 2 + 1 == 5
    label % 3 == 1
    label // 2 == -2
    label / 2 == 1.5
    big > 9223372036854775807
    big == 18446744073709551615
    big - 1 == 9223372036854775806
    x > 0
    x != x
    x == x and x < 1e10
    isnan(x)
    abs(label) == 4
    abs(x) > 2
    min(label, 2) == 2
    max(label, small, 3) == 3
    flag
    flag == True
    box[0] > 0 and box[-1] < box[1]
    len(box) == 3
    max(box) == 8
    min(box) < -8
    len(name) > 3
    len(ids) == 2
    name == 'cat'
    name != "cat"
    name == ''
    'cat' == name
    name in ('dog', 'cats', '')
    name not in ('dog',)
    name < 'd'
    'cat' < name
    name >= 'cat'
    name == other
    name < other
    startswith(name, 'cat')
    endswith(name, 's')
    startswith(name, '')
    len(name) == len(other) and name != other
    1 < 2 and label > 0
    (label > 1) & (small > 1) | flag & (label < 0)
    label ** 2 > 3
    small ** 2 + 2 ** 10 > 2000 and 9 ** 9 > label
    2.0 ** -label < 1 and (-8) ** -1 < x
""".strip().splitlines()


def test_a_constant_of_many_digits_is_a_float():
    columns, _ = make_columns(0)
    huge = "9 ** 9 ** 9 ** 9 > label"
    for text in (huge, "2 ** 63 > 2 ** 62 + label * 0", "2 ** -1 > label * 0"):
        assert Expression(text, list(columns)).evaluate(columns).all(), text


def test_rows_are_as_in_python():
    for seed, text in enumerate(TRUE_FOR_PYTHON):
        columns, rows = make_columns(seed)
        expression = Expression(text, list(columns))
        found = expression.evaluate({name: columns[name] for name in expression.names})
        wanted = [bool(eval(text, FUNCTIONS, row)) for row in rows]  # noqa: S307
        assert found.dtype == np.bool_ and found.tolist() == wanted, text
        assert 0 < sum(wanted), text  # the case is about something
        none = {name: empty_column(columns[name].dtype, columns[name].shape[1:])
                for name in expression.names}  # fmt: skip
        assert expression.evaluate(none).shape == (0,)


def test_random_predicates_are_as_in_python():
    draw = random.Random(5)

    def number(depth):
        if depth == 0 or draw.random() < 0.3:
            return draw.choice(["label", "small", "x", "3", "-2", "0.5", "len(ids)", "box[1]"])
        how = draw.choice(["+", "-", "*"])
        return f"({number(depth - 1)} {how} {number(depth - 1)})"

    def truth(depth):
        if depth == 0 or draw.random() < 0.2:
            how = draw.choice(["<", "<=", ">", ">=", "==", "!="])
            return f"{number(2)} {how} {number(2)}"
        word = draw.choice(["and", "or", "not"])
        if word == "not":
            return f"(not {truth(depth - 1)})"
        return f"({truth(depth - 1)} {word} {truth(depth - 1)})"

    columns, rows = make_columns(99)
    for _ in range(150):
        text = f"{truth(3)} or label != label"
        found = Expression(text, list(columns)).evaluate(columns)
        code = compile(text, "<predicate>", "eval")
        wanted = [bool(eval(code, FUNCTIONS, row)) for row in rows]  # noqa: S307
        assert found.tolist() == wanted, text


def test_numbers_without_a_counterpart_in_python():
    columns, _ = make_columns(1)
    columns["zero"] = np.zeros(N, np.int64)
    fields = list(columns)
    # A remainder by zero is no number, so that every comparison of it is false.
    assert not Expression("label % zero == 0", fields).evaluate(columns).any()
    assert not Expression("label // zero == 0", fields).evaluate(columns).any()
    # Floats of 32 bits are compared as such, so that a constant finds what was written.
    columns["f"] = np.full(N, 0.1, np.float32)
    columns["h"] = np.full(N, 60000, np.float16)
    assert Expression("f == 0.1", [*fields, "f"]).evaluate(columns).all()
    assert Expression("h + h > 100000 and h + h < 1e9", [*fields, "h"]).evaluate(columns).all()


def test_truths_of_rows():
    columns, rows = make_columns(2)
    fields = list(columns)
    found = Expression("any(box > 7)", fields).evaluate(columns)
    assert found.tolist() == [any(one > 7 for one in row["box"]) for row in rows]
    found = Expression("all(box > -3) and flag", fields).evaluate(columns)
    assert found.tolist() == [all(one > -3 for one in row["box"]) and row["flag"] for row in rows]


def test_names_and_values():
    columns, rows = make_columns(3)
    expression = Expression("  len(ids) + label * label ", list(columns))
    assert expression.names == ("ids", "label")
    found = expression.evaluate(columns)
    assert found.tolist() == [len(row["ids"]) + row["label"] ** 2 for row in rows]
    odd = Expression("field('image/label') > 1 and label > 0", ["image/label", "label"])
    assert odd.names == ("image/label", "label")
    found = odd.evaluate({"image/label": columns["label"], "label": columns["label"]})
    assert found.tolist() == [row["label"] > 1 for row in rows]
    dotted = Expression("meta.a.b > 1 and abs(meta.c) > 0 and meta", ["meta", "meta.a.b", "meta.c"])
    assert dotted.names == ("meta.a.b", "meta.c", "meta")
    assert Expression("label", ["label"]).evaluate(columns) is columns["label"]


REFUSED = [
    ("label = 3", "character 7: invalid syntax; == compares"),
    ("lable != 3", "character 1 (lable): there is no field 'lable'; did you mean 'label'?"),
    ("label != 3 and lenght > 1", "character 16 (lenght): there is no field 'lenght'"),
    ("field('a/b') == 1", "there is no field 'a/b'"),
    ("field(label)", "field() takes the name"),
    ("label = 3", "label = 3"),
    ("label >", "at its end: invalid syntax"),
    ("", "invalid syntax"),
    ("label == 'cat'", "it compares int64 with a text"),
    ("name == 3", "it compares a text with the constant 3"),
    ("ids > 3", "int32 of varying shape with the constant 3; len() gives"),
    ("ids + 1 > 3", "(ids): this is a field of int32 of varying shape, and no number"),
    ("name + 1 > 2", "(name): this is a text, and no number"),
    ("label and flag", "(label): and takes truths, and this is int64; compare it"),
    ("not label", "not takes truths"),
    ("label == 1 & flag", "character 10 (1): & takes truths, and this is the constant 1, as &"),
    ("label > 1 | small > 1", "than == and <: put comparisons in parentheses"),
    ("~label == 1", "~ takes truths, and this is int64"),
    ("label << 2 > 1", "the operators are + - * / // % ** & |"),
    ("name ** 2 > 1", "(name): this is a text, and no number"),
    ("label is 3", "write == or != instead of is"),
    ("name == None", "(None): no field is None: a null text is b''"),
    ("name is not None", "(None): no field is None: a null text is b''"),
    ("label == 1j", "constants are numbers, texts, True and False"),
    ("1 < 2", "it has no field"),
    ("box > label", "rows of one shape are needed"),
    ("(box > 1) and flag", "rows of one shape are needed"),
    ("box[3] > 1", "the index must be a number in [0, 3)"),
    ("label[0] > 1", "x[0] takes a field with several elements"),
    ("box[label] > 1", "the index must be a number in [0, 3)"),
    ("len(label) > 1", "len() takes a field with several elements"),
    ("any(flag)", "any() of one value takes a field with several elements"),
    ("max(label) > 1", "max() of one value takes"),
    ("abs(label, 2) > 1", "abs() has 2 arguments; it takes 1"),
    ("min() > label", "min() has 0 arguments; it takes 1 or more"),
    ("label in (1, 'a')", "('a'): in takes constants of the field, which is int64"),
    ("label in small", "in takes constants, as in (1, 2, 3)"),
    ("'cat' in name", "looks into the field of each record: lambda r: b'cat' in r['name']"),
    ("3 in ids", "lambda r: 3 in r['ids']"),
    ("meta.name > 1", "character 1 (meta.name): there is no field 'meta.name'"),
    ("name in (1,)", "in takes constants of the field, which is a text"),
    ("ids in (1,)", "in takes a field of numbers or texts"),
    ("startswith(label, 'a')", "startswith() takes a field of texts, and a text"),
    ("print(label)", "the functions are abs, all"),
    ("__import__('os').system('true') or label", "the functions are abs"),
    ("label.real > 1", "expressions have fields"),
    ("[x for x in label]", "there is no field"),
    ("(lambda: label)()", "the functions are"),
    ("name.startswith('c')", "the functions are abs, all, any, endswith"),
    ("label > 99999999999999999999", "the number does not fit 64 bits"),
    ("label > 1 / 0", "division by zero"),
    ("-" * 150 + "label > 1", "nested"),
    ("not " * 100_000 + "label", "nested too deeply; at most 100"),  # the parser has no word for it
    (" or ".join(["label"]) + "\0", "null bytes"),
]
def test_what_is_refused():
    columns, _ = make_columns(4)
    fields = [name for name in columns if name != "x"]
    for text, says in REFUSED:
        with pytest.raises(errors.InvalidArgumentError, match=re.escape(says)):
            Expression(text, fields).evaluate(columns)


def test_places_count_characters_not_bytes():
    with pytest.raises(errors.InvalidArgumentError, match=r"character 14 \(größe2\): there is no"):
        Expression("größe == 1 + größe2", ["größe"])
    with pytest.raises(errors.InvalidArgumentError, match=r"^.label > lable., character 9 "):
        Expression("  label > lable", ["label"]).evaluate({})
