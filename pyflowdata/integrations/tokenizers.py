"""Parts of tokenizers that split texts into words, as `tokenizers.Tokenizer` composes them.

    from pyflowdata.integrations import tokenizers as parts

    words = parts.split_basic()
    vocabulary = parts.count_words(texts, split=words, special_tokens=["[UNK]"])
    tokenizer = parts.word_tokenizer(vocabulary, split=words, normalizer=parts.fold_case())
    ids = docs.map(flow.Tokenize, "text", tokenizer=tokenizer)

The values are those of MindData's text transforms: docs/coming-from/equivalents-text.md.  This
module needs the package `tokenizers`, the extra `tokenizers`.
"""

from __future__ import annotations

import collections
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import InvalidArgumentError, Ragged
from ..errors import missing_package, shown

try:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
except ImportError:
    raise missing_package(__name__, "tokenizers") from None

if TYPE_CHECKING:
    from tokenizers.normalizers import Normalizer
    from tokenizers.pre_tokenizers import PreTokenizer

__all__ = [
    "basic_text",
    "count_words",
    "fold_case",
    "split_at",
    "split_basic",
    "split_characters",
    "split_scripts",
    "word_tokenizer",
]

# Scripts that are words of their own; characters of all others count as one more script.
_SCRIPTS = """Common Inherited Latin Han Cyrillic Greek Arabic Hebrew Hiragana Katakana Hangul
    Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Thai Lao
    Tibetan Myanmar Georgian Armenian Ethiopic Cherokee Khmer Mongolian Bopomofo Yi Syriac Thaana
    Canadian_Aboriginal Ogham Runic Tagalog Nko Javanese Balinese Coptic Braille""".split()
# What is a word by itself in texts for BERT: ASCII symbols, punctuation, Chinese characters.
_ALONE = (
    r"!-/:-@\[-`{-~\p{P}\u4E00-\u9FFF\u3400-\u4DBF\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}"
    r"\x{2B740}-\x{2B81F}\x{2B820}-\x{2CEAF}\uF900-\uFAFF\x{2F800}-\x{2FA1F}"
)


def __dir__() -> list[str]:
    return sorted(__all__)


# ---- Normalizers --------------------------------------------------------------------------------


def fold_case() -> Normalizer:
    """Unicode's case folding with NFKC, without the characters that it ignores by default.

    "Straße" and "STRASSE" become "strasse".  Letters of Cherokee become small ones, where Unicode
    takes large ones.
    """
    return normalizers.Sequence(
        [
            normalizers.NFKD(),
            normalizers.Lowercase(),
            normalizers.Replace("ß", "ss"),
            normalizers.Replace("ς", "σ"),
            normalizers.Replace("\u0345", "ι"),  # of ᾳ, which NFKD has taken apart
            normalizers.Replace(Regex(r"\p{Default_Ignorable_Code_Point}+"), ""),
            normalizers.NFKC(),
        ]
    )


def basic_text(lower_case: bool = False) -> Normalizer:
    """A normalizer for split_basic(): control and format characters become spaces.

    Args:
        lower_case: Also folds the case and removes accents.
    """
    steps: list[Any] = [normalizers.Replace(Regex(r"[\p{Cc}\p{Cf}]"), " ")]
    if lower_case:
        accents = normalizers.Replace(Regex(r"\p{Mn}+"), "")  # StripAccents() takes vowels, too
        steps[:0] = [fold_case(), normalizers.NFD(), accents]
    return normalizers.Sequence(steps)


# ---- Splits -------------------------------------------------------------------------------------


def _words(*patterns: str) -> PreTokenizer:
    """The matches of the patterns; what is between them is left out."""
    return pre_tokenizers.Split(Regex("|".join(patterns)), "removed", invert=True)


def split_characters() -> PreTokenizer:
    """Each character, a code point, is a word."""
    return _words("(?m:.)")


def split_scripts(keep_whitespace: bool = False) -> PreTokenizer:
    """A word is a run of characters of one script; punctuation and combining marks have their own.

    Args:
        keep_whitespace: Runs of white space are words, too.
    """
    runs = [rf"[\p{{{script}}}&&\S]+" for script in _SCRIPTS]
    others = "".join(rf"\p{{{script}}}" for script in _SCRIPTS)
    return _words(*runs, rf"[^{others}\s]+", *[r"\s+"] * keep_whitespace)


def split_basic(keep_whitespace: bool = False) -> PreTokenizer:
    """Words as BERT has them: at white space, each punctuation mark and Chinese character alone.

    Args:
        keep_whitespace: Runs of white space are words, too.
    """
    return _words(rf"[{_ALONE}]", rf"[^\s{_ALONE}]+", *[r"\s+"] * keep_whitespace)


def split_at(delimiter: str, keep: str | None = None) -> PreTokenizer:
    """Splits texts at the matches of a regular expression.

    Args:
        delimiter: The expression, in the syntax of Oniguruma.
        keep: A delimiter that this expression matches as a whole is a word; others are left out.

    Raises:
        InvalidArgumentError: An expression is wrong.
    """
    try:
        if keep is None:
            return pre_tokenizers.Split(Regex(delimiter), "removed")
        dropped = rf"\A(?!(?:{keep})\z)(?:{delimiter})\z"
        return pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(delimiter), "isolated"),
                pre_tokenizers.Split(Regex(dropped), "removed"),
            ]
        )
    except Exception as failure:  # noqa: BLE001  (the package raises a plain one)
        raise InvalidArgumentError(
            f"{shown(delimiter)}, with keep = {shown(keep)}, is no regular expression: {failure}",
            attr="delimiter",
        ) from None


# ---- Vocabularies -------------------------------------------------------------------------------


def _texts(given: Iterable[Any]) -> Iterable[str]:
    """The texts of strings, rows of bytes, and batches of such rows."""
    for one in given:
        if isinstance(one, str):
            yield one
        elif isinstance(one, Ragged):
            yield from _texts(one)
        else:
            yield bytes(one).decode()


def count_words(
    texts: Iterable[Any],
    *,
    split: PreTokenizer,
    normalizer: Normalizer | None = None,
    freq_range: tuple[int | None, int | None] = (None, None),
    top_k: int | None = None,
    special_tokens: Sequence[str] = (),
    special_first: bool = True,
) -> list[str]:
    """The words of texts, in one pass: the most frequent first, equally frequent ones by their
    code points.

    Args:
        texts: Strings, rows of UTF-8, or batches of such rows: a loader of one ragged field.
        split: What splits a text into words.
        normalizer: What is applied before.
        freq_range: Only words that occur as often as this, from and to; None: no limit.
        top_k: Only so many words, without the special ones.
        special_tokens: Words to add.
        special_first: Whether they are added at the beginning; else at the end.

    Raises:
        InvalidArgumentError: The texts have a special token as a word.
    """
    counts: collections.Counter[str] = collections.Counter()
    for text in _texts(texts):
        normal = normalizer.normalize_str(text) if normalizer else text
        counts.update(word for word, _ in split.pre_tokenize_str(normal))
    for word in special_tokens:
        if word in counts:
            raise InvalidArgumentError(
                f"special_tokens has {shown(word)}, which is a word of the texts",
                attr="special_tokens",
            )
    least, most = freq_range
    words = [
        word for word, count in counts.items()
        if (least is None or count >= least) and (most is None or count <= most)
    ]  # fmt: skip
    words = sorted(words, key=lambda word: (-counts[word], word))[:top_k]
    return [*special_tokens, *words] if special_first else [*words, *special_tokens]


def word_tokenizer(
    vocabulary: Mapping[str, int] | Iterable[str] | os.PathLike[str],
    *,
    split: PreTokenizer,
    normalizer: Normalizer | None = None,
    unknown: str = "[UNK]",
    subword_prefix: str | None = None,
    special_tokens: Sequence[str] = (),
) -> Tokenizer:
    """A tokenizer that looks words up in a vocabulary, for `flow.Tokenize(tokenizer=...)`.

    Args:
        vocabulary: The number of each word; or words, numbered from 0; or a path to a file of them,
            one in a line.
        split: What splits a text into words.
        normalizer: What is applied before.
        unknown: The word of the vocabulary that stands for all that it does not have.
        subword_prefix: A word that is not in the vocabulary is split into the longest parts that
            are, of which all but the first begin with this: "##" as BERT has it.
        special_tokens: Words that are found in a text before all else, such as [CLS].

    Raises:
        OSError: The file cannot be read.
        InvalidArgumentError: The vocabulary does not have `unknown` or a special token, or it has a
            word twice.
    """
    if isinstance(vocabulary, os.PathLike):
        with open(vocabulary, encoding="utf-8") as file:
            vocabulary = [line.rstrip("\r\n") for line in file]
    if not isinstance(vocabulary, Mapping):
        words = list(vocabulary)
        vocabulary = {word: i for i, word in enumerate(words)}
        if len(vocabulary) < len(words):
            twice, _ = collections.Counter(words).most_common(1)[0]
            raise InvalidArgumentError(
                f"vocabulary has {shown(twice)} twice", attr="vocabulary"
            )
    for word in (unknown, *special_tokens):
        if word not in vocabulary:
            raise InvalidArgumentError(
                f"vocabulary has no {shown(word)}: add it, or choose unknown= and special_tokens= "
                "among its words", attr="vocabulary",
            )  # fmt: skip
    model: Any
    if subword_prefix is None:
        model = models.WordLevel(dict(vocabulary), unk_token=unknown)
    else:
        model = models.WordPiece(
            dict(vocabulary), unk_token=unknown, continuing_subword_prefix=subword_prefix
        )
    made = Tokenizer(model)
    made.pre_tokenizer = split
    if normalizer is not None:
        made.normalizer = normalizer
    made.add_special_tokens(list(special_tokens))
    return made
