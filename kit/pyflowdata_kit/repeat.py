"""The command that runs a case of a check again."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

from pyflowdata.nodes.attr_values import Plain
from pyflowdata.plugins.compiler import source_of
from .spec import Spec

TIMEOUT = 10.0  # seconds of one pass over the sample, where no other limit is given


def command_words(
    spec: Spec,
    library: Sequence[str],
    *,
    plugins: Sequence[str] = (),
    sources: Sequence[str] = (),
    flags: Sequence[str] = (),
    fuzzer: str | None = None,
    records: int | None = None,
    checksums: bool = False,
    also: Mapping[str, int] | None = None,
    ignore: Sequence[str] = (),
    timeout: float = TIMEOUT,
    corpus: str | os.PathLike[str] | None = None,
) -> list[str] | None:
    """The words of a command that checks a node; None: the command cannot say it, since an op with
    inputs is upstream, or an attr has an object of the program.

    Args:
        library: The plugin, or its C and C++ files; empty of an op that is built in.
        plugins: Further ones, as --plugin names them.
        sources: The C and C++ files of a plugin that is a library.

    The others are options of the command.
    """
    if any(one.inputs for one, _ in spec.inputs):
        return None
    # Where it is known the source, since a cached library is that of the source as it was.
    compiled = [source_of(name) or (name, ()) for name in library]
    files = [file for file, _ in compiled]
    flags = [*flags, *(flag for _, given in compiled for flag in given if flag not in flags)]
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
    add("records", [] if records is None else [records])
    words += ["--checksums"] if checksums else []
    add("also", [f"{folder}={count}" for folder, count in (also or {}).items()])
    add("ignore", ignore)
    add("timeout", [] if timeout == TIMEOUT else [timeout])
    add("source", [one for one in sources if os.path.realpath(one) not in files])
    words += [f"--cflags={shlex.join(flags)}"] if flags else []
    add("fuzzer", [] if fuzzer is None else [fuzzer])
    add("corpus", [] if corpus is None else [os.fspath(corpus)])
    return words


def repeat_command(words: Sequence[str], group: str, case: str) -> str:
    """A line for the shell."""
    return shlex.join([*words, "--only", f"{group}/{case}" if case else group])


def _texts(spec: Spec) -> list[str]:
    """The attrs as the command takes them.  Raises TypeError where one is no text."""
    values = {name: _text(value) for name, value in spec.attrs.items()}
    return [f"{name}={said}" for name, said in {**spec.texts, **values}.items()]


def _text(value: Plain | object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(_text(one) for one in value)
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError
