"""Readers and loaders with an inferred rank and world size, what is logged, and real processes."""

import importlib
import logging
import socket

import numpy as np
import pytest
from support import programs
from support.launchers import LAUNCHERS, step
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.nodes import world as _world

DATA = str(ROOT / "data")  # 18 records

# ---- Readers and loaders ------------------------------------------------------------------------


@pytest.fixture
def launched(monkeypatch):
    """As rank 1 of 3."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")


def ids_of(**attrs):
    _, ids = flow.MiniReader(DATA, with_id=True, **{"batch_size": 6, **attrs})
    with flow.DataLoader(ids) as loader:
        return [batch[:, 1].tolist() for batch in loader], repr(loader)


def build(**attrs):
    chain = flow.user_op_builder("rows").Op("MiniReader").Output("out").Output("id")
    for name, value in {"data_dir": DATA, "batch_size": 6, "with_id": True, **attrs}.items():
        chain = chain.Attr(name, value)
    return chain.Build().RemoteBlobList()


def test_readers_take_what_is_found(launched):
    assert flow.world() == flow.World(1, 3, "RANK and WORLD_SIZE")
    parts, text = ids_of()
    assert parts == [[2, 3], [8, 9], [14, 15]]
    assert "rank=1/3 (RANK and WORLD_SIZE)" in text


def test_both_faces_take_what_is_found(launched):
    out, ids = build()
    assert out.shape == (6, 2), "the logical shape"
    x, _ = flow.MiniDecoder(out)
    assert x.shape == (6, 1)
    with flow.DataLoader(ids, x) as loader:
        assert [batch[:, 1].tolist() for batch, _ in loader] == [[2, 3], [8, 9], [14, 15]]
        assert "rank=1/3 (RANK and WORLD_SIZE)" in repr(loader)


@pytest.mark.parametrize("number", [int, np.int64, np.array], ids=lambda one: one.__name__)
def test_attrs_come_first(launched, number):
    """Under tensor parallelism, where the global rank is not the one that splits the data."""
    parts, text = ids_of(rank=number(0), world_size=number(2))
    assert parts == [[0, 1, 2], [6, 7, 8], [12, 13, 14]]
    assert "rank=0/2 (as given)" in text
    assert ids_of(rank=number(-1), world_size=number(-1))[0] == [[2, 3], [8, 9], [14, 15]]


def test_attrs_are_given_both_or_neither(launched):
    for attrs in ({"rank": 1}, {"world_size": 3}, {"rank": 1, "world_size": -1}):
        for make in (build, ids_of):
            with pytest.raises(flow.InvalidArgumentError, match="give both, or neither"):
                make(**attrs)


def test_attrs_are_a_way_out_of_a_broken_environment(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(flow.InvalidArgumentError, match="RANK = '1' is set") as caught:
        flow.MiniReader(DATA)
    assert caught.value.op == "MiniReader"
    assert len(ids_of(rank=0, world_size=1)[0]) == 3


def test_a_batch_that_does_not_divide_says_who_chose_the_world(launched):
    with pytest.raises(flow.InvalidArgumentError) as caught:
        flow.MiniReader(DATA, batch_size=4)
    assert "world_size = 3: the nearest sizes are 3 and 6" in str(caught.value)
    assert "(world_size was inferred: RANK and WORLD_SIZE; where some" in str(caught.value)
    with pytest.raises(flow.InvalidArgumentError) as caught:
        flow.MiniReader(DATA, batch_size=4, rank=1, world_size=3)
    assert "inferred" not in str(caught.value)


def test_a_world_larger_than_any_says_who_chose_it(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", str(10**12))
    with pytest.raises(flow.InvalidArgumentError, match="was inferred: RANK and WORLD_SIZE"):
        flow.MiniReader(DATA, batch_size=6)


def test_the_world_is_found_when_the_node_is_made(monkeypatch):
    before = flow.MiniReader(DATA, batch_size=6, name="before")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    with flow.DataLoader(before) as loader:
        assert "rank=0/1 (no framework" in repr(loader)
        assert len(next(iter(loader))) == 6
    after = flow.MiniReader(DATA, batch_size=6, name="after")
    with pytest.raises(flow.InvalidArgumentError) as caught:
        flow.DataLoader(before, after)
    says = str(caught.value)
    assert "rank 0 of 1; reader 'after'" in says
    assert "for rank 0 of 1 (no framework" in says and "rank 1 of 3 (RANK and" in says


def test_readers_of_one_world_may_have_it_from_two_sources(launched):
    given = flow.MiniReader(DATA, batch_size=6, rank=1, world_size=3, name="given")
    with flow.DataLoader(flow.MiniReader(DATA, batch_size=6), given) as loader:
        assert "rank=1/3 (RANK and WORLD_SIZE; as given)" in repr(loader)


def test_a_state_knows_nothing_of_the_world(monkeypatch):
    states = []
    for size in ("1", "2", "3"):
        monkeypatch.setenv("RANK", "0")
        monkeypatch.setenv("WORLD_SIZE", size)
        with flow.DataLoader(flow.MiniReader(DATA, batch_size=6, seed=1)) as loader:
            next(iter(loader))
            states.append(loader.state_dict())
    assert states[0] == states[1] == states[2]


def test_an_elastic_restart_goes_on_with_new_ranks(monkeypatch):
    """From rank 1 of 2 to all of 3: what is left of the epoch comes once."""

    def opened(rank, size):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", str(size))
        _, ids = flow.MiniReader(DATA, batch_size=6, random_shuffle=True, seed=1, with_id=True)
        return flow.DataLoader(ids)

    whole = [batch[:, 1].tolist() for batch in opened(0, 1)]
    before = opened(1, 2)
    assert next(iter(before))[:, 1].tolist() == whole[0][3:]
    parts = []
    for rank in range(3):
        after = opened(rank, 3)
        after.load_state_dict(before.state_dict())
        parts.append([batch[:, 1].tolist() for batch in after])
    assert [sum(step, []) for step in zip(*parts, strict=True)] == whole[1:]


# ---- The log ------------------------------------------------------------------------------------


@pytest.fixture
def log(caplog, monkeypatch):
    """Records of what a process says that has made no reader yet."""
    monkeypatch.setattr(_world, "_logged", [])
    caplog.set_level(logging.DEBUG, "pyflowdata")
    return lambda: [(one.levelname, one.getMessage()) for one in caplog.records]


def make_two_readers():
    flow.MiniReader(DATA, batch_size=12)
    build(batch_size=12)


def test_what_is_found_is_logged_once(log, launched):
    make_two_readers()
    assert log() == [("INFO", "readers are for rank 1 of 3 (RANK and WORLD_SIZE)")]


def test_one_process_is_quiet(log):
    make_two_readers()
    flow.MiniReader(DATA, batch_size=12, rank=1, world_size=3)
    assert [level for level, _ in log()] == ["DEBUG"]


def test_numbers_that_do_not_count_are_told(log, monkeypatch):
    for name, value in step(0, 4, SLURM_JOB_NAME="interactive").items():
        monkeypatch.setenv(name, value)
    make_two_readers()
    ((level, says),) = log()
    assert level == "WARNING" and "rank 0 of 1 (SLURM_STEP_NUM_TASKS=4 does not count" in says


def test_readers_made_too_early_are_told(log, monkeypatch):
    make_two_readers()
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    make_two_readers()
    level, says = log()[-1]
    assert level == "WARNING" and len(log()) == 2
    assert says.startswith("rank 1 of 3 (RANK and WORLD_SIZE); earlier readers of this process")
    assert "for rank 0 of 1" in says


# ---- Real processes -----------------------------------------------------------------------------

READ = f"""
import sys
import pyflowdata as flow
_, ids = flow.MiniReader({DATA!r}, batch_size=12, with_id=True)
loader = flow.DataLoader(ids)
print(repr(loader))
print(*(i for batch in loader for i in batch[:, 1].tolist()))
"""


def start(environ, code=READ, *arguments):
    return programs.start(
        code, *arguments, env=programs.environment(**environ), stdout=programs.PIPE,
        stderr=programs.PIPE,
    )  # fmt: skip


def output(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.splitlines()


def test_processes_of_a_launcher_share_the_records():
    """Each process is told its rank in the words of another launcher."""
    started, everything = {}, []
    for i, rank in enumerate(["RANK", "SLURM_PROCID", "PMI_RANK"]):
        size, environ = LAUNCHERS[rank]
        started[f"rank={i}/3 ({rank} and {size})"] = start({**environ, rank: str(i), size: "3"})
    for said, process in started.items():
        text, ids = output(process)
        assert said in text
        everything += map(int, ids.split())
    assert sorted(everything) == list(range(18))


def needs(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{name} is not installed: its real initialisation is not tried here")


TORCH = """
import sys
import torch.distributed as dist
import pyflowdata as flow
assert flow.world().source.startswith("RANK"), flow.world()
dist.init_process_group("gloo", store=dist.FileStore(sys.argv[1], 2), rank=int(sys.argv[2]),
                        world_size=2)
"""


def test_torch_for_real(tmp_path):
    """Two processes, whose variables say something else."""
    needs("torch")
    environ = {"RANK": "4", "WORLD_SIZE": "5"}
    code = TORCH + READ + "dist.destroy_process_group()"
    processes = [start(environ, code, str(tmp_path / "store"), str(i)) for i in range(2)]
    everything = []
    for i, process in enumerate(processes):
        text, ids = output(process)
        assert f"rank={i}/2 (torch.distributed)" in text
        everything += map(int, ids.split())
    assert sorted(everything) == list(range(18))


JAX = """
import sys
import jax
from jax._src import xla_bridge
import pyflowdata as flow
assert flow.world() == flow.World(0, 1, flow.world().source)
jax.distributed.initialize("127.0.0.1:" + sys.argv[1], 1, 0)
"""


def test_jax_for_real():
    needs("jax")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    check = "assert not xla_bridge._backends, 'a backend was started'"
    text, _ = output(start({}, JAX + READ + check, port))
    assert "rank=0/1 (jax.distributed)" in text


def test_records_of_a_data_set_are_split_with_its_batches(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    x, _ = flow.MiniDecoder(flow.MiniReader(DATA))
    data = flow.Dataset({"x": x})
    size, parts = len(data), []
    for rank in range(3):
        monkeypatch.setenv("RANK", str(rank))
        with flow.DataLoader(data.batch(6)["x"]) as loader:
            assert f"rank={rank}/3 (RANK and WORLD_SIZE)" in repr(loader)
            parts += [len(batch) for batch in loader]
    assert sum(parts) == size
    with pytest.raises(flow.InvalidArgumentError, match="batch_size was left out"):
        flow.DataLoader(x)
