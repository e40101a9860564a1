"""Files of text that have one of several forms, which the ending of their name says."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from ..errors import InvalidArgumentError, shown
from ..words.plain_text import joined


def checked_path(path: object) -> str:
    """A path as text.

    Raises:
        InvalidArgumentError: It is none.
    """
    try:
        return os.fsdecode(path)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgumentError(f"path = {shown(path)}; it must be a path") from None


def save_as(
    path: str | os.PathLike[str], what: str, forms: Mapping[str, Callable[[], str]]
) -> None:
    """Writes the form that the name asks for, in UTF-8; nothing is made of the others.

    Args:
        path: The file.
        what: Is saved, such as "a Report", for the error.
        forms: What gives the text, by the ending of the name in small letters.

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
