"""Fields with the names of outputs that every reader has, or with signs that an attr gives a
meaning."""

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.errors import InvalidArgumentError


def test_every_name_goes_through_views_and_batches(tmp_path):
    names = ["id", "id_", "mask", "a=b", "a:b", "a_b"]
    rows = [{name: 10 * i + column for column, name in enumerate(names)} for i in range(12)]
    data = flow.from_arrays({name: np.array([row[name] for row in rows]) for name in names})
    assert [*data] == rows
    assert [*data.take(5)] == rows[:5]
    assert [*data.concat(data)] == rows + rows
    assert [*data.where("id >= 40").cache(tmp_path)] == rows[4:]
    with flow.DataLoader(data.batch(12).blobs) as loader:
        (batch,) = loader
    assert {name: values.tolist() for name, values in batch.items()} == {
        name: [row[name] for row in rows] for name in names
    }


def test_a_column_id_of_a_file(tmp_path):
    (tmp_path / "rows.csv").write_text("id,label\n1,2\n3,4\n")
    data = flow.open(tmp_path / "rows.csv")
    assert [*data.skip(1)] == [{"id": 3, "label": 4}]
    with pytest.raises(InvalidArgumentError, match=r"with_id=True .* rename\(\)"):
        data.batch(2, with_id=True)
    assert list(data.rename(id="key").batch(2, with_id=True).blobs) == ["key", "label", "id"]
