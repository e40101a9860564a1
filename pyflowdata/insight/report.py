"""Report: what was slow, what to change, and the numbers that show it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgumentError, UnsupportedError, shown
from ..words.plain_text import joined
from .counters import (
    Counters, DataFacts, CopyCounts, FirstWork, History, Period, ReaderFacts, SlowRange, Work,
)  # fmt: skip
from .report_text import TABLE_HEAD, as_text, table_rows
from .verdict import Verdict, judge

if TYPE_CHECKING:
    from .ranks import Ranks, Steps
    from .trials import Trials


# ---- Files in one of several forms --------------------------------------------------------------


def checked_path(path: object) -> str:
    """A path as text; InvalidArgumentError where it is none."""
    try:
        return os.fsdecode(path)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgumentError(f"path = {shown(path)}; it must be a path") from None


def save_as(
    path: str | os.PathLike[str], what: str, forms: Mapping[str, Callable[[], str]]
) -> None:
    """Writes the form that the name selects, in UTF-8; the other forms are not made.

    Args:
        what: The saved thing for the error, such as "a Report".
        forms: Functions that make the text, by the ending of the name in small letters.

    Raises:
        InvalidArgumentError: The name has none of the endings.
        OSError: The file cannot be written.
    """
    path = checked_path(path)
    form = forms.get(os.path.splitext(path)[1].lower())
    if form is None:
        raise InvalidArgumentError(
            f"path = {shown(path)}; {what} is saved as {joined(list(forms))}"
        )
    text = form()
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


# ---- Reports ------------------------------------------------------------------------------------

_VERSION = 2
_FORMER_VERSION = 1  # it had no checksum


def _with_sum(found: dict[str, Any]) -> dict[str, Any]:
    """The dict of a report with its checksum."""
    return {**found, "sum": _sum(found)}


def _sum(found: Mapping[str, Any]) -> str:
    """A checksum of all values except "sum"; tuples and a round trip through JSON do not change it.
    """
    rest = json.loads(json.dumps({name: found[name] for name in found if name != "sum"}))
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]


class Judged(ABC):
    """The base of reports: a verdict, with its text, its numbers, and its files."""

    @property
    @abstractmethod
    def verdict(self) -> Verdict:
        """What limited the training loop, why, and what to change."""

    @property
    def limit(self) -> str:
        """The limit: "training", "loader", "hand-over", "starts", or "unknown" for too few steps;
        in a report of ranks also "rank", if some ranks are slower than the others.
        """
        return self.verdict.limit

    @property
    def cause(self) -> str:
        """The cause in the loader, such as "op", "storage" or "threads"; "" for none.  In a report
        of ranks, the cause in the slowest rank.
        """
        return self.verdict.cause

    @property
    def remedies(self) -> tuple[str, ...]:
        """What to change, the most promising first."""
        return self.verdict.remedies

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.verdict.sentence!r})"

    def _repr_html_(self) -> str:
        from ..words.html_text import element, lines

        first, _, others = str(self).partition("\n")
        return element("b", first) + lines(others)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All numbers, and the verdict, as values of JSON."""

    def to_json(self) -> str:
        """The text of `to_dict()` as JSON."""
        return json.dumps(self.to_dict())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report; the ending of the name selects the form: .json for the numbers, .txt
        for the text.

        Raises:
            InvalidArgumentError: The name has another ending.
            OSError: The file cannot be written.
        """
        save_as(path, f"a {type(self).__name__}", self._kinds())

    def _kinds(self) -> dict[str, Callable[[], str]]:
        """The contents of files, by the endings of their names."""
        return {".json": self.to_json, ".txt": lambda: f"{self}\n"}


class Report(Judged):
    """What a loader did until a moment, and what limited the training loop.  Immutable; it can be
    pickled.

    `str()` has the verdict in one sentence, what to change, and tables.

    Attributes:
        counters: The numbers of the report.
    """

    def __init__(
        self,
        counters: Counters,
        describe_data: Callable[[], DataFacts] | None = None,
        total: Counters | None = None,
        steps: Steps | None = None,
        try_remedies: Callable[[Counters, float], Trials] | None = None,
    ) -> None:
        """Judges counters.

        Args:
            describe_data: Describes the data; called when the report is saved.
            total: The numbers since the loader was opened; None: `counters`.
            steps: The latest steps, for a comparison of ranks; None: not known.
            try_remedies: Tries remedies with the loader of the report; None: there is no loader.
        """
        self.counters, self._steps = counters, steps
        self._total = counters if total is None else total
        self._describe_data, self._try_remedies = describe_data, try_remedies

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.to_dict(), self._total)

    @cached_property
    def _data(self) -> DataFacts | None:
        return None if self._describe_data is None else self._describe_data()

    @cached_property
    def verdict(self) -> Verdict:
        """What limited the training loop, why, and what to change."""
        return judge(self.counters)

    @property
    def table(self) -> list[dict[str, str]]:
        """The table of ops and stages: a dict for each, with the texts that `str()` shows."""
        return [dict(zip(TABLE_HEAD, row, strict=True)) for row in table_rows(self.counters)]

    def since(self, earlier: Report) -> Report:
        """A report of the time after an earlier report of the same loader, such as the last epoch.

        Raises:
            InvalidArgumentError: `earlier` is not an earlier report of this loader.
        """
        if not isinstance(earlier, Report):
            raise InvalidArgumentError(f"since = {shown(earlier)}; it must be an earlier Report")
        new, old = self._total, earlier._total
        ours, theirs = (
            (one.host, one.pid, one.blobs, one.stats["opened_seconds"]) for one in (new, old)
        )
        if ours != theirs or old.stats["now_seconds"] > new.stats["now_seconds"]:
            raise InvalidArgumentError(
                f"since = {shown(earlier)}; it must be an earlier Report of the same loader"
            )
        return Report(new.since(old), self._describe_data, new, self._steps, self._try_remedies)

    def try_remedies(self, *, seconds: float = 2.0) -> Trials:
        """Tries changes that may make the loader faster, as `loader.try_remedies()` does; the steps
        of the trials take as long as those of this report.

        Args:
            seconds: The measured time of each change.

        Raises:
            UnsupportedError: The report was loaded from a file, or has no loader here.
            CancelledError: The loader is closed.
            InvalidArgumentError: seconds is no number above 0.
        """
        if self._try_remedies is None:
            raise UnsupportedError(
                "try_remedies() of a report without its loader: call it in the program that runs "
                "the loader, before close()"
            )
        return self._try_remedies(self.counters, seconds)

    def with_counters(self, counters: Counters) -> Report:
        """A report with other counters of the same data."""
        return Report(
            counters, self._describe_data, steps=self._steps, try_remedies=self._try_remedies
        )

    def __str__(self) -> str:
        return as_text(self.counters, self.verdict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self.counters == other.counters

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """All numbers, and the verdict, as values of JSON; with "data" if the report was saved."""
        data = self.__dict__.get("_data")
        about = {} if data is None else {"data": data.to_dict()}
        if self._steps is not None:
            about["steps"] = self._steps.to_dict()
        return _with_sum({
            "version": _VERSION,
            "verdict": dataclasses.asdict(self.verdict),
            "counters": dataclasses.asdict(self.counters),
            **about,
        })

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Report:
        """The report for a dict of to_dict(); the verdict is computed again from the numbers.

        Raises:
            InvalidArgumentError: The value is not a dict of to_dict(), or was changed.
        """
        version = found.get("version") if isinstance(found, Mapping) else None
        if version not in (_FORMER_VERSION, _VERSION):
            raise InvalidArgumentError(
                f"{shown(found)} has no numbers of a report of version {_VERSION}"
            )
        try:
            if (version == _VERSION or "sum" in found) and found.get("sum") != _sum(found):
                raise ValueError("they were changed since, as their checksum says")
            report = cls(_counters(found["counters"]), steps=_steps(found.get("steps")))
            if "data" in found:
                report._data = _data_facts(found["data"])
            report._as_page()  # which needs all numbers, as the text does
            str(report)
            return report
        except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError) as failure:
            raise InvalidArgumentError(
                f"these are not the numbers of a report: {failure!r}"
            ) from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Report:
        """Reads the report that save() wrote as JSON.

        Raises:
            InvalidArgumentError: The file is not such a report.
            OSError: The file cannot be read.
        """
        path = checked_path(path)
        if path.lower().endswith((".html", ".txt")):
            raise InvalidArgumentError(
                f"{path} is for reading; give the .json file that Report.save() writes"
            )
        with open(path, encoding="utf-8") as file:
            try:
                return cls.from_dict(json.load(file))
            except (ValueError, InvalidArgumentError, RecursionError) as failure:
                raise InvalidArgumentError(
                    f"{path} is not what Report.save() writes as .json: {failure}"
                ) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report; the ending of the name selects the form: .html for a page with
        pictures, which needs no network, .json for the numbers, .txt for the text.  The page and
        the numbers also show the order of the records: if that is cheap, a separate loader reads it
        again, for two seconds at most.

        Raises:
            InvalidArgumentError: The name has another ending.
            OSError: The file cannot be written.
        """
        super().save(path)

    def _kinds(self) -> dict[str, Callable[[], str]]:
        return {".html": self._as_page, ".json": self._with_data, ".txt": super()._kinds()[".txt"]}

    def _with_data(self) -> str:
        self._data  # noqa: B018  (which to_dict() has from here on)
        return self.to_json()

    def _as_page(self) -> str:
        from .report_page import report_page

        data = self._data  # before to_dict(), which has it from then on
        return report_page(self.verdict, self.counters, self.to_dict(), data)


def _restored(found: Mapping[str, Any], total: Counters) -> Report:
    report = Report.from_dict(found)
    report._total = total
    return report


class RankReport(Judged):
    """The reports of the ranks of a job: what limited it, and which rank.  Immutable; it can be
    pickled.

    Attributes:
        reports: One for each rank, in the order of ranks.
    """

    def __init__(self, reports: Sequence[Report]) -> None:
        """Compares ranks.

        Args:
            reports: One for each rank of the same job, in any order, over the same steps.

        Raises:
            InvalidArgumentError: There are no reports, two reports of the same rank, or reports of
                different world sizes.
        """
        if not isinstance(reports, Sequence) or not all(isinstance(r, Report) for r in reports):
            raise InvalidArgumentError(
                f"reports = {shown(reports)}; it must be a list of Reports, one for each rank"
            )
        found = sorted(reports, key=lambda one: one.counters.rank)
        ranks = [one.counters.rank for one in found]
        sizes = {one.counters.world_size for one in found}
        if not found or len(set(ranks)) < len(ranks) or len(sizes) > 1:
            raise InvalidArgumentError(
                f"reports of the ranks {ranks} with the world sizes {sorted(sizes)}; there must be "
                "one for each rank of one job"
            )
        self.reports = tuple(found)

    @cached_property
    def verdict(self) -> Verdict:
        """What limited the job; the limit is "rank" if some ranks are slower than the others."""
        from .ranks import judge_steps

        return judge_steps(self._ranks)

    @cached_property
    def _ranks(self) -> Ranks:
        from .ranks import Ranks

        return Ranks([one.counters for one in self.reports], [one._steps for one in self.reports])

    def __str__(self) -> str:
        from .ranks import steps_as_text

        return steps_as_text(self._ranks, self.verdict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report; the ending of the name selects the form: .html for a page with the
        skew of each step, which needs no network, .json for the numbers, .txt for the text.

        Raises:
            InvalidArgumentError: The name has another ending.
            OSError: The file cannot be written.
        """
        super().save(path)

    def _kinds(self) -> dict[str, Callable[[], str]]:
        return {".html": self._as_page, **super()._kinds()}

    def _as_page(self) -> str:
        from .ranks import ranks_page

        return ranks_page(self._ranks, self.verdict)

    def to_dict(self) -> dict[str, Any]:
        """The verdict, and the numbers of each rank, as values of JSON."""
        return _with_sum({
            "version": _VERSION,
            "verdict": dataclasses.asdict(self.verdict),
            "ranks": [one.to_dict() for one in self.reports],
        })


def _steps(found: Mapping[str, Any] | None) -> Steps | None:
    """Reports of one rank have none."""
    from .ranks import Steps

    return None if found is None else Steps.from_dict(found)


def _data_facts(found: Mapping[str, Any]) -> DataFacts:
    readers, order = found["readers"], found["order"]
    are_lists = isinstance(readers, list) and all(isinstance(one, Mapping) for one in readers)
    if not are_lists or not isinstance(order, Mapping):
        raise TypeError("data")
    return DataFacts(readers, order)


def _counters(found: Mapping[str, Any]) -> Counters:
    """The counters of a dict of dataclasses.asdict(), also after a round trip through JSON."""
    history = found["history"]
    return Counters(**{
        **found,
        "blobs": tuple(found["blobs"]),
        "tuning": tuple(found.get("tuning", ())),
        "automatic": tuple(found.get("automatic", ())),
        "readers": _each(ReaderFacts, found["readers"]),
        "work": tuple(map(_work, found["work"])),
        "first_work": _each(FirstWork, found.get("first_work", ())),
        "hand_over": _copies(found["hand_over"]),
        "ahead": _copies(found.get("ahead")),
        "history": History(**{
            **history,
            "periods": _each(Period, history["periods"]),
            "waits": tuple(history["waits"]),
            "trains": tuple(history["trains"]),
        }),
    })  # fmt: skip


def _work(found: Mapping[str, Any]) -> Work:
    """Earlier versions have no slow ranges."""
    largest = found.get("largest")
    return Work(**{
        **found,
        "slowest": _each(SlowRange, found.get("slowest", ())),
        "largest": None if largest is None else SlowRange(**largest),
    })  # fmt: skip


def _copies(found: Mapping[str, Any] | None) -> CopyCounts | None:
    return None if found is None else CopyCounts(**found)


def _each(kind: Any, found: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    return tuple(kind(**one) for one in found)
