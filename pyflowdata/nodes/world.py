"""Infers rank and world size of this process, from a framework in use or from the launcher.

This imports nothing and starts no backend.  `detect()` is a pure function of the
environment and the loaded modules.
"""

from __future__ import annotations

import operator
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InvalidArgumentError, shown

_REMEDY = "correct it, or give the reader rank and world_size"


@dataclass(frozen=True)
class World:
    """Rank and world size of this process.

    Attributes:
        rank: The number of this process among the ranks, from 0; it decides the part of every batch
            that the process gets.
        world_size: Number of ranks.
        source: The source of the numbers: a framework, variables of the environment, or attrs of
            the reader; or the reason why there is no source.
        is_alone: Whether neither a framework nor a launcher tells of other ranks.
    """

    rank: int
    world_size: int
    source: str
    is_alone: bool = field(default=False, repr=False, compare=False)

    def __str__(self) -> str:
        return f"rank {self.rank} of {self.world_size} ({self.source})"


def world() -> World:
    """The rank and world size that a reader without these attrs would infer if it were made now.

    The first known source counts: an initialised framework that is already imported
    (torch.distributed, jax.distributed, Horovod, Ray Train, MPI of mpi4py), then the variables of
    the launcher (RANK and WORLD_SIZE, Horovod, SLURM, Open MPI, PMI, MVAPICH2, JSM).  Without any,
    it is rank 0 of 1.

    Raises:
        InvalidArgumentError: The numbers are invalid, for example RANK without WORLD_SIZE; the
            text names their source.
    """
    return detect(os.environ, sys.modules)


def has_peers() -> bool:
    """Whether this is one of several processes, as far as `world()` can tell."""
    try:
        return world().world_size > 1
    except InvalidArgumentError:  # a launcher set some of its variables, and not all
        return True


def detect(environ: Mapping[str, str], modules: Mapping[str, Any]) -> World:
    """As `world()`, for this environment and these loaded modules."""
    return (
        _ask_frameworks(modules)
        or _pair(environ, "RANK", "WORLD_SIZE")
        or _pair(environ, "HOROVOD_RANK", "HOROVOD_SIZE")
        or _launched_inside_step(environ)
        or _slurm(environ)
        or _first_mpi(environ)
        or _alone(environ)
    )


def _checked(rank: int, world_size: int, source: str) -> World:
    if not 0 <= rank < world_size:
        raise InvalidArgumentError(
            f"{source}: rank {rank} of {world_size}; the rank must be in [0, world size); {_REMEDY}"
        )
    return World(rank, world_size, source)


# ---- Frameworks ---------------------------------------------------------------------------------
# Each takes the loaded modules, and returns rank and world size, or None if it is not in use.
# A half-imported module lacks functions; it is not in use yet.

_Ranks = tuple[int, int]


def _function(module: Any, name: str) -> Callable[[], Any] | None:
    found = getattr(module, name, None)
    return found if callable(found) else None


def _torch(modules: Mapping[str, Any]) -> _Ranks | None:
    dist: Any = modules.get("torch.distributed")
    is_available, is_initialized = (
        _function(dist, name) for name in ("is_available", "is_initialized")
    )
    if not (is_available and is_available() and is_initialized and is_initialized()):
        return None
    return dist.get_rank(), dist.get_world_size()


def _jax(modules: Mapping[str, Any]) -> _Ranks | None:
    """Rank and world size of jax, without jax.process_index(), which starts the backend and is 0
    before initialize().
    """
    state: Any = getattr(modules.get("jax._src.distributed"), "global_state", None)
    is_initialized = _function(modules.get("jax.distributed"), "is_initialized")
    in_use = is_initialized() if is_initialized else getattr(state, "client", None) is not None
    return (state.process_id, state.num_processes) if in_use else None


def _horovod(modules: Mapping[str, Any]) -> _Ranks | None:
    for flavour in ("torch", "tensorflow", "tensorflow.keras", "keras", "mxnet"):
        hvd: Any = modules.get(f"horovod.{flavour}")
        is_initialized = _function(hvd, "is_initialized")
        if is_initialized and is_initialized():
            return hvd.rank(), hvd.size()
    return None


def _ray_train(modules: Mapping[str, Any]) -> _Ranks | None:
    get_context = _function(modules.get("ray.train"), "get_context")
    if get_context is None:
        return None
    try:
        context = get_context()
    except (RuntimeError, DeprecationWarning):  # a driver or task; a trial of Ray Tune
        return None
    older = getattr(modules.get("ray.train.context"), "TrainContext", None)
    if type(context) is older:  # which answers outside of workers, too
        get_session = _function(modules.get("ray.train._internal.session"), "get_session")
        if get_session is None or getattr(get_session(), "world_rank", None) is None:
            return None
    return context.get_world_rank(), context.get_world_size()


def _mpi4py(modules: Mapping[str, Any]) -> _Ranks | None:
    """Rank and world size of mpi4py.  A world of one is ignored: importing mpi4py initialises MPI
    under any launcher.
    """
    mpi: Any = modules.get("mpi4py.MPI")
    is_initialized, is_finalized = (
        _function(mpi, name) for name in ("Is_initialized", "Is_finalized")
    )
    if not (is_initialized and is_initialized()) or (is_finalized and is_finalized()):
        return None
    size = mpi.COMM_WORLD.Get_size()
    return (mpi.COMM_WORLD.Get_rank(), size) if size > 1 else None


_FRAMEWORKS: dict[str, Callable[[Mapping[str, Any]], _Ranks | None]] = {
    "torch.distributed": _torch,
    "jax.distributed": _jax,
    "Horovod": _horovod,
    "Ray Train": _ray_train,
    "MPI (mpi4py)": _mpi4py,
}


def _ask_frameworks(modules: Mapping[str, Any]) -> World | None:
    for name, ask in _FRAMEWORKS.items():
        try:
            ranks = ask(modules)
            found = None if ranks is None else (int(ranks[0]), int(ranks[1]))
        except Exception as failure:
            raise InvalidArgumentError(
                f"{name} is in use but does not give its rank ({type(failure).__name__}: "
                f"{failure}); give the reader rank and world_size"
            ) from failure
        if found is not None:
            return _checked(*found, name)
    return None


# ---- Variables of launchers ---------------------------------------------------------------------

_MPI_PAIRS = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"),
]
_SHELL_JOBS = ("bash", "interactive")
_FIRST_SPECIAL_STEP = 0xFFFFFFF0  # SLURM's own: the batch script, an interactive shell


def _number(environ: Mapping[str, str], name: str) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,18}\s*", environ[name]):
        raise InvalidArgumentError(
            f"{name} = {shown(environ[name])} in the environment; it must be a whole number, at "
            f"least 0; {_REMEDY}"
        )
    return int(environ[name])


def _pair(environ: Mapping[str, str], rank: str, size: str) -> World | None:
    """The numbers of two variables; an empty one counts as not set."""
    has_rank, has_size = bool(environ.get(rank)), bool(environ.get(size))
    if not has_rank and not has_size:
        return None
    if not has_rank or not has_size:
        present, absent = (rank, size) if has_rank else (size, rank)
        value = shown(environ[present])
        said = f"{present} = {value} is set in the environment and {absent} is not"
        if absent == "RANK" and environ.get("LOCAL_RANK"):  # a trainer starts such processes
            raise InvalidArgumentError(
                f"{said}, as before a process group exists: make the graph in each process, after "
                "the process group exists, or give the reader rank and world_size"
            )
        raise InvalidArgumentError(
            f"{said}; set both or neither, or give the reader rank and world_size"
        )
    return _checked(_number(environ, rank), _number(environ, size), f"{rank} and {size}")


def _first_mpi(environ: Mapping[str, str]) -> World | None:
    return next((found for pair in _MPI_PAIRS if (found := _pair(environ, *pair))), None)


def _slurm_size(environ: Mapping[str, str]) -> str:
    """The variable with the number of tasks: that of the step if it is set, otherwise that of the
    job.
    """
    return "SLURM_STEP_NUM_TASKS" if environ.get("SLURM_STEP_NUM_TASKS") else "SLURM_NTASKS"


def _slurm(environ: Mapping[str, str]) -> World | None:
    """Rank and world size of SLURM, only in a step of srun: a batch script or a shell has the
    numbers of the job, but is a single process.
    """
    if not environ.get("SLURM_PROCID") or not environ.get("SLURM_STEP_ID"):
        return None
    if environ.get("SLURM_JOB_NAME") in _SHELL_JOBS:
        return None
    if _number(environ, "SLURM_STEP_ID") >= _FIRST_SPECIAL_STEP:
        return None
    return _pair(environ, "SLURM_PROCID", _slurm_size(environ))


def _launched_inside_step(environ: Mapping[str, str]) -> World | None:
    """Whether an MPI launcher runs in the step: it starts its daemons by srun, and the daemons
    start the processes, which inherit the numbers of the (fewer) daemons.
    """
    step = _slurm(environ)
    if step is None:
        return None
    for rank, size in _MPI_PAIRS:
        if environ.get(rank) and environ.get(size):
            found = _pair(environ, rank, size)
            return found if found and found.world_size > step.world_size else None
    return None


def _alone(environ: Mapping[str, str]) -> World:
    """The world of a single process; logs a warning if SLURM has numbers of several processes."""
    if environ.get("PMIX_RANK") and _number(environ, "PMIX_RANK") > 0:  # so there are others
        raise InvalidArgumentError(
            f"PMIX_RANK = {shown(environ['PMIX_RANK'])} is set in the environment, but the world "
            f"size is not known; give the reader rank and world_size"
        )
    size = _slurm_size(environ)
    if environ.get(size, "1") in ("", "1"):
        return World(0, 1, "no framework and no launcher says otherwise", is_alone=True)
    if environ.get("SLURM_JOB_NAME") in _SHELL_JOBS:
        why = f"SLURM_JOB_NAME={environ['SLURM_JOB_NAME']} is that of a shell"
    else:
        why = "no srun started this process"
    return World(0, 1, f"{size}={environ[size]} does not count: {why}")


# ---- Readers ------------------------------------------------------------------------------------

_logged: list[World] = []  # the worlds that the log of this process names, in turn


def is_left_open(values: Mapping[str, object]) -> bool:
    """Whether both rank and world_size of a reader are to be inferred."""
    return all(name not in values or _is_minus_one(values[name]) for name in ("rank", "world_size"))


def _is_minus_one(value: object) -> bool:
    try:
        return operator.index(value) == -1  # type: ignore[arg-type]
    except TypeError:
        return False


def find_world() -> World:
    """`world()` for a reader, logged when it is new in this process."""
    found = world()
    if found in _logged:
        return found
    if not found.is_alone or _logged or "logging" in sys.modules:  # else nobody can see it
        _log(found)
    _logged.append(found)
    return found


def _log(found: World) -> None:
    import logging  # takes longer to import than most of this package

    log = logging.getLogger("pyflowdata")
    if _logged and _logged[-1].world_size != found.world_size:
        log.warning("%s; earlier readers of this process were made for %s", found, _logged[-1])
    elif found.source.startswith("SLURM_STEP_NUM_TASKS="):  # the doubtful case
        log.warning("%s; if each task runs this program, give readers rank and world_size", found)
    else:
        level = logging.DEBUG if found.is_alone else logging.INFO
        log.log(level, "readers are for %s", found)


os.register_at_fork(after_in_child=_logged.clear)  # a child may have its own rank
