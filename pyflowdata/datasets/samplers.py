"""Samplers: records drawn by weights, by class, or as often as a factor says."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..nodes import Blob
from ..nodes.tables import Table, array_of
from .base import DatasetBase, named_view, truth, whole
from .columns import Array, column, files_state, made_of, refuse_changing_order
from .reading import Reading

Values = npt.ArrayLike | str | Callable[..., Any] | Blob
ClassWeights = Mapping[Any, float]
OwnT = TypeVar("OwnT", bound="Samplers")

_NUMBERS, _LABELS = "biuf", "biuSUO"  # kinds of dtypes


class Samplers(Reading):
    """The methods of `Dataset` that draw records.

    Each method answers one question: how likely is a record (`sample`), how many records has each
    class (`balance`), how often does each record come (`repeat_by`).  All of them draw other
    records in each epoch, have an exact `len()`, and give a random order, so a shuffle before them
    has no effect. If an epoch has a record twice, random ops draw other numbers for each of the
    two.

    Weights, classes and factors are arrays with a value for each record, or computed from fields:
    a field's name, an expression, or a function of arrays, as in `where()`.
    """

    def sample(
        self: OwnT,
        weights: Values | ClassWeights | None = None,
        num_samples: int | None = None,
        *,
        by: Values | None = None,
        replacement: bool = True,
        seed: int | None = None,
    ) -> OwnT:
        """Records drawn with probabilities in proportion to their weights.

            data.sample("score + 0.1", 10_000)
            data.sample(by="label")                          # each class equally likely
            data.sample({"cat": 2, "dog": 1}, by="label")    # and no others

        Args:
            weights: The weight of each record, 0 or more; with `by`, a dict with the weights of the
                classes that are drawn.  None: equal weights.
            num_samples: Records of an epoch; None: the number of records, or without replacement
                the number of records with a weight above 0.
            by: The class of each record, as in `balance()`: its records share the weight of the
                class, however many there are.
            replacement: Whether an epoch can have a record more than once.  Without replacement,
                each remaining record is the next one with a probability in proportion to its
                weight, so that records with large weights come early.  The whole order of an epoch
                is made when its first record is needed, in about 0.05 s for a million records, and
                kept for two epochs: 16 bytes for each record, and 8 for each that is drawn.
            seed: None: that of the batches.

        Raises:
            InvalidArgumentError: There is no such field, or the weights are not numbers.
        """
        may_repeat = truth(replacement, "replacement")
        op = "WeightedSampleDataset" if may_repeat else "WeightedShuffleDataset"
        return _drawn(self, op, seed, weights=_weights_of(self, weights, by),
                      num_samples=_count(num_samples, "num_samples"))  # fmt: skip

    def balance(
        self: OwnT,
        by: Values,
        *,
        classes: int | None = None,
        per_class: int = 1,
        num_samples: int | None = None,
        too_few: str = "wrap",
        seed: int | None = None,
    ) -> OwnT:
        """Exactly the same number of records of each class.

            data.balance("label")                                        # classes take turns
            data.balance("label", classes=16, per_class=4).batch(64)     # 16 classes, 4 of each

        The classes take turns in random order: each class is used once before any class is used
        again. The records of a class also take turns: all are used once before any is used again,
        also over several epochs.

        Args:
            by: The class of each record: whole numbers, truths or texts.
            classes: How many consecutive turns belong to different classes; None: all classes.
                Batches of classes * per_class records have this many classes.
            per_class: How many consecutive records a turn takes, all different.
            num_samples: Records of an epoch, a multiple of classes * per_class; None: the largest
                multiple that is not above the number of records.
            too_few: What happens to a class with fewer than per_class records: "wrap", some records
                are taken twice; or "drop", the class is left out.
            seed: None: that of the batches.

        Raises:
            InvalidArgumentError: There is no such field, or an argument is wrong.
        """
        return _drawn(self, "ClassSampleDataset", seed,
                      labels=_table(self, by, "by", _LABELS, _as_numbers),
                      classes=_count(classes, "classes"), per_class=per_class,
                      num_samples=_count(num_samples, "num_samples"), too_few=too_few)  # fmt: skip

    def repeat_by(self: OwnT, factors: Values, *, seed: int | None = None) -> OwnT:
        """Each record as often as its factor says, in random order.

        With a factor of 2.25, an epoch has a record two or three times, on average 2.25 times.  The
        number of records of an epoch is the sum of the factors, rounded; the fractions are scaled
        to fit, by half a record in all.

            data.repeat_by("repeat_factor")         # Gupta et al., LVIS, 2019

        Args:
            factors: The factor of each record, 0 or more.
            seed: None: that of the batches.

        Raises:
            InvalidArgumentError: There is no such field, or the factors are not numbers.
        """
        return _drawn(self, "RepeatFactorDataset", seed,
                      factors=_numbers_of(self, factors, "factors"))  # fmt: skip


def _drawn(data: OwnT, op: str, seed: int | None, **attrs: Any) -> OwnT:
    """A view that draws from the records before a last shuffle; the values number these records."""
    refuse_changing_order(data)
    attrs["seed"] = -1 if seed is None else seed
    return type(data)(named_view(op, data._fields, attrs))


def _count(given: int | None, name: str) -> int:
    """The count as the attr takes it: 0 if no count was given."""
    return 0 if given is None else whole(given, name, 1)


def _numbers_of(data: DatasetBase, values: Values, name: str) -> Table:
    return _table(data, values, name, _NUMBERS, lambda found: found.astype(np.float64, copy=False))


def _weights_of(data: Reading, weights: Values | ClassWeights | None, by: Values | None) -> Table:
    if by is not None:
        if not isinstance(weights, (Mapping, type(None))):
            raise InvalidArgumentError(
                f"weights = {shown(weights)}; with by, it is a dict of the weights of classes"
            )
        return _table(data, by, "by", _LABELS, functools.partial(_shared, weights))
    if isinstance(weights, Mapping):
        raise InvalidArgumentError(
            f"weights = {shown(weights)}; give by, the classes of the records, too"
        )
    if weights is None:
        return Table(lambda: np.ones(len(data)))
    return _numbers_of(data, weights, "weights")


def _shared(weights: ClassWeights | None, labels: Array) -> Array:
    """The weight of each record: the records of a class share its weight."""
    classes, of, counts = np.unique(labels, return_inverse=True, return_counts=True)
    shares = np.ones(len(classes))
    if weights is not None:
        is_bytes = classes.dtype.kind in "SO"
        given = {key.encode() if is_bytes and isinstance(key, str) else key: float(weight)
                 for key, weight in weights.items()}  # fmt: skip
        shares = np.array([given.pop(label, 0.0) for label in classes.tolist()])
        if given:
            raise InvalidArgumentError(
                f"weights: no record is of the class {shown(next(iter(given)))}; there are "
                f"{shown(classes.tolist())}"
            )
    return np.asarray((shares / counts)[of.reshape(-1)], np.float64)


def _as_numbers(labels: Array) -> Array:
    """Whole numbers for the values: texts become numbers in the order of the texts."""
    if labels.dtype.kind in "SUO":
        labels = np.unique(labels, return_inverse=True)[1].reshape(labels.shape)
    return labels.astype(np.int64, copy=False)


def _table(
    data: DatasetBase, values: Values, name: str, kinds: str, convert: Callable[[Array], Array]
) -> Table:
    """The values of all records: checked at once if they were given, otherwise when they are
    needed.
    """

    def checked(found: Array) -> Array:
        """The values as the view takes them."""
        if found.ndim != 1 or found.dtype.kind not in kinds:
            one = "number" if kinds == _NUMBERS else "whole number, truth or text"
            of = f"{found.dtype} of shape {found.shape}" if found.ndim else shown(values)
            raise InvalidArgumentError(
                f"{name}: {of} was given; it must be one {one} for each record, or a field, an "
                "expression or a function that has one"
            )
        return convert(found)

    if isinstance(values, (str, Blob)) or callable(values):
        made_of(data, values)
        return Table(lambda: checked(column(data, values)), state=lambda: files_state(data))
    return Table(checked(np.array(array_of(values, name))))
