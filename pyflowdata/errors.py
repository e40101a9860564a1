"""The exceptions of this package.

Every failure is an `Error`.  Its subclasses also derive from the built-in exception that fits, so
that `except ValueError` and `except OSError` work as usual.
"""

from __future__ import annotations

import re
from typing import Any, Literal

# See `Error.reason`.
Reason = Literal["no-records", "rest-unreadable", "world-size", "transient", "environment"]

_LONGEST = 200  # characters of a value in a message


def login_pattern(ends: str = "") -> re.Pattern[str]:
    """What is before the host of an address and may be secret: `user:password@`, and for a web
    server also `user@`, as of a token; the mark of a query (PFD_REMOTE_MARK) is not.

    Args:
        ends: Further characters that no address has in a text, as in a class of characters.
    """
    web = r"(?:(?<=http://)|(?<=https://))(?!q-[0-9a-f]{12}@)"
    return re.compile(
        rf"(?<=://)[^/?#@:{ends}]*:[^/?#{ends}]*@|{web}[^/?#{ends}]+@", re.IGNORECASE
    )


# Parts of an address that may be secrets: the login, and a query, as with a signature.
_LOGIN = login_pattern(r"\s'\"")
_QUERY = re.compile(r"(https?://[^?\s'\"]*)\?[^\s'\"]*", re.IGNORECASE)


def without_secrets(text: str) -> str:
    """The text, whose addresses have "..." in place of logins and queries."""
    return _QUERY.sub(r"\1?...", _LOGIN.sub("...@", text)) if "://" in text else text


def printable(text: str, kept: str = "") -> str:
    """The text, with a backslash escape for each character that cannot be printed as itself, except
    for the characters in `kept`.
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one in kept else one.encode("unicode_escape").decode("ascii")
        for one in text
    )


def shown(value: object) -> str:
    """The repr() of a value for a message: of bounded length, without the secrets of addresses, and
    even if repr() itself fails.
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  (what a user's class raises)
        return f"<{type(value).__name__} without a repr()>"
    text = without_secrets(printable(text.replace("\n", " ")))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


class Error(Exception):
    """A failure, with the place where it happened.

    Attributes:
        message: What was found, what was expected and what to do, without the place.
        op: Name of the op, or None.
        file: Path of the data file, as open() takes it, or None.
        line: 1-based line of a text file, or None.
        byte: 0-based offset in the file, or None.
        ordinal: 0-based number of the record in its dataset, or None.
        reason: The cause, for programs; None in most cases.  "no-records": the files are not
            damaged, but have no record.  "rest-unreadable": the rest of the stream cannot be read,
            so further calls fail in the same way.  "world-size": the attrs do not fit the number of
            ranks.  "transient": a call for a file, or the start of a thread, failed several times,
            for example because a network fails for a while.  "environment": the machine refused,
            because of rights, descriptors, memory or a disk.
        records: Number of whole records of `file` before the damage, or None.
        attr: Name of the wrong attr of the op, or None.
        row: 0-based number of the row that failed, among the rows that the op was called with, or
            None.  A function of `register_decoder` with per="batch" sets it to name the damaged
            row.
    """

    def __init__(
        self,
        message: str,
        *,
        op: str | None = None,
        file: str | None = None,
        line: int | None = None,
        byte: int | None = None,
        ordinal: int | None = None,
        reason: Reason | None = None,
        records: int | None = None,
        attr: str | None = None,
        row: int | None = None,
    ) -> None:
        self.message = message
        self.op = op
        self.file = file
        self.line = line
        self.byte = byte
        self.ordinal = ordinal
        self.reason = reason
        self.records = records
        self.attr = attr
        self.row = row
        super().__init__(self._text())

    def _text(self) -> str:
        # A name or text of a file may have escape sequences of terminals, or be no UTF-8.
        place = printable(without_secrets(self.file or ""))
        if self.line is not None:
            place += f":{self.line}" if place else f"line {self.line}"
        details = []
        if self.line is None and self.ordinal is not None:
            details.append(f"record {self.ordinal}")
        if self.row is not None:
            details.append(f"row {self.row}")
        if self.byte is not None:
            details.append(f"byte {self.byte}")
        if details:
            place += f"{' ' if place else ''}({', '.join(details)})"
        message = printable(self.message, kept="\n\t")
        return ": ".join(part for part in (self.op, place, message) if part)

    def __str__(self) -> str:
        return self._text()

    def __reduce__(self) -> tuple[Any, ...]:
        details = {name: getattr(self, name) for name in _DETAILS}
        return _rebuild, (type(self), self.message, details)


_DETAILS = ("op", "file", "line", "byte", "ordinal", "reason", "records", "attr", "row")


def _rebuild(cls: type[Error], message: str, details: dict[str, Any]) -> Error:
    return cls(message, **details)


class InvalidArgumentError(Error, ValueError):
    """An attr, a shape or a call is invalid: change the program."""


class WrongUseError(InvalidArgumentError, TypeError):
    """A value cannot be used in this way, or a call has an unknown argument.  It is also a
    TypeError.
    """


class CompileError(InvalidArgumentError):
    """The compiler refused the source of a plugin."""


class CorruptDataError(Error, ValueError):
    """A record is damaged.  With `on_error="skip"` or `"pad"` a loader goes on without it."""


class FileError(Error, OSError):
    """The file system failed, or a file changed while it was open."""


class UnsupportedError(Error, RuntimeError):
    """The library knows this case, but does not support it."""


_EXTRAS = {"obstore": "remote", "pyarrow": "arrow", "tokenizers": "tokenizers"}


def missing_package(user: str, package: str) -> UnsupportedError:
    """The error that `user` needs a package, which an extra of this package installs."""
    extra = _EXTRAS[package]
    return UnsupportedError(f"{user} needs the package {package}: pip install pyflowdata[{extra}]")


class OutOfMemoryError(Error, MemoryError):
    """No memory is left, or held batches use up the loader's memory budget."""


class CancelledError(Error, RuntimeError):
    """The loader is closed, or a newer iterator has replaced this one."""


class UserFunctionError(Error, RuntimeError):
    """A function of the program, called as an op or for a reader, raised an exception, which is the
    `__cause__`, or returned something other than declared.
    """


class InternalError(Error, RuntimeError):
    """A fault in this library or in an op."""


class StallWarning(RuntimeWarning):
    """next() of a loader has waited for a batch for 60 seconds, or PYFLOWDATA_STALL_SECONDS of the
    environment: the text says which threads work on the batch, in which ops, on which records.  A
    separate thread gives the warning once for a wait, for the line that called next().  If a filter
    turns it into an error, next() raises it.
    """
