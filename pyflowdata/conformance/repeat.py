"""The command that runs a case of a check again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from ..nodes.attr_values import Plain
from ..plugins.compiler import source_of
from .spec import Spec


def command_words(spec: Spec, libraries: Iterable[str]) -> list[str] | None:
    """The words of a command that checks a node; None: the command cannot say it, since an op with
    inputs is upstream, or an attr has an object of the program."""
    if any(one.inputs for one, _ in spec.inputs):
        return None
    # Where it is known the source, since a cached library is that of the source as it was.
    found = [source_of(library) or (library, ()) for library in libraries]
    *others, own = [file for file, _ in found] or [""]
    words = ["pyflowdata", "check", *filter(None, [own]), "--op", spec.op]
    words += [word for file in others for word in ("--plugin", file)]
    if flags := [flag for _, given in found for flag in given]:
        words.append(f"--cflags={shlex.join(flags)}")
    try:
        words += [f"--attr={name}={said}" for name, said in _texts(spec)]
        for one, output in spec.inputs:
            head = f"{one.op}.{output}" if output else one.op
            attrs = [shlex.quote(f"{name}={said}") for name, said in _texts(one)]
            words += ["--input", " ".join([head, *attrs])]
    except TypeError:
        return None
    return words


def repeat_command(words: Sequence[str], group: str, case: str) -> str:
    """A line for the shell."""
    return shlex.join([*words, "--only", f"{group}/{case}" if case else group])


def _texts(spec: Spec) -> list[tuple[str, str]]:
    return [*spec.texts.items(), *((name, _text(value)) for name, value in spec.attrs.items())]


def _text(value: Plain | object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(_text(one) for one in value)
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError
