"""`pyflowdata tokenize`: the tokens of the texts in files."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InvalidArgumentError
from ..formats import FORMATS, Field, Source, Target
from ..nodes import Blob, find_op
from ..ops import RowLength
from ..pyops.tokens import Tokenize, TokenizerContent, open_tokenizer, token_number
from ..words.plain_text import counted
from .conversion import add_shard_arguments, given_paths, carry_out
from .sources import about, add_source_arguments, expand, source_of
from .usage import UsageError, say

_TO = [name for name, one in FORMATS.items() if one.tokens]
_TEXT = find_op("Tokenize").inputs[0].name  # the usual name of a field of texts, too
_BYTES = "bytes"
_TOKENS, _SIZE = "tokens", "__size__"
_LARGEST = {"uint16": 2**16, "int32": 2**31, "uint32": 2**32}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", nargs="+", metavar="SRC ... DST", help="files with texts, and the file to make")
    add("--tokenizer", required=True, metavar="FILE", help="a tokenizer.json, or a folder with one")
    add("--field", metavar="NAME", help="the field with the text (default: text, or the only one)")
    add("--to", choices=_TO, help="the format to write (default: by the name of DST, else the "
        "first)")  # fmt: skip
    add("--eos", metavar="TOKEN", help="a token, or its number, to put after each text")
    add("--no-special-tokens", action="store_true",
        help="leave out the tokens that the tokenizer's template adds")  # fmt: skip
    add("--max-length", type=int, metavar="N", help="cut texts at N tokens; 0: cut none")
    add("--dtype", choices=_LARGEST, help="of the tokens (default: the smallest for the "
        "vocabulary)")  # fmt: skip
    add_shard_arguments(parser)
    add_source_arguments(parser)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        "DST is a pair of files, DST.bin and DST.idx, as Megatron has them, with a document for\n"
        "each text; or, if it ends with .npy or .raw, one array of all tokens.  With several\n"
        "shards it is DST-00000-of-00003 and so on: processes make them side by side, and the\n"
        "same command goes on with those that are missing where one was stopped.\n\n"
        "  pyflowdata tokenize 'docs/*.jsonl' corpus --tokenizer tokenizer.json --eos '</s>'\n"
        "  pyflowdata tokenize corpus.txt train.npy --tokenizer tokenizer.json --shards 8"
    )


@dataclasses.dataclass(frozen=True)
class _TokenTarget(Target):
    """Files of the tokens of a field.

    Attributes:
        tokenizer: The tokenizer; `fingerprint` identifies it for a later run.
        text: The name of the field.
        eos: The number of a token to put after each text; None: none.
        adds_special: Whether the template of the tokenizer is applied.
        max_length: As `Tokenize` takes it.
        dtype: The dtype in the files.
    """

    tokenizer: TokenizerContent | None = None
    fingerprint: str = ""
    text: str = ""
    eos: int | None = None
    adds_special: bool = True
    max_length: int | None = None
    dtype: str = "int32"

    @property
    def is_work(self) -> bool:
        return True

    def check(self, source: Source) -> None:
        """Refuses what the format cannot hold; `_text_of` has looked at the source."""
        for field in self.fields(source):
            if refusal := self.kind.refusal(field):
                raise InvalidArgumentError(refusal)

    def changed(self, source: Source, blobs: Mapping[str, Blob]) -> dict[str, Blob]:
        text = blobs[self.text]
        ids = Tokenize(
            text, tokenizer=self.tokenizer, eos=self.eos, max_length=self.max_length,
            add_special_tokens=self.adds_special,
        )  # fmt: skip
        return {_TOKENS: ids, _SIZE: RowLength(text)}

    def encoded(self, source: Source, blobs: dict[str, Blob]) -> Blob | None:
        return None

    def fields(self, source: Source) -> list[Field]:
        is_flat = self.kind.tokens == "flat"
        return [Field(_TOKENS, self.dtype, () if is_flat else (None,))]

    def adapted(self, batch: dict[str, Any], source: Source) -> Any:
        tokens = batch[_TOKENS]
        return tokens.values if self.kind.tokens == "flat" else tokens

    def counts(self, batch: dict[str, Any]) -> tuple[int, ...]:
        """The tokens, and the bytes of the texts."""
        if not batch:
            return 0, 0
        return len(batch[_TOKENS].values), int(batch[_SIZE].sum())


def _text_of(source: Source, wanted: str | None) -> Source:
    """The source with only the field of the text."""
    texts = [field.name for field in source.fields if field.dtype == _BYTES]
    if wanted is None:
        if len(texts) != 1 and _TEXT not in texts:
            names = ", ".join(f"{field.name}:{field.type}" for field in source.fields)
            raise UsageError(f"say with --field which field has the text; there are {names}")
        wanted = _TEXT if _TEXT in texts else texts[0]
    chosen = source.choose([wanted])
    (field,) = chosen.fields
    if field.dtype != _BYTES:
        raise UsageError(
            f"--field {wanted}: it is {field.type}, and no text; say --field {field.name}:bytes "
            "for the text of its values"
        )
    return chosen


def _dtype(args: argparse.Namespace, tokenizer: TokenizerContent, is_flat: bool) -> str:
    """The dtype of the files, which holds all numbers of the vocabulary."""
    numbers = tokenizer.ready().get_vocab(with_added_tokens=True).values()
    most = max(numbers, default=0)
    if args.dtype is None:
        return "uint16" if most < _LARGEST["uint16"] else "uint32" if is_flat else "int32"
    if most >= _LARGEST[args.dtype]:
        raise UsageError(f"--dtype {args.dtype}: the vocabulary has the number {most}")
    if args.dtype == "uint32" and not is_flat:
        raise UsageError("--dtype uint32: files of documents have int32 or uint16")
    return str(args.dtype)


def _target(args: argparse.Namespace, path: str) -> _TokenTarget:
    documents = next(name for name in _TO if FORMATS[name].tokens == "documents")
    name = Path(path).name.lower()
    to = args.to or next((one for one in _TO if name.endswith(FORMATS[one].suffixes)), documents)
    tokenizer: TokenizerContent = open_tokenizer(args.tokenizer).value
    eos = args.eos
    if eos is not None:
        is_number = eos.isdecimal() and tokenizer.ready().token_to_id(eos) is None
        eos = token_number(tokenizer, int(eos) if is_number else eos)
    return _TokenTarget(
        path, to, skip=args.skip_damaged, overwrite=args.overwrite, tokenizer=tokenizer,
        fingerprint=tokenizer.fingerprint, eos=eos, adds_special=not args.no_special_tokens,
        max_length=args.max_length,
        dtype=_dtype(args, tokenizer, FORMATS[to].tokens == "flat"),
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Writes the tokens; prints what was made."""
    given, path, upload = given_paths(args)
    target = _target(args, path)
    source = _text_of(source_of(args, expand(given, args.format)), args.field)
    target = dataclasses.replace(target, text=source.fields[0].name)
    target.check(source)
    made = carry_out("tokenizing", args, source, target, upload=upload)
    tokens, size = made.sums or (0, 0)
    share = f" ({size / tokens:.2f} bytes of text each)" if tokens else ""
    say(
        f"{about(source)} to {target.kind.title}: {counted(made.records, 'document')}, "
        f"{counted(tokens, 'token')} of {target.dtype}{share} in {made.names}"
    )
    return 0
