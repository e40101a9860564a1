"""Checks under sanitizers: the plugins are compiled again, and run without Python."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ..report import Finding
from .compiling import Compiler
from .groups import SANITIZERS
from .rebuilt import Graph, build
from .sanitizer_output import OPTIONS, findings_of, last_case, leaks_alone, summary

_SECONDS = 300

_ADVICE = {
    "asan": "memory was used that is not the op's, or was given back: look at the place that is "
    "named",
    "ubsan": "the C standard does not define this: look at the place that is named, and use "
    "memcpy() for numbers in a record",
    "tsan": "two threads use the same memory, one of them writing: keep no state that calls share, "
    "or make it atomic",
}
_LIKELY = {  # by what a sanitizer says
    "use-after-free|double-free": (
        "close(), or a failing open(), frees it and it is used or freed again",
        "a pointer into a buffer that realloc() has moved since",
    ),
    "buffer-overflow": (
        "a loop or a copy one too far: no room for the 0 at the end of a text, <= for <",
        "a size from the file is larger than the buffer, which was made for usual files",
    ),
    "stack-use-after": ("the address of a local variable is kept after its function has ended",),
    "SEGV": ("a length or an offset from the file that was not compared with the file's size",),
    "allocation-size-too-big": ("malloc() of a size from the file that was not looked at",),
    "leak": (
        "close() does not free it",
        "a return after a failure passes over free()",
    ),
    "misaligned": ("a pointer into a record is cast to that of a number",),
    "shift exponent": ("a number of bits from the file is not compared with the type's width",),
    "overflow": ("sizes or counts from the file are added or multiplied before they are checked",),
    "data race": (
        "a field of the source that at() or compute() writes",
        "a static or global variable",
    ),
}

_LEAK = "malloc() memory is not given back: free all of it in close(), and where open() fails"
_LEAK_OF_CALL = (
    "malloc() memory is not given back: free it before each return, also where the record is "
    "refused, or take memory of host->alloc(), which need not be freed"
)
_CALLS = re.compile(r"leaks;.* (?:\w*_)?(?:compute|at|next|seek)\(\) at ")


def sanitize(name: str, graph: Graph, samples: Mapping[str, Path], folder: Path) -> list[Finding]:
    """What a sanitizer finds over samples.

    Args:
        name: A key of SANITIZERS.
        graph: With the sources of its plugins.
        samples: Folders of the samples by their cases.
        folder: To work in.

    Raises:
        BuildError: A plugin cannot be compiled with it.
        MissingToolError: There is no compiler.
    """
    flag = f"-fsanitize={SANITIZERS[name]}"
    program = build(graph, folder, Compiler.usual(), "samples", [flag])
    cases = {str(path): case for case, path in samples.items()}
    try:
        done = program.run([program.job, *samples.values()], OPTIONS, _SECONDS)
    except subprocess.TimeoutExpired as late:
        said = late.stdout or b""
        output = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
        text = (
            f"the run under {name} did not end in {_SECONDS} s: look for a loop that does not end "
            "with a damaged length"
        )
        return [Finding("hang", text, name, case=cases.get(last_case(output), ""))]
    findings = [
        Finding(id, f"{said} (with {cases[where]})", name, case=cases[where])
        for where, id, said in findings_of(done.stdout)
    ]
    case = cases.get(last_case(done.stdout), "")
    if found := summary(done.stderr, graph.folders()):
        advice = _leak_advice(found) if "leak" in found else _ADVICE[name]
        text = f"{found}: {advice} (with {case})"
        findings.append(Finding(name, text, name, likely=likely_causes(found), case=case))
    elif done.returncode != 0 and not findings and not leaks_alone(done.stderr):
        tail = " ".join(done.stderr.split()[-60:])
        text = f"the driver ended with status {done.returncode}: {tail}"
        id = "crash" if done.returncode < 0 else "kit-fails"
        findings.append(Finding(id, text, name, case=case))
    return findings


def _leak_advice(found: str) -> str:
    return _LEAK_OF_CALL if _CALLS.search(found) else _LEAK


def likely_causes(found: str) -> tuple[str, ...]:
    """Of what a sanitizer has found, the most likely one first; none where it is not known."""
    if _CALLS.search(found):
        return ("a return after a failure passes over free()",)
    return next((why for kind, why in _LIKELY.items() if re.search(kind, found)), ())
