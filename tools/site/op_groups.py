"""The groups of ops: the folder of an op's C file decides, and for images a table of their page.

Only this module names groups: the pages of the reference, their order and their links follow.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyflowdata.formats import FORMATS
from pyflowdata.nodes.op_facts import Op
from pyflowdata.nodes.registry import registered_ops

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Group:
    """A page of ops.

    Attributes:
        key: The name of the page's file.
        title: The title of the page.
        about: What a reader of the page finds, one sentence.
        ops: The ops, in the order of the page.
        format: The name of the file format that they read and decode; "": none.
    """

    key: str
    title: str
    about: str
    ops: tuple[Op, ...]
    format: str = ""


# Of csrc/images/ops: the tables of docs/how-to/images.md by their titles.
_IMAGE_TABLES = {
    "files and pixels": (
        "decode", "Decode and encode images", "Ops from image files to pixels, and back.",
    ),
    "geometry": (
        "geometry", "Size, crop and place", "Ops that resize, crop, pad, turn and mirror images.",
    ),
    "colour": (
        "colour", "Colour and contrast", "Ops that change the colours of pixels, not their places.",
    ),
    "augmentation": (
        "augment", "Random augmentation", "Ops that draw what they do: policies, erased parts, and "
        "mixes of several images.",
    ),
    "numbers": (
        "numbers", "Pixels as numbers", "Ops that scale pixels to the numbers of a model, and move "
        "their channels.",
    ),
    "boxes and polygons": (
        "objects", "Boxes, polygons and masks", "Ops that keep boxes and polygons in step with "
        "their images.",
    ),
}  # fmt: skip

_VIEWS = "Views of data sets", (
    "The ops that methods of a Dataset make; programs call the methods."
)
_VALUES = "Numbers, rows and batches", (
    "Ops that convert, scale, join, slice and pad rows of numbers, and decode raw bytes."
)
_MEMORY = "Arrays and Python objects", "Readers of arrays in memory and of Python data sets."
_CACHE = "Cache files", "The reader of what Dataset.cache() keeps."


@functools.cache
def sources() -> dict[str, Path]:
    """The C file of each op, from the root of the repository."""
    found = {}
    for path in sorted((ROOT / "csrc").rglob("*.c")):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"^(?:static )?const pfd_op \w+ = \{(.*?)^\};", text, re.M | re.S):
            name = re.search(r"\.name = \"(\w+)\"", match[1])
            if name:
                found[name[1]] = path.relative_to(ROOT)
    return found


def built_in_ops() -> tuple[Op, ...]:
    return tuple(op for op in registered_ops() if op.origin == "built in")


@functools.cache
def groups() -> tuple[Group, ...]:
    """All pages of ops; every built-in op is on one of them.

    Raises:
        LookupError: The C file of an op is not found, or the page of images has no row for it.
    """
    ops = {op.name: op for op in built_in_ops()}
    lost = [name for name in ops if name not in sources()]
    if lost:
        raise LookupError(f"no file in csrc/ defines {', '.join(lost)}")
    return (*_formats(ops), *_of_memory(ops), _group(ops, "values", *_VALUES, "ops"),
            *_images(ops), _group(ops, "views", *_VIEWS, "views"))  # fmt: skip


def _in(ops: dict[str, Op], folder: str) -> list[Op]:
    """Readers first, each kind by name."""
    wanted = tuple(folder.split("/"))
    found = [op for name, op in ops.items() if sources()[name].parts[1:-1] == wanted]
    return sorted(found, key=lambda op: (not op.is_reader, op.name))


def _group(ops: dict[str, Op], key: str, title: str, about: str, folder: str) -> Group:
    return Group(key, title, about, tuple(_in(ops, folder)))


def _formats(ops: dict[str, Op]) -> list[Group]:
    """A page for each folder of csrc/formats that has a format."""
    made: list[Group] = []
    for folder in sorted(path.name for path in (ROOT / "csrc" / "formats").iterdir()):
        own = _in(ops, f"formats/{folder}")
        names = {op.name for op in own}
        found = next((one for one in FORMATS.values() if one.reader in names), None)
        if found is None or not own:
            continue
        first = (found.reader, *found.decoders)
        own.sort(key=lambda op: (op.name not in first, op.name not in first[:1]))
        about = f"The ops and the writer of {found.title} files, and what is checked."
        made.append(Group(folder, found.title, about, tuple(own), found.name))
    return sorted(made, key=lambda group: group.title.lower())


def _of_memory(ops: dict[str, Op]) -> Sequence[Group]:
    used = {op.name for group in _formats(ops) for op in group.ops}
    rest = {name: op for name, op in ops.items() if name not in used}
    return [
        _group(rest, "memory", *_MEMORY, "formats/objects"),
        _group(rest, "cache", *_CACHE, "formats/cache"),
    ]


def _images(ops: dict[str, Op]) -> list[Group]:
    page = (ROOT / "docs" / "how-to" / "images.md").read_text(encoding="utf-8")
    made = []
    for title, rows in re.findall(r"^\| ([a-z ]+) \| \|\n\|---\|---\|\n((?:\| .*\n)+)", page, re.M):
        if title not in _IMAGE_TABLES:
            raise LookupError(f"the table {title!r} of docs/how-to/images.md has no page here")
        key, heading, about = _IMAGE_TABLES[title]
        own = [ops[name] for name in re.findall(r"^\| `(\w+)`", rows, re.M)]
        made.append(Group(f"images-{key}", heading, about, tuple(own)))
    found = {op.name for group in made for op in group.ops}
    lost = [op.name for op in _in(ops, "images/ops") if op.name not in found]
    if lost:
        raise LookupError(f"no table of docs/how-to/images.md has {', '.join(lost)}")
    return made
