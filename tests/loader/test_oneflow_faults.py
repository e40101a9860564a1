"""The seven faults of OneFlow's example loader, each with a test that fails if it comes back."""

from pathlib import Path

import numpy as np
import pyflowdata as flow
import pytest
from support.paths import ROOT

DATA = ROOT / "data"


def rows_of(part):
    lines = (DATA / part).read_text().split("\n")
    return [tuple(float(word) for word in line.split(",")) for line in lines]


ROWS = rows_of("part-000") + rows_of("part-001")


def mini_reader(data_dir=DATA, **attrs):
    attrs = {"data_part_num": 2, "part_name_suffix_length": 3, "batch_size": 4, **attrs}
    return flow.MiniReader(str(data_dir), **attrs)


def epoch(loader):
    return [tuple(row) for batch in loader for row in batch.tolist()]


def write(folder, *texts):
    for i, text in enumerate(texts):
        (folder / f"part-{i:03}").write_text(text)
    return folder


def test_fault_1_the_batch_size_counts_rows_not_elements():
    out = mini_reader()
    x, y = flow.MiniDecoder(out)
    assert out.shape == (4, 2) and x.shape == y.shape == (4, 1)
    with flow.DataLoader(out, x, y) as loader:
        shapes = [[array.shape for array in batch] for batch in loader]
    assert shapes[:4] == [[(4, 2), (4, 1), (4, 1)]] * 4
    assert shapes[4:] == [[(2, 2), (2, 1), (2, 1)]]


def test_fault_2_files_are_not_glued_where_the_last_newline_is_missing():
    assert not any((DATA / part).read_bytes().endswith(b"\n") for part in ("part-000", "part-001"))
    with flow.DataLoader(mini_reader()) as loader:
        for _ in range(2):
            assert epoch(loader) == ROWS
    assert len(ROWS) == 18 and ROWS[8] == (9.1, 18.03) and ROWS[9] == (1.01, 2.02)


def test_fault_3_a_blank_line_is_no_record(tmp_path):
    write(tmp_path, "1,2\n\n \t\n3,4\n\n", "\n\r\n5,6\r\n")
    with flow.DataLoader(mini_reader(tmp_path)) as loader:
        assert epoch(loader) == [(1, 2), (3, 4), (5, 6)]


@pytest.mark.parametrize(
    "bad", ["x,y", "3.5", "1,", ",1", "1 2", "9.1,18.031.01,2.02"], ids=repr
)
def test_fault_3_a_line_that_is_no_row_is_an_exception_with_its_place(tmp_path, bad):
    write(tmp_path, "1,2\n3,4", f"5,6\n\n{bad}\n7,8\n")
    with flow.DataLoader(mini_reader(tmp_path, batch_size=1), num_threads=2) as loader:
        batches = iter(loader)
        assert [next(batches).tolist() for _ in range(3)] == [[[1, 2]], [[3, 4]], [[5, 6]]]
        with pytest.raises(flow.CorruptDataError) as caught:
            next(batches)
        assert next(batches).tolist() == [[7, 8]], "the process and the loader live on"
    error = caught.value
    assert Path(error.file).name == "part-001"
    assert (error.line, error.ordinal) == (3, 3) and 5 <= error.byte <= 5 + len(bad)
    assert "part-001:3" in str(error)


def test_fault_4_a_shuffle_buffer_larger_than_the_data_is_filled_by_one_pass():
    out = mini_reader(
        batch_size=18, random_shuffle=True, shuffle_after_epoch=True, shuffle_buffer_size=1024
    )
    one_pass = sum((DATA / part).stat().st_size for part in ("part-000", "part-001"))
    with flow.DataLoader(out, num_threads=1, prefetch=1) as loader:
        orders = []
        for epochs in range(1, 61):
            orders.append(epoch(loader))
            assert sorted(orders[-1]) == sorted(ROWS), "every row once in every epoch"
            assert loader.stats()["bytes"] <= (epochs + 2) * one_pass
        assert len(set(map(tuple, orders))) > 50


def built_reader(name, **attrs):
    builder = flow.user_op_builder(name).Op("MiniReader").Output("out")
    attrs = {
        "data_dir": str(DATA),
        "data_part_num": 2,
        "batch_size": 18,
        "part_name_prefix": "part-",
        "part_name_suffix_length": 3,
        "random_shuffle": True,
        "shuffle_after_epoch": True,
        "shuffle_buffer_size": 1024,
        **attrs,
    }
    for key, value in attrs.items():
        builder = builder.Attr(key, value)
    return builder.Build().InferAndTryRun().RemoteBlobList()[0]


def built_order(seed, name="reader"):
    with flow.DataLoader(built_reader(name, seed=seed)) as loader:
        return epoch(loader)


def test_fault_5_the_seed_reaches_the_order():
    orders = [tuple(built_order(seed)) for seed in range(5)]
    assert len(set(orders)) == 5 and tuple(ROWS) not in orders
    assert [tuple(built_order(seed)) for seed in range(5)] == orders
    with flow.DataLoader(mini_reader(random_shuffle=True, seed=3, name="reader")) as loader:
        assert tuple(epoch(loader)) == orders[3], "both faces"


def test_fault_6_the_type_of_an_input_is_checked_not_written():
    out, mask, ids = mini_reader(with_mask=True, with_id=True)
    assert (ids.dtype, ids.shape) == (np.dtype(np.int64), (4, 2))
    with pytest.raises(flow.InvalidArgumentError) as caught:
        flow.MiniDecoder(ids)
    message = str(caught.value)
    assert all(word in message for word in ("MiniDecoder", "in", "int64", "float64")), message
    with pytest.raises(flow.InvalidArgumentError, match="bool"):
        flow.MiniDecoder(mask)
    x, _ = flow.MiniDecoder(out)
    with pytest.raises(flow.InvalidArgumentError, match="MiniDecoder"):
        flow.MiniDecoder(x)  # the right dtype with one column
    assert (ids.dtype, out.dtype) == (np.int64, np.float64), "still what they were"


def test_fault_6_the_type_of_an_input_is_carried_on():
    out = mini_reader()
    narrow = flow.Affine(out, dtype="float32")
    x, y = flow.MiniDecoder(narrow)
    assert narrow.dtype == x.dtype == y.dtype == np.float32 and out.dtype == np.float64
    with flow.DataLoader(x, y) as loader:
        for a, b in loader:
            assert a.dtype == b.dtype == np.float32


def test_fault_7_readers_without_a_name_do_not_collide():
    pairs = [(mini_reader(), mini_reader()), (flow.MiniDecoder(mini_reader()))]
    for blobs in pairs:
        with flow.DataLoader(*blobs) as loader:
            assert sum(len(batch[0]) for batch in loader) == 18
    first, second = mini_reader(), mini_reader()
    decoders = [*flow.MiniDecoder(first), *flow.MiniDecoder(second)]
    with flow.DataLoader(*decoders) as loader:
        for x, y, also_x, also_y in loader:
            assert np.array_equal(x, also_x) and np.array_equal(y, also_y)
        assert len(loader.state_dict()["readers"]) == 2


def test_fault_7_two_readers_of_one_name_are_told_so():
    with pytest.raises(flow.InvalidArgumentError, match="twin"):
        flow.DataLoader(built_reader("twin", seed=1), built_reader("twin", seed=2))
    with pytest.raises(flow.InvalidArgumentError, match="twin"):
        flow.DataLoader(mini_reader(name="twin"), mini_reader(name="twin"))
