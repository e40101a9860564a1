"""Parts of tokenizers, and docs/coming-from/equivalents-text.md: the values are MindSpore's own."""

import gzip
import json
import random
import re
import unicodedata

import numpy as np
import pytest

import pyflowdata as flow
from support.paths import ROOT

tokenizers = pytest.importorskip("tokenizers", reason="the package tokenizers is not here")
from pyflowdata.integrations import tokenizers as parts  # noqa: E402

FIXTURES = ROOT / "tests/fixtures/mindspore"
MINDSPORE = json.loads((FIXTURES / "text.json").read_text())
TEXTS = MINDSPORE["texts"]
WORDS = {
    "WhitespaceTokenizer": tokenizers.pre_tokenizers.WhitespaceSplit(),
    "UnicodeCharTokenizer": parts.split_characters(),
    "UnicodeScriptTokenizer": parts.split_scripts(),
    "UnicodeScriptTokenizer keep": parts.split_scripts(keep_whitespace=True),
    "RegexTokenizer": parts.split_at(r"[\s,]+"),
    "RegexTokenizer keep": parts.split_at(r"[\s,]", keep=","),
    "BasicTokenizer": parts.split_basic(),
    "BasicTokenizer keep": parts.split_basic(keep_whitespace=True),
    "BasicTokenizer lower": parts.split_basic(),
}
BASIC = {
    "BasicTokenizer": parts.basic_text(),
    "BasicTokenizer keep": parts.basic_text(),
    "BasicTokenizer lower": parts.basic_text(lower_case=True),
}
NORMALIZERS = {
    "CaseFold": parts.fold_case(),
    "NormalizeUTF8 NONE": tokenizers.normalizers.Sequence([]),
    **{f"NormalizeUTF8 {form}": getattr(tokenizers.normalizers, form)()
       for form in ("NFC", "NFKC", "NFD", "NFKD")},
    "RegexReplace": tokenizers.normalizers.Replace(tokenizers.Regex("[aeiou]+"), "_"),
}  # fmt: skip


def test_all_values_of_mindspore_are_compared():
    assert {*WORDS, *NORMALIZERS} == {*MINDSPORE["values"]}


@pytest.mark.parametrize("name", WORDS)
def test_words_are_those_of_mindspore(name):
    """By their numbers, as Tokenize gives them.  MindSpore has a word in an empty text, as well."""
    expected = [[one for one in row if one] for row in MINDSPORE["values"][name]]
    vocabulary = ["[UNK]", *sorted({word for row in expected for word in row})]
    made = parts.word_tokenizer(vocabulary, split=WORDS[name], normalizer=BASIC.get(name))
    found = flow.Tokenize(TEXTS, tokenizer=made)
    for text, ids, row in zip(TEXTS, found, expected, strict=True):
        assert [vocabulary[i] for i in ids] == row, text


@pytest.mark.parametrize("name", NORMALIZERS)
def test_texts_are_those_of_mindspore(name):
    for text, expected in zip(TEXTS, MINDSPORE["values"][name], strict=True):
        assert NORMALIZERS[name].normalize_str(text) == expected, text


def test_case_folding_against_python():
    """For each character of Unicode 3.2, of which the package's tables of forms have all, except
    those that are ignored.  Unicode folds Cherokee to large letters."""
    fold, different = parts.fold_case(), set()
    for number in [*range(0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0x10500)]:
        char = chr(number)
        if unicodedata.ucd_3_2_0.category(char) in ("Cn", "Cs"):
            continue
        expected = char
        for _ in range(2):
            expected = unicodedata.normalize("NFKC", expected.casefold())
        if fold.normalize_str(char) not in ("", expected):
            different.add(unicodedata.name(char).split()[0])
    assert different == {"CHEROKEE"}


def test_lookups_and_subwords_are_those_of_mindspore():
    words, sentences = MINDSPORE["words"], MINDSPORE["sentences"]
    made = parts.word_tokenizer(words, split=tokenizers.pre_tokenizers.WhitespaceSplit())
    assert [one.tolist() for one in flow.Tokenize(sentences, tokenizer=made)] == MINDSPORE["Lookup"]
    bert = parts.word_tokenizer(
        words, split=parts.split_basic(), normalizer=parts.basic_text(lower_case=True),
        subword_prefix="##",
    )  # fmt: skip
    found = flow.Tokenize(sentences, tokenizer=bert)
    assert [[words[i] for i in row] for row in found] == MINDSPORE["BertTokenizer"]


def test_vocabularies_are_those_of_mindspore(tmp_path):
    lines = ["b a c a", "c d a", "é e 我 d"]
    (tmp_path / "lines.txt").write_text("\n".join(lines) + "\n")
    split = tokenizers.pre_tokenizers.WhitespaceSplit()
    rows = flow.open(tmp_path / "lines.txt").batch(2)[0]
    for options, expected in MINDSPORE["Vocab"]:
        assert parts.count_words(lines, split=split, **options) == expected
        with flow.DataLoader(rows) as loader:
            assert parts.count_words(loader, split=split, **options) == expected
    with pytest.raises(flow.InvalidArgumentError, match="'a', which is a word of the texts"):
        parts.count_words(lines, split=split, special_tokens=["a"])
    (tmp_path / "vocab.txt").write_text("[UNK]\na\nb\n[SEP]\n")
    made = parts.word_tokenizer(tmp_path / "vocab.txt", split=split, special_tokens=["[SEP]"])
    assert flow.Tokenize("b[SEP]a x", tokenizer=made).tolist() == [2, 3, 1, 0]


@pytest.mark.parametrize(
    ("options", "said"),
    [({}, "no '\\[UNK\\]'"), ({"unknown": "a", "special_tokens": ["[S]"]}, "no '\\[S\\]'")],
)
def test_words_that_a_vocabulary_lacks(options, said):
    with pytest.raises(flow.InvalidArgumentError, match=said):
        parts.word_tokenizer({"a": 0}, split=parts.split_basic(), **options)
    with pytest.raises(flow.InvalidArgumentError, match="'a' twice"):
        parts.word_tokenizer(["a", "b", "a"], split=parts.split_basic(), unknown="a")
    with pytest.raises(flow.InvalidArgumentError, match="no regular expression"):
        parts.split_at("(")


# ---- The page -----------------------------------------------------------------------------------


def test_the_page_has_all_transforms_and_its_values_are_right():
    page = (ROOT / "docs/coming-from/equivalents-text.md").read_text()
    for name in """AddToken BasicTokenizer BertTokenizer CaseFold FilterWikipediaXML JiebaTokenizer
        Lookup Ngram NormalizeUTF8 RegexReplace RegexTokenizer SentencePieceTokenizer SlidingWindow
        ToNumber ToVectors Truncate TruncateSequencePair UnicodeCharTokenizer Vocab PythonTokenizer
        UnicodeScriptTokenizer WhitespaceTokenizer WordpieceTokenizer""".split():
        assert re.search(rf"^\| .*`{name}\b", page, re.M), name
    rows = re.findall(r"^\| .* \| `(flow\.[^`]+)`.* \| `([^`]+)` \|$", page, re.M)
    assert len(rows) == 9
    for form, gives in rows:
        found = eval(form, {"flow": flow, "row": np.arange(1, 6)})
        is_several = isinstance(found, (list, tuple))
        listed = [one.tolist() for one in found] if is_several else found.tolist()
        assert str(listed) == gives, form


# ---- SentencePiece ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_models_of_sentence_piece(kind, tmp_path):
    content = gzip.decompress((FIXTURES / f"{kind}.model.gz").read_bytes())
    path = tmp_path / "spiece.model"
    path.write_bytes(content)
    values = MINDSPORE["SentencePiece"]
    found = flow.Tokenize([*TEXTS, *values["lines"]], tokenizer=path)
    assert [row.tolist() for row in found] == values[kind]
    assert flow.Tokenize("bako", tokenizer=path, eos="</s>")[-1] == 2
    # Damage: an error, or another model.
    draw = random.Random(0)
    places = [*range(0, 700, 9), *(len(content) - i for i in range(1, 200, 9))]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << draw.randrange(8)
        for one in (bytes(damaged), content[:place]):
            path.write_bytes(one)
            try:
                flow.Tokenize("bako rite", tokenizer=path)
            except (flow.InvalidArgumentError, flow.UserFunctionError):
                pass
