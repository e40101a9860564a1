"""Tokenize, compared with the package `tokenizers` called plainly."""

import json
import os
import pickle
import sys
import threading

import numpy as np
import pytest
from support import programs
from support.tokenizer_files import texts, trained

import pyflowdata as flow
from pyflowdata.pyops import tokens

tokenizers = pytest.importorskip("tokenizers", reason="the package tokenizers is not here")

KINDS = ("BPE", "WordPiece", "Unigram")
TEXTS = [*texts(120, seed=1), "", " ", "new\nline"]


@pytest.fixture(scope="module", params=KINDS)
def plain(request):
    return trained(request.param)


@pytest.fixture(scope="module")
def bpe():
    return trained("BPE")


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    path = tmp_path_factory.mktemp("lines") / "docs.jsonl"
    rows = zip(TEXTS, TEXTS[::-1], strict=True)
    path.write_text("".join(json.dumps({"text": a, "other": b}) + "\n" for a, b in rows))
    return path


def saved(plain, tmp_path):
    path = tmp_path / "tokenizer.json"
    plain.save(str(path))
    return path


def column(data, *names):
    """The rows of fields, in order, as lists."""
    batch = data.batch(32)
    with flow.DataLoader([batch[name] for name in names], num_threads=3) as loader:
        batches = [*loader]
    columns = ([row.tolist() for one in part for row in one] for part in zip(*batches, strict=True))
    return next(columns) if len(names) == 1 else tuple(columns)


# ---- What it computes ---------------------------------------------------------------------------


def test_it_gives_the_numbers_of_tokenizers(plain, tmp_path, lines):
    path = saved(plain, tmp_path)
    data = flow.open(lines, fields=["text:str"])
    expected = [one.ids for one in plain.encode_batch(TEXTS)]
    assert column(data.map(flow.Tokenize, "text", tokenizer=path), "ids") == expected
    bare = data.map(flow.Tokenize, "text", tokenizer=tmp_path, add_special_tokens=False)
    assert column(bare, "ids") == [one.ids for one in plain.encode_batch(
        TEXTS, add_special_tokens=False)]  # fmt: skip
    assert [one.tolist() for one in flow.Tokenize(TEXTS, tokenizer=path)] == expected
    assert flow.Tokenize(TEXTS[0].encode(), tokenizer=path).tolist() == expected[0]
    assert flow.Tokenize(TEXTS[0], tokenizer=plain).dtype == np.int32


def test_pairs_and_further_outputs(plain, tmp_path, lines):
    path = saved(plain, tmp_path)
    data = flow.open(lines, fields=["text:str", "other:str"]).map(
        flow.Tokenize, "text", "other", tokenizer=path, with_type_ids=True, with_offsets=True,
        with_special_tokens_mask=True,
    )  # fmt: skip
    expected = plain.encode_batch([*zip(TEXTS, TEXTS[::-1], strict=True)])
    ids, types, offsets, masks = column(data, "ids", "type_ids", "offsets", "special_tokens_mask")
    assert ids == [one.ids for one in expected]
    assert types == [one.type_ids for one in expected]
    assert offsets == [[*map(list, one.offsets)] for one in expected]
    assert masks == [[*map(bool, one.special_tokens_mask)] for one in expected]


def test_offsets_in_bytes_cut_the_bytes_of_the_text(bpe):
    for text, other in zip(TEXTS[:40], TEXTS[40:80], strict=True):
        ids, offsets = flow.Tokenize(
            text, other, tokenizer=bpe, with_offsets=True, offset_unit="byte"
        )
        found = bpe.encode(text, other)
        assert ids.tolist() == found.ids
        own = {0: text, 1: other}
        for (begin, end), (first, last), number in zip(
            offsets, found.offsets, found.sequence_ids, strict=True
        ):
            if number is not None:
                assert own[number].encode()[begin:end].decode() == own[number][first:last]


@pytest.mark.parametrize("side", ["right", "left"])
def test_texts_are_cut_as_tokenizers_does(plain, side):
    cut = tokenizers.Tokenizer.from_str(plain.to_str())
    cut.enable_truncation(10, direction=side)
    few = TEXTS[-20:]  # the package is slow where it cuts pairs
    options = {"tokenizer": plain, "max_length": 10, "side": side}
    found = flow.Tokenize(TEXTS, **options)
    assert [one.tolist() for one in found] == [one.ids for one in cut.encode_batch(TEXTS)]
    found = flow.Tokenize(few, few[::-1], **options)
    assert [one.tolist() for one in found] == [
        one.ids for one in cut.encode_batch([*zip(few, few[::-1], strict=True)])
    ]


def test_an_end_is_added_and_counts_in_the_length(bpe):
    end = bpe.token_to_id("<eos>")
    whole = [one.ids for one in bpe.encode_batch(TEXTS, add_special_tokens=False)]
    options = {"tokenizer": bpe, "add_special_tokens": False, "with_special_tokens_mask": True}
    for eos in ("<eos>", end):
        ids, masks = flow.Tokenize(TEXTS, eos=eos, **options)
        assert [one.tolist() for one in ids] == [[*one, end] for one in whole]
        assert all(one.tolist() == [False] * (len(one) - 1) + [True] for one in masks)
    ids, _ = flow.Tokenize(TEXTS, eos=end, max_length=7, **options)
    assert [one.tolist() for one in ids] == [[*one[:6], end] for one in whole]


def test_order_threads_and_ranks_do_not_change_the_tokens(bpe, tmp_path, lines):
    path = saved(bpe, tmp_path)
    data = flow.open(lines, fields=["text:str"]).map(flow.Tokenize, "text", tokenizer=path)
    batch = data.shuffle(seed=3).batch(32)
    seen = []
    for threads in (1, 4):
        with flow.DataLoader((batch["text"], batch["ids"]), num_threads=threads) as loader:
            pairs = [(bytes(a).decode(), b.tolist()) for x, y in loader
                     for a, b in zip(x, y, strict=True)]  # fmt: skip
        assert all(bpe.encode(text).ids == ids for text, ids in pairs)
        seen.append(pairs)
    assert seen[0] == seen[1] and len(seen[0]) == len(TEXTS)


def test_packs_hold_the_documents(bpe, tmp_path, lines):
    ids = flow.open(lines, fields=["text:str"]).map(
        flow.Tokenize, "text", tokenizer=saved(bpe, tmp_path)
    )
    packs = ids.pack(128, field="ids", longer="split")
    rows = [pack["ids"][pack["segment_ids"] > 0].tolist() for pack in packs]
    expected = [one.ids for one in bpe.encode_batch(TEXTS)]
    assert sorted(sum(rows, [])) == sorted(sum(expected, []))


# ---- Tokenizers that state more than a vocabulary -----------------------------------------------


def test_a_limit_in_the_file_is_said_and_a_padding_does_not_count(bpe, tmp_path):
    odd = tokenizers.Tokenizer.from_str(bpe.to_str())
    odd.enable_padding(length=50)
    odd.enable_truncation(8)
    path = saved(odd, tmp_path)
    with pytest.raises(flow.InvalidArgumentError, match="max_length=8 for the same, or max_len"):
        flow.Tokenize("ba", tokenizer=path)
    long = TEXTS[0]
    assert flow.Tokenize(long, tokenizer=path, max_length=0).tolist() == bpe.encode(long).ids
    assert len(flow.Tokenize(long, tokenizer=path, max_length=8)) == 8


# ---- States, copies and other processes ---------------------------------------------------------


def test_a_state_refuses_another_tokenizer(bpe, tmp_path, lines):
    (tmp_path / "other").mkdir()
    path, copied = saved(bpe, tmp_path), saved(bpe, tmp_path / "other")

    def loader(tokenizer, **options):
        data = flow.open(lines, fields=["text:str"])
        ids = data.map(flow.Tokenize, "text", tokenizer=tokenizer, **options).shuffle(seed=1)
        return flow.DataLoader({"ids": ids.batch(16)["ids"]}, num_threads=2)

    with loader(path) as first:
        batches = iter(first)
        next(batches)
        state = json.loads(json.dumps(first.state_dict()))
        expected = next(batches)["ids"].values.tolist()
    with loader(copied) as same:  # the content counts, and not its place
        same.load_state_dict(state)
        assert next(iter(same))["ids"].values.tolist() == expected
    changed = trained("BPE")
    changed.add_tokens(["kori"])
    with loader(saved(changed, tmp_path / "other")) as other:
        with pytest.raises(flow.InvalidArgumentError, match="the tokenizer was changed since the"):
            other.load_state_dict(state)
    with loader(path, add_special_tokens=False) as other:
        with pytest.raises(flow.InvalidArgumentError, match="attrs"):
            other.load_state_dict(state)


def test_data_sets_are_equal_by_the_content_and_can_be_pickled(bpe, tmp_path, lines):
    path = saved(bpe, tmp_path)
    data = flow.open(lines, fields=["text:str"])
    ids = data.map(flow.Tokenize, "text", tokenizer=path)
    assert ids == data.map(flow.Tokenize, "text", tokenizer=path)
    assert ids != data.map(flow.Tokenize, "text", tokenizer=trained("Unigram"))
    assert f"Tokenize(tokenizer='{path}')" in repr(ids)
    program = """
import pickle, sys
print(pickle.load(open(sys.argv[1], "rb"))[3]["ids"].tolist())
"""
    (tmp_path / "data").write_bytes(pickle.dumps(ids))
    os.unlink(path)  # the content travels
    done = programs.run(program, tmp_path / "data", check=True)
    assert json.loads(done.stdout) == bpe.encode(TEXTS[3]).ids


def test_a_cache_is_that_of_the_tokenizer(bpe, tmp_path, lines):
    data, folder = flow.open(lines, fields=["text:str"]), tmp_path / "cache"

    def cached(plain):
        ids = data.map(flow.Tokenize, "text", tokenizer=plain).project("ids").cache(folder)
        packs = ids.pack(64, field="ids")  # their lengths are kept as well
        return sum(int(pack["loss_mask"].sum()) for pack in packs)

    for plain in (bpe, trained("Unigram"), bpe):
        assert cached(plain) == sum(len(one.ids) for one in plain.encode_batch(TEXTS))
    assert len([*folder.iterdir()]) == 2


def test_a_forked_process_goes_on(bpe, lines, tmp_path):
    path = saved(bpe, tmp_path)
    expected = flow.Tokenize(TEXTS[0], tokenizer=path).tolist()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        found = flow.Tokenize(TEXTS[0], tokenizer=path).tolist()
        os.write(write, b"same" if found == expected else b"other")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 8) == b"same"


def test_one_that_is_being_made_delays_no_other(tmp_path, monkeypatch):
    """Threads that need another tokenizer go on; those that need the same one wait for it."""
    slow, other = tokens.TokenizerContent("slow", b""), tokens.TokenizerContent("other", b"1")
    made, may_end, found = [], threading.Event(), []

    def make(self):
        made.append(self.name)
        assert self is other or may_end.wait(30)
        return tokenizers.Tokenizer(tokenizers.models.BPE())

    monkeypatch.setattr(tokens.TokenizerContent, "as_stored", make)
    threads = [threading.Thread(target=lambda: found.append(slow.ready())) for _ in range(2)]
    for thread in threads:
        thread.start()
    last = threading.Thread(target=other.ready)
    last.start()
    last.join(10)
    is_delayed = last.is_alive()
    may_end.set()
    for thread in (*threads, last):
        thread.join(30)
    assert not is_delayed and sorted(made) == ["other", "slow"] and found[0] is found[1]


def test_a_bounded_number_of_files_is_kept(bpe, tmp_path):
    for i in range(20):
        path = tmp_path / f"{i}.json"
        bpe.save(str(path))
        tokens.open_tokenizer(path)
        assert tokens.open_tokenizer(path) is tokens.open_tokenizer(path)
    assert len(tokens._opened) <= 16


# ---- Refusals -----------------------------------------------------------------------------------


def test_bytes_that_are_no_utf8_name_record_and_byte(bpe, tmp_path):
    path = tmp_path / "docs.txt"
    path.write_bytes(b"ba ko\nri \xff te\nlu\n")
    data = flow.open(path)
    field = next(iter(data.fields))
    ids = data.map(flow.Tokenize, field, tokenizer=saved(bpe, tmp_path))
    with flow.DataLoader(ids.batch(3)["ids"]) as loader:
        with pytest.raises(flow.CorruptDataError, match="byte 3 of the text is 0xff") as caught:
            next(iter(loader))
    assert (caught.value.ordinal, caught.value.line) == (1, 2)
    kept = ids.batch(3, on_error="skip")["ids"]
    with flow.DataLoader(kept) as loader:
        (batch,) = loader
    assert [row.tolist() for row in batch] == [bpe.encode(one).ids for one in ("ba ko", "lu")]
    with pytest.raises(flow.CorruptDataError) as caught:
        flow.Tokenize([b"a", b"\xc3"], tokenizer=bpe)
    assert caught.value.row == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_length": 2}, "max_length = 2; it must be an int above 2, the tokens that are added"),
        ({"max_length": -1}, "max_length = -1"),
        ({"max_length": 8.0}, "max_length = 8.0"),
        ({"side": "middle", "max_length": 8}, "side = 'middle'"),
        ({"eos": "<eso>"}, r"no such token; did you mean '<eos>'\?; its special tokens: \[UNK\]"),
        ({"eos": 4000}, "eos = 4000: .* has no such token"),
        ({"eos": -1}, "eos = -1: .* has no such token; it has"),
        ({"eos": 2**40}, "eos = 1099511627776: .* has no such token"),
        ({"eos": 2**63}, "eos = 9223372036854775808: .* has no such token"),
        ({"eos": 1.5}, "eos = 1.5"),
        ({"offset_unit": "word"}, "offset_unit"),
        ({"add_special_tokens": "no"}, "add_special_tokens"),
        ({"tokenizer": 7}, "tokenizer = 7 .int.; it must be the path of a tokenizer.json"),
    ],
)
def test_wrong_attrs(bpe, options, said):
    with pytest.raises(flow.InvalidArgumentError, match=said) as caught:
        flow.Tokenize("ba", **{"tokenizer": bpe, **options})
    assert caught.value.op == "Tokenize"


def test_wrong_files_and_inputs(bpe, tmp_path):
    with pytest.raises(flow.FileError, match="no.json"):
        flow.Tokenize("ba", tokenizer=tmp_path / "no.json")
    model = tmp_path / "spiece.model"
    model.write_bytes(b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02")
    with pytest.raises(flow.InvalidArgumentError, match="SentencePiece.*save_pretrained"):
        flow.Tokenize("ba", tokenizer=model)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(flow.InvalidArgumentError, match="not a tokenizer.json that tokenizers"):
        flow.Tokenize("ba", tokenizer=tmp_path / "config.json")
    with pytest.raises(flow.InvalidArgumentError, match="'text' has rows of"):
        flow.Tokenize(np.zeros(3, np.float32), tokenizer=bpe)
    with pytest.raises(flow.InvalidArgumentError, match="UTF-8 cannot hold"):
        flow.Tokenize("\ud800", tokenizer=bpe)


def test_without_the_package_the_remedy_is_said(bpe, tmp_path, monkeypatch):
    path = tmp_path / "tokenizer.json"
    path.write_text(bpe.to_str() + "\n")  # a content that no test has opened
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(flow.UnsupportedError, match=r"pip install pyflowdata\[tokenizers\]"):
        flow.Tokenize("a", tokenizer=path)
