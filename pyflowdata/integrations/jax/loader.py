"""JaxLoader: the batches of a DataLoader as jax arrays; and sink mode with them, as sink() and
scan()."""

from __future__ import annotations

import contextlib
import copy
import itertools
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast, overload

import jax
import numpy as np
from jax.experimental import multihost_utils

from ... import Blob, DataLoader, InvalidArgumentError, RankReport, Report, UnsupportedError
from ...nodes.batch_forms import arrays_of, map_arrays
from ...errors import shown
from ...loader.batches import Array
from ...loader.data_loader import ConvertingLoader
from ...loader.loader import hooked
from ...loader.loader_arguments import not_a_loader
from ...loader.open_loader import open_loader_of
from ...loader.sinks import Transfer, Sink
from ...loader.state import Reader
from ...nodes.argument_hints import refuse_arguments, takes_own_arguments
from ..equal_rows import check_equal_rows, skips_rows, why_short

__all__ = ["JaxLoader", "Scan", "rank_and_world_size", "scan", "sink"]


# ---- Numbers of 64 bits -------------------------------------------------------------------------


def _device_dtype(blob: Blob, narrow: bool) -> np.dtype[Any]:
    """The dtype that jax gives a blob with its current settings."""
    dtype: np.dtype[Any] = np.dtype(jax.dtypes.canonicalize_dtype(blob.dtype))
    if dtype != blob.dtype and not narrow:
        raise InvalidArgumentError(
            f"blob '{blob.name}' is {blob.dtype}, and jax has no 64-bit numbers while "
            "jax_enable_x64 is off: set jax.config.update('jax_enable_x64', True), give the blob "
            f"another dtype in the graph, or give narrow=True to get {dtype}"
        )
    return dtype


def _narrowed(blob: Blob, array: Array, dtype: np.dtype[Any]) -> Array:
    """The array in this dtype; a number that does not fit is an error."""
    if array.dtype == dtype:
        return array
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            narrow = array.astype(dtype)
        lost = np.isinf(narrow) & np.isfinite(array)
    else:
        narrow = array.astype(dtype)
        lost = narrow != array
    if lost.any():
        raise InvalidArgumentError(
            f"blob '{blob.name}' has the value {array[lost][0]} in row {np.argwhere(lost)[0][0]} "
            f"of a batch, which {dtype} does not hold; set "
            "jax.config.update('jax_enable_x64', True)"
        )
    return narrow


# ---- Shardings ----------------------------------------------------------------------------------


def rank_and_world_size(sharding: jax.sharding.Sharding, batch_size: int) -> tuple[int, int]:
    """The part of every batch that the devices of this process need, as attrs for a reader.

    Processes whose devices need the same rows, as with a model that is spread over processes, get
    the same rank.

    Args:
        sharding: Over all devices of the job; its first dimension is the rows.
        batch_size: Rows of the whole batch.

    Raises:
        InvalidArgumentError: The rows of this process are not contiguous, the rows do not divide,
            or their run is not one of equal parts: order the mesh by process.
    """
    begin, end = _rows_of_process(sharding, batch_size)
    size = end - begin
    if batch_size % size or begin % size:
        raise InvalidArgumentError(
            f"this process has rows {begin} to {end - 1} of {batch_size} under {sharding}; that is "
            "none of several equal parts"
        )
    return begin // size, batch_size // size


def _of_rows(sharding: jax.sharding.Sharding) -> jax.sharding.Sharding:
    """The sharding of the first dimension alone."""
    if isinstance(sharding, jax.sharding.NamedSharding):
        return jax.sharding.NamedSharding(
            sharding.mesh, jax.sharding.PartitionSpec(*sharding.spec[:1])
        )
    return sharding


def _can_spread(sharding: jax.sharding.Sharding, num_rows: int) -> bool:
    """Whether this number of rows can be divided evenly over the devices of a sharding."""
    try:
        _of_rows(sharding).shard_shape((num_rows,))
    except ValueError:
        return False
    return True


def _rows_of_process(sharding: jax.sharding.Sharding, num_rows: int) -> tuple[int, int]:
    """The range of rows that the devices of this process hold together."""
    if type(num_rows) is not int or num_rows < 1:
        raise InvalidArgumentError(f"batch_size = {shown(num_rows)}; it must be an int above 0")
    if not _can_spread(sharding, num_rows):
        raise InvalidArgumentError(
            f"batch_size = {num_rows}; {sharding} cannot spread that evenly over its devices"
        )
    indices = _of_rows(sharding).addressable_devices_indices_map((num_rows,))
    parts = sorted({rows[0].indices(num_rows)[:2] for rows in indices.values() if rows})
    if not parts:
        raise InvalidArgumentError(f"no device of this process is in {sharding}")
    for (_, end), (begin, _) in itertools.pairwise(parts):
        if begin > end:
            raise InvalidArgumentError(
                f"the devices of this process have rows up to {end - 1} and from {begin} on under "
                f"{sharding}; a reader yields one run of rows: order the mesh by process"
            )
    return parts[0][0], max(end for _, end in parts)


def _check_sharding(loader: DataLoader[Any], sharding: jax.sharding.Sharding) -> None:
    """Refuses a sharding that the rows of this process, or of a short batch, do not fit."""
    skips = skips_rows(loader)
    for reader in loader.readers:
        size = reader.batch_size // reader.world_size
        expected = (reader.rank * size, (reader.rank + 1) * size)
        found = _rows_of_process(sharding, reader.batch_size)
        if found != expected:
            raise InvalidArgumentError(
                f"{reader.name}: rank {reader.rank} of {reader.world_size} reads rows "
                f"{expected[0]} to {expected[1] - 1} of {reader.batch_size}, but the devices of "
                f"this process need rows {found[0]} to {found[1] - 1} under {sharding}; give the "
                "reader the rank and world_size that rank_and_world_size() returns"
            )
        if sharding.is_fully_addressable:
            _check_last_batch(reader, sharding)
            continue
        why = why_short(reader, skips)
        if why:
            raise InvalidArgumentError(
                f"{reader.name}: {why}; every process needs all its rows of every batch, or the "
                "others wait for it for ever"
            )


def _check_last_batch(reader: Reader, sharding: jax.sharding.Sharding) -> None:
    """Refuses at once a last batch that would fail at the end of the epoch."""
    rest = reader.steps.last_rows
    if not reader.steps.is_filled and not _can_spread(sharding, rest):
        raise InvalidArgumentError(
            f"{reader.name}: the last batch of an epoch has {rest} rows, which {sharding} cannot "
            "spread evenly; give the reader last_batch='pad', 'wrap' or 'drop'"
        )


# ---- The loader ---------------------------------------------------------------------------------

BatchT = TypeVar("BatchT", covariant=True)
Where: TypeAlias = "jax.sharding.Sharding | jax.Device | None"

_AHEAD = 1  # batches that are on their way to the devices while the one before is in use


class JaxLoader(ConvertingLoader[BatchT]):
    """Moves the batches of a DataLoader to devices, one batch ahead of its use.

    A batch has the form that the DataLoader gives it, with jax arrays in place of NumPy arrays.
    Nothing is copied in host memory: on the CPU backend a jax array is the loader's own memory, if
    XLA can use it as it is, and keeps the memory while the array, or one that shares its memory, is
    held.  For other devices the memory is kept until the transfer is done.

    The DataLoader is taken over: take batches, states and epochs only from the JaxLoader, and close
    the JaxLoader.  Several threads may use it; they take turns.

    Attributes:
        loader: The DataLoader, for blobs, readers and more.
    """

    @overload
    def __init__(
        self: JaxLoader[jax.Array],
        loader: DataLoader[Array],
        sharding: Where = ...,
        *,
        narrow: bool = ...,
    ) -> None: ...

    @overload
    def __init__(
        self: JaxLoader[tuple[jax.Array, ...]],
        loader: DataLoader[tuple[Array, ...]],
        sharding: Where = ...,
        *,
        narrow: bool = ...,
    ) -> None: ...

    @overload
    def __init__(
        self: JaxLoader[dict[str, jax.Array]],
        loader: DataLoader[dict[str, Array]],
        sharding: Where = ...,
        *,
        narrow: bool = ...,
    ) -> None: ...

    def __init__(
        self,
        loader: DataLoader[Any],
        sharding: Where = None,
        *,
        narrow: bool = False,
        **others: object,
    ) -> None:
        """Checks that the batches of the loader fit the sharding.

        Args:
            loader: Its position is where this goes on.
            sharding: Over which devices a batch is spread, its first dimension being the rows; of
                all processes, if it has devices of several.  The arrays then have the rows of the
                whole batch.  A device, or None for jax's default device: the arrays have the rows
                of this process, on that device.
            narrow: The treatment of 64-bit numbers while jax_enable_x64 is off.  jax would make
                them float32, int32 and uint32, and drop the upper bits of integers.  False: a blob
                of 64 bits is an error.  True: numbers are converted, and one that does not fit is
                an error.

        Raises:
            InvalidArgumentError: Rank and world size of a reader do not fit the sharding; not
                every batch is known to have all its rows where jax needs them; a blob has 64
                bits and narrow is False; or it is ragged.
        """
        if not isinstance(loader, DataLoader):
            several = isinstance(sharding, Blob)
            raise not_a_loader("JaxLoader", (loader, sharding) if several else loader)
        refuse_arguments(others, "JaxLoader", ("sharding", "narrow"))
        if not isinstance(sharding, (jax.sharding.Sharding, jax.Device, type(None))):
            raise InvalidArgumentError(
                f"sharding = {shown(sharding)} ({type(sharding).__name__}); it must be a "
                "jax.sharding.Sharding, such as a NamedSharding, a jax.Device, or None"
            )
        for blob in loader.blobs:
            _ = blob.dense_row_shape  # refuses ragged ones
        self.loader = loader
        self._shows = open_loader_of(loader).observation.shows
        self._sharding = sharding
        self._whole = sharding if isinstance(sharding, jax.sharding.Sharding) else None
        self._dtypes = [_device_dtype(blob, narrow) for blob in loader.blobs]
        if self._whole is not None:
            _check_sharding(loader, self._whole)
        self._taking = threading.RLock()
        self._is_busy = False  # its holder is inside a call that must not be entered again
        self._batches: _JaxBatches | None = None  # the iterator that may go on
        self._state = loader.state_dict()
        self._epoch = loader.epoch

    # ---- Epochs -------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[BatchT]:
        """Starts the epoch after the last started one; after load_state_dict() it continues
        there."""
        with self._turn():
            if self.loader.epoch != self._epoch:  # started by a batch that was only taken ahead
                self._take_back()
                self.loader.seek(0, epoch=self._epoch + 1)
            return self._begin(iter(self.loader))

    def repeat(self) -> Iterator[BatchT]:
        """Batches without end, epoch after epoch, from where the loader is."""
        with self._turn():
            if self.loader.state_dict() != self._state:  # a batch was taken ahead
                self._take_back()
                self.loader.seek(self._state["position"], epoch=self._state["epoch"])
            return self._begin(self.loader.repeat())

    def _take_back(self) -> None:
        open_loader_of(self.loader).take_back(self._state["epoch"], self._state["position"])

    def _begin(self, batches: Iterator[Any]) -> Iterator[Any]:
        self._batches = _JaxBatches(self, batches)
        self._state, self._epoch = self.loader.state_dict(), self.loader.epoch
        return hooked(self, self._batches)

    # ---- State --------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """As DataLoader.state_dict(); the batch that is on its way to devices does not count."""
        return copy.deepcopy(self._state)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As DataLoader.load_state_dict()."""
        with self._turn():
            self.loader.load_state_dict(state)
            self._batches = None
            self._state, self._epoch = self.loader.state_dict(), self.loader.epoch

    @contextlib.contextmanager
    def keep_place(self) -> Iterator[None]:
        """As DataLoader.keep_place()."""
        with self._taking, self.loader.keep_place():
            with self._turn():  # refuses a signal handler that comes in between
                pass
            kept = self._batches, self._state, self._epoch
            self._state, self._epoch = self.loader.state_dict(), self.loader.epoch
            try:
                yield
            finally:
                self._batches, self._state, self._epoch = kept

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        with self._taking:
            if self._is_busy:
                raise UnsupportedError(
                    "this thread is inside a call of the JaxLoader already, and a signal "
                    "handler or __del__ called it again; there only close() and state_dict() may "
                    "be used"
                )
            self._is_busy = True
            try:
                yield
            finally:
                self._is_busy = False

    # ---- Facts and life -----------------------------------------------------------------------

    def _gathered(self, report: Report) -> RankReport:
        """The report of the first process of every rank; all processes call it."""
        if jax.process_count() == 1:
            return RankReport([report])
        own = np.frombuffer(pickle.dumps(report), np.uint8)
        sizes = multihost_utils.process_allgather(np.int32(own.size))
        padded = np.zeros(int(sizes.max()), np.uint8)
        padded[: own.size] = own
        rows = multihost_utils.process_allgather(padded)
        of_rank: dict[int, Report] = {}
        for row, size in zip(rows, sizes, strict=True):
            one: Report = pickle.loads(np.asarray(row[:size]).tobytes())
            of_rank.setdefault(one.counters.rank, one)
        return RankReport([*of_rank.values()])

    @property
    def epoch(self) -> int:
        """The epoch of the last delivered batch; before any, the epoch of the first batch."""
        return self._epoch

    def __repr__(self) -> str:
        where = self._sharding if self._sharding is not None else "the default device"
        return f"JaxLoader({self.loader!r}, {where})"

    def close(self) -> None:
        """Closes the DataLoader.  Arrays that are held stay valid."""
        self._batches = None
        self.loader.close()

    # ---- Hand-over ----------------------------------------------------------------------------

    def _put(self, batch: Any, *, overlaps: bool = False) -> Any:
        """A batch in its form, with jax arrays; overlaps: as of DataLoader.count_copy()."""
        placed = iter(self._put_all(arrays_of(batch), overlaps=overlaps))
        return map_arrays(batch, lambda _: next(placed))

    def _put_all(self, arrays: list[Array], *, overlaps: bool) -> list[jax.Array]:
        blobs = self.loader.blobs
        hosts = [
            _narrowed(blob, array, dtype)
            for blob, array, dtype in zip(blobs, arrays, self._dtypes, strict=True)
        ]
        begin = time.perf_counter()
        with self._shows("copy to the device"):
            placed = self._placed(hosts)
        seconds = time.perf_counter() - begin
        size = sum(host.nbytes for host in hosts)
        self.loader.count_copy(seconds, size, jax.default_backend(), overlaps=overlaps)
        for blob, array, dtype in zip(blobs, placed, self._dtypes, strict=True):
            if array.dtype != dtype:
                raise UnsupportedError(
                    f"blob '{blob.name}' was to become {dtype} and jax made it {array.dtype}: "
                    "jax_enable_x64 was changed after the JaxLoader was made"
                )
        return placed

    def _placed(self, hosts: list[Array]) -> list[jax.Array]:
        sharding = self._whole
        if sharding is None:
            return cast("list[jax.Array]", jax.device_put(hosts, self._sharding))
        for blob, host in zip(self.loader.blobs, hosts, strict=True):
            self._check_rows(blob, len(host))
        if sharding.is_fully_addressable:
            return cast("list[jax.Array]", jax.device_put(hosts, sharding))
        return [
            jax.make_array_from_process_local_data(sharding, host, blob.shape)
            for blob, host in zip(self.loader.blobs, hosts, strict=True)
        ]

    def _check_rows(self, blob: Blob, rows: int) -> None:
        assert self._whole is not None
        if rows * self.loader.readers[0].world_size == blob.batch_size:
            return
        if not (self._whole.is_fully_addressable and _can_spread(self._whole, rows)):
            raise InvalidArgumentError(
                f"blob '{blob.name}' has {rows} rows in this batch, which cannot be spread by "
                f"{self._whole}; give the reader last_batch='pad', 'wrap' or 'drop'"
            )


@dataclass(frozen=True)
class _Waiting:
    """A batch of the loader that is not on its way to the devices yet."""

    batch: Any


@dataclass(frozen=True)
class _Taken:
    """A batch on the devices, with the state and epoch of the loader after its delivery."""

    batch: Any
    state: dict[str, Any]
    epoch: int


class _JaxBatches(Iterator[Any]):
    """One epoch of a JaxLoader, or all of them."""

    def __init__(self, owner: JaxLoader[Any], batches: Iterator[Any]) -> None:
        self._owner = owner
        self._host = batches
        self._note_converted = open_loader_of(owner.loader).note_converted
        self._ahead: deque[_Waiting | _Taken | Exception] = deque()

    def __next__(self) -> Any:
        owner = self._owner
        with owner._turn():
            if owner._batches is not self:
                self._ahead.clear()
                return next(self._host)  # raises: it is closed, at its end, or replaced
            while self._is_last(_Waiting) or (
                len(self._ahead) <= _AHEAD and not self._is_last(Exception)
            ):
                self._take()
            taken = self._ahead.popleft()
            if isinstance(taken, Exception):
                if isinstance(taken, StopIteration):
                    owner._state = owner.loader.state_dict()
                    owner._batches = None
                raise taken
            assert isinstance(taken, _Taken)
            owner._state, owner._epoch = taken.state, taken.epoch
            self._note_converted()
            return taken.batch

    def _is_last(self, kind: type[_Waiting] | type[Exception]) -> bool:
        return bool(self._ahead) and isinstance(self._ahead[-1], kind)

    def _take(self) -> None:
        """Takes one more batch, or the exception in its place; an interrupt may come at any
        time."""
        loader = self._owner.loader
        try:
            if not self._is_last(_Waiting):
                self._ahead.append(_Waiting(next(self._host)))
        except Exception as failure:  # noqa: BLE001  (raised in its turn)
            self._ahead.append(failure)
            return
        waiting = cast(_Waiting, self._ahead[-1])
        try:
            batch = self._owner._put(waiting.batch)
            taken: _Taken | Exception = _Taken(batch, loader.state_dict(), loader.epoch)
        except Exception as failure:  # noqa: BLE001
            taken = failure
        self._ahead[-1] = taken


# ---- Scans --------------------------------------------------------------------------------------
# Many steps as one jitted jax.lax.scan, over batches that are stacked ahead.


class _Stacks(Iterator[Any]):
    """Several batches as one, in arrays with one more dimension in front."""

    def __init__(self, batches: Iterator[Any], size: int) -> None:
        self._batches, self._size = batches, size
        self._stack: Any = None
        self._filled = 0  # stays where it is if the loader fails

    def __next__(self) -> Any:
        while self._filled < self._size:
            batch = next(self._batches)
            if self._stack is None:
                self._stack = jax.tree.map(
                    lambda array: np.empty((self._size, *array.shape), array.dtype), batch
                )
            jax.tree.map(lambda stack, array: np.copyto(stack[self._filled], array),
                         self._stack, batch)  # fmt: skip
            self._filled += 1
        stack, self._stack, self._filled = self._stack, None, 0
        return stack


class Scan:
    """The steps of scan().

    Attributes:
        carry: The carry after the last call.
        sink: Has stats() and report(); a batch of it is a stack of `sink_size` batches.
    """

    def __init__(
        self,
        loader: DataLoader[Any],
        hand_over: Transfer,
        step: Callable[[Any, Any], tuple[Any, Any]],
        carry: Any,
        sink_size: int,
        queue: int,
    ) -> None:
        if type(sink_size) is not int or sink_size < 1:
            raise InvalidArgumentError(
                f"sink_size = {shown(sink_size)}; a scan needs an int above 0, such as len(loader)"
            )
        check_equal_rows(loader)
        self.carry = carry
        self._scan = jax.jit(lambda carry, stack: jax.lax.scan(step, carry, stack))
        self.sink: Sink[Any] = Sink(
            loader, self._run, 1, queue, hand_over,
            lambda: _Stacks(loader.repeat(), sink_size), sink_size,
        )  # fmt: skip

    def _run(self, stack: Any) -> Any:
        self.carry, results = self._scan(self.carry, stack)
        return results

    def __call__(self) -> Any:
        """Runs the next `sink_size` steps; returns their results, stacked."""
        return self.sink()[0]

    def __iter__(self) -> Iterator[Any]:
        """Calls without end, epoch after epoch."""
        while True:
            yield self()

    def state_dict(self) -> dict[str, Any]:
        """As DataLoader.state_dict(), of the batches in the carry; save the carry with it."""
        return self.sink.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As DataLoader.load_state_dict(); set the carry as well."""
        self.sink.load_state_dict(state)

    def close(self) -> None:
        """As Sink.close()."""
        self.sink.close()

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


# ---- Sink mode ----------------------------------------------------------------------------------

ResultT = TypeVar("ResultT")


class _DeviceArrays:
    """The hand-over of a sink: transfers of batches begin in its thread."""

    def __init__(self, owner: JaxLoader[Any]) -> None:
        self._owner = owner

    def send(self, batch: Any) -> Any:
        return self._owner._put(batch, overlaps=True)

    def receive(self, made: Any) -> Any:
        return made

    def __str__(self) -> str:
        where = self._owner._sharding
        return f"on {'the default device' if where is None else where}: put there ahead"


def _taken_over(
    loader: DataLoader[Any] | JaxLoader[Any], sharding: Where, narrow: bool
) -> JaxLoader[Any]:
    if isinstance(loader, JaxLoader):
        loader.load_state_dict(loader.state_dict())  # a batch that was taken ahead does not count
        return loader
    return JaxLoader(loader, sharding, narrow=narrow)


@takes_own_arguments
def sink(
    loader: DataLoader[Any] | JaxLoader[Any],
    step: Callable[[Any], ResultT],
    *,
    sink_size: int = -1,
    sharding: Where = None,
    narrow: bool = False,
    queue: int = 2,
) -> Sink[ResultT]:
    """Runs `step(batch)` many times per call, with arrays that a thread puts on devices ahead.

    Args:
        loader: A DataLoader, from whose position the sink continues. From a JaxLoader its
            DataLoader and its sharding are taken.
        step: Trains with a batch, most often by a jitted function. Its result need not be ready:
            `float(loss)` waits for it.
        sink_size: Steps of a call; calls go on over the ends of epochs. -1: a call ends where its
            epoch does.
        sharding, narrow: As in JaxLoader.
        queue: Batches that wait for steps at most.

    Returns:
        `run`: run() makes a call and returns the results of its steps; `for results in run` makes
            calls without end. It has state_dict(), load_state_dict(), report(), stats() and
            close().

    Raises:
        InvalidArgumentError: A number is out of range; or as of JaxLoader.
    """
    owner = _taken_over(loader, sharding, narrow)
    return Sink(owner.loader, step, sink_size, queue, _DeviceArrays(owner))


@takes_own_arguments
def scan(
    loader: DataLoader[Any] | JaxLoader[Any],
    step: Callable[[Any, Any], tuple[Any, Any]],
    carry: Any,
    *,
    sink_size: int,
    sharding: jax.Device | None = None,
    narrow: bool = False,
    queue: int = 2,
) -> Scan:
    """Runs `sink_size` steps as one jitted jax.lax.scan per call: no Python between steps.

    A thread stacks the batches of a call and puts them on the device ahead.  The device has up to
    `queue` stacks besides the one in use.

    Args:
        loader: As in sink().
        step: As jax.lax.scan has it: step(carry, batch) -> (carry, result).
        carry: Parameters, optimizer state and so on.
        sink_size: Steps of a call; calls go on over the ends of epochs.
        sharding: A device; None: jax's default device.
        narrow: As in JaxLoader.
        queue: Stacks that wait for calls at most.

    Returns:
        `run`: run() makes a call and returns the stacked results; run.carry is the carry after it.

    Raises:
        InvalidArgumentError: Batches may have different numbers of rows; or as of sink().
        UnsupportedError: The sharding is over several devices.
    """
    owner = _taken_over(loader, sharding, narrow)
    if owner._whole is not None:
        raise UnsupportedError(
            "a scan runs on one device: give a jax.Device as sharding, or use sink()"
        )
    return Scan(owner.loader, _DeviceArrays(owner), step, carry, sink_size, queue)
