"""Sink mode with jax arrays, as pyflowdata.integrations.jax.sink() and scan()."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax

from ... import DataLoader, UnsupportedError
from ...loader.sinks import Sink
from ...nodes.argument_hints import takes_own_arguments
from .loader import JaxLoader, Where
from .scans import Scan

ResultT = TypeVar("ResultT")


class _DeviceArrays:
    """What a sink does with batches: their transfers begin in its thread."""

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
        loader: A DataLoader, whose position is where this goes on.  Of a JaxLoader its DataLoader
            and its sharding are taken.
        step: Trains with a batch, most often by a jitted function.  What it returns need not be
            ready: `float(loss)` waits for it.
        sink_size: Steps of a call; calls go on over the ends of epochs.  -1: a call ends where its
            epoch does.
        sharding, narrow: As of JaxLoader.
        queue: Batches that wait for steps at most.

    Returns:
        `run`: run() makes a call and returns what its steps returned; `for results in run` makes
        calls without end.  It has state_dict(), load_state_dict(), report(), stats() and
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
        loader: As of sink().
        step: As jax.lax.scan has it: step(carry, batch) -> (carry, result).
        carry: Parameters, optimizer state and so on.
        sink_size: Steps of a call; calls go on over the ends of epochs.
        sharding: A device; None: jax's default device.
        narrow: As of JaxLoader.
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
