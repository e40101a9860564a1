"""A page of the reference."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """Attributes:
        path: From the folder of its part of the reference.
        title: As the navigation shows it.
        text: Markdown, which begins with the title and a sentence of what the reader gets.
        names: What the page has sections of, for the test that nothing is missing.
    """

    path: str
    title: str
    text: str
    names: tuple[str, ...] = ()
