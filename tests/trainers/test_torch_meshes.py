"""TorchLoader on device meshes: who gets which rows, DTensors, parts of sequences.

Torch's fake process group is every rank of a mesh in turn, without communication; one test has
real processes.
"""

import contextlib
import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
import torch.distributed as dist  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.tensor import DTensor, Replicate, Shard  # noqa: E402

fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import (  # noqa: E402
    ContextParallel,
    TorchLoader,
    rank_and_world_size,
)

RECORDS, BATCH, LENGTH = 22, 8, 8
NUMBERS = np.arange(RECORDS)
TOKENS = (1000 * NUMBERS[:, None] + np.arange(LENGTH)).astype(np.int32)


@contextlib.contextmanager
def rank_of(rank, **dims):
    """As this rank of a mesh with these dimensions."""
    store = fake.FakeStore()
    size = int(np.prod([*dims.values()]))
    dist.init_process_group("fake", store=store, rank=rank, world_size=size)
    try:
        yield init_device_mesh("cpu", tuple(dims.values()), mesh_dim_names=tuple(dims))
    finally:
        dist.destroy_process_group()


def blobs_of(last="even", **attrs):
    data = flow.from_arrays({"i": NUMBERS, "ids": TOKENS}).shuffle(seed=3)
    batch = data.batch(BATCH, last=last, **attrs)
    return {"i": batch["i"], "ids": batch["ids"]}


def numbers(batches):
    return [batch["i"].tolist() for batch in batches]


def expected(rank, size, **attrs):
    with flow.DataLoader(blobs_of(rank=rank, world_size=size, **attrs)) as loader:
        return numbers(loader)


# ---- Rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", range(8))
def test_tensor_parallel_peers_get_the_same_rows(rank):
    with rank_of(rank, dp=4, tp=2) as mesh:
        with TorchLoader(blobs_of(), mesh=mesh["dp"]) as loader:
            assert numbers(loader) == expected(rank // 2, 4)
            assert f"rank={rank // 2}/4" in repr(loader)
        with TorchLoader(blobs_of(), process_group=mesh["dp"].get_group()) as loader:
            assert numbers(loader) == expected(rank // 2, 4)


def test_several_dimensions_are_counted_with_the_last_one_fastest():
    for rank in range(8):
        with rank_of(rank, replicate=2, shard=2, tp=2) as mesh:
            assert rank_and_world_size(mesh["replicate", "shard"]) == (rank // 2, 4)
            assert rank_and_world_size(mesh["tp"]) == (rank % 2, 2)
            with TorchLoader(blobs_of(), mesh=mesh["replicate", "shard"]) as loader:
                assert numbers(loader) == expected(rank // 2, 4)


def test_blobs_keep_their_form():
    with rank_of(0, dp=2) as mesh:
        batch = flow.from_arrays({"i": NUMBERS, "ids": TOKENS}).batch(BATCH)
        with TorchLoader(batch["i"], batch["ids"], mesh=mesh["dp"]) as loader:
            i, ids = next(iter(loader))
            assert (i.tolist(), ids.shape) == ([0, 1, 2, 3], (4, LENGTH))
        with TorchLoader(batch["i"], mesh=mesh["dp"]) as loader:
            assert next(iter(loader)).tolist() == [0, 1, 2, 3]


def test_a_loader_with_another_rank_is_refused():
    with rank_of(3, dp=2, tp=2) as mesh:
        with flow.DataLoader(blobs_of()) as loader:
            with pytest.raises(flow.InvalidArgumentError, match="rank 3 of 4, and .* rank 1 of 2"):
                TorchLoader(loader, mesh=mesh["dp"])
        with pytest.raises(flow.InvalidArgumentError, match="rank 0 of 2, and .* rank 1 of 2"):
            TorchLoader(blobs_of(rank=0, world_size=2), mesh=mesh["dp"])
        rank, world_size = rank_and_world_size(mesh["dp"])
        with flow.DataLoader(blobs_of(rank=rank, world_size=world_size)) as loader:
            assert numbers(TorchLoader(loader, mesh=mesh["dp"])) == expected(1, 2)
        with pytest.raises(flow.InvalidArgumentError, match="give one of the two"):
            TorchLoader(blobs_of(), mesh=mesh["dp"], process_group=dist.group.WORLD)
        with pytest.raises(flow.InvalidArgumentError, match="neither a DeviceMesh nor"):
            TorchLoader(blobs_of(), mesh="dp")


@pytest.mark.filterwarnings("ignore:.*seed is left open")
@pytest.mark.parametrize("dp", [1, 2])
def test_tensor_parallel_peers_get_the_same_rows_without_a_seed(dp):
    found = []
    for rank in range(2):
        with rank_of(rank, dp=dp, tp=2) as mesh:
            batch = flow.from_arrays({"i": NUMBERS}).shuffle().batch(BATCH)["i"]
            with TorchLoader(batch, mesh=mesh["dp"]) as loader:
                found.append([rows.tolist() for rows in loader])
    assert found[0] == found[1] != [*map(list, np.split(NUMBERS, [8, 16]))]


def test_a_state_goes_on_in_another_mesh():
    whole = [expected(rank, 2) for rank in range(2)]
    with rank_of(2, dp=4, tp=2) as mesh:
        with TorchLoader(blobs_of(), mesh=mesh["dp"]) as loader:
            next(iter(loader))
            state = loader.state_dict()
    for rank in range(4):
        with rank_of(rank, dp=2, tp=2) as mesh:
            with TorchLoader(blobs_of(), mesh=mesh["dp"]) as loader:
                loader.load_state_dict(state)
                assert numbers(loader) == whole[rank // 2][1:]


# ---- DTensors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", range(4))
def test_dtensors_have_the_rows_of_all_ranks(rank):
    with rank_of(rank, dp=2, tp=2) as mesh:
        with TorchLoader(blobs_of(), mesh=mesh["dp"], dtensor=mesh) as loader:
            batches = [*loader]
        assert [batch["ids"].shape[0] for batch in batches] == [8, 8, 6]
        local = [batch["i"].to_local().tolist() for batch in batches]
        assert local == expected(rank // 2, 2)
        for tensor in batches[0].values():
            assert isinstance(tensor, DTensor) and tensor.device_mesh == mesh
            assert tensor.placements == (Shard(0), Replicate())
        with TorchLoader(blobs_of(), mesh=mesh["dp"], dtensor=True) as loader:
            assert next(iter(loader))["ids"].placements == (Shard(0),)


def test_what_cannot_be_a_dtensor_is_refused():
    def opened(mesh, last="even", **attrs):
        return TorchLoader(blobs_of(last, **attrs), mesh=mesh["dp"], dtensor=mesh)

    with rank_of(0, dp=4, tp=2) as mesh:
        for last in ("even", "drop", "pad", "wrap"):
            opened(mesh, last).close()
        with pytest.raises(flow.InvalidArgumentError, match="take last_batch='even'"):
            opened(mesh, "short")
        with pytest.raises(flow.InvalidArgumentError, match="on_error='skip'"):
            opened(mesh, on_error="skip")
        with pytest.raises(flow.InvalidArgumentError, match="spread over dp too"):
            TorchLoader(blobs_of(), mesh=mesh["dp"], dtensor=mesh["tp"])
        with pytest.raises(flow.InvalidArgumentError, match="dtensor needs mesh="):
            TorchLoader(flow.DataLoader(blobs_of(rank=0, world_size=1)), dtensor=True)


# ---- Sequences -----------------------------------------------------------------------------------


def columns(rank, size, *, head_tail, length=LENGTH):
    """Which pieces of the sequence a rank gets, as torch's own load balancer says."""
    if not head_tail:
        return [*range(rank * length // size, (rank + 1) * length // size)]
    balancer = pytest.importorskip(
        "torch.distributed.tensor.experimental._context_parallel._load_balancer"
    )._HeadTailLoadBalancer(length, size, "cpu")
    order = balancer._generate_indices()[0].tolist()
    return order[rank * length // size : (rank + 1) * length // size]


@pytest.mark.parametrize("head_tail", [False, True])
@pytest.mark.parametrize("size", [2, 4])
def test_each_rank_gets_its_part_of_sequences(size, head_tail):
    for rank in range(2 * size):
        with rank_of(rank, dp=2, cp=size) as mesh:
            how = ContextParallel(mesh["cp"], head_tail=head_tail)
            with TorchLoader(blobs_of(), mesh=mesh["dp"], context_parallel=how) as loader:
                batches = [*loader]
        rows = expected(rank // size, 2)
        assert numbers(batches) == rows
        part = columns(rank % size, size, head_tail=head_tail)
        for batch, wanted in zip(batches, rows, strict=True):
            assert batch["ids"].is_contiguous()
            assert np.array_equal(batch["ids"].numpy(), TOKENS[wanted][:, part])


def test_chosen_fields_are_cut():
    with rank_of(1, cp=2) as mesh:
        data = flow.from_arrays({"ids": TOKENS, "labels": TOKENS + 1})
        data = data.batch(2, rank=0, world_size=1)
        blobs = {"ids": data["ids"], "labels": data["labels"]}
        for fields in (["labels"], "labels"):
            how = ContextParallel(mesh["cp"], fields=fields)
            with TorchLoader(flow.DataLoader(blobs), context_parallel=how) as loader:
                batch = next(iter(loader))
                assert np.array_equal(batch["ids"].numpy(), TOKENS[:2])
                assert np.array_equal(batch["labels"].numpy(), TOKENS[:2, LENGTH // 2 :] + 1)
        for place in ([0], 0):
            how = ContextParallel(mesh["cp"], fields=place)
            with TorchLoader(flow.DataLoader(*blobs.values()), context_parallel=how) as loader:
                ids, labels = next(iter(loader))
                assert (ids.shape, labels.shape) == ((2, LENGTH // 2), (2, LENGTH))
        with pytest.raises(flow.InvalidArgumentError, match="fields = 1.5; it must be names"):
            ContextParallel(mesh["cp"], fields=1.5)


@pytest.mark.parametrize("head_tail", [False, True])
def test_padded_sequences_are_cut_as_long_as_they_are(head_tail):
    lengths = [3, 9, 1, 4, 8, 2]
    rows = [{"x": 100 * i + np.arange(length)} for i, length in enumerate(lengths)]

    def padded():
        x = flow.GeneratorReader(rows, fields="x:int64[?]", batch_size=2, rank=0, world_size=1)
        return flow.PadBatch(x, value=-1, multiple_of=8)

    with flow.DataLoader(padded()) as loader:
        whole = [batch.dense for batch in loader]
    assert [batch.shape[1] for batch in whole] == [16, 8, 8]
    for rank in range(4):
        with rank_of(rank, cp=4) as mesh:
            how = ContextParallel(mesh["cp"], head_tail=head_tail)
            with TorchLoader(flow.DataLoader(padded()), context_parallel=how) as loader:
                for batch, wanted in zip(loader, whole, strict=True):
                    order = columns(rank, 4, head_tail=head_tail, length=wanted.shape[1])
                    assert np.array_equal(batch.numpy(), wanted[:, order])
    with rank_of(0, dp=1) as mesh:
        with pytest.raises(flow.InvalidArgumentError, match="ragged: a DTensor has rows of one"):
            TorchLoader(padded(), mesh=mesh["dp"], dtensor=True)


def test_what_cannot_be_cut_is_refused():
    with rank_of(0, dp=2, cp=3) as mesh:
        with pytest.raises(flow.InvalidArgumentError, match="6 .* give rank and world_size"):
            blobs_of()
        rank, world_size = rank_and_world_size(mesh["dp"])

        def opened(how):
            blobs = blobs_of(rank=rank, world_size=world_size)
            return TorchLoader(blobs, mesh=mesh["dp"], context_parallel=how)

        with pytest.raises(flow.InvalidArgumentError, match="of 8, which 3 ranks .* multiple of 3"):
            opened(mesh["cp"])
        with pytest.raises(flow.InvalidArgumentError, match="no field 'x'; there are 'i', 'ids'"):
            opened(ContextParallel(mesh["cp"], fields=["x"]))
        with pytest.raises(flow.InvalidArgumentError, match="what is cut needs a dimension 1"):
            opened(ContextParallel(mesh["cp"], fields=["i"]))
        with pytest.raises(flow.InvalidArgumentError, match="dim = 0"):
            ContextParallel(mesh["cp"], dim=0)
    with rank_of(0, dp=2, cp=2) as mesh:
        how = ContextParallel(mesh["cp"], head_tail=True)
        with pytest.raises(flow.InvalidArgumentError, match="do not form a shard"):
            TorchLoader(blobs_of(), mesh=mesh["dp"], context_parallel=how, dtensor=mesh)


@pytest.mark.parametrize("rank", range(4))
def test_parts_of_sequences_are_shards(rank):
    with rank_of(rank, dp=2, cp=2) as mesh:
        options = {"mesh": mesh["dp"], "context_parallel": mesh["cp"], "dtensor": mesh}
        with TorchLoader(blobs_of(), **options) as loader:
            batch = next(iter(loader))
        assert batch["ids"].placements == (Shard(0), Shard(1))
        assert batch["ids"].shape == (BATCH, LENGTH) and batch["i"].shape == (BATCH,)
        assert batch["i"].placements == (Shard(0), Replicate())


# ---- Real processes ------------------------------------------------------------------------------


def gather_dtensors(rank, size, store):
    dist.init_process_group("gloo", store=dist.FileStore(store, size), rank=rank, world_size=size)
    mesh = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("dp", "cp"))
    with TorchLoader(
        blobs_of(), mesh=mesh["dp"], context_parallel=mesh["cp"], dtensor=mesh
    ) as loader:
        seen = [batch["ids"].full_tensor().numpy() for batch in loader]
    order = list(itertools.chain.from_iterable(expected(0, 1)))[: RECORDS // 2 * 2]
    assert np.array_equal(np.concatenate(seen), TOKENS[order])
    dist.destroy_process_group()


@pytest.mark.slow
def test_gathered_dtensors_are_the_batches_of_one_process(tmp_path):
    arguments = (4, str(tmp_path / "store"))
    torch.multiprocessing.start_processes(gather_dtensors, arguments, 4, start_method="fork")


@pytest.mark.parametrize("given", [{}, {"mesh": "cp"}, {"mesh": "dp_cp"}])
def test_ranks_that_share_a_sequence_have_the_same_rows(given):
    with rank_of(5, dp=2, cp=2, tp=2) as mesh:
        rows = {"dp_cp": mesh["dp", "cp"], "cp": mesh["cp"]}
        options = {name: rows[where] for name, where in given.items()}
        loader = blobs_of() if options else flow.DataLoader(blobs_of())
        with pytest.raises(flow.InvalidArgumentError, match=r'mesh=mesh\["dp"\]'):
            TorchLoader(loader, context_parallel=ContextParallel(mesh["cp"], ["ids"]), **options)
        rank, size = rank_and_world_size(mesh["dp"])
        with flow.DataLoader(blobs_of(rank=rank, world_size=size)) as loader:
            how = ContextParallel(mesh["cp"], ["ids"])
            assert numbers(TorchLoader(loader, context_parallel=how)) == expected(1, 2)


def test_a_dtensor_has_the_ranks_of_the_rows():
    with rank_of(5, dp=2, cp=2, tp=2) as mesh:
        other = init_device_mesh("cpu", (4, 2), mesh_dim_names=("dp", "tp"))
        with pytest.raises(flow.InvalidArgumentError, match=r"dp has the ranks \[1, 3, 5, 7\]"):
            TorchLoader(blobs_of(), mesh=mesh["dp"], dtensor=other)
