"""Report: what was slow and what to change, with the numbers that show it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from ..errors import InvalidArgumentError, shown
from .counters import Counters, HandOver, History, Period, ReaderFacts, Work
from .data_facts import DataFacts
from .text import TABLE_HEAD, as_text, table_rows
from .verdict import Verdict, judge

_VERSION = 1


class Report:
    """What a loader did until a moment, and what limited the training loop.  Immutable; pickles.

    `str()` has the verdict in one sentence, what to change, and tables.

    Attributes:
        counters: The numbers that it is made of.
    """

    def __init__(
        self, counters: Counters, describe_data: Callable[[], DataFacts] | None = None
    ) -> None:
        """Args:
        counters: The numbers.
        describe_data: Gives what is known of the data; it is asked when the report is saved.
        """
        self.counters = counters
        self._describe_data = describe_data

    def __reduce__(self) -> tuple[Any, ...]:
        return Report.from_dict, (self.to_dict(),)

    @cached_property
    def _data(self) -> DataFacts | None:
        return None if self._describe_data is None else self._describe_data()

    @cached_property
    def verdict(self) -> Verdict:
        """What limited the loop, why, and what to change."""
        return judge(self.counters)

    @property
    def limit(self) -> str:
        """"training", "loader", "hand-over", "starts", or "unknown" for too few steps."""
        return self.verdict.limit

    @property
    def cause(self) -> str:
        """What of the loader, such as "op", "storage" or "threads"; "" for none."""
        return self.verdict.cause

    @property
    def remedies(self) -> tuple[str, ...]:
        """What to change, the most promising first."""
        return self.verdict.remedies

    @property
    def table(self) -> list[dict[str, str]]:
        """The table of ops and stages: a dict for each, with the texts that `str()` shows."""
        return [
            dict(zip(TABLE_HEAD, row, strict=True)) for row in table_rows(self.counters)
        ]

    def since(self, earlier: Report) -> Report:
        """What happened after another report of the same loader, such as in its last epoch."""
        if not isinstance(earlier, Report):
            raise InvalidArgumentError(f"since = {shown(earlier)}; it must be an earlier Report")
        return Report(self.counters.since(earlier.counters), self._describe_data)

    # ---- As text and numbers ----

    def __str__(self) -> str:
        return as_text(self.counters, self.verdict)

    def __repr__(self) -> str:
        return f"Report({self.verdict.sentence!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self.counters == other.counters

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        from html import escape

        first, *others = str(self).split("\n")
        return f"<b>{escape(first)}</b><pre>{escape(chr(10).join(others))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """All numbers, and the verdict, as values of JSON; with "data" if the report was saved."""
        data = self.__dict__.get("_data")
        about = {} if data is None else {"data": data.to_dict()}
        return {
            "version": _VERSION,
            "verdict": dataclasses.asdict(self.verdict),
            "counters": dataclasses.asdict(self.counters),
            **about,
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Report:
        """The report that to_dict() gave; the verdict is made again of the numbers.

        Raises:
            InvalidArgumentError: It is no such dict.
        """
        try:
            if found["version"] != _VERSION:
                raise InvalidArgumentError(
                    f"the report has version {shown(found['version'])}; this pyflowdata reads "
                    f"version {_VERSION}"
                )
            report = cls(_counters(found["counters"]))
            if "data" in found:
                report._data = DataFacts(found["data"]["readers"], found["data"]["order"])
            return report
        except (KeyError, TypeError) as failure:
            raise InvalidArgumentError(
                f"these are not the numbers of a report: {failure!r}"
            ) from None

    def to_json(self) -> str:
        """As to_dict(), as text."""
        import json

        return json.dumps(self.to_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Report:
        """The report that save() wrote as JSON.

        Raises:
            InvalidArgumentError: The file has something else.
            OSError: It cannot be read.
        """
        import json

        with open(path, encoding="utf-8") as file:
            try:
                found = json.load(file)
            except ValueError as failure:
                raise InvalidArgumentError(
                    f"{os.fspath(path)} has no JSON, as Report.save() writes it: {failure}"
                ) from None
        if not isinstance(found, dict):
            raise InvalidArgumentError(f"{os.fspath(path)} has no report")
        return cls.from_dict(found)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report; the name says what: .html a page with pictures, which needs no
        network, .json the numbers, .txt the text.

        A page and the numbers have the order of the records, too: where that is cheap, it is read
        again by a loader of its own, for two seconds at most.

        Raises:
            InvalidArgumentError: The name has another ending.
            OSError: The file cannot be written.
        """
        suffix = os.path.splitext(path)[1].lower()
        if suffix in (".html", ".htm"):
            text = self._to_html()
        elif suffix == ".json":
            self._data  # noqa: B018
            text = self.to_json()
        elif suffix in (".txt", ".log"):
            text = f"{self}\n"
        else:
            raise InvalidArgumentError(
                f"path = {shown(os.fspath(path))}; a report is saved as .html, .json or .txt"
            )
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


    def _to_html(self) -> str:
        from .page import PageFacts, report_page

        data = self._data
        return report_page(PageFacts(self.verdict, self.counters, self.to_dict(), data))


def _counters(found: Mapping[str, Any]) -> Counters:
    """Of what dataclasses.asdict() made of them, also after a round trip through JSON."""
    history = found["history"]
    copies = found["hand_over"]
    return Counters(**{
        **found,
        "blobs": tuple(found["blobs"]),
        "readers": _each(ReaderFacts, found["readers"]),
        "work": _each(Work, found["work"]),
        "hand_over": None if copies is None else HandOver(**copies),
        "history": History(**{
            **history,
            "periods": _each(Period, history["periods"]),
            "waits": tuple(history["waits"]),
            "trains": tuple(history["trains"]),
        }),
    })  # fmt: skip


def _each(kind: Any, found: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    return tuple(kind(**one) for one in found)
