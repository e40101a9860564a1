"""Checks under sanitizers: the plugins are compiled again, and run without Python."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from .compiling import Compiler
from .rebuilt import Graph, build
from .report import Finding
from .sanitizer_output import OPTIONS, findings_of, last_case, summary

SANITIZERS = {"asan": "address", "ubsan": "undefined", "tsan": "thread"}
_SECONDS = 300

_ADVICE = {
    "asan": "memory was used that is not the op's, or was given back: look at the place that is "
    "named",
    "ubsan": "the C standard does not define this: look at the place that is named, and use "
    "memcpy() for numbers in a record",
    "tsan": "two threads use the same memory, one of them writing: keep no state that calls share, "
    "or make it atomic",
}
_LEAK = "malloc() memory is not given back: free all of it in close(), and where open() fails"


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
        advice = _LEAK if "leak" in found else _ADVICE[name]
        findings.append(Finding(name, f"{found}: {advice} (with {case})", name, case=case))
    elif done.returncode != 0 and not findings:
        tail = " ".join(done.stderr.split()[-60:])
        text = f"the driver ended with status {done.returncode}: {tail}"
        id = "crash" if done.returncode < 0 else "kit-fails"
        findings.append(Finding(id, text, name, case=case))
    return findings
