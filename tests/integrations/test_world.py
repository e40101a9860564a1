"""Who a process is among the ranks: what is looked at, in which order, and what is refused."""

import importlib
import logging
import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.graph import world as _world

DATA = str(ROOT / "data")  # 18 records
ALONE = (0, 1)

PAIRS = {
    "RANK": "WORLD_SIZE",
    "HOROVOD_RANK": "HOROVOD_SIZE",
    "OMPI_COMM_WORLD_RANK": "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK": "PMI_SIZE",
    "MV2_COMM_WORLD_RANK": "MV2_COMM_WORLD_SIZE",
    "JSM_NAMESPACE_RANK": "JSM_NAMESPACE_SIZE",
}


def step(rank, tasks, **others):
    """What srun tells a task."""
    return {
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NAME": "train",
        "SLURM_STEP_ID": "0",
        "SLURM_PROCID": str(rank),
        "SLURM_STEP_NUM_TASKS": str(tasks),
        "SLURM_NTASKS": str(tasks),
        **others,
    }


# Launcher -> the variables that name rank and size, and what the launcher sets, in the order asked.
LAUNCHERS = {
    name: (size, {name: "2", size: "4"}) for name, size in list(PAIRS.items())[:2]
}
LAUNCHERS["SLURM_PROCID"] = ("SLURM_STEP_NUM_TASKS", step(2, 4))
LAUNCHERS |= {name: (size, {name: "2", size: "4"}) for name, size in list(PAIRS.items())[2:]}


def found(environ=(), modules=()):
    world = _world.detect(dict(environ), dict(modules))
    return world.rank, world.world_size


def source(environ=(), modules=()):
    return _world.detect(dict(environ), dict(modules)).source


def refusal(environ=(), modules=()):
    with pytest.raises(flow.InvalidArgumentError) as caught:
        _world.detect(dict(environ), dict(modules))
    return str(caught.value)


# ---- Variables ----------------------------------------------------------------------------------


def test_nobody_says_anything():
    world = _world.detect({"PATH": "/bin", "LOCAL_RANK": "3"}, {"os": os, "torch": None})
    assert (world.rank, world.world_size) == ALONE
    assert str(world) == "rank 0 of 1 (no framework and no launcher says otherwise)"


@pytest.mark.parametrize("rank", LAUNCHERS)
def test_every_launcher(rank):
    size, environ = LAUNCHERS[rank]
    assert found(environ) == (2, 4)
    assert source(environ) == f"{rank} and {size}"


def test_the_order_of_the_launchers():
    """Each launcher in front of the next one; all worlds are as large, and each has its rank."""
    names = list(LAUNCHERS)
    environ = {}
    for rank, name in enumerate(names):
        environ |= LAUNCHERS[name][1] | {name: str(rank), LAUNCHERS[name][0]: "9"}
    for rank, name in enumerate(names):
        assert found(environ) == (rank, 9), name
        for variable in LAUNCHERS[name][1]:
            environ.pop(variable)
    assert found(environ) == ALONE


@pytest.mark.parametrize("rank, size", PAIRS.items())
def test_pairs_that_are_wrong(rank, size):
    says = refusal({rank: "1"})
    assert f"{rank} = '1' is set" in says and f"{size} is not" in says and "give the reader" in says
    says = refusal({size: "4", rank: ""})
    assert f"{size} = '4' is set" in says and f"{rank} is not" in says
    says = refusal({rank: "4", size: "4"})
    assert f"{rank} and {size}: rank 4 of 4" in says
    assert "rank 0 of 0" in refusal({rank: "0", size: "0"})
    for word in ("one", "-1", "1.0", "0x1", "1_0", "\u0661", "9" * 5000):
        says = refusal({rank: word, size: "4"})
        assert says.startswith(f"{rank} = ") and "whole number" in says and len(says) < 500
    assert f"{size} = 'many'" in refusal({rank: "0", size: "many"})
    assert found({rank: "", size: ""}) == ALONE
    assert found({rank: " 1", size: "2\n"}) == (1, 2)


def test_a_later_launcher_is_not_looked_at():
    assert found({"RANK": "1", "WORLD_SIZE": "2", "PMI_RANK": "nonsense"}) == (1, 2)
    assert found(step(1, 2, PMI_RANK="1")) == (1, 2), "half a pair of another launcher"


# ---- SLURM --------------------------------------------------------------------------------------


def test_torchrun_started_by_srun_with_a_task_per_node():
    """SLURM_PROCID is then the node."""
    assert found(step(1, 2, RANK="11", WORLD_SIZE="16", LOCAL_RANK="3")) == (11, 16)


def test_a_batch_script_without_srun_is_one_process():
    batch = {"SLURM_JOB_ID": "7", "SLURM_JOB_NAME": "train", "SLURM_NTASKS": "4"}
    assert found(batch) == ALONE
    assert source(batch) == "SLURM_NTASKS=4 does not count: no srun started this process"
    assert found({**batch, "SLURM_PROCID": "0"}) == ALONE
    assert found({**batch, "SLURM_STEP_ID": "0"}) == ALONE
    assert found({**batch, "SLURM_PROCID": "0", "SLURM_STEP_ID": "0"}) == (0, 4)


@pytest.mark.parametrize("name", ["bash", "interactive"])
def test_a_shell_is_not_a_task(name):
    assert found(step(0, 4, SLURM_JOB_NAME=name)) == ALONE
    says = f"SLURM_STEP_NUM_TASKS=4 does not count: SLURM_JOB_NAME={name} is that of a shell"
    assert source(step(0, 4, SLURM_JOB_NAME=name)) == says


def test_slurms_own_steps_are_not_tasks():
    """The batch script and the shell of salloc, whatever their job is called."""
    for special in (0xFFFFFFFA, 0xFFFFFFFB):
        assert found(step(0, 4, SLURM_STEP_ID=str(special))) == ALONE
    assert found(step(3, 4, SLURM_STEP_ID="12345")) == (3, 4)


def test_the_size_is_that_of_the_step():
    assert found(step(1, 2, SLURM_NTASKS="8")) == (1, 2)
    assert found(step(1, "", SLURM_NTASKS="8")) == (1, 8)
    assert "SLURM_NTASKS is not" in refusal(step(1, "", SLURM_NTASKS=""))
    assert "rank 2 of 2" in refusal(step(2, 2))
    assert "SLURM_STEP_ID = 'x'" in refusal(step(0, 2, SLURM_STEP_ID="x"))


@pytest.mark.parametrize("rank, size", list(PAIRS.items())[2:])
def test_an_mpi_launcher_whose_daemons_srun_started(rank, size):
    """Its processes inherit the SLURM_PROCID of the daemon of their node."""
    assert found(step(1, 2, **{rank: "13", size: "16"})) == (13, 16)
    assert found(step(1, 2, **{rank: "1", size: "2"})) == (1, 2)


def test_a_rank_of_pmix_without_a_size():
    assert found({"PMIX_RANK": "0"}) == ALONE
    said = refusal({"PMIX_RANK": "1"})
    assert "PMIX_RANK = '1' is set in the environment, and the world size is not known" in said
    assert found({"PMIX_RANK": "1", "PMI_RANK": "1", "PMI_SIZE": "2"}) == (1, 2)


# ---- Frameworks ---------------------------------------------------------------------------------


def yes():
    return True


def no():
    return False


def fail(*_):
    raise AssertionError("asked, although it is not initialised")


def torch(rank, size, is_available=yes, is_initialized=yes):
    return {
        "torch.distributed": SimpleNamespace(
            is_available=is_available,
            is_initialized=is_initialized,
            get_rank=lambda: rank,
            get_world_size=lambda: size,
        )
    }


def jax(rank, size, client="connected"):
    """process_index() starts the backend: nobody may call it."""
    state = SimpleNamespace(process_id=rank, num_processes=size, client=client)
    public = SimpleNamespace(is_initialized=lambda: state.client is not None)
    return {
        "jax": SimpleNamespace(process_index=fail, process_count=fail, distributed=public),
        "jax.distributed": public,
        "jax._src.distributed": SimpleNamespace(global_state=state),
    }


def horovod(rank, size, flavour="torch", is_initialized=yes):
    hvd = SimpleNamespace(is_initialized=is_initialized, rank=lambda: rank, size=lambda: size)
    return {f"horovod.{flavour}": hvd}


def ray_train(rank, size):
    context = SimpleNamespace(get_world_rank=lambda: rank, get_world_size=lambda: size)
    return {"ray.train": SimpleNamespace(get_context=lambda: context)}


def mpi4py(rank, size, is_initialized=yes, is_finalized=no):
    comm = SimpleNamespace(Get_rank=lambda: rank, Get_size=lambda: size)
    mpi = SimpleNamespace(
        Is_initialized=is_initialized, Is_finalized=is_finalized, COMM_WORLD=comm
    )
    return {"mpi4py.MPI": mpi}


FRAMEWORKS = {
    "torch.distributed": torch,
    "jax.distributed": jax,
    "Horovod": horovod,
    "Ray Train": ray_train,
    "MPI (mpi4py)": mpi4py,
}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_every_framework_comes_before_the_variables(name):
    environ = {"RANK": "0", "WORLD_SIZE": "2", **step(1, 3)}
    assert found(environ, FRAMEWORKS[name](2, 4)) == (2, 4)
    assert source(environ, FRAMEWORKS[name](2, 4)) == name
    assert f"{name}: rank 4 of 4" in refusal({}, FRAMEWORKS[name](4, 4))


def test_the_order_of_the_frameworks():
    modules = {}
    for rank, make in enumerate(FRAMEWORKS.values()):
        modules |= make(rank, 9)
    for rank, make in enumerate(FRAMEWORKS.values()):
        assert found({}, modules) == (rank, 9)
        for name in make(0, 1):
            modules.pop(name)


@pytest.mark.parametrize(
    "modules",
    [
        torch(2, 4, is_initialized=no),
        torch(2, 4, is_available=no, is_initialized=fail),
        {"torch.distributed": SimpleNamespace(is_available=no)},
        {"torch.distributed": SimpleNamespace()},
        {"torch.distributed": None},
        jax(0, 1, client=None),
        {"jax": SimpleNamespace(process_index=fail)},
        horovod(2, 4, is_initialized=no),
        mpi4py(2, 4, is_initialized=no),
        mpi4py(2, 4, is_finalized=yes),
        mpi4py(0, 1),
    ],
    ids=lambda modules: "+".join(modules) or "none",
)
def test_a_framework_that_is_not_in_use_does_not_count(modules):
    assert found({}, modules) == ALONE
    assert found({"RANK": "1", "WORLD_SIZE": "2"}, modules) == (1, 2)


def test_an_initialised_world_of_one_is_an_answer():
    for name, make in FRAMEWORKS.items():
        expected = (1, 2) if name.startswith("MPI") else ALONE
        assert found({"RANK": "1", "WORLD_SIZE": "2"}, make(0, 1)) == expected


def test_other_forms_of_the_frameworks():
    for flavour in ("tensorflow", "tensorflow.keras", "keras", "mxnet"):
        assert found({}, horovod(1, 3, flavour)) == (1, 3)
    old_jax = jax(1, 3)
    del old_jax["jax.distributed"].is_initialized
    assert found({}, old_jax) == (1, 3)
    old_jax["jax._src.distributed"].global_state.client = None
    assert found({}, old_jax) == ALONE


@pytest.mark.parametrize("failure", [RuntimeError, DeprecationWarning])
def test_ray_train_outside_of_a_worker(failure):
    def get_context():
        raise failure("not a worker")

    assert found({}, {"ray.train": SimpleNamespace(get_context=get_context)}) == ALONE


def test_an_older_ray_train_has_a_context_everywhere():
    class TrainContext:
        get_world_rank = staticmethod(lambda: 1)
        get_world_size = staticmethod(lambda: 2)

    session = SimpleNamespace(get_session=lambda: None)
    modules = {
        "ray.train": SimpleNamespace(get_context=TrainContext),
        "ray.train.context": SimpleNamespace(TrainContext=TrainContext),
        "ray.train._internal.session": session,
    }
    assert found({}, modules) == ALONE
    session.get_session = lambda: SimpleNamespace(world_rank=1)
    assert found({}, modules) == (1, 2)


def test_a_framework_that_fails_is_an_error_with_its_name():
    modules = torch(0, 1)
    modules["torch.distributed"].get_rank = lambda: 1 // 0
    assert "torch.distributed is in use but does not give its rank (ZeroDivisionE" in refusal(
        {}, modules
    )
    modules = jax(0, 2)
    modules.pop("jax._src.distributed")
    assert "jax.distributed is in use" in refusal({}, modules)


def test_nothing_is_imported():
    before = set(sys.modules)
    flow.world()
    assert set(sys.modules) == before


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
    assert str(caught.value).endswith("(world_size was inferred: RANK and WORLD_SIZE)")
    with pytest.raises(flow.InvalidArgumentError) as caught:
        flow.MiniReader(DATA, batch_size=4, rank=1, world_size=3)
    assert "inferred" not in str(caught.value)


def test_a_world_larger_than_any_says_who_chose_it(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", str(10**12))
    with pytest.raises(flow.InvalidArgumentError, match="was inferred: RANK and WORLD_SIZE"):
        flow.MiniReader(DATA)


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
    monkeypatch.setattr(_world, "_told", [])
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
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.splitlines()


@pytest.mark.parametrize("rank", ["RANK", "SLURM_PROCID", "PMI_RANK"])
def test_processes_of_a_launcher_share_the_records(rank):
    size, environ = LAUNCHERS[rank]
    processes = [start({**environ, rank: str(i), size: "3"}) for i in range(3)]
    everything = []
    for i, process in enumerate(processes):
        text, ids = output(process)
        assert f"rank={i}/3 ({rank} and {size})" in text
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
