"""The ids of all findings of the kit, read from its sources."""

import re

from support.paths import ROOT

_ID = r"([a-z]+(?:-[a-z0-9]+)*)"
_IN_C = re.compile(
    r'\b(?:pfd_kit_report|report|tell)\((?:[^"();]|\([^"()]*\)|->){0,90}"%s"(?:\s*:\s*"%s")?,'
    % (_ID, _ID)
)
_IN_PYTHON = re.compile(
    r'(?:\b_?(?:tell\w*|warn|_differs|Finding)\(\s*|"id": )"%s"(?: if [^"]+ else "%s")?,'
    % (_ID, _ID)
)
_CRASH = (ROOT / "kit/csrc/check/crash.c").read_text()
_KINDS = re.findall(r'\[PFD_GUARD_\w+\] = +"([a-z-]+)"', _CRASH)
# Ids that a call puts together: of the memory that was touched, or the function that failed.
_MADE = {
    "%s-%s-%s": [
        f"{verb}-{side}-{kind}"
        for verb in ("reads", "writes") for side in ("past", "before")
        for kind in _KINDS
    ],
    "writes-into-%s": [f"writes-into-{kind}" for kind in _KINDS],
    "late-%s": [f"late-{kind}" for kind in _KINDS],
    "{what}-failure-ignored": ["read-failure-ignored", "alloc-failure-ignored"],
    "{what}-failure-status": ["read-failure-status", "alloc-failure-status"],
}  # fmt: skip


def _python_files():
    return list((ROOT / "kit/pyflowdata_kit").rglob("*.py"))


def _c_files():
    return list((ROOT / "kit/csrc").rglob("*.c"))


def _call(text):
    """The beginning of a text, up to the parenthesis that closes the first parenthesis."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == ")":
            return text[:place]
    return text


def told_with_causes():
    """The ids that only checks in Python tell, with causes of their own."""
    found = set()
    for text in (path.read_text() for path in _python_files()):
        for call in _IN_PYTHON.finditer(text):
            if "likely" in _call(text[call.start() :]):
                found.update(id for id in call.groups() if id)
    in_c = "".join(path.read_text() for path in _c_files())
    return found - {id for ids in _IN_C.findall(in_c) for id in ids}


def finding_ids():
    """Each id once, sorted."""
    found = {"asan", "ubsan", "tsan"}  # as the options of the command are
    for paths, pattern in ((_c_files(), _IN_C), (_python_files(), _IN_PYTHON)):
        for path in paths:
            text = path.read_text()
            found.update(id for ids in pattern.findall(text) for id in ids if id)
            found.update(id for made, ids in _MADE.items() if f'"{made}"' in text for id in ids)
    return sorted(found)
