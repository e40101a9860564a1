"""Sink mode with jax arrays, as pyflowdata.integrations.jax.sink() and scan()."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import jax
import numpy as np

from ... import DataLoader, InvalidArgumentError, UnsupportedError
from ...errors import shown
from ...loader.sinks import Transfer, Sink
from ...nodes.argument_hints import takes_own_arguments
from ..equal_rows import check_equal_rows
from .loader import JaxLoader, Where

__all__ = ["Scan", "scan", "sink"]


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
