"""The state of a loader: its content, and the comparison of a saved state with a loader.

A state describes the order and the position in it; everything else is computed again.  It is the
same on every rank, and does not depend on threads, prefetching or world size.  A state stays below
1 KB for up to 8 readers.  If attrs and data of all readers would take more than that as texts, each
reader has hashes in their place, and its attrs in brief if there is room: a hash of each name with
its value, or a hash of a long value.  Without the attrs in brief a state of another loader is still
refused, but the error names only the readers that differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import InvalidArgumentError, printable, shown
from ..native import lib
from ..words.plain_text import counted
from .epoch_steps import EpochSteps
from .graph_digest import Graph, short_hash


# ---- What all states have -----------------------------------------------------------------------

VERSION = 2
_FORMER_VERSION = 1  # it had no digests of nodes and no checksum

# The key that only the states of a kind of loader have -> the loader in words.
_KINDS = {"readers": "a loader of readers", "order": "a loader of a torch dataset"}
# The same key -> the keys without which a state was not read as it was saved.
_CHECKED = {"readers": ("check", "nodes", "sum"), "order": ("sum",)}


def malformed(what: str) -> InvalidArgumentError:
    """The error for a state that does not come from a loader."""
    return InvalidArgumentError(
        f"the state is malformed: {what}; give what DataLoader.state_dict() returned"
    )


def whole(
    container: Mapping[str, Any], key: str, where: str = "", least: int = 0, most: int = 2**63 - 1
) -> int:
    """An int of a state.

    Args:
        container: The part of the state that has the int.
        key: Its name.
        where: The place of `container`, which the error names before the key.
        least, most: Its range.

    Raises:
        InvalidArgumentError: The value is missing, is not an int, or is outside of the range.
    """
    value = container.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise malformed(f"{where}{key} = {shown(value)}, which must be an int in [{least}, {most}]")
    return int(value)


def as_state(state: object, kind: str) -> Mapping[str, Any]:
    """The saved state, after its version and kind were checked.

    Args:
        state: The value that the user gives.
        kind: "readers" or "order": the key that the states of this kind of loader have.

    Raises:
        InvalidArgumentError: `state` is not a state, or has another version or kind.
    """
    if not isinstance(state, Mapping):
        raise malformed(f"it is a {type(state).__name__}, not a dict")
    if "version" not in state:
        raise malformed("it has no version")
    found = state["version"]
    if type(found) is not int or found not in (_FORMER_VERSION, VERSION):
        raise InvalidArgumentError(
            f"the state has version {shown(found)}; this pyflowdata reads version {VERSION}, and "
            f"{_FORMER_VERSION} of its former releases"
        )
    for other, loader in _KINDS.items():
        if other in state and kind not in state:
            raise InvalidArgumentError(
                f"the state is of {loader}, and this is {_KINDS[kind]}; give each loader its own"
            )
    if is_former(state) and "sum" in state:
        raise malformed(f"its version {_FORMER_VERSION} had no checksum, and it has one")
    for key in () if is_former(state) else _CHECKED[kind]:
        if not isinstance(state.get(key), str):
            raise malformed(f"{key} = {shown(state.get(key))}, which every state has, as a text")
    return state


def refuse(differences: Sequence[str], remedy: str = "") -> None:
    """Raises InvalidArgumentError, with a list of the differences of a state from the loader."""
    if differences:
        listed = "".join(f"\n  - {one}" for one in differences)
        raise InvalidArgumentError(f"the state belongs to another loader:{listed}{remedy}")


# What the checksum is of: not the facts that are compared with the loader anyway.
_SUMMED = ("version", "epoch", "position", "seed", "check", "nodes")


def _sum_of(state: Mapping[str, Any]) -> str:
    readers = state.get("readers")
    seeds = [one["seed"] for _, one in sorted(readers.items())] if readers else []
    return short_hash(json.dumps([*(state.get(key) for key in _SUMMED), seeds]), 8)


def with_sum(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state with its checksum."""
    return {**state, "sum": _sum_of(state)}


def is_former(state: Mapping[str, Any]) -> bool:
    """Whether the state is of the version without a checksum: it is taken as it is."""
    return bool(state["version"] == _FORMER_VERSION)


def has_right_sum(state: Mapping[str, Any]) -> bool:
    """Whether place and seeds (of checked types) are those that were saved."""
    return is_former(state) or state["sum"] == _sum_of(state)


def check_sum(state: Mapping[str, Any]) -> None:
    """Refuses a state whose place or seeds are not those that were saved."""
    if not has_right_sum(state):
        raise malformed(
            "its checksum belongs to another epoch, position or seed; to go to another place, load "
            "the state as it was saved, and then call seek(position, epoch=epoch); to go on with "
            "another seed, give it to the reader, and seek()"
        )


# ---- States of readers --------------------------------------------------------------------------


LAST_EPOCH = 2**62
ENDLESS: int = lib.PFD_ENDLESS  # so many records, or more: an epoch without end

_GO_ON = (
    "\nto go on at this place all the same, with another order, other random numbers or other "
    "data: seek(state['position'], epoch=state['epoch'])"
)
_FORMER_RULE = "\nsplit(..., rule=1) makes subsets as those of this state"
_BATCH_SIZE = (
    "\na position counts batches: use the batch size of the state, or seek() to the batch that "
    "begins where the records end that were delivered, position * batch_size of the state"
)
_LONGEST = 34  # characters that a text takes in JSON; a state must stay small
_IN_LOOP = "in_loop"  # key of a state that make_state() got has_ended for; only a warning needs it
_KEPT = 16  # a longer one keeps so many, and its hash
_FORMER = ("extensions",)  # attrs in older states; the names of the files say more
_STATE_BYTES = 999  # a state has no more, and the digests of its nodes take what is left
_WORDS_BYTES = 850  # readers take so many in words, or are described by hashes
_BRIEF_BYTES = 600  # readers take so many with their attrs in brief; nodes need room, too
_BRIEF_VALUE = re.compile(r"[A-Za-z0-9_.,:/+-]{1,12}")  # a longer one is its hash, after "~"
_NAME_DIGITS = 4  # of the hash of a name, before a value in brief


class Index(NamedTuple):
    """The indexes of a reader's files, taken together.

    Attributes:
        path: The file of the indexes; "" if they are in memory, or there are none.
        bytes: Their size.
        seconds: The time of building or finding them when the loader was opened.
        is_new: Whether they were built, not found in the cache.
    """

    path: str
    bytes: int
    seconds: float
    is_new: bool


@dataclass(frozen=True)
class Reader:
    """Facts about one reader of a loader.

    Attributes:
        name: Name of its node, or of its op and the reader's index in the loader.
        op: Name of its op.
        seed: The seed in use, even if none was given.
        seed_is_default: Whether no seed was given, and it is 0 because all processes need the same
            seed.
        spec: The attrs that decide the order, without the seed.
        files, bytes, records: The size of the data; records is -1 if it is not known.
        data: Fingerprint of the files' names, sizes and sampled content, in hex.
        batch_size: Records in a batch, of all ranks together.
        rank, world_size: The part of each batch that this process gets.
        left_out: Records of an epoch that last_batch leaves out, of all ranks; -1: not known, or
            not before an epoch has ended, see `stats()["left_out"]`.
        index: The index of the records.
        notices: Sentences (without a period) that the program should know, such as files that were
            left out of a folder; a warning gave each of them.
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
    left_out: int
    index: Index
    notices: tuple[str, ...] = ()

    @property
    def shuffle(self) -> str:
        """The kind of shuffle that is in use: none, global, window or buffer."""
        if self.spec.get("random_shuffle") == "false":
            return "none"
        return self.spec.get("shuffle", "global" if self.records >= 0 else "buffer")

    @property
    def steps(self) -> EpochSteps:
        """The steps of an epoch, and how ranks share them."""
        is_known = self.records >= 0 and self.left_out >= 0
        return EpochSteps(
            records=self.records,
            rows=self.records - self.left_out if is_known else -1,
            batch_size=self.batch_size,
            world_size=self.world_size,
            last_batch=self.spec["last_batch"],
            is_grouped="group_buffer_size" in self.spec,
        )

    def __str__(self) -> str:
        return printable(
            f"{self.name}: seed={self.seed}, shuffle={self.shuffle}, files={self.files}"
            f", batch_size={self.batch_size}"
            + (f", records={self.records}" if self.records >= 0 else "")
            + (f" ({self.left_out} left out)" if self.left_out > 0 else "")
            + (f", index={self.index.path}" if self.index.path else "")
            + "".join(f"; {notice}" for notice in self.notices)
        )


class StatePlace(NamedTuple):
    """The content of a state for the loader that takes it.

    Attributes:
        epoch, position: The place of the next batch.
        seeds: A seed for each reader of the loader, in the order of the readers.
    """

    epoch: int
    position: int
    seeds: tuple[int, ...]


def _short(text: str) -> str:
    """The text, shortened to a bounded length in JSON; different texts stay different."""
    if len(json.dumps(text)) <= _LONGEST + 2:
        return text
    kept = "".join(
        one if one.isascii() and one.isprintable() and one not in '"\\' else "?"
        for one in text[:_KEPT]
    )
    return f"{kept}...#{short_hash(text, 12)}"


def _in_words(reader: Reader) -> dict[str, Any]:
    return {
        "seed": reader.seed,
        "spec": {key: _short(value) for key, value in reader.spec.items()},
        "files": reader.files,
        "bytes": reader.bytes,
        "records": reader.records,
        "data": reader.data,
    }


def _in_hashes(reader: Reader) -> dict[str, Any]:
    data = [reader.files, reader.bytes, reader.data]  # the records are counted from these
    return {
        "seed": reader.seed,
        "spec": short_hash(json.dumps(reader.spec, sort_keys=True), 8),
        "data": short_hash(json.dumps(data), 10),
    }


def _value_in_brief(value: str) -> str:
    return value if _BRIEF_VALUE.fullmatch(value) else f"~{short_hash(value, 5)}"


def _with_attrs(reader: Reader) -> dict[str, Any]:
    return {**_in_hashes(reader), "attrs": reader.spec}


def _in_brief(reader: Reader) -> dict[str, Any]:
    attrs = (
        f"{short_hash(key, _NAME_DIGITS)}{_value_in_brief(value)}"
        for key, value in reader.spec.items()
    )
    return {**_in_hashes(reader), "attrs": " ".join(attrs)}


def _by_name(
    readers: Sequence[Reader], pasts: Sequence[int], describe: Callable[[Reader], dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    described: dict[str, dict[str, Any]] = {}
    for index, (reader, past) in enumerate(zip(readers, pasts, strict=True)):
        name = own_name = _short(reader.name)
        while name in described:  # a given name equals one made here, or made from op and index
            name, index = f"{own_name}#{index}", index + 1
        described[name] = describe(reader)
        if past:
            described[name]["past"] = f"{past:016x}"[:10]
    return described


def _describe(readers: Sequence[Reader], pasts: Sequence[int]) -> dict[str, dict[str, Any]]:
    for describe, most in ((_in_words, _WORDS_BYTES), (_in_brief, _BRIEF_BYTES)):
        described = _by_name(readers, pasts, describe)
        if len(json.dumps(described)) <= most:
            return described
    return _by_name(readers, pasts, _in_hashes)


def make_state(
    epoch: int,
    position: int,
    readers: Sequence[Reader],
    pasts: Sequence[int],
    graph: Graph,
    has_ended: bool = False,
) -> dict[str, Any]:
    """A state, made of dicts, strings and ints.

    Args:
        pasts: The pasts of the readers.
        has_ended: Whether the loop over the epoch before has its last batch, but has not ended.
    """
    described = _describe(readers, pasts)
    state = {
        "version": VERSION,
        "epoch": epoch,
        "position": position,
        "readers": described,
        "check": _check_of(described),
        **({_IN_LOOP: 1} if has_ended else {}),
    }
    rest = len(json.dumps(with_sum({**state, "nodes": ""})))
    return with_sum({**state, "nodes": graph.text(_STATE_BYTES - rest)})


def was_in_loop(state: Mapping[str, Any]) -> bool:
    """Whether a state was taken in a loop at the last batch of the epoch before."""
    return bool(state.get(_IN_LOOP, 0))


def _check_of(described: Mapping[str, Any]) -> str:
    """A hash of the readers without their seeds, which identifies what a loader delivers.

    Some stores, such as torch.distributed.checkpoint, take a state apart and restore only the keys
    that the loader's present state has.  The hash shows when they left something out.
    """
    facts: dict[str, Any] = {}
    for name, reader in described.items():
        facts[name] = {key: value for key, value in reader.items() if key != "seed"}
        if not isinstance(reader["spec"], str):
            facts[name]["spec"] = dict(reader["spec"])
    try:
        return short_hash(json.dumps(facts, sort_keys=True), 10)
    except (TypeError, ValueError):
        raise malformed("'readers' holds something that is not of JSON") from None


def _names(names: Sequence[str]) -> str:
    return ", ".join(shown(name) for name in names) or "none"


def _spec_differences(saved: Mapping[str, Any], own: Mapping[str, str]) -> list[str]:
    found = []
    for key in [*own, *(key for key in saved if key not in own)]:
        if key not in saved:
            found.append(f"{key} = {own[key]}, the state does not have it")
        elif key not in own and key not in _FORMER:
            theirs = f"{_short(key)} = {_short(saved[key])}"
            found.append(f"{theirs} in the state, the loader does not have it")
        elif key in own and saved[key] != own[key]:
            found.append(f"{key} = {own[key]}, in the state {_short(saved[key])}")
    return found


def _read_brief(saved: Mapping[str, Any]) -> dict[str, str]:
    """The attrs in brief: hash of a name -> its value; {} if there was no room."""
    attrs = saved.get("attrs", "")
    return {one[:_NAME_DIGITS]: one[_NAME_DIGITS:] for one in attrs.split()}


def _brief_differences(saved: Mapping[str, Any], own: Mapping[str, str]) -> list[str]:
    before, found = _read_brief(saved), []
    for key, value in own.items() if before else ():
        theirs = before.pop(short_hash(key, _NAME_DIGITS), None)
        if theirs is None:
            found.append(f"{key} = {value}, the state does not have it")
        elif theirs != _value_in_brief(value):
            said = "it is another one" if theirs.startswith("~") else _short(theirs)
            found.append(f"{key} = {value}, in the state {said}")
    if before:
        found.append(f"{counted(len(before), 'attr')} of the state, the loader does not have")
    return found


def _past_differences(saved: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    if saved.get("past") == own.get("past"):
        return []
    return [
        "the weights of a mix, their rows or the length of an epoch differ for batches that were "
        "delivered before; weights may change from the state's position on, if mix() has "
        "a length"
    ]


def _reader_differences(saved: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    if isinstance(own["spec"], str):
        found = _past_differences(saved, own)
        if saved["spec"] != own["spec"]:
            found += _brief_differences(saved, own["attrs"]) or [
                "the attrs that decide the order are others than in the state"
            ]
        if saved["data"] != own["data"]:
            found.append("the files are others than in the state")
        return found
    found = _spec_differences(saved["spec"], own["spec"])
    sizes = []
    for key in ("files", "records", "bytes"):
        unknown = key == "records" and -1 in (own[key], saved[key])  # a stream counts at its end
        if own[key] != saved[key] and not unknown:
            sizes.append(f"the data has {own[key]} {key}, in the state {saved[key]}")
    found += sizes
    if not sizes and own["data"] != saved["data"]:
        found.append("the files have other names or other content, though no other sizes")
    return found + _past_differences(saved, own)


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


def _has_batch_size(saved: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Whether a reader of a state has the batch size of the loader's reader, as far as the state
    tells.
    """
    if not isinstance(saved["spec"], str):
        return bool(saved["spec"].get("batch_size") == own["spec"]["batch_size"])
    before = _read_brief(saved)
    size = _value_in_brief(own["attrs"]["batch_size"])
    return not before or before.get(short_hash("batch_size", _NAME_DIGITS)) == size


def _remedy(saved: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """What to do about a state that differs.  A position counts batches, so with another batch size
    it is another place.
    """
    names = [name for name in own if name in saved]
    both = [(saved[name]["spec"], own[name]["spec"]) for name in names]
    are_alike = all(_has_batch_size(saved[name], own[name]) for name in names)
    rules = [key for before, now in both for key in now
             if not isinstance(before, str) and key.endswith(".table.rule") and key not in before]
    return _FORMER_RULE * bool(rules) + (_GO_ON if are_alike else _BATCH_SIZE)


def _graph_differences(state: Mapping[str, Any], graph: Graph) -> list[str]:
    if not is_former(state):
        return graph.differences(state["nodes"])
    # The former version saved nothing about nodes, so that nothing can be compared.  But they gave
    # numbers to views of one op, and the views after the first one now have another order.
    return [
        f"the graph has several views of {op} without names, and the state is of a version in "
        "which their orders depended on each other"
        for op in graph.renumbered
    ]


# ---- Reading a state ----------------------------------------------------------------------------


def _mapping(container: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    value = container.get(key)
    if not isinstance(value, Mapping):
        raise malformed(f"{where}{key} = {shown(value)}, which must be a dict")
    return value


def _check_text(container: Mapping[str, Any], key: str, where: str) -> None:
    if not isinstance(container.get(key), str):
        raise malformed(f"{where}{key} = {shown(container.get(key))}, which must be a str")


def _check_reader(readers: Mapping[str, Any], name: object) -> bool:
    """Whether the reader is described by its attrs, not by hashes."""
    if not isinstance(name, str):
        raise malformed(f"{shown(name)} in readers is not a name")
    where = f"readers[{shown(name)}]."
    saved = _mapping(readers, name, "readers.")
    in_words = not isinstance(saved.get("spec"), str)
    if in_words:
        spec = _mapping(saved, "spec", where)
        for key in spec:
            if not isinstance(key, str):
                raise malformed(f"{where}spec has the key {shown(key)}, which must be a str")
            _check_text(spec, key, f"{where}spec.")
    whole(saved, "seed", where)
    if in_words:
        for key in ("files", "bytes"):
            whole(saved, key, where)
        whole(saved, "records", where, -1)
    _check_text(saved, "data", where)
    if "attrs" in saved:
        _check_text(saved, "attrs", where)
    if "past" in saved:
        _check_text(saved, "past", where)
    return in_words


def read_state(
    state: object,
    readers: Sequence[Reader],
    pasts_at: Callable[[int, int], Sequence[int]],
    num_batches: int,
    graph: Graph,
) -> StatePlace:
    """The content of a saved state, after a check that it belongs to a loader with these readers.

    Args:
        state: The saved state.
        readers: The readers of the loader.
        pasts_at: Gives the readers' pasts at an epoch and position.
        num_batches: Batches of an epoch; -1 if unknown.
        graph: The nodes of the loader.

    Raises:
        InvalidArgumentError: The state is malformed, or differs; the text lists each difference.
    """
    state = as_state(state, "readers")
    epoch, position = whole(state, "epoch", "", most=LAST_EPOCH), whole(state, "position", "")
    saved = _mapping(state, "readers", "")
    in_words = [_check_reader(saved, name) for name in saved]
    if any(in_words) and not all(in_words):
        raise malformed("some of its readers have their attrs, others hashes")
    pasts = pasts_at(epoch, position)
    own = _by_name(readers, pasts, _in_words if all(in_words) else _with_attrs)
    nodes = _graph_differences(state, graph) if has_right_sum(state) else []
    refuse(_differences(saved, own) + nodes, _remedy(saved, own))
    if state.get("check", own_check := _check_of(saved)) != own_check:
        raise InvalidArgumentError(
            "the state belongs to another loader: it was saved with readers or attrs that this "
            "loader does not have, and that were left out when it was read"
        )
    if 0 <= num_batches < position:
        raise malformed(f"position = {position}, but an epoch has {num_batches} batches")
    check_sum(state)
    return StatePlace(epoch, position, tuple(int(saved[name]["seed"]) for name in own))
