"""The command that writes tokens, compared with the package `tokenizers` called plainly."""

import json
import re
import signal
import time

import numpy as np
import pytest
from support import programs
from support.command import here  # noqa: F401
from support.tokenizer_files import texts, trained

from pyflowdata.cli import conversion
from pyflowdata.formats import open_source

pytest.importorskip("tokenizers", reason="the package tokenizers is not here")

TEXTS = [*texts(200, seed=2), ""]
SIZE = sum(len(one.encode()) for one in TEXTS)


@pytest.fixture(scope="module")
def plain():
    return trained("BPE")


@pytest.fixture(scope="module")
def files(plain, tmp_path_factory):
    """A file of JSON lines, and the tokenizer."""
    folder = tmp_path_factory.mktemp("texts")
    plain.save(str(folder / "tokenizer.json"))
    lines = (json.dumps({"id": i, "text": one}) + "\n" for i, one in enumerate(TEXTS))
    (folder / "docs.jsonl").write_text("".join(lines))
    return folder / "docs.jsonl", folder / "tokenizer.json"


def tokens_in(*paths):
    source = open_source([str(one) for one in paths])
    return [row.tolist() for batch in source.batches(batch_size=100) for row in batch["tokens"]]


def expected(plain, **options):
    return [one.ids for one in plain.encode_batch(TEXTS, **options)]


@pytest.mark.parametrize("shards", [1, 3])
def test_documents(here, plain, files, tmp_path, shards):
    source, tokenizer = files
    done = here("tokenize", source, tmp_path / "out", "--tokenizer", tokenizer, "--eos", "<eos>",
                "--no-special-tokens", "--shards", shards, "--jobs", 2)  # fmt: skip
    assert done.returncode == 0, done.stderr
    end = plain.token_to_id("<eos>")
    whole = [[*one, end] for one in expected(plain, add_special_tokens=False)]
    bins = sorted(tmp_path.glob("out*.bin"))
    assert len(bins) == shards and tokens_in(*bins) == whole
    count = sum(map(len, whole))
    assert f"{len(TEXTS)} documents, {count:,} tokens of uint16" in done.stdout
    assert f"({SIZE / count:.2f} bytes of text each)" in done.stdout
    assert sum(one.stat().st_size for one in bins) == 2 * count


@pytest.mark.parametrize(("name", "dtype"), [("out.npy", "uint16"), ("out.raw", "uint32")])
def test_one_array(here, plain, files, tmp_path, name, dtype):
    source, tokenizer = files
    out = tmp_path / name
    done = here("tokenize", source, out, "--tokenizer", tokenizer.parent, "--dtype", dtype,
                "--max-length", 9)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = np.load(out) if name.endswith("npy") else np.fromfile(out, dtype)
    cut = trained("BPE")
    cut.enable_truncation(9)
    assert found.dtype == dtype and found.tolist() == sum(expected(cut), [])


def test_a_run_that_is_killed_goes_on(here, plain, files, tmp_path):
    source, tokenizer = files
    many = tmp_path / "many.jsonl"
    many.write_text(source.read_text() * 10)
    arguments = ["tokenize", many, tmp_path / "out", "--tokenizer", tokenizer, "--shards", 10]
    manifest = tmp_path / ".out.convert" / "manifest.json"
    process = programs.start(
        programs.COMMAND, *arguments, "--jobs", 2, stderr=programs.PIPE
    )
    give_up = time.monotonic() + 60
    while not manifest.exists() and process.poll() is None and time.monotonic() < give_up:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL and not [*tmp_path.glob("out*")]
    done = here(*arguments, "--jobs", 1)
    assert done.returncode == 0 and re.search("[0-9] of 10 shards are there already", done.stderr)
    count = sum(map(len, expected(plain)))
    assert f"{10 * len(TEXTS):,} documents, {10 * count:,} tokens" in done.stdout
    assert f"({SIZE / count:.2f} bytes of text each)" in done.stdout
    assert tokens_in(*sorted(tmp_path.glob("out*.bin"))) == 10 * expected(plain)


def test_another_tokenizer_starts_again(here, files, tmp_path, monkeypatch):
    monkeypatch.setattr(conversion, "rows_of_batch", lambda *_: 3)
    path = tmp_path / "docs.txt"
    path.write_bytes(b"ba ko\n" * 8 + b"\xff\n")  # the last shard fails, the others are kept
    arguments = ["tokenize", path, tmp_path / "out", "--shards", 3, "--jobs", 1, "--tokenizer"]
    assert here(*arguments, files[1]).returncode == 1
    assert "2 of 3 shards are there already" in here(*arguments, files[1]).stderr
    other = trained("WordPiece")
    other.save(str(tmp_path / "tokenizer.json"))
    assert "starting again" in here(*arguments, tmp_path).stderr


def test_damaged_texts(here, plain, tmp_path, files):
    path = tmp_path / "docs.txt"
    path.write_bytes(b"ba ko\nri \xff\nte\n")
    arguments = ["tokenize", path, tmp_path / "out", "--tokenizer", files[1]]
    done = here(*arguments)
    assert done.returncode == 1 and "byte 3 of the text is 0xff" in done.stderr
    assert "docs.txt:2" in done.stderr
    done = here(*arguments, "--skip-damaged")
    assert done.returncode == 0 and "1 damaged record left out" in done.stderr
    assert tokens_in(tmp_path / "out.bin") == [plain.encode(one).ids for one in ("ba ko", "te")]


def test_wrong_calls(here, files, tmp_path):
    source, tokenizer = files
    out = tmp_path / "out"

    def said(*more, tokenizer=tokenizer):
        done = here("tokenize", source, out, "--tokenizer", tokenizer, *more)
        assert done.returncode in (1, 2) and not [*tmp_path.iterdir()]
        return done.stderr

    assert "say --field id:bytes" in said("--field", "id")
    assert "title" in said("--field", "title")
    assert "no such token" in said("--eos", "</s>")
    assert "no such token" in said("--eos", str(2**63))
    assert "files of documents have int32" in said("--dtype", "uint32")
    assert "No such file" in said(tokenizer="no.json")
    lines = tmp_path.parent / "two.jsonl"
    lines.write_text('{"a": "x", "b": "y"}\n')
    done = here("tokenize", lines, out, "--tokenizer", tokenizer)
    assert done.returncode == 2 and "say with --field which field has the text" in done.stderr
