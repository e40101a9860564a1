"""Tables that datasets, DuckDB and polars wrote, and a folder as Spark leaves it, have the values
that pyarrow reads: tests/fixtures/make_tables.py makes them."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from support.paths import ROOT

import pyflowdata as flow

FOLDER = ROOT / "tests/fixtures/tables"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
LEFT_OUT = {
    "features": ["null"],
    "cache.arrow": [],
    "duckdb.parquet": [],
    "duckdb.arrows": [],
    "polars.arrow": ["none"],
    "polars.parquet": ["none"],
    "polars.ndjson": ["none"],
    "spark": [],
    "legacy.parquet": [],
}


DECIMALS = {"price": float, "huge": int, "decimal128_20_3": float, "decimal256_50_3": float}


def spelled(name):
    return name if name.isidentifier() else "'" + name.replace("'", "''") + "'"


def leaves(name, rows, fields):
    """The columns that a value of a file is read as: members of structs, also of those in lists."""
    there = [row for row in rows if row is not None]
    items = [one for row in there if isinstance(row, list) for one in row]
    if name in fields:
        yield name, rows
    elif there and isinstance(there[0], dict):
        for key in there[0]:
            yield from leaves(f"{name}.{spelled(key)}", [row[key] for row in rows], fields)
    elif items and isinstance(items[0], dict):
        for key in items[0]:
            yield from leaves(f"{name}.{key}", [[one[key] for one in row] for row in rows], fields)
    else:
        yield name, rows


def stored(value):
    """A value of expected.json; a null as it is read where no default is given."""
    if isinstance(value, list):
        return [stored(one) for one in value]
    if isinstance(value, dict):
        return {name: stored(one) for name, one in value.items()}
    if isinstance(value, str):
        is_float = "x" in value or value.endswith("inf")
        return float.fromhex(value) if is_float else bytes.fromhex(value)
    return value


def check(found, wanted, said):
    if isinstance(found, bytes) and isinstance(wanted, list):  # a field of JSON
        found = json.loads(found)
        wanted = json.loads(json.dumps(wanted, default=bytes.decode))
    if isinstance(wanted, bytes) or isinstance(found, (bytes, list)):
        assert found == (b"" if wanted is None else wanted), said
    elif np.size(found) or np.size(wanted):
        kind = np.asarray(found).dtype
        np.testing.assert_array_equal(found, np.array(wanted, kind), err_msg=said, strict=True)


@pytest.mark.parametrize("part", EXPECTED)
def test_values_are_those_of_pyarrow(part):
    data, left_out, seen = flow.open(FOLDER / part), [], set()
    rows = [data[i] for i in range(len(data))]
    for name, values in EXPECTED[part].items():
        for leaf, wanted in leaves(name, values, data.fields):
            if leaf not in data.fields:
                left_out.append(leaf)
                continue
            seen.add(leaf)
            assert len(rows) == len(wanted)
            for row, value in zip(rows, wanted, strict=True):
                is_decimal = leaf in DECIMALS and "x" not in value
                wanted = DECIMALS[leaf](value) if is_decimal else stored(value)
                check(row[leaf], wanted, f"{part}: {leaf}")
    assert left_out == LEFT_OUT[part] and seen == set(data.fields)
    for leaf in left_out:
        said = rf"^the column '{re.escape(leaf)}' is (no field: |null \(as )"
        with pytest.raises(flow.InvalidArgumentError, match=said):
            flow.open(FOLDER / part, fields=[leaf])


@pytest.mark.parametrize("name", ["a.arrow", "a.parquet"])
def test_a_name_that_no_list_of_fields_can_have_is_named(name, tmp_path):
    table = pa.table({"a=b": [1], "c": [2]})
    if name == "a.parquet":
        pq.write_table(table, tmp_path / name)
    else:
        with pa.ipc.new_file(tmp_path / name, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(flow.InvalidArgumentError, match="a=b.* cannot be written in a list"):
        flow.open(tmp_path / name)
    assert flow.open(tmp_path / name, fields=["c:int64"])[0]["c"] == 2
