"""Mixes: several data sets, drawn by weights that may change during training."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InvalidArgumentError, shown
from ..nodes.argument_hints import says_how
from ..nodes.tables import SupportsArray, array_of, is_array
from .base import DatasetBase, SetT, is_several, several_view, whole
from .columns import column

Weights = Sequence[float] | Mapping[str, float] | SupportsArray
Changes = Mapping[int, Weights]
Repeats = float | Weights


@says_how('flow.mix([a, b], weights=[3, 1], stop="all_exhausted")')
def mix(
    sources: Sequence[SetT] | Mapping[str, SetT],
    weights: Weights | Changes | None = None,
    *,
    stop: str | None = None,
    length: int | None = None,
    max_repeats: Repeats | None = None,
    unit: str = "records",
    field: str | None = None,
    mean_lengths: Weights | None = None,
    interleave: str = "regular",
    block_size: int | None = None,
    names: Sequence[str] | None = None,
    seed: int | None = None,
) -> SetT:
    """Data sets with the same fields, drawn by weights.

    After any number of records, each source has its exact share, give or take less than log2 of the
    number of sources, rounded up.  A source that ends begins again, in its next epoch's order, and
    an epoch of the mix goes on with the records after those of the last one: over time, all
    records of a source are used equally often.

        flow.mix([web, books], weights=[3, 1])
        flow.mix({"web": web, "books": books}, weights={0: [3, 1], 40_000: [1, 1]}, length=100_000)

    Args:
        sources: A list, or a dict that gives each source a name.  Their files may be of different
            formats.
        weights: How often each source is drawn, relative to the others: a list, or a dict by name;
            0 for a source that is not drawn.  Or a dict of weights, {record: weights}: they hold
            from this record of the mix on.  Records are counted over all epochs, and the first key
            is 0.  A run that resumes from a state may change the weights of later records.  None:
            equal weights.
        stop: Where an epoch ends: "first_exhausted" (the default), before a source would repeat
            records of its first epoch, or "all_exhausted", when each has been drawn once as a
            whole.
        length: Records of an epoch, in place of `stop`.
        max_repeats: The most times that an epoch may repeat a source as a whole: a number for all
            sources, a list, or a dict by name of the sources with a limit.  Without `length`, an
            epoch ends before a source would be drawn more often.  With `length`, a source whose
            weight would exceed the limit gets exactly the limit, spread over the epoch, and the
            other sources share the rest by their weights.
        unit: "tokens": the weights are shares of the tokens (or of what the lengths of records
            count), not of the records.  A source with longer records is then drawn more rarely.
        field: For unit="tokens", the field whose lengths count: one pass over each source finds
            their mean.
        mean_lengths: The mean lengths, if they are known: a list, or a dict by name.
        interleave: "regular": the sources take turns as evenly as can be.  "random": in random
            order within blocks.  The counts are exact at the end of a block; within a block they
            are off by up to its size.
        block_size: Records of such a block; None: 1024.  New weights begin with a block.
        names: The names of the sources of a list, for messages.
        seed: The seed of interleave="random"; None: that of the batches.

    Raises:
        InvalidArgumentError: The sources differ in their fields, or the weights do not fit the
            sources.
    """
    listed, called = _listed(sources, names)
    if stop is not None and length is not None:
        raise InvalidArgumentError(
            f"mix: stop = {shown(stop)} and length = {shown(length)}; an epoch ends in one way only"
        )
    if length is not None:
        whole(length, "length", 1)
    attrs: dict[str, Any] = {"source_names": called, "interleave": interleave}
    attrs |= _weights_attrs(weights, called, len(listed))
    attrs["mean_lengths"] = _mean_lengths(unit, field, mean_lengths, called, listed)
    attrs["max_repeats"] = _max_repeats(max_repeats, called, len(listed))
    given = {"stop": stop, "length": length, "block_size": block_size, "seed": seed}
    attrs |= {name: value for name, value in given.items() if value is not None}
    blobs = several_view("MixDataset", [one.blobs for one in listed], attrs, called)
    return type(listed[0])(blobs)


def _listed(
    sources: Sequence[SetT] | Mapping[str, SetT], names: Sequence[str] | None
) -> tuple[list[SetT], list[str]]:
    if isinstance(sources, Mapping):
        if names is not None:
            raise InvalidArgumentError("mix: the sources are a dict, which has their names already")
        names = list(sources)
        sources = list(sources.values())
    if not is_several(sources):
        raise InvalidArgumentError("mix: give the sources in a list, flow.mix([a, b])")
    if names is not None and not is_several(names):
        raise InvalidArgumentError(f"mix: names = {shown(names)}; it must be a list of names")
    listed, called = list(sources), [] if names is None else list(names)
    if not listed:
        raise InvalidArgumentError("mix: there are no sources; give one or more")
    for index, source in enumerate(listed):
        if not isinstance(source, DatasetBase):
            raise InvalidArgumentError(
                f"mix: source {shown(called[index]) if called else index} is {shown(source)}; it "
                "must be a Dataset, as of flow.open()"
            )
    if called and len(called) != len(listed):
        raise InvalidArgumentError(f"mix: {len(called)} names for {len(listed)} sources")
    for name in called:
        if not isinstance(name, str):
            raise InvalidArgumentError(f"mix: the name {shown(name)} of a source; it must be a str")
    return listed, called


# ---- Weights ------------------------------------------------------------------------------------


def _weights_attrs(
    weights: Weights | Changes | None, names: Sequence[str], count: int
) -> dict[str, list[Any]]:
    if weights is None:
        return {}
    if not isinstance(weights, Mapping) or all(isinstance(key, str) for key in weights):
        return {"weights": _numbers("weights", weights, names, count)}
    rows = []
    for row in weights:
        if not isinstance(row, int) or isinstance(row, bool) or row < 0:
            raise InvalidArgumentError(
                f"mix: weights has the key {shown(row)}; keys are the names of all sources, or "
                "records of the mix, from 0"
            )
        rows.append(row)
    rows.sort()
    if rows[0] != 0:
        raise InvalidArgumentError(
            f"mix: the first weights hold from record {rows[0]}; those from record 0 must be there"
        )
    flat: list[float] = []
    for row in rows:
        flat += _numbers(f"weights[{row}]", weights[row], names, count)  # type: ignore[index]
    return {"weights": flat, "segments": rows[1:]}


def _numbers(what: str, given: Any, names: Sequence[str], count: int) -> list[float]:
    """A number for each source, from a list or a dict by name."""
    if isinstance(given, Mapping):
        if not names:
            raise InvalidArgumentError(
                f"mix: {what} is a dict, but the sources have no names: give them as a dict, too"
            )
        for wrong, kind in (
            ([name for name in given if name not in names], "there is no source"),
            ([name for name in names if name not in given], f"{what} has none for source"),
        ):
            if wrong:
                raise InvalidArgumentError(
                    f"mix: {kind} {shown(wrong[0])}; the sources are {', '.join(names)}"
                )
        given = [given[name] for name in names]
    if is_array(given):
        given = array_of(given, f"mix: {what}").tolist()
    if not is_several(given) or not hasattr(given, "__len__"):
        raise InvalidArgumentError(
            f"mix: {what} = {shown(given)}; it must be a list of {count} numbers, or a dict by name"
        )
    if len(given) != count:
        raise InvalidArgumentError(f"mix: {what} has {len(given)} numbers for {count} sources")
    for index, one in enumerate(given):
        if not isinstance(one, numbers.Real) or isinstance(one, bool) or not math.isfinite(one):
            which = shown(names[index]) if names else str(index)
            raise InvalidArgumentError(
                f"mix: {what} of source {which} is {shown(one)}; it must be a finite number"
            )
    return [float(one) for one in given]


def _max_repeats(given: Repeats | None, names: Sequence[str], count: int) -> list[float]:
    """The limit of each source, 0 for a source without a limit; empty if there are no limits."""
    if given is None:
        return []
    each: Any = given
    has_limit = [True] * count
    if isinstance(given, numbers.Real):
        each = [given] * count
    elif isinstance(given, Mapping):
        has_limit = [name in given for name in names]
        each = {**dict.fromkeys(names, 0), **given}
    limits = _numbers("max_repeats", each, names, count)
    wrong = [limit for limit, is_given in zip(limits, has_limit, strict=True)
             if is_given and limit <= 0]  # fmt: skip
    if wrong:
        raise InvalidArgumentError(
            f"mix: max_repeats has {shown(min(wrong))}; it is how often a source may be drawn as a "
            f"whole, and must be above 0"
        )
    return limits


def _mean_lengths(
    unit: str,
    field: str | None,
    given: Weights | None,
    names: Sequence[str],
    sources: Sequence[DatasetBase],
) -> list[float]:
    """The divisors of the weights of tokens; none for weights of records."""
    if not isinstance(unit, str) or unit not in ("records", "tokens"):
        raise InvalidArgumentError(f"mix: unit = {shown(unit)}; it must be 'records' or 'tokens'")
    if unit == "records":
        if field is not None or given is not None:
            raise InvalidArgumentError(
                "mix: field and mean_lengths are for unit='tokens', and the unit is 'records'"
            )
        return []
    if (field is None) == (given is None):
        raise InvalidArgumentError(
            "mix: unit='tokens' needs either the field whose lengths count or mean_lengths"
        )
    if given is not None:
        return _numbers("mean_lengths", given, names, len(sources))
    return [_mean_length(source, str(field)) for source in sources]


def _mean_length(source: DatasetBase, field: str) -> float:
    lengths = column(source, f"len(field({field!r}))")
    return int(lengths.sum()) / max(1, len(lengths))
