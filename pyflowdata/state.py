"""The state of a loader: what is saved, and how a saved state is held against a loader.

A state says where in which order a loader is; everything else about it is computed again.  It is
the same on every rank, and knows nothing of threads, prefetching or world size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import InvalidArgumentError

VERSION = 1

_LONGEST = 40  # characters of a text that are kept; a state must stay small
_KEPT = 16  # of a longer one, besides its hash


@dataclass(frozen=True)
class Reader:
    """What a loader knows about one of its readers.

    Attributes:
        name: Name of its node, or of its op and the reader's index in the loader.
        op: Name of its op.
        seed: The seed in use, also where it was left open.
        seed_is_default: The seed was left open, and is 0 because ranks need the same one.
        spec: The attrs that decide the order, without the seed.
        files, bytes, records: Of the data; records is -1 where it cannot be counted.
        data: Fingerprint of the files' names, sizes and sampled content, in hex.
        batch_size: Records in a batch, of all ranks together.
        rank, world_size: Which part of each batch comes here.
    """

    name: str
    op: str
    seed: int
    seed_is_default: bool
    spec: dict[str, str]
    files: int
    bytes: int
    records: int
    data: str
    batch_size: int
    rank: int
    world_size: int

    def __str__(self) -> str:
        return (
            f"{self.name}: seed={self.seed}, files={self.files}, batch_size={self.batch_size}"
            + (f", records={self.records}" if self.records >= 0 else "")
            + (f", rank={self.rank}/{self.world_size}" if self.world_size > 1 else "")
        )


@dataclass(frozen=True)
class Place:
    """What a state says to the loader that takes it.

    Attributes:
        epoch, position: The next batch.
        seeds: One per reader of the loader, in its order.
    """

    epoch: int
    position: int
    seeds: tuple[int, ...]


def _short(text: str) -> str:
    """A text of bounded length that still differs where the text differs."""
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text[:_KEPT]}...#{digest}"


def _describe(readers: Sequence[Reader]) -> dict[str, dict[str, Any]]:
    """What a state has of the readers, by name."""
    described: dict[str, dict[str, Any]] = {}
    for index, reader in enumerate(readers):
        name = _short(reader.name)
        if name in described:  # a name given by hand is like one made from op and index
            name = f"{name}#{index}"
        described[name] = {
            "seed": reader.seed,
            "spec": {key: _short(value) for key, value in reader.spec.items()},
            "files": reader.files,
            "bytes": reader.bytes,
            "records": reader.records,
            "data": reader.data,
        }
    return described


def make_state(epoch: int, position: int, readers: Sequence[Reader]) -> dict[str, Any]:
    """A state, of what JSON has: dicts, strings and ints."""
    return {
        "version": VERSION,
        "epoch": epoch,
        "position": position,
        "readers": _describe(readers),
    }


def _names(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names) or "none"


def _spec_differences(saved: Mapping[str, Any], own: Mapping[str, str]) -> list[str]:
    found = []
    for key in [*own, *(key for key in saved if key not in own)]:
        if key not in saved:
            found.append(f"{key} = {own[key]}, the state does not have it")
        elif key not in own:
            found.append(f"{key} = {saved[key]} in the state, the loader does not have it")
        elif saved[key] != own[key]:
            found.append(f"{key} = {own[key]}, in the state {saved[key]}")
    return found


def _reader_differences(saved: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    found = _spec_differences(saved["spec"], own["spec"])
    sizes = []
    for key in ("files", "records", "bytes"):
        unknown = key == "records" and -1 in (own[key], saved[key])  # a stream counts at its end
        if own[key] != saved[key] and not unknown:
            sizes.append(f"the data has {own[key]} {key}, in the state {saved[key]}")
    found += sizes
    if not sizes and own["data"] != saved["data"]:
        found.append("the files have other names or other content, though no other sizes")
    return found


def _differences(saved: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    missing = [name for name in saved if name not in own]
    new = [name for name in own if name not in saved]
    found = []
    if missing:
        found.append(f"readers of the state that the loader does not have: {_names(missing)}")
    if new:
        found.append(f"readers of the loader that the state does not have: {_names(new)}")
    for name in own:
        if name in saved:
            found += [f"{name}: {one}" for one in _reader_differences(saved[name], own[name])]
    return found


# ---- The form of a state ------------------------------------------------------------------------


def _malformed(what: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the state is malformed: {what}; give what DataLoader.state_dict() returned"
    )


def _whole(
    container: Mapping[str, Any], key: str, where: str, least: int = 0, bits: int = 63
) -> int:
    value = container.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**bits:
        raise _malformed(f"{where}{key} = {value!r}, which must be an int in [{least}, 2**{bits})")
    return value


def _mapping(container: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    value = container.get(key)
    if not isinstance(value, Mapping):
        raise _malformed(f"{where}{key} = {value!r}, which must be a dict")
    return value


def _check_reader(readers: Mapping[str, Any], name: str) -> None:
    where = f"readers[{name!r}]."
    saved = _mapping(readers, name, "readers.")
    _mapping(saved, "spec", where)
    _whole(saved, "seed", where)
    for key in ("files", "bytes"):
        _whole(saved, key, where)
    _whole(saved, "records", where, -1)
    if not isinstance(saved.get("data"), str):
        raise _malformed(f"{where}data = {saved.get('data')!r}, which must be a str")


def read_state(state: object, readers: Sequence[Reader], num_batches: int) -> Place:
    """Checks that a state belongs to a loader with these readers.

    Args:
        state: What was saved.
        readers: Of the loader.
        num_batches: Steps of its epoch; -1 if unknown.

    Raises:
        InvalidArgumentError: The state is malformed, or lists each difference in words.
    """
    if not isinstance(state, Mapping):
        raise _malformed(f"it is a {type(state).__name__}, not a dict")
    if state.get("version") != VERSION:
        raise InvalidArgumentError(
            f"the state has version {state.get('version')!r}; this pyflowdata reads version "
            f"{VERSION}"
        )
    epoch, position = _whole(state, "epoch", "", bits=62), _whole(state, "position", "", bits=62)
    saved = _mapping(state, "readers", "")
    for name in saved:
        _check_reader(saved, name)
    own = _describe(readers)
    differences = _differences(saved, own)
    if differences:
        raise InvalidArgumentError(
            "the state belongs to another loader:" + "".join(f"\n  - {one}" for one in differences)
        )
    if 0 <= num_batches < position:
        raise _malformed(f"position = {position}, but an epoch has {num_batches} batches")
    return Place(epoch, position, tuple(saved[name]["seed"] for name in own))
