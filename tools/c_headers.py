"""Reads the declarations of the C headers that Python knows: what stands between cdef-begin and
cdef-end, which is plain C of structs, functions and numbers.

It needs nothing but Python: `make` makes declarations and stubs of it before anything is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_CDEF = re.compile(r"/\* cdef-begin \*/(.*)/\* cdef-end \*/", re.DOTALL)
_TOKEN = re.compile(r"\s*([A-Za-z_]\w*|\d+|\.\.\.|[^\s\w])")
_NUMBER = re.compile(r"#define (\w+) +(-?\d+)u?\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Named:
    """A type of C, or a struct, by its name."""

    name: str


@dataclass(frozen=True)
class Pointer:
    """To a type or a function."""

    to: Type


@dataclass(frozen=True)
class Array:
    """A number of elements."""

    of: Type
    length: int


@dataclass(frozen=True)
class Function:
    """What it returns and takes."""

    result: Type
    arguments: tuple[Type, ...]
    takes_more: bool  # it ends with `...`


Type = Named | Pointer | Array | Function


@dataclass
class Declarations:
    """What headers declare, in their order.

    Attributes:
        numbers: The values of macros.
        aliases: typedefs of types that are no structs.
        structs: Their fields; None: nobody sees into them.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    aliases: dict[str, Type] = field(default_factory=dict)
    structs: dict[str, dict[str, Type] | None] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)

    def add(self, text: str) -> None:
        """
        Args:
            text: A header, with cdef-begin and cdef-end in it.

        Raises:
            ValueError: It has something that is not read here.
        """
        found = _CDEF.search(text)
        if not found:
            raise ValueError("there are no cdef-begin and cdef-end marks")
        joined = found[1].replace("\\\n", "")
        plain = re.sub(r"/\*.*?\*/", "", joined, flags=re.DOTALL)
        self.numbers.update((name, int(value)) for name, value in _NUMBER.findall(plain))
        plain = _NUMBER.sub("", plain)
        _Reader(self, plain).read()


def read_headers(root: Path, headers: tuple[Path, ...]) -> Declarations:
    """The declarations of headers of a tree, of which later ones may use the former."""
    found = Declarations()
    for header in headers:
        found.add((root / header).read_text(encoding="utf-8"))
    return found


class _Reader:
    """Reads declarations, one token after the other."""

    def __init__(self, into: Declarations, text: str) -> None:
        self._into = into
        self._tokens: list[str] = _TOKEN.findall(text)
        self._at = 0

    def read(self) -> None:
        while self._at < len(self._tokens):
            if self._takes("typedef"):
                self._typedef()
            elif self._next() == "struct" and self._tokens[self._at + 2] == "{":
                self._struct()
                self._need(";")
            else:
                for name, kind in self._declarators():
                    if not isinstance(kind, Function):
                        raise ValueError(f"{name} is neither a function nor a type")
                    self._into.functions[name] = kind

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else "the end"

    def _takes(self, token: str) -> bool:
        taken = self._next() == token
        self._at += taken
        return taken

    def _need(self, token: str) -> None:
        if not self._takes(token):
            before = " ".join(self._tokens[max(self._at - 8, 0) : self._at])
            raise ValueError(f"'{token}' is expected after '{before}', not '{self._next()}'")

    def _name(self) -> str:
        name = self._next()
        if not re.match(r"[A-Za-z_]", name):
            raise ValueError(f"a name is expected, not '{name}'")
        self._at += 1
        return name

    def _typedef(self) -> None:
        if self._next() == "struct":
            name = self._struct()
            alias = self._name()
            if alias != name:
                raise ValueError(f"struct {name} has another name, {alias}")
            self._need(";")
            return
        self._into.aliases.update(self._declarators())

    def _struct(self) -> str:
        self._need("struct")
        name = self._name()
        self._into.structs.setdefault(name, None)
        if self._takes("{"):
            fields: dict[str, Type] = {}
            while not self._takes("}"):
                fields.update(self._declarators())
            self._into.structs[name] = fields
        return name

    def _declarators(self) -> Iterator[tuple[str, Type]]:
        """Names with their types, up to a semicolon."""
        base = self._base()
        while True:
            yield self._declarator(base)
            if self._takes(";"):
                return
            self._need(",")

    def _base(self) -> Type:
        words = []
        while re.match(r"[A-Za-z_]", self._next()):
            word = self._name()
            if word not in ("const", "struct"):
                words.append(word)
                following = self._next()
                if word not in ("unsigned", "signed", "long") or following in ("*", "(", ","):
                    break
        return Named(" ".join(words))

    def _declarator(self, base: Type) -> tuple[str, Type]:
        """One name and its type; "" where an argument has no name."""
        while self._takes("*") or self._takes("const"):
            if self._tokens[self._at - 1] == "*":
                base = Pointer(base)
        if self._next() == "(" and self._tokens[self._at + 1] == "*":
            self._at += 2
            name = self._name()
            self._need(")")
            return name, Pointer(self._function(base))
        name = self._name() if re.match(r"[A-Za-z_]", self._next()) else ""
        if self._next() == "(":
            return name, self._function(base)
        lengths = []
        while self._takes("["):
            lengths.append(self._length())
        for length in reversed(lengths):
            base = Array(base, length)
        return name, base

    def _length(self) -> int:
        token = self._next()
        self._at += 1
        self._need("]")
        return int(token) if token.isdigit() else self._into.numbers[token]

    def _function(self, result: Type) -> Function:
        self._need("(")
        arguments: list[Type] = []
        takes_more = False
        while not self._takes(")"):
            if self._takes("..."):
                takes_more = True
                continue
            _, kind = self._declarator(self._base())
            arguments.append(Pointer(kind.of) if isinstance(kind, Array) else kind)
            if self._next() != ")":
                self._need(",")
        if arguments == [Named("void")]:
            arguments = []
        return Function(result, tuple(arguments), takes_more)
