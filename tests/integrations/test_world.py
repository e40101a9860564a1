"""Which rank and world size are inferred: from what, in which order, and what is refused."""

import os
import sys
from types import SimpleNamespace

import pytest
from support.launchers import LAUNCHERS, PAIRS, step

import pyflowdata as flow
from pyflowdata.nodes import world as _world

ALONE = (0, 1)


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
    assert world.is_alone and not _world.detect({"RANK": "0", "WORLD_SIZE": "1"}, {}).is_alone


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


def test_a_process_that_has_no_process_group_yet():
    says = refusal({"WORLD_SIZE": "2", "LOCAL_RANK": "1", "NODE_RANK": "0"})
    assert "make the graph in each process, after the process group exists, or give" in says


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
    assert "PMIX_RANK = '1' is set in the environment, but the world size is not known" in said
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
