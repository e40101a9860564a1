"""Checks under sanitizers: the plugins are compiled again, and run without Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from ..corpus import Corpus, case_of
from ..damaged_copies import KINDS
from ..file_layout import file_of_each_kind
from ..report import Finding
from .compiling import SANITIZERS, Compiler
from .rebuilt import Graph, build


# ---- The output of programs of drivers/, and of the sanitizers in them --------------------------

_MOST_FRAMES = 3
_RUNS = "runs"  # stands before the number of runs; no finding has this id
_FRAME = re.compile(r"^\s*#(\d+) (?:0x[0-9a-f]+ in )?(.+?) (/\S+?):(\d+)", re.M)

# In programs of gcc, sanitizers name places by themselves; else they need this tool.
_SYMBOLIZER = shutil.which("llvm-symbolizer")
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:allow_user_segv_handler=1:"
    "max_allocation_size_mb=2048:quarantine_size_mb=16",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    # The sanitizer takes the bytes before thread-local memory for a header, as in glibc 2.19.
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
    """The inputs that a fuzzer has run; 0 if it ended before it told."""
    found = re.search(rf"^(?:{_RUNS}\t|stat::number_of_executed_units: )(\d+)$", output, re.M)
    return int(found[1]) if found else 0


def _last_case(output: str) -> str:
    """The case in which a program ended."""
    cases = re.findall(r"^case\t(.*)$", output, re.M)
    return cases[-1] if cases else ""


def summary(output: str, folders: Sequence[str]) -> str:
    """Says what a sanitizer found, and where in the sources; "": nothing.

    Args:
        output: The program's stderr.
        folders: The folders of the sources.
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
    place = _place_in(output[line.start() :], folders)
    return "; ".join([*parts, *([place] if place else [])])


def leaks_alone(output: str) -> bool:
    """Whether a sanitizer found leaks alone; then only leaks of the sources count."""
    return re.findall(r"ERROR: (\w+)Sanitizer", output)[:1] == ["Leak"]


def _leak_summary(output: str, folders: Sequence[str]) -> str:
    """The first leak of memory that the sources, or functions that they call, allocated; or ""."""
    for leak in re.split(r"^(?=(?:Direct|Indirect) leak of )", output, flags=re.M)[1:]:
        if place := _place_in(leak, folders):
            size = re.match(r"\w+ leak of (\d+ byte\(s\) in \d+) object", leak)
            said = f"; {size[1]} allocation(s)" if size else ""
            return f"LeakSanitizer: detected memory leaks{said}; {place}"
    return ""


def _place_in(output: str, folders: Sequence[str]) -> str:
    """The innermost functions of the sources in the first stack, "in f() at file.c:12"; or ""."""
    found: list[str] = []
    inner = -1
    for frame in _FRAME.finditer(output):
        number, name, path, line = frame.groups()
        if int(number) <= inner or len(found) == _MOST_FRAMES:
            break  # the next stack begins
        inner = int(number)
        if any(os.path.abspath(path).startswith(f"{folder}{os.sep}") for folder in folders):
            found.append(f"{name.partition('(')[0]}() at {os.path.basename(path)}:{line}")
    return f"in {', from '.join(found)}" if found else ""


# ---- Samples: folders with the files; one file may be a damaged copy ----------------------------

_DAMAGED = 16  # copies of each kind of damage, over all kinds of files
_KEPT = 64  # most inputs of a corpus
_WHOLE = "the sample"


def _damaged(files: Sequence[Path], corpus: Corpus) -> Iterator[tuple[str, Path, bytes]]:
    """Gives each case, its file with other bytes, and these bytes."""
    victims = file_of_each_kind(files)
    for victim in victims:
        data = victim.read_bytes()
        for kind in KINDS.values():
            for damaged, doing in islice(kind(data, victim.name), _DAMAGED // len(victims)):
                yield doing, victim, damaged
    for file, path in corpus.inputs(files, _KEPT):
        yield case_of(file, path), file, path.read_bytes()


def write_samples(
    files: Sequence[Path], corpus: Corpus, folder: Path, only: str | None
) -> dict[str, Path]:
    """Folders with files of these names, by their cases.

    Args:
        files: The sample.
        corpus: The inputs that a fuzzer kept.
        folder: The folder that gets them.
        only: The only wanted case; None: all.
    """
    made: dict[str, Path] = {}

    def add(case: str) -> Path:
        made[case] = folder / f"{len(made):04}"
        made[case].mkdir(parents=True)
        for file in files:
            shutil.copyfile(file, made[case] / file.name)
        return made[case]

    if only in (None, _WHOLE):
        add(_WHOLE)
    for case, victim, data in _damaged(files, corpus):
        if only in (None, case) and case not in made:
            (add(case) / victim.name).write_bytes(data)
    return made


# ---- The runs -----------------------------------------------------------------------------------

_SECONDS = 300

_ADVICE = {
    "asan": "memory was used that is not the op's, or was given back: look at the place that is "
    "named",
    "ubsan": "the C standard does not define this: look at the place that is named, and use "
    "memcpy() for numbers in a record",
    "tsan": "two threads use the same memory, one of them writing: keep no state that calls share, "
    "or make it atomic",
}
_LIKELY = {  # by words of a sanitizer
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
    """Returns what a sanitizer finds over samples.

    Args:
        name: A key of SANITIZERS.
        graph: With the sources of its plugins.
        samples: The folders of the samples, by their cases.
        folder: To work in.

    Raises:
        BuildError: A plugin cannot be compiled with this sanitizer.
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
        return [Finding("hang", text, name, case=cases.get(_last_case(output), ""))]
    findings = [
        Finding(id, f"{said} (with {cases[where]})", name, case=cases[where])
        for where, id, said in findings_of(done.stdout)
    ]
    case = cases.get(_last_case(done.stdout), "")
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
    """The causes of what a sanitizer has found, the most likely first; none if unknown."""
    if _CALLS.search(found):
        return ("a return after a failure passes over free()",)
    return next((why for kind, why in _LIKELY.items() if re.search(kind, found)), ())
