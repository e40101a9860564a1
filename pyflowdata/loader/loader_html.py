"""What a notebook shows of a loader."""

from __future__ import annotations

from collections.abc import Sequence

from ..words.html_text import Html, joined, note, table, title
from ..nodes import Blob
from ..words.plain_text import size
from .state import Reader

_MOST_ROWS = 40


def loader_html(
    blobs: Sequence[Blob], readers: Sequence[Reader], facts: Sequence[str], life: str
) -> Html:
    """Tables of the blobs and readers of a loader.

    Args:
        blobs: That a batch has.
        readers: Of the loader.
        facts: Lines below.
        life: Whether it is open.
    """
    return joined(
        title("DataLoader" if life == "open" else f"DataLoader, {life}"),
        table([_blob_row(blob) for blob in blobs[:_MOST_ROWS]], ("blob", "dtype", "shape")),
        _rest(len(blobs), "blobs"),
        table(
            [_reader_row(reader) for reader in readers[:_MOST_ROWS]],
            ("reader", "records", "files", "bytes", "batch", "order", "seed"),
        ),
        _rest(len(readers), "readers"),
        *map(note, facts),
    )


def _blob_row(blob: Blob) -> tuple[object, ...]:
    shape = ", ".join("varies" if size is None else f"{size}" for size in blob.shape)
    return blob.name, blob.dtype, f"({shape})"


def _reader_row(reader: Reader) -> tuple[object, ...]:
    records = f"{reader.records:,}" if reader.records >= 0 else "not known"
    return (
        reader.name, records, f"{reader.files:,}", size(reader.bytes),
        f"{reader.batch_size:,}", reader.shuffle, reader.seed,
    )  # fmt: skip


def _rest(count: int, what: str) -> Html:
    return note(f"and {count - _MOST_ROWS} more {what}") if count > _MOST_ROWS else Html("")
