"""Batches as torch tensors: on the host without a copy, on a CUDA device one batch ahead; and sink
mode with them.

    from pyflowdata.integrations.torch import TorchLoader

    loader = TorchLoader(flow.DataLoader(x, y), device="cuda")
    for x_batch, y_batch in loader:
        ...

Needs torch 2.6 or newer: `pip install pyflowdata[torch]`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

import torch
import torch.distributed as dist

from ... import Blob, DataLoader, InvalidArgumentError, RankReport, Report
from ...errors import WrongUseError, shown
from ...loader.batches import Array
from ...loader.data_loader import ConvertingLoader
from ...loader.loader import hooked
from ...loader.loader_arguments import not_a_loader
from ...loader.sinks import Sink
from ...nodes.argument_hints import refuse_arguments, takes_own_arguments
from .accelerate_signal import PreparedLoader, announced, gradient_state
from .devices import DeviceCopies, PlainCopies, copies_to, counted, current_device, find_device
from .epoch_iterators import Ahead, EpochPlace, HandOver, OnHost
from .fit_loops import FitLoopLoader, TrainerEpochs
from .meshes import LoaderOptions, MeshPlacement, check_ranks
from .rows import TrainerAttributes, saved_arguments, steps_of, take_batch_sampler
from .tensors import HostTensors

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["TorchLoader", "sink"]

BatchT = TypeVar("BatchT", covariant=True)


class TorchLoader(
    ConvertingLoader[BatchT],
    TrainerAttributes,
    FitLoopLoader,
    PreparedLoader,
    torch.utils.data.DataLoader[BatchT],
):
    """A DataLoader whose batches are torch tensors.

    A batch keeps its form: one tensor, a tuple or a dict of tensors.  Without a device, or with
    "cpu", a tensor views the memory of the loader, which is used again after the tensor and all
    views of it are collected.  With a CUDA device the tensors are on the device; while one batch is
    used, the copy of the next one runs on a separate stream, through pinned memory.

    Threads make the batches, there are no workers, and batches, shuffling and ranks are attrs of
    the readers.  Trainers find the attributes of a torch.utils.data.DataLoader: `dataset` has the
    rows of the epoch in the loader's order, `sampler` and `batch_sampler` the positions of the rows
    that this rank gets.  State follows torchdata's Stateful contract, and does not depend on rank
    or device.

    Used by one thread at a time.  It takes the DataLoader over: iterate over the TorchLoader, take
    its state, and close it.

    Attributes:
        loader: The DataLoader, for `blobs`, `readers` and more.
        device: The device of the tensors.
        ragged, static: As given.
    """

    device: torch.device

    @overload
    def __init__(
        self: TorchLoader[torch.Tensor],
        loader: DataLoader[Array],
        **options: Unpack[LoaderOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: TorchLoader[tuple[torch.Tensor, ...]],
        loader: DataLoader[tuple[Array, ...]],
        **options: Unpack[LoaderOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: TorchLoader[dict[str, torch.Tensor]],
        loader: DataLoader[dict[str, Array]],
        **options: Unpack[LoaderOptions],
    ) -> None: ...

    @overload
    def __init__(
        self,
        loader: Blob | Mapping[str, Blob] | Sequence[Blob],
        *blobs: Blob,
        **options: Unpack[LoaderOptions],
    ) -> None: ...

    def __init__(self, loader: Any, *blobs: Any, **options: Unpack[LoaderOptions]) -> None:
        """Args:
            loader: The DataLoader.  With mesh or process_group also blobs, for which a DataLoader
                is opened with this process's rank there.
            device: None or "cpu": tensors that view the loader's memory.  Another device that
                torch has here: tensors there, copied ahead; without blocking on CUDA and XPU.
            pin_memory: Copies host tensors to pinned memory of torch, for programs that copy to a
                device themselves; torch keeps that memory until such copies are done.  Where
                torch.cuda.is_available() is false it changes nothing.  With a CUDA device all
                batches go through pinned memory anyway.
            ragged: The form of a ragged blob.  None: a tensor, if an op such as PadBatch has made
                the rows of each batch equal in shape.  "dense": a tensor, if the rows of the batch
                have one shape, which is checked.  "jagged": otherwise a nested tensor of layout
                torch.jagged over the loader's memory, and rows of bytes a list of `bytes`; columns
                with the same lengths share their offsets.
            static: Gives the same tensors with each batch, which are valid until the next one.
            mesh: The dimension of a DeviceMesh over which rows are spread, such as mesh["dp"]:
                processes that differ in other dimensions get the same rows.
            process_group: The same by a process group.
            dtensor: True: the tensors are DTensors over mesh, Shard(0).  A larger DeviceMesh with
                the dimensions of mesh among its own: Replicate() over the others.
            context_parallel: Over which dimension of a DeviceMesh sequences are cut, mesh["cp"], or
                a `ContextParallel` that says how; each rank gets its part of dimension 1.

        Raises:
            InvalidArgumentError: The loader is not a DataLoader, a blob is ragged and `ragged` does
                not say what it becomes, the device does not exist, or static=True and batches
                differ in shape.
            UnsupportedError: torch has no such device here, or no dtype for one of the blobs.
        """
        given: dict[str, Any] = {**options}
        self._steps = take_batch_sampler(given)  # in place of all steps
        has_ranks = given.get("mesh") is not None or given.get("process_group") is not None
        if not isinstance(loader, DataLoader) and not has_ranks:
            raise not_a_loader("TorchLoader", (loader, *blobs) if blobs else loader)
        if blobs and isinstance(loader, DataLoader):
            raise WrongUseError(
                f"TorchLoader() takes one loader, and {shown(blobs[0])} was given besides: a "
                'device is given by name, device="cuda"'
            )
        names = tuple(LoaderOptions.__annotations__)
        refuse_arguments({k: v for k, v in given.items() if k not in names}, "TorchLoader", names)
        options = cast(LoaderOptions, given)
        self.device = find_device(options.get("device"))
        placement = MeshPlacement((loader, *blobs), options)
        self.loader = placement.loader
        self._hand_over = HandOver(placement, self.device, options)
        self.ragged, self.static = options.get("ragged"), bool(options.get("static"))
        self.pin_memory = self._hand_over.pins
        self._place = EpochPlace(self.loader)
        self._trainer_epochs = TrainerEpochs()
        self._epoch_steps = steps_of(self.loader)
        again = {**options, "loader": self.loader, "device": self.device}
        self.__dict__.update(saved_arguments(again))

    def __iter__(self) -> Iterator[BatchT]:
        """The epoch after the last started one; after load_state_dict() it continues there.

        The iterator begins when its first batch is taken: trainers make one iterator to see whether
        it can be made, and another one to use, and call set_epoch() before or after that.
        """
        if self._steps is not None:
            return map(self.dataset.__getitems__, self._steps)
        return self._followed(self._all_steps)

    def _all_steps(self) -> Iterator[BatchT]:
        steps = self._epoch_steps
        ahead = self._looks_ahead
        batches = self._lazy(self._place.go_to_epoch, self.loader.__iter__, looks_ahead=ahead)
        return hooked(self, announced(batches, -1 if steps is None else steps.last_rows))

    def repeat(self) -> Iterator[BatchT]:
        """Batches without end, epoch after epoch, from where the loader is."""
        return hooked(self, self._lazy(self._place.go_to_user, self.loader.repeat))

    @property
    def _looks_ahead(self) -> bool:
        """Whether a batch is taken ahead to know the last one, for accelerate."""
        return self._epoch_steps is None and gradient_state() is not None

    def _start_at(self, step: int) -> Iterator[BatchT]:
        """The next epoch from a step on; after load_state_dict() or set_epoch(), that epoch."""
        self._place.go_to_step(step)
        return self._all_steps()

    def _lazy(
        self,
        move: Callable[[], None],
        iterate: Callable[[], Iterator[Any]],
        *,
        looks_ahead: bool = False,
    ) -> OnHost | Ahead:
        check_ranks(self.loader)
        is_ahead = self._hand_over.copies is not None or looks_ahead
        return (Ahead if is_ahead else OnHost)(self._place, self._hand_over, move, iterate)

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iterator one of this epoch, also one that exists and has not started.

        A place in this epoch that load_state_dict() chose stays; after the last batch of a stream
        the next iterator has no batch, and the one after it is of the next epoch.  A started
        iterator continues, as an iterator of torch does, and so does state_dict(), until the next
        one starts.

        Args:
            epoch: Counted from 0; trainers call this before each of their epochs.

        Raises:
            InvalidArgumentError: There is no such epoch.
        """
        self._place.set_epoch(epoch)

    def place(self) -> tuple[int, int]:
        """Epoch and step of the batch after the last delivered one, as in state_dict()."""
        return self._place.next()

    @contextlib.contextmanager
    def keep_place(self) -> Iterator[None]:
        """As DataLoader.keep_place()."""
        with self._apart(), self._place.kept():
            yield

    def _to_tensors(self, batch: Any) -> Any:
        """A batch of the DataLoader as tensors on the host."""
        return self._hand_over.tensors_of(batch)

    def _gathered(self, report: Report) -> RankReport:
        """The reports of all ranks, by all_gather_object(); without a process group this one."""
        if not (dist.is_available() and dist.is_initialized()):
            return RankReport([report])
        reports: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(reports, report)
        return RankReport(reports)

    def state_dict(self) -> dict[str, Any]:
        """As DataLoader.state_dict(): delivered batches count, batches that are made ahead do
        not."""
        return self._state_of_user()

    def _own_state(self) -> dict[str, Any]:
        return self._place.state_dict()

    def _next_epoch(self) -> int:
        return self._place.next()[0]

    def _begin_epoch(self, epoch: int) -> None:
        """Goes to the first batch of an epoch."""
        self._place.begin(epoch)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """As DataLoader.load_state_dict(): the next iter() continues at the place of the state, and
        has no batch after the last one of a stream, so that a loop over epochs has as many."""
        self._place.load_state_dict(state_dict)
        self._has_loaded()

    @property
    def epoch(self) -> int:
        """The last started epoch; before any, the epoch of the first iter()."""
        return self._place.epoch

    def close(self) -> None:
        """Closes the DataLoader.  Tensors that are held stay valid."""
        self._place.ahead = None
        self.loader.close()

    def __repr__(self) -> str:
        more = ", pin_memory=True" * self.pin_memory + ", static=True" * self.static
        return f"TorchLoader({self.loader!r}, device={str(self.device)!r}{more})"


# ---- Sink mode ----------------------------------------------------------------------------------

ResultT = TypeVar("ResultT")


class _OnHost:
    """The hand-over of a sink for batches on the host."""

    def __init__(self, tensors: HostTensors) -> None:
        self._tensors = tensors

    def send(self, batch: Any) -> Any:
        return self._tensors.convert(batch)

    def receive(self, made: Any) -> Any:
        return made

    def __str__(self) -> str:
        return "on cpu: tensors view the loader's memory, nothing is pinned or copied"


class _OnDevice:
    """The hand-over of a sink for batches on a device."""

    def __init__(
        self,
        loader: DataLoader[Any],
        tensors: HostTensors,
        device: torch.device,
        copies: DeviceCopies | PlainCopies,
    ) -> None:
        self._loader, self._tensors, self._device = loader, tensors, device
        self._copies = copies

    def send(self, batch: Any) -> Any:
        """Starts the copy, in the sink's thread: the leaves, and the event after the copy."""
        leaves = self._tensors.flatten(batch)
        with current_device(self._device):
            return counted(
                self._loader, leaves, str(self._device), self._copies.send, overlaps=True
            )

    def receive(self, made: Any) -> Any:
        """The tensors, after the stream of the training thread waits for their copy."""
        leaves, copied = made
        self._copies.receive(leaves, copied)
        return self._tensors.unflatten(leaves)

    def __str__(self) -> str:
        return f"on {self._device}: {self._copies}"


@takes_own_arguments
def sink(
    loader: DataLoader[Any] | TorchLoader[Any],
    step: Callable[[Any], ResultT],
    *,
    sink_size: int = -1,
    device: torch.device | str | int | None = None,
    queue: int = 2,
    ragged: Literal["dense", "jagged"] | None = None,
) -> Sink[ResultT]:
    """Runs `step(batch)` many times per call, with tensors that a thread brings to the device.

    On a CUDA or XPU device the thread copies each batch to pinned memory, and from there on a
    stream of its own; the stream of the step waits for the copies, and no thread does.  The device
    has up to `queue` batches besides the one in use.  Without a device the same thread and queue
    are used, and a tensor views the loader's memory.

    Args:
        loader: A DataLoader, from whose position the sink continues; its batches have the form of
            TorchLoader's. From a TorchLoader its DataLoader and device are taken.
        step: Trains with a batch. Its result stays on the device: `loss.detach()` makes nothing
            wait, `loss.item()` does.
        sink_size: Steps of a call; calls go on over the ends of epochs. -1: a call ends where its
            epoch does.
        device: As in TorchLoader.
        queue: Batches that wait for steps at most.
        ragged: As in TorchLoader; with a TorchLoader the default is its own.

    Returns:
        `run`: run() makes a call and returns the results of its steps; `for results in run` makes
            calls without end. It has state_dict(), load_state_dict(), report(), stats() and
            close().

    Raises:
        InvalidArgumentError: A number is out of range, a blob is ragged and `ragged` does not say
            what it becomes, the device does not exist, or the TorchLoader has static=True.
        UnsupportedError: torch has no such device on this machine, or no dtype for one of the
            blobs.
    """
    if isinstance(loader, TorchLoader):
        if loader.static:
            raise InvalidArgumentError(
                "a TorchLoader with static=True was given, and sink() gives new tensors with each "
                "batch: give its DataLoader, loader.loader"
            )
        device = loader.device if device is None else device
        ragged = loader.ragged if ragged is None else ragged
        loader._place.go_to_user()
        loader = loader.loader
    found = find_device(device)
    hand_over: Any = None  # Sink refuses what is not a loader
    if isinstance(loader, DataLoader):
        hand_over = _hand_over(loader, ragged, found)
    return Sink(loader, step, sink_size, queue, hand_over)


def _hand_over(
    loader: DataLoader[Any], ragged: str | None, device: torch.device
) -> _OnHost | _OnDevice:
    tensors, copies = HostTensors(loader, ragged), copies_to(device)
    return _OnHost(tensors) if copies is None else _OnDevice(loader, tensors, device, copies)
