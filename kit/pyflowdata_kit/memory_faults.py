"""Which findings are of memory: the forbidden pages name the function, --asan the line as well."""

from __future__ import annotations

import re

_MEMORY = re.compile(
    "(reads|writes)-(past|before|into)-.*|late-.*|returns-wild-pointer|null-pointer|stack-overrun|"
    "crash"
)


def names_line(id: str, is_source_given: bool) -> str:
    """What to add to the text of a finding of a plugin's op; "" for one that is not of memory."""
    if not _MEMORY.fullmatch(id):
        return ""
    return "; --asan names the line" if is_source_given else "; --asan --source FILE names the line"
