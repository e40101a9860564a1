"""Text files in one of several forms, which the ending of the name selects."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from ..errors import InvalidArgumentError, shown
from ..words.plain_text import joined


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
