"""How a check of the tree fails: it says the rule in words, and each line that breaks it."""

from collections.abc import Iterable
from pathlib import Path

from .paths import ROOT


def line_with(path: Path, text: str) -> str:
    """`file:line` of the first line that has the text, else of the first line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    number = next((n for n, line in enumerate(lines, 1) if text in line), 1)
    return f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{number}"


def keep(rule: str, broken: Iterable[str]) -> None:
    """Fails where something breaks a rule.

    Args:
        rule: What holds, and why.
        broken: `file:line: what is wrong there`, for each line that breaks it.
    """
    found = list(broken)
    if found:
        raise AssertionError("\n  ".join([f"the rule: {rule}", *found]))


def keep_no_circle(what: str, circle: list[str]) -> None:
    """Fails where things need each other; `circle` has the first one again at its end."""
    keep(f"no {what} need each other, so that each can be read after those that it needs",
         [" -> ".join(circle)] if circle else [])  # fmt: skip
