"""`flow.open`: files of any format as a data set."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import Any

from ..errors import FileError, InvalidArgumentError, shown
from ..formats import is_data_set, open_source
from .dataset import Dataset

Paths = str | os.PathLike[str]


def open(  # noqa: A001  (flow.open, as it is called)
    paths: Paths | Sequence[Paths],
    *,
    fields: str | Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002
    **attrs: Any,
) -> Dataset:
    """The records of files as a data set; the format is found by content, the fields in a header or
    in the first records.

    Args:
        paths: Files, patterns, and folders, whose files are taken; or a folder that is a data set.
        fields: Names, or specs as "x:float32[3]"; None: all.
        format: As `pyflowdata head --format` takes it; None: found by content.
        **attrs: Of the format's reader.

    Raises:
        InvalidArgumentError: The format is not known, or there is no such field.
        FileError: There are no such files, or one cannot be read.
        CorruptDataError: A file is damaged where its fields are looked for.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    files = [file for path in given for file in expanded(os.fspath(path), format)]
    if not files:
        raise InvalidArgumentError("no files were given")
    source = open_source(files, format, values=attrs)
    chosen = [fields] if isinstance(fields, str) else fields
    source = source.choose(chosen)
    blobs = source.blobs()
    names = [field.name for field in source.fields] or list(blobs)
    return Dataset({name: blobs[name] for name in names})


def expanded(path: str, format: str | None) -> list[str]:
    """The files that a path, pattern or folder stands for, sorted.

    Raises:
        FileError: There are none.
    """
    if not os.path.exists(path):
        found = sorted(glob.glob(path))
    elif os.path.isdir(path) and not is_data_set(path, format):
        names = sorted(name for name in os.listdir(path) if not name.startswith((".", "_")))
        inside = (os.path.join(path, name) for name in names)
        found = [one for one in inside if os.path.isfile(one)]
    else:
        found = [path]
    if not found:
        raise FileError(f"no files: {shown(path)} is not there, or stands for none", file=path)
    return found
