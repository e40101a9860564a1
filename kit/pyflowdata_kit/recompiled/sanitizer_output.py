"""What the programs of drivers/ and the sanitizers in them print."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence

_MOST_FRAMES = 3
_RUNS = "runs"  # the word before their number; no id of a finding
_FRAME = re.compile(r"^\s*#(\d+) (?:0x[0-9a-f]+ in )?(.+?) (/\S+?):(\d+)", re.M)

# The sanitizers name places by themselves where gcc made the program, and with this tool elsewhere.
_SYMBOLIZER = shutil.which("llvm-symbolizer")
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:allow_user_segv_handler=1:"
    "max_allocation_size_mb=2048",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    # The sanitizer takes what lies in front of thread-local memory for a header, as glibc 2.19 had.
    "TSAN_OPTIONS": "halt_on_error=1:intercept_tls_get_addr=0",
    **({"ASAN_SYMBOLIZER_PATH": _SYMBOLIZER} if _SYMBOLIZER else {}),
}


def findings_of(output: str) -> list[tuple[str, str, str]]:
    """Case, id and text of the findings on a program's stdout, each id once."""
    found: dict[str, tuple[str, str]] = {}
    case = ""
    for line in output.splitlines():
        id, tab, said = line.partition("\t")
        if id == "case":
            case = said
        elif tab and re.fullmatch(r"[a-z]+(-[a-z]+)*", id) and id != _RUNS:
            found.setdefault(id, (case, said))
    return [(case, id, said) for id, (case, said) in found.items()]


def runs_of(output: str) -> int:
    """How many inputs a fuzzer has run; 0 if it did not come so far."""
    found = re.search(rf"^(?:{_RUNS}\t|stat::number_of_executed_units: )(\d+)$", output, re.M)
    return int(found[1]) if found else 0


def last_case(output: str) -> str:
    """The case that a program ended in."""
    cases = re.findall(r"^case\t(.*)$", output, re.M)
    return cases[-1] if cases else ""


def summary(output: str, folders: Sequence[str]) -> str:
    """What a sanitizer found, and where in the sources; "" if nothing.

    Args:
        output: Its stderr.
        folders: Of the sources.
    """
    line = re.search(r"^(?:==\d+==)?.*(?:runtime error: .*|ERROR: \w+Sanitizer.*)$", output, re.M)
    line = line or re.search(r"^WARNING: ThreadSanitizer.*$", output, re.M)
    if line is None:
        return ""
    if "LeakSanitizer" in line[0]:
        return _leak_summary(output, folders)
    said = re.sub(r"^==\d+==\s*", "", line[0]).strip()
    said = re.sub(r" on (unknown )?address.*| 0x[0-9a-f]+|\(pid=.*\)", r"", said).strip()
    said = said.removeprefix("ERROR: ").removeprefix("WARNING: ")
    said = re.sub(r"^\S*?([^/\s]+:\d+:\d+: runtime error)", r"\1", said)
    access = re.search(r"^\s*((?:READ|WRITE) of size \d+)", output, re.M)
    region = re.search(r"^0x[0-9a-f]+ is located (.+? region)", output, re.M)
    parts = [said, *(found[1] for found in (access, region) if found)]
    place = place_in(output[line.start() :], folders)
    return "; ".join([*parts, *([place] if place else [])])


def leaks_alone(output: str) -> bool:
    """Whether leaks are all that a sanitizer found: those of others than the sources count not."""
    return re.findall(r"ERROR: (\w+)Sanitizer", output)[:1] == ["Leak"]


def _leak_summary(output: str, folders: Sequence[str]) -> str:
    """Of the first leak of memory that the sources got themselves, or by what they call; "" if
    none."""
    for leak in re.split(r"^(?=(?:Direct|Indirect) leak of )", output, flags=re.M)[1:]:
        if place := place_in(leak, folders):
            size = re.match(r"\w+ leak of (\d+ byte\(s\) in \d+) object", leak)
            said = f"; {size[1]} allocation(s)" if size else ""
            return f"LeakSanitizer: detected memory leaks{said}; {place}"
    return ""


def place_in(output: str, folders: Sequence[str]) -> str:
    """The innermost functions of the sources in the first stack, "in f() at file.c:12"; or ""."""
    found: list[str] = []
    inner = -1
    for frame in _FRAME.finditer(output):
        number, name, path, line = frame.groups()
        if int(number) <= inner or len(found) == _MOST_FRAMES:
            break  # of the next stack
        inner = int(number)
        if any(os.path.abspath(path).startswith(f"{folder}{os.sep}") for folder in folders):
            found.append(f"{name.partition('(')[0]}() at {os.path.basename(path)}:{line}")
    return f"in {', from '.join(found)}" if found else ""
