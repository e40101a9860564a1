"""The options of a check, and the words of a command that means the same check."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .spec import Spec
from pyflowdata.cli.usage import UsageError, pairs
from pyflowdata.errors import InvalidArgumentError
from pyflowdata.nodes.attr_values import Plain
from pyflowdata.plugins.compiler import source_of


class UnknownCaseError(InvalidArgumentError):
    """The one group or case to run does not exist."""


TIMEOUT = 10.0  # default limit of seconds for one pass over the sample


@dataclass(frozen=True)
class Native:
    """Checks for which the plugin is compiled again, with a driver in C instead of Python.

    Attributes:
        sources: The plugin's C and C++ files (.c, .cc, .cpp, .cxx).
        flags: Arguments for the compiler and linker, besides those for the headers.
        sanitizers: Some of "asan", "ubsan", "tsan".
        fuzz: Seconds of fuzzing; 0: none.
        fuzzer: "clang" for libFuzzer, "own" for the kit's fuzzer; None: libFuzzer if it is there.
        others: Sources of further plugins upstream of the op, by the paths of their libraries; a
            plugin that is not listed is loaded as it is.
    """

    sources: Sequence[str | os.PathLike[str]]
    flags: Sequence[str] = ()
    sanitizers: Sequence[str] = ()
    fuzz: int = 0
    fuzzer: str | None = None
    others: Mapping[str, Sequence[str | os.PathLike[str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Options:
    """The options of testing.check_reader(), which explains each."""

    records: int | None = None
    checksums: bool = False
    also: Mapping[str, int] | None = None
    ignore: Sequence[str] = ()
    timeout: float = TIMEOUT
    native: Native | None = None
    only: str | None = None
    quick: bool = False
    corpus: str | os.PathLike[str] | None = None


# ---- From an op to words ------------------------------------------------------------------------


def command_words(
    spec: Spec, library: Sequence[str], options: Options, plugins: Sequence[str] = ()
) -> list[str] | None:
    """The words of a command that checks a node; None: no command can, because an op with inputs is
    upstream, or an attr has an object of the program.

    Args:
        library: The plugin, or its C and C++ files; empty for a built-in op.
        options: The options, except for those that choose cases.
        plugins: Further plugins, as --plugin names them.
    """
    if any(one.inputs for one, _ in spec.inputs):
        return None
    native = options.native or Native([])
    # The source if it is known: a cached library is of the source as it was.
    compiled = [source_of(name) or (name, ()) for name in library]
    files = [file for file, _ in compiled]
    sources = [os.fspath(one) for one in native.sources]
    flags = [*native.flags, *(f for _, given in compiled for f in given if f not in native.flags)]
    words = ["pyflowdata", "check", *files, "--op", spec.op]

    def add(option: str, values: Sequence[object]) -> None:
        for value in values:
            words.extend((f"--{option}", str(value)))

    try:
        add("attr", _texts(spec))
        for one, output in spec.inputs:
            head = f"{one.op}.{output}" if output else one.op
            add("input", [" ".join([head, *map(shlex.quote, _texts(one))])])
    except TypeError:
        return None
    add("plugin", [(source_of(name) or (name, ()))[0] for name in plugins])
    add("records", [] if options.records is None else [options.records])
    words += ["--checksums"] if options.checksums else []
    add("also", [f"{folder}={count}" for folder, count in (options.also or {}).items()])
    add("ignore", options.ignore)
    add("timeout", [] if options.timeout == TIMEOUT else [options.timeout])
    add("source", [one for one in sources if not {one, os.path.realpath(one)} & {*files}])
    words += [f"--cflags={shlex.join(flags)}"] if flags else []
    add("fuzzer", [] if native.fuzzer is None else [native.fuzzer])
    add("corpus", [] if options.corpus is None else [os.fspath(options.corpus)])
    return words


def repeat_command(words: Sequence[str], group: str, case: str) -> str:
    """A line for the shell."""
    return shlex.join([*words, "--only", f"{group}/{case}" if case else group])


def _texts(spec: Spec) -> list[str]:
    """The attrs as the command takes them. Raises TypeError if an attr is no text."""
    values = {name: _text(value) for name, value in spec.attrs.items()}
    return [f"{name}={said}" for name, said in {**spec.texts, **values}.items()]


def _text(value: Plain | object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(_text(one) for one in value)
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError


# ---- From words to an op ------------------------------------------------------------------------


def input_of(given: str) -> tuple[Spec, str]:
    """The op of an --input, and the name of its output, "" for the only one."""
    try:
        words = shlex.split(given)
    except ValueError as failure:  # a quote or an escape has no end
        raise UsageError(f"--input {given}: {failure}") from None
    if not words:
        raise UsageError("--input is empty; it must be 'OP[.OUTPUT] NAME=VALUE ...'")
    op, _, output = words[0].partition(".")
    return Spec(op, texts=pairs(words[1:], "--input")), output
