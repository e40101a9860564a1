"""`Tokenize`: turns texts into the numbers of their tokens, with the package `tokenizers`."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import os
import struct
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np
import numpy.typing as npt

from ..errors import (
    CorruptDataError,
    Error,
    FileError,
    InvalidArgumentError,
    missing_package,
    shown,
)
from ..native.protobuf import read_varint, wire_fields
from ..nodes import find_op
from ..nodes.objects import Identity, Object
from ..nodes.op_functions import make_function
from ..ragged import Ragged
from ..words.remedies import did_you_mean
from .op import PythonOp, describe

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Array = npt.NDArray[Any]
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

_FILE = "tokenizer.json"
_MOST_KEPT = 16  # tokenizers that are ready to use, and files
_MOST_LISTED = 12  # tokens in a message


# ---- Tokenizers as values -----------------------------------------------------------------------


class TokenizerContent:
    """The content of a tokenizer.json, by which states, caches and data sets compare tokenizers.

    Attributes:
        name: The path as it was given, or the type of a tokenizer in memory, for messages.
        content: The bytes of the tokenizer.json.
        fingerprint: A digest of the content.
    """

    __slots__ = ("content", "fingerprint", "name")

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self.content = content
        self.fingerprint = hashlib.sha256(content).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TokenizerContent) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return repr(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return TokenizerContent, (self.name, self.content)

    def ready(self, max_length: int = 0, side: str = "right") -> Tokenizer:
        """The tokenizer itself, without padding; it cuts texts at `max_length` tokens; 0: it cuts
        none.  Threads may share it.

        Raises:
            UnsupportedError: The package `tokenizers` is missing.
            InvalidArgumentError: The package cannot read the content.
        """
        key = self.fingerprint, max_length, side
        with _lock:
            slot = _put_latest(_ready, key, _ready.get(key) or _Slot())
        with slot.lock:
            slot.made = slot.made or self._made(max_length, side)
            return slot.made

    def _made(self, max_length: int, side: str) -> Tokenizer:
        made = self.as_stored()
        made.no_padding()
        made.no_truncation()
        if max_length:
            made.enable_truncation(max_length, direction=side)
        return made

    def as_stored(self) -> Tokenizer:
        """A new tokenizer, with the padding and truncation that the content states."""
        library = _library()
        try:
            made: Tokenizer = library.Tokenizer.from_buffer(self.content)
        except Exception as failure:  # noqa: BLE001  (a plain Exception, or a panic's)
            raise InvalidArgumentError(
                f"{self.name} is not a tokenizer.json that tokenizers {library.__version__} reads: "
                f"{failure}", attr="tokenizer",
            ) from failure  # fmt: skip
        return made


class _Slot:
    """A tokenizer, which the first thread that needs it makes; others that need it wait."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.made: Tokenizer | None = None


def _put_latest(values: dict[_Key, _Value], key: _Key, value: _Value) -> _Value:
    """Keeps a value as the newest, which is dropped last."""
    values.pop(key, None)
    values[key] = value
    while len(values) > _MOST_KEPT:
        del values[next(iter(values))]
    return value


_lock = threading.Lock()  # for _ready and _opened
_ready: dict[tuple[str, int, str], _Slot] = {}
_opened: dict[tuple[str, int, int], Object] = {}  # by path, size and time


def _after_fork() -> None:
    """A thread of the parent may have held locks, also those in a tokenizer."""
    global _lock
    _lock = threading.Lock()
    _ready.clear()


os.register_at_fork(after_in_child=_after_fork)


def _library() -> Any:
    """The package `tokenizers`, with its own threads off, unless the environment says otherwise:
    the threads of the loader call it in parallel.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        import tokenizers
    except ImportError:
        raise missing_package("Tokenize", "tokenizers") from None
    return tokenizers


def _as_value(made: TokenizerContent) -> Object:
    value = Object(made)
    said = f"{made.name}, sha256 {made.fingerprint[:12]}"
    value.identity = Identity(lambda: made.fingerprint, said, what="the tokenizer was")
    return value


def open_tokenizer(given: Any) -> Object:
    """The value of the attr `tokenizer`: a TokenizerContent, as nodes have it.

    Args:
        given: The path of a tokenizer.json or of a folder with one, or of a model of
            SentencePiece; a `tokenizers.Tokenizer`, or a tokenizer of transformers that has one.

    Raises:
        FileError: The file cannot be read.
        InvalidArgumentError: The value is neither, or the file has another format.
    """
    if isinstance(given, Object):
        return given
    if isinstance(given, TokenizerContent):
        return _as_value(given)
    inner = getattr(given, "backend_tokenizer", given)
    if hasattr(inner, "to_str"):
        return _as_value(TokenizerContent(type(given).__name__, inner.to_str().encode()))
    if not isinstance(given, (str, os.PathLike)):
        raise InvalidArgumentError(
            f"tokenizer = {shown(given)} ({type(given).__name__}); it must be the path of a "
            "tokenizer.json or of a model of SentencePiece, or a tokenizers.Tokenizer",
            attr="tokenizer",
        )  # fmt: skip
    name = os.fsdecode(given)
    path = os.path.join(name, _FILE) if os.path.isdir(name) else name
    try:
        about = os.stat(path)
        key = os.path.abspath(path), about.st_size, about.st_mtime_ns
        with _lock:
            found = _opened.get(key)
        if found is None:
            with open(path, "rb") as file:
                content = file.read()
            found = _as_value(TokenizerContent(path, _as_json(path, content)))
            with _lock:
                found = _put_latest(_opened, key, _opened.get(key, found))
        return found
    except OSError as failure:
        if isinstance(failure, Error):
            raise
        raise FileError(failure.strerror or str(failure), file=path) from None


# ---- Models of SentencePiece ---------------------------------------------------------------------

_SPACE = "\u2581"  # what SentencePiece writes for a space
_UNIGRAM, _BPE = 1, 2  # kinds of models
_UNKNOWN, _CONTROL, _USER_DEFINED = 2, 3, 4  # kinds of pieces, besides plain ones


def _fields(message: bytes) -> dict[int, list[Any]]:
    """The values of each field of a protobuf message: ints, and bytes for all others.

    Raises:
        ValueError: It is none.
    """
    found: dict[int, list[Any]] = {}
    for number, wire, data in wire_fields(message):
        found.setdefault(number, []).append(read_varint(data, 0)[0] if wire == 0 else data)
    return found


def _merges(scores: dict[str, float]) -> list[tuple[str, str]]:
    """The pairs of pieces that make a piece, in the order in which they are merged."""
    found = []
    for piece, score in scores.items():
        halves = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
        pairs = [pair for pair in halves if pair[0] in scores and pair[1] in scores]
        found += [(-score, pair) for pair in pairs]
    return [pair for _, pair in sorted(found, key=lambda one: one[0])]


def _of_sentence_piece(content: bytes) -> str:
    """The tokenizer.json of a model of SentencePiece."""
    library = _library()
    model = _fields(content)
    (trainer,), (spec,) = ([_fields(one) for one in model[number]] for number in (2, 3))
    pieces = [_fields(one) for one in model[1]]
    texts = [one[1][0].decode() for one in pieces]
    kinds = [one.get(3, [1])[0] for one in pieces]
    scores = [struct.unpack("<f", one[2][0])[0] if 2 in one else 0.0 for one in pieces]
    unknown, falls_back = kinds.index(_UNKNOWN), bool(trainer.get(35, [0])[0])
    kind = trainer.get(3, [_UNIGRAM])[0]
    if kind == _UNIGRAM:
        vocabulary = list(zip(texts, scores, strict=True))
        inner = library.models.Unigram(vocabulary, unknown, falls_back)
    elif kind == _BPE:
        plain = {t: s for t, s, k in zip(texts, scores, kinds, strict=True) if k == 1}
        inner = library.models.BPE(
            {text: i for i, text in enumerate(texts)}, _merges(plain),
            unk_token=texts[unknown], fuse_unk=True, byte_fallback=falls_back,
        )  # fmt: skip
    else:
        raise ValueError(f"its model_type is {kind}; 1 (unigram) and 2 (BPE) are read")
    of, regex = library.normalizers, library.Regex
    steps = [of.Precompiled(spec[2][0])] if spec.get(2, [b""])[0] else []
    if spec.get(4, [1])[0]:  # remove_extra_whitespaces
        steps += [of.Replace(regex(" {2,}"), " "), of.Strip()]
    steps += [of.Prepend(_SPACE)] if spec.get(3, [1])[0] else []  # add_dummy_prefix
    made = library.Tokenizer(inner)
    made.normalizer = of.Sequence([*steps, of.Replace(" ", _SPACE)])
    if not any(_SPACE in text[1:] for text in texts):  # words are apart, which is faster
        made.pre_tokenizer = library.pre_tokenizers.Split(_SPACE, "merged_with_next")
    added = library.AddedToken
    for text, of_kind in zip(texts, kinds, strict=True):
        if of_kind in (_UNKNOWN, _CONTROL):
            made.add_special_tokens([added(text, special=True, normalized=False)])
        elif of_kind == _USER_DEFINED:
            made.add_tokens([added(text, normalized=False)])
    result: str = made.to_str()
    return result


def _as_json(path: str, content: bytes) -> bytes:
    """The content of a tokenizer.json, also for a file of another format, which is converted."""
    if content.lstrip()[:1] == b"{":
        return content
    try:
        return _of_sentence_piece(content).encode()
    except Error:
        raise
    except Exception as failure:  # noqa: BLE001  (of the bytes, or a plain one of the package)
        is_of_bytes = isinstance(failure, (LookupError, struct.error))
        why = "a part is missing" if is_of_bytes else failure
        raise InvalidArgumentError(
            f"{path} is no tokenizer.json, which begins with a brace, and no model of "
            f"SentencePiece, unigram or BPE, that can be read: {why}. For a vocab.txt, "
            "transformers writes a tokenizer.json: AutoTokenizer.from_pretrained(folder, "
            "use_fast=True).save_pretrained(other_folder)", attr="tokenizer",
        ) from None  # fmt: skip


def token_number(tokenizer: TokenizerContent, token: int | str) -> int:
    """The number of a token that is given by its text, or by its number.

    Raises:
        InvalidArgumentError: The vocabulary has no such token.
    """
    ready = tokenizer.ready()
    if isinstance(token, str):
        found: int | None = ready.token_to_id(token)
        if found is not None:
            return found
        special = [one.content for one in ready.get_added_tokens_decoder().values()]
        listed = ", ".join(special[:_MOST_LISTED])
        raise InvalidArgumentError(
            f"eos = {shown(token)}: {tokenizer.name} has no such token"
            f"{did_you_mean(token, special)}"
            + (f"; its special tokens: {listed}" if special else ""), attr="eos",
        )  # fmt: skip
    if isinstance(token, bool) or not isinstance(token, (int, np.integer)):
        raise InvalidArgumentError(
            f"eos = {shown(token)} ({type(token).__name__}); it must be a token or its number",
            attr="eos",
        )
    is_number = 0 <= token < 2**31  # what the package takes, and what fits the rows
    if not is_number or ready.id_to_token(int(token)) is None:
        raise InvalidArgumentError(
            f"eos = {token}: {tokenizer.name} has no such token; it has {ready.get_vocab_size()}",
            attr="eos",
        )
    return int(token)


# ---- The op -------------------------------------------------------------------------------------


def _texts(name: str, rows: Ragged | Array) -> list[str]:
    """The rows as texts; an error names the row and the byte."""
    if isinstance(rows, Ragged):
        memory, splits = rows.values.tobytes(), rows.row_splits.tolist()
    else:
        memory, splits = rows.tobytes(), [i * rows.shape[1] for i in range(len(rows) + 1)]
    texts: list[str] = []
    try:
        for begin, end in itertools.pairwise(splits):
            texts.append(str(memory[begin:end], "utf-8"))
    except UnicodeDecodeError as failure:
        value = failure.object[failure.start]
        raise CorruptDataError(
            f"byte {failure.start} of the {name} is 0x{value:02x}, which is not UTF-8 there "
            f"({failure.reason}): write the file as UTF-8, or leave the record out with "
            "on_error='skip'", row=len(texts), byte=failure.start,
        ) from None  # fmt: skip
    return texts


class _Rows:
    """Arrays from the encodings of some rows, each with the token that `eos` adds at its end."""

    def __init__(self, found: Sequence[Any], eos: int) -> None:
        self._found, self._eos = found, eos
        lengths = np.fromiter(map(len, found), np.int64, len(found)) + (eos >= 0)
        self._splits = np.zeros(len(found) + 1, np.int64)
        np.cumsum(lengths, out=self._splits[1:])

    def numbers(self, name: str, end: int, dtype: Any) -> Ragged:
        """An attribute of the encodings, as a list of numbers; `end` is its value for the added
        token.
        """
        lists = map(lambda one: getattr(one, name), self._found)
        return self._ragged(np.fromiter(itertools.chain.from_iterable(lists), dtype), end)

    def offsets(self, in_bytes: bool, texts: Sequence[Sequence[str]]) -> Ragged:
        """int64 (tokens, 2): where tokens begin and end in their text."""
        parts = [np.array(one.offsets, np.int64).reshape(-1, 2) for one in self._found]
        if in_bytes:
            for row, part in enumerate(parts):
                of = self._found[row].sequence_ids
                for number, column in enumerate(texts):
                    own = np.fromiter((one == number for one in of), bool, len(of))
                    part[own] = _byte_places(column[row])[part[own]]
        values = np.concatenate(parts) if parts else np.zeros((0, 2), np.int64)
        return self._ragged(values, 0)

    def _ragged(self, values: Array, end: int) -> Ragged:
        if self._eos >= 0:
            ends = self._splits[1:] - 1
            whole = np.full((int(self._splits[-1]), *values.shape[1:]), end, values.dtype)
            is_own = np.ones(len(whole), bool)
            is_own[ends] = False
            whole[is_own] = values
            values = whole
        return Ragged(values, self._splits, row_shape=(None, *values.shape[1:]))


def _byte_places(text: str) -> Array:
    """For each character, and for the end, the number of UTF-8 bytes before it."""
    if text.isascii():
        return np.arange(len(text) + 1)
    encoded = np.frombuffer(text.encode(), np.uint8)
    places: Array = np.append(np.flatnonzero((encoded & 0xC0) != 0x80), len(encoded))
    return places


def tokenize(
    text: Any,
    pair: Any = None,
    *,
    tokenizer: Object,
    add_special_tokens: bool = True,
    max_length: int = 0,
    side: Literal["right", "left"] = "right",
    eos: int = -1,
    offset_unit: Literal["character", "byte"] = "character",
    with_type_ids: bool = False,
    with_offsets: bool = False,
    with_special_tokens_mask: bool = False,
) -> tuple[Any, ...]:
    """The tokens of texts, as numbers."""
    has_eos = eos >= 0
    limit = max_length - has_eos if max_length else 0
    ready = cast("TokenizerContent", tokenizer).ready(limit, side)
    texts = [_texts("text", text)]
    if pair is not None:
        texts.append(_texts("pair", pair))
    given = texts[0] if pair is None else list(zip(*texts, strict=True))
    encode = ready.encode_batch if with_offsets else ready.encode_batch_fast
    rows = _Rows(encode(given, add_special_tokens=add_special_tokens), eos)
    return (
        rows.numbers("ids", eos, np.int32),
        rows.numbers("type_ids", int(pair is not None), np.int32) if with_type_ids else None,
        rows.offsets(offset_unit == "byte", texts) if with_offsets else None,
        rows.numbers("special_tokens_mask", 1, bool) if with_special_tokens_mask else None,
    )


_OUTPUTS = {
    "ids": ("int32", (None,)),
    "type_ids": ("int32", (None,)),
    "offsets": ("int64", (None, 2)),
    "special_tokens_mask": ("bool", (None,)),
}
_TEXT = ("uint8", (None,))


def _register() -> Callable[..., Any]:
    described = describe(tokenize, {"text": _TEXT, "pair": _TEXT}, _OUTPUTS)
    PythonOp("Tokenize", described, "rows", None).add(replace=False)
    return make_function(find_op("Tokenize"))


_node = _register()


# ---- The public face ----------------------------------------------------------------------------


def _as_bytes(name: str, given: Any) -> Any:
    """Texts as bytes; blobs and rows of bytes as they are."""
    if isinstance(given, np.ndarray) and given.dtype.kind in "USO":
        given = given.tolist()
    if isinstance(given, (list, tuple)) and any(isinstance(one, str) for one in given):
        return [_as_bytes(name, one) for one in given]
    if not isinstance(given, str):
        return given
    try:
        return given.encode()
    except UnicodeEncodeError as failure:
        raise InvalidArgumentError(
            f"input '{name}' is {shown(given)}, which UTF-8 cannot hold: {failure.reason} at "
            f"{failure.start}", op="Tokenize",
        ) from None  # fmt: skip


def _checked_length(
    tokenizer: TokenizerContent, max_length: int | None, added: int, side: str
) -> int:
    """The attr max_length: 0 cuts nothing."""
    if max_length is None:
        stated = tokenizer.as_stored().truncation
        if stated is None:
            return 0
        raise InvalidArgumentError(
            f"{tokenizer.name} cuts texts at {stated['max_length']} tokens, on the "
            f"{stated['direction']}: say max_length={stated['max_length']} for the same, or "
            "max_length=0 to cut none", attr="max_length",
        )  # fmt: skip
    is_int = isinstance(max_length, (int, np.integer)) and not isinstance(max_length, bool)
    if not is_int or max_length < 0 or 0 < max_length <= added:
        raise InvalidArgumentError(
            f"max_length = {shown(max_length)}; it must be an int above {added}, the tokens that "
            "are added to each text, or 0 to cut none" if added else
            f"max_length = {shown(max_length)}; it must be an int, 1 or more, or 0 to cut none",
            attr="max_length",
        )  # fmt: skip
    if side not in ("right", "left"):
        raise InvalidArgumentError(
            f"side = {shown(side)}; it must be 'right' or 'left'", attr="side"
        )
    return int(max_length)


def Tokenize(  # noqa: N802  (ops are in CamelCase)
    text: Any,
    pair: Any = None,
    *,
    tokenizer: Any,
    add_special_tokens: bool = True,
    max_length: int | None = None,
    side: Literal["right", "left"] = "right",
    eos: int | str | None = None,
    offset_unit: Literal["character", "byte"] = "character",
    with_type_ids: bool = False,
    with_offsets: bool = False,
    with_special_tokens_mask: bool = False,
    name: str | None = None,
) -> Any:
    """The tokens of texts as numbers, by the package `tokenizers` (the extra `tokenizers`).

        ids = flow.open("docs.jsonl").map(flow.Tokenize, "text", tokenizer="tokenizer.json")
        flow.Tokenize("Hello, world", tokenizer="tokenizer.json")  # at once

    Rows of the batch are encoded by the loader's threads side by side, without the GIL; the
    tokenizer's own threads are off (TOKENIZERS_PARALLELISM=false, unless the environment has it).
    The result depends on the text and on the tokenizer alone.  The content of the file is part of
    a state: a loader with another tokenizer refuses it.  In `map` the new fields are called as the
    outputs.

    Args:
        text: Rows of UTF-8, a ragged blob of uint8; or, to be answered at once, a text or a list.
        pair: A second text of each row.
        tokenizer: The path of a tokenizer.json, of a folder with one, or of a model of
            SentencePiece; a `tokenizers.Tokenizer`; or a tokenizer of transformers that has one.
            A padding in it does not count, since rows are as long as their texts; a truncation in
            it is refused unless max_length is given.
        add_special_tokens: Whether its template is applied, which adds [CLS], <s> and the like.
        max_length: The most tokens of a row, with those that are added; a pair loses tokens of the
            longer text first.  0: any number.  None: the same, if the tokenizer states no limit.
        side: Where tokens are cut off.
        eos: A token to add at the end of each row, by its text or number.
        offset_unit: What offsets count: characters (code points) or bytes of the row's text.
        with_type_ids: Also type_ids, int32: which text a token is from, as the template says.
        with_offsets: Also offsets, int64 (tokens, 2): where a token begins and ends in its text; 0
            and 0 of a token that was added.
        with_special_tokens_mask: Also special_tokens_mask, bool: whether a token was added.
        name: The name of the node.

    Returns:
        ids, ragged int32; then the other outputs that are asked for, in the order of their attrs.

    Raises:
        UnsupportedError: The package is missing.
        FileError: The file cannot be read.
        InvalidArgumentError: An argument is wrong, or the file is no tokenizer.json.
        CorruptDataError: A text is not UTF-8; `row` and `byte` say where.
    """
    try:
        value = open_tokenizer(tokenizer)
        content: TokenizerContent = value.value
        added = 0 if eos is None else 1
        if add_special_tokens:
            added += content.ready().num_special_tokens_to_add(pair is not None)
        given = {
            "tokenizer": value,
            "add_special_tokens": add_special_tokens,
            "max_length": _checked_length(content, max_length, added, side),
            "side": side,
            "eos": -1 if eos is None else token_number(content, eos),
            "offset_unit": offset_unit,
            "with_type_ids": with_type_ids,
            "with_offsets": with_offsets,
            "with_special_tokens_mask": with_special_tokens_mask,
        }
    except Error as failure:
        failure.op = failure.op or "Tokenize"
        raise
    default = _DEFAULTS
    attrs = {key: one for key, one in given.items() if key == "tokenizer" or one != default[key]}
    inputs = [_as_bytes("text", text)]
    if pair is not None:
        inputs.append(_as_bytes("pair", pair))
    return _node(*inputs, name=name, **attrs)


_DEFAULTS = {one.name: one.default for one in inspect.signature(tokenize).parameters.values()}
Tokenize.op_name = "Tokenize"  # type: ignore[attr-defined]
Tokenize.names_fields = True  # type: ignore[attr-defined]
