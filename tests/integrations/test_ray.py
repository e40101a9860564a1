"""Readers as a source of Ray Data: tasks by themselves, then on a cluster of two nodes."""

import dataclasses
import functools
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.files import lines, rows, write_parts
from support.paths import ROOT

import pyflowdata as flow

ray = pytest.importorskip("ray", reason="ray is not here: pip install pyflowdata[ray]")
pytest.importorskip("ray.data", reason="ray[data] is not here: pip install pyflowdata[ray]")

from pyflowdata.integrations import ray as flow_ray  # noqa: E402

NUM_RECORDS = 1000

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    parts = tmp_path_factory.mktemp("ray") / "parts"
    return write_parts(parts, lines(0, 301), b"", lines(301, NUM_RECORDS))


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of at most ten rows of MiniReader."""
    monkeypatch.setattr(flow_ray, "_BLOCK_BYTES", 10 * 16)


def columns(block):
    """The columns of a block as Ray hands them out."""
    return ray.data.block.BlockAccessor.for_block(block).to_numpy()


def blocks(task):
    return [columns(block)["out"] for block in task()]


def schema(task):
    """Where the release has it."""
    return task.schema if hasattr(task, "schema") else task.metadata.schema


# ---- Tasks, run here ----------------------------------------------------------------------------


@pytest.mark.parametrize("parallelism", [1, 2, 7, 99, 100, 101, 999, 1000, 5000])
def test_tasks_share_the_records(folder, small_blocks, parallelism):
    source = flow_ray.datasource(flow.MiniReader(folder, batch_size=3, last_batch="drop"))
    tasks = source.get_read_tasks(parallelism)
    assert 0.5 * min(parallelism, NUM_RECORDS) <= len(tasks) <= parallelism
    if parallelism >= 999:
        tasks = tasks[:3] + tasks[-3:]
    found = [blocks(task) for task in tasks]
    for task, its_blocks in zip(tasks, found, strict=True):
        assert all(0 < len(block) <= 10 for block in its_blocks)
        assert task.metadata.num_rows == sum(map(len, its_blocks))
        assert task.metadata.size_bytes == 16 * task.metadata.num_rows
    together = np.concatenate([block for its_blocks in found for block in its_blocks])
    if parallelism >= 999:
        assert together[0, 0] == 0 and together[-1, 0] == NUM_RECORDS - 1
    else:
        np.testing.assert_array_equal(together, rows(0, NUM_RECORDS))


def test_asking_for_tasks_is_pure_and_opens_nothing(tmp_path):
    folder = write_parts(tmp_path / "in", lines(0, 50))
    source = flow_ray.datasource(flow.MiniReader(folder))
    first = source.get_read_tasks(4)
    (tmp_path / "in" / "part-000").rename(tmp_path / "aside")
    again = source.get_read_tasks(parallelism=4, per_task_row_limit=None, data_context=None, new=1)
    (tmp_path / "aside").rename(tmp_path / "in" / "part-000")
    for one, other in zip(first, again, strict=True):
        assert one.metadata == other.metadata and schema(one) == schema(other)
        assert len(pickle.dumps(one.read_fn)) < 2000
        copied = pickle.loads(pickle.dumps(other.read_fn))
        np.testing.assert_array_equal(np.concatenate(blocks(one)), np.concatenate(blocks(copied)))
    assert source.estimate_inmemory_data_size() == 50 * 16
    assert source.get_name() == "MiniReader"


def test_a_limit_ends_a_task_early(folder, small_blocks):
    source = flow_ray.datasource(flow.MiniReader(folder))
    for task in source.get_read_tasks(3, per_task_row_limit=25):
        assert task.metadata.num_rows == 25
        assert sum(map(len, blocks(task))) == 25


def test_columns_have_the_names_and_types_of_the_blobs(folder):
    numbers, mask, ids = flow.MiniReader(folder, with_mask=True, with_id=True, name="rows")
    x, y = flow.MiniDecoder(numbers)
    small = flow.Affine(x, dtype="float32")

    def table(*blobs):
        (task,) = flow_ray.datasource(*blobs).get_read_tasks(1)
        (block,) = task()
        assert block.schema == schema(task)
        return block

    assert table(numbers, mask, ids).column_names == ["out", "mask", "id"]
    assert table(x, y).column_names == ["x", "y"]
    assert table(numbers, small).column_names == ["rows/out", "Affine/out"]
    block = table({"b": mask, "a": ids, "small": small})
    assert block.column_names == ["b", "a", "small"]
    values = columns(block)
    assert values["b"].tolist() == [True] * NUM_RECORDS
    assert values["a"][300].tolist() == [0, 300] and values["a"].dtype == np.int64
    assert values["small"].shape == (NUM_RECORDS, 1) and values["small"].dtype == np.float32
    with pytest.raises(flow.InvalidArgumentError, match="give the blobs as a dict"):
        flow_ray.datasource(small, flow.Affine(y))
    with pytest.raises(flow.InvalidArgumentError, match="3 is not a column name"):
        flow_ray.datasource({3: small})


def test_blocks_are_the_memory_of_the_loader(folder):
    numbers, ids = flow.MiniReader(folder, with_id=True)
    source = flow_ray.datasource(numbers, ids)._source
    scalars = np.arange(5, dtype=np.int16)
    for array in (np.arange(12.0).reshape(6, 2), np.arange(12).reshape(3, 2, 2), scalars):
        table = dataclasses.replace(source, columns=("one",)).table([array])
        column = table.column(0).chunk(0)
        buffers = getattr(column, "storage", column).buffers()
        assert buffers[-1].address == array.ctypes.data


def test_damaged_records(tmp_path, small_blocks):
    folder = write_parts(tmp_path / "in", lines(0, 20) + b"20;0\n" + lines(21, 50))
    skipping = flow.MiniReader(folder, on_error="skip")
    tasks = flow_ray.datasource(skipping).get_read_tasks(2)
    assert [task.metadata.num_rows for task in tasks] == [None, None]
    found = np.concatenate([block for task in tasks for block in blocks(task)])
    np.testing.assert_array_equal(found, np.concatenate([rows(0, 20), rows(21, 50)]))
    task = flow_ray.datasource(flow.MiniReader(folder)).get_read_tasks(1)[0]
    with pytest.raises(flow.CorruptDataError, match="part-000:21"):
        blocks(task)
    np.testing.assert_array_equal(columns(next(iter(task())))["out"], rows(0, 10))


def test_no_records(tmp_path):
    folder = write_parts(tmp_path / "in", b"")
    with pytest.raises(flow.CorruptDataError, match="not one record"):
        flow_ray.datasource(flow.MiniReader(folder))
    folder = write_parts(tmp_path / "in", b"x\n")
    (task,) = flow_ray.datasource(flow.MiniReader(folder, on_error="skip")).get_read_tasks(8)
    (block,) = task()
    assert block.num_rows == 0 and block.schema == schema(task)


def test_files_that_changed_are_noticed(tmp_path):
    folder = write_parts(tmp_path / "in", lines(0, 50))
    (task,) = flow_ray.datasource(flow.MiniReader(folder)).get_read_tasks(1)
    write_parts(tmp_path / "in", lines(0, 50), lines(50, 60))
    with pytest.raises(flow.FileError, match="the data has 2 files, where .* was made 1"):
        blocks(task)


def test_another_working_folder(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(Path(folder).parent)
    (task,) = flow_ray.datasource(flow.MiniReader(Path(folder).name)).get_read_tasks(1)
    monkeypatch.chdir(tmp_path)
    assert sum(map(len, blocks(task))) == NUM_RECORDS


def test_what_ray_does_itself_is_refused(folder):
    with pytest.raises(flow.InvalidArgumentError, match=r"MiniReader: random_shuffle = True; Ray"):
        flow_ray.datasource(flow.MiniReader(folder, random_shuffle=True))
    with pytest.raises(flow.InvalidArgumentError, match=r"MiniReader: shuffle = window; Ray"):
        flow_ray.datasource(flow.MiniReader(folder, shuffle="window"))
    flow_ray.datasource(flow.MiniReader(folder, random_shuffle=False, shuffle="none"))
    with pytest.raises(flow.InvalidArgumentError, match=r"MiniReader: world_size = 2; Ray"):
        flow_ray.datasource(flow.MiniReader(folder, batch_size=2, rank=0, world_size=2))


def test_a_rank_that_was_found_out_has_no_effect(folder, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    tasks = flow_ray.datasource(flow.MiniReader(folder, batch_size=4)).get_read_tasks(2)
    found = np.concatenate([block for task in tasks for block in blocks(task)])
    np.testing.assert_array_equal(found, rows(0, NUM_RECORDS))


class ReadTaskOf29:
    def __init__(self, read_fn, metadata):
        self.read_fn, self.metadata = read_fn, metadata


class MetadataOf29:
    def __init__(self, num_rows, size_bytes, schema, input_files, exec_stats):
        self.__dict__.update(num_rows=num_rows, size_bytes=size_bytes, schema=schema)
        assert input_files is None and exec_stats is None


class ReadTaskOf249:
    def __init__(self, read_fn, metadata, schema=None):
        self.read_fn, self.metadata, self.schema = read_fn, metadata, schema


class MetadataOf249:
    def __init__(self, num_rows, size_bytes, exec_stats, input_files):
        self.__dict__.update(num_rows=num_rows, size_bytes=size_bytes)
        assert input_files is None and exec_stats is None


@pytest.mark.parametrize(
    ("task_class", "metadata_class"), [(ReadTaskOf29, MetadataOf29), (ReadTaskOf249, MetadataOf249)]
)
def test_older_releases(folder, monkeypatch, task_class, metadata_class):
    monkeypatch.setattr(flow_ray, "ReadTask", task_class)
    monkeypatch.setattr(flow_ray, "BlockMetadata", metadata_class)
    tasks = flow_ray.datasource(flow.MiniReader(folder)).get_read_tasks(4)
    assert [task.metadata.num_rows for task in tasks] == [250] * 4
    for task in tasks:
        assert schema(task).names == ["out"]
        assert sum(map(len, blocks(task.read_fn))) == 250


def test_readers_in_sequence_are_one_task(test_ops, folder, tmp_path, small_blocks):
    def tables(blob, num_rows):
        source = flow_ray.datasource(blob)
        assert source.estimate_inmemory_data_size() == (num_rows and num_rows * 16)
        (task,) = source.get_read_tasks(8)
        assert task.metadata.num_rows == num_rows
        return blocks(task)

    found = tables(test_ops.StreamReader(folder), None)
    assert [len(block) for block in found] == [10] * 100, found
    assert (np.concatenate(found)[:, 0] == np.arange(1000)).all()
    text = "\n".join(f"{(i * i) % 11},{i}" for i in range(97)).encode()
    groups = write_parts(tmp_path / "groups", text)
    found = tables(test_ops.GroupedReader(groups, batch_size=4), 97)
    assert all(len(block) <= 4 for block in found) and len(found) > 24
    assert sorted(np.concatenate(found).reshape(97, -1)[:, -1]) == list(range(97))


# ---- A cluster ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one CPU each."""
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("RAY_AUTH_MODE", "disabled")
        node = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False}
        both = cluster_utils.Cluster(initialize_head=True, head_node_args=node)
        try:
            both.add_node(num_cpus=1, object_store_memory=80 * 2**20)
            ray.init(address=both.address, log_to_driver=False)
            context = ray.data.DataContext.get_current()
            context.enable_progress_bars = False
            context.target_max_block_size = 1024  # so that each of our blocks goes out at once
            yield both
        finally:
            ray.shutdown()
            both.shutdown()


class Wrapped(flow_ray.FlowDatasource):
    """A source whose tasks run inside another generator."""

    def __init__(self, source, around):
        super().__init__(source._source)
        self.around = around

    def get_read_tasks(self, parallelism, *args, **kwargs):
        tasks = super().get_read_tasks(parallelism, *args, **kwargs)
        for number, task in enumerate(tasks):
            task._read_fn = functools.partial(self.around, number, task.read_fn)
        return tasks


def test_a_killed_worker_costs_no_record(folder, cluster, small_blocks, tmp_path):
    marks = str(tmp_path)

    def around(number, read):
        node = ray.get_runtime_context().get_node_id()
        open(f"{marks}/node-{node}", "a").close()
        for count, block in enumerate(read()):
            yield block
            time.sleep(0.01)
            if number == 3 and count == 4:
                try:
                    os.close(os.open(f"{marks}/killed", os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    open(f"{marks}/again", "a").close()
                else:
                    os.kill(os.getpid(), signal.SIGKILL)

    numbers, ids = flow.MiniReader(folder, with_id=True)
    source = Wrapped(flow_ray.datasource({"out": numbers, "id": ids}), around)
    dataset = ray.data.read_datasource(source, override_num_blocks=8)
    found = dataset.take_all()
    assert (tmp_path / "killed").exists() and (tmp_path / "again").exists()
    assert len(list(tmp_path.glob("node-*"))) == 2
    assert sorted(int(row["id"][1]) for row in found) == list(range(NUM_RECORDS))
    by_record = sorted(found, key=lambda row: int(row["id"][1]))
    np.testing.assert_array_equal(np.stack([row["out"] for row in by_record]), rows(0, NUM_RECORDS))


def test_the_order_of_the_files_can_be_kept(folder, cluster, small_blocks):
    dataset = flow_ray.read(flow.MiniReader(folder), override_num_blocks=5)
    dataset.context.execution_options.preserve_order = True
    found = np.stack([row["out"] for row in dataset.take_all()])
    np.testing.assert_array_equal(found, rows(0, NUM_RECORDS))


def test_a_dataset_counts_shuffles_and_batches(folder, cluster):
    x, y = flow.MiniDecoder(flow.MiniReader(folder))
    dataset = flow_ray.read({"x": x, "y": y}, override_num_blocks=4)
    assert dataset.count() == NUM_RECORDS and dataset.columns() == ["x", "y"]
    seen = []
    for batch in dataset.random_shuffle(seed=1).iter_batches(batch_size=64):
        np.testing.assert_array_equal(10 * batch["x"], batch["y"])
        seen += batch["x"].ravel().tolist()
    assert seen != sorted(seen) and sorted(seen) == list(range(NUM_RECORDS))


def test_an_error_keeps_its_place_on_the_way(cluster, tmp_path):
    folder = write_parts(tmp_path / "in", lines(0, 20) + b"20;0\n" + lines(21, 50))
    dataset = flow_ray.read(flow.MiniReader(folder), override_num_blocks=2)
    with pytest.raises(flow.CorruptDataError, match=r"MiniReader: .*part-000:21 ") as caught:
        dataset.take_all()
    assert caught.value.file.endswith("part-000") and caught.value.line == 21
    dataset = flow_ray.read(flow.MiniReader(write_parts(tmp_path / "other", lines(0, 9))))
    write_parts(tmp_path / "other", lines(0, 5), lines(5, 7))
    with pytest.raises(flow.FileError, match="every node must see the same files"):
        dataset.take_all()
