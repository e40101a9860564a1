"""Lookup, and the vocabularies that it takes: against dicts and counters of Python."""

import collections
import json
import pickle

import numpy as np
import pytest

from support import programs
import pyflowdata as flow
from support.decoder_rows import load

WORDS = ["", "a", "Köln", "x" * 300, *(f"w{i % 977}" for i in range(977))]


def texts(count=20_000, seed=0):
    draw = np.random.default_rng(seed)
    return [WORDS[min(int(one), len(WORDS) - 1)] for one in draw.exponential(60, count)]


def data_of(given):
    return flow.from_arrays({"city": [one.encode() for one in given], "n": np.arange(len(given))})


@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_are_those_of_a_dict(threads):
    given = texts()
    cities = flow.Vocabulary.fit(data_of(given), "city")
    counts = collections.Counter(given)
    assert list(cities.words) == sorted(counts, key=lambda one: (-counts[one], one.encode()))
    numbers = {word: number for number, word in enumerate(cities.words)}
    found = load(
        flow.Lookup(data_of(given).batch(700)["city"], vocabulary=cities), num_threads=threads
    )
    assert found.dtype == np.int64 and found.tolist() == [numbers[one] for one in given]


@pytest.mark.parametrize("words", [["a\0", "a", "", "\0", "a", "ab", "", "ab"],
                                   [f"{i * i}" for i in range(9000)], ["same"] * 9000])  # fmt: skip
def test_words_are_counted_as_by_a_counter(words):
    counts = collections.Counter(words)
    expected = sorted(counts, key=lambda one: (-counts[one], one.encode()))
    assert list(flow.Vocabulary.fit(data_of(words), "city").words) == expected
    fixed = np.array([[*f"{one:4.4}".encode()] for one in words], np.uint8)
    counts = collections.Counter(row.tobytes().decode() for row in fixed)
    expected = sorted(counts, key=lambda one: (-counts[one], one.encode()))
    assert list(flow.Vocabulary.fit(flow.from_arrays({"x": fixed}), "x").words) == expected


def test_size_count_and_unknown():
    data = data_of(["b", "b", "b", "a", "a", "c", "c", "d"])
    fit = flow.Vocabulary.fit
    assert fit(data, "city", min_count=2).words == ("b", "a", "c")
    assert fit(data, "city", max_size=2).words == ("b", "a")
    cut = fit(data, "city", max_size=2, unknown="?")
    assert (cut.words, cut.unknown, len(cut)) == (("?", "b"), "?", 2)
    assert fit(data, "city", max_size=3, unknown="a").words == ("b", "a", "c")
    assert [int(one) for one in flow.Lookup([b"b", b"d", b""], vocabulary=cut)] == [1, 0, 0]
    strict = fit(data, "city")
    assert "d" in strict and "e" not in strict and strict[1] == "a"
    assert (strict.index("a"), strict.index(b"a"), cut.index("zz")) == (1, 1, 0)
    with pytest.raises(flow.InvalidArgumentError, match="no word 'e' in the vocabulary"):
        strict.index("e")
    with pytest.raises(TypeError, match=r"number of 'a' is vocabulary\.index\('a'\)"):
        strict["a"]
    with pytest.raises(TypeError, match=r"one field at a time: fit\(data, 'city'\)"):
        fit(data, ["city", "n"])
    with pytest.raises(flow.CorruptDataError, match="'e' is not among the 4 words") as caught:
        flow.Lookup([b"a", b"e"], vocabulary=strict)
    assert caught.value.row == 1


def test_it_is_a_value(tmp_path):
    cities = flow.Vocabulary(["Köln", b"\xff\0", "", "Rome"], unknown="?")
    cities.save(tmp_path / "v.json")
    (tmp_path / "v.txt").write_bytes("Köln\nRome\n".encode())
    for one in (pickle.loads(pickle.dumps(cities)), flow.Vocabulary.load(tmp_path / "v.json")):
        assert one == cities and hash(one) == hash(cities) and one.digest == cities.digest
        assert [int(n) for n in flow.Lookup([b"\xff\0", b"", b"-"], vocabulary=one)] == [2, 3, 0]
    with pytest.raises(flow.InvalidArgumentError, match="ends in .json"):
        cities.save(tmp_path / "v.txt")
    (tmp_path / "v.json").write_text((tmp_path / "v.json").read_text().replace("Rome", "Roma"))
    with pytest.raises(flow.CorruptDataError, match="checksum"):
        flow.Vocabulary.load(tmp_path / "v.json")
    (tmp_path / "bom.txt").write_bytes("Köln\r\nRome".encode("utf-8-sig"))
    assert flow.Vocabulary.load(tmp_path / "bom.txt").words == ("Köln", "Rome")
    lines = flow.Vocabulary.load(tmp_path / "v.txt", unknown="Rome")
    assert lines.words == ("Köln", "Rome") and lines != cities
    assert flow.Lookup(b"x", vocabulary=flow.Vocabulary([], unknown="?")) == 0
    for content in ("{", "[]", json.dumps({"kind": "x", "words": [], "unknown": None})):
        (tmp_path / "v.json").write_text(content)
        with pytest.raises(flow.CorruptDataError, match="no vocabulary"):
            flow.Vocabulary.load(tmp_path / "v.json")


RESUME = """
import json, sys
import pyflowdata as flow
data = flow.open(sys.argv[1]).map(
    flow.Lookup, "city", vocabulary=flow.Vocabulary(sys.argv[2].split()))
batch = data.shuffle(seed=1).batch(2)
with flow.DataLoader({"city": batch["city"]}) as loader:
    if len(sys.argv) > 3:
        loader.load_state_dict(json.loads(sys.argv[3]))
    batch = next(iter(loader))
    print(json.dumps([loader.state_dict(), batch["city"].tolist()]))
"""


def test_a_state_tells_other_words(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("city,n\n" + "".join(f"{'ab'[i % 2]},{i}\n" for i in range(8)))

    def run(*args):
        return programs.run(RESUME, path, *args)

    whole = flow.open(path).shuffle(seed=1).batch(2)
    with flow.DataLoader(whole["city"]) as loader:
        truth = [[[b"a", b"b"].index(text) for text in city.to_bytes_list()] for city in loader]
    state, first = json.loads(run("a b").stdout)
    assert first == truth[0]
    assert json.loads(run("a b", json.dumps(state)).stdout)[1] == truth[1]
    other = run("b a", json.dumps(state))
    assert other.returncode and "the vocabulary was changed" in other.stderr


def test_what_is_no_vocabulary():
    data = data_of(["a", "b"])
    with pytest.raises(flow.InvalidArgumentError, match="it must be a Vocabulary"):
        flow.Lookup(b"a", vocabulary=["a"])
    with pytest.raises(flow.InvalidArgumentError, match="'n' is no text"):
        flow.Vocabulary.fit(data, "n")
    with pytest.raises(flow.InvalidArgumentError, match="town"):
        flow.Vocabulary.fit(data, "town")
    for changing in (data.repeat(), data.shuffle().take(1)):
        with pytest.raises(flow.InvalidArgumentError, match="before"):
            flow.Vocabulary.fit(changing, "city")
        with pytest.raises(flow.InvalidArgumentError, match="before"):
            flow.Statistics.fit(changing, "n")
    with pytest.raises(flow.InvalidArgumentError, match="'a' twice"):
        flow.Vocabulary(["a", "b", "a"])
    with pytest.raises(flow.InvalidArgumentError, match="no word of a vocabulary"):
        flow.Vocabulary([1])
    with pytest.raises(flow.InvalidArgumentError, match="a list of words"):
        flow.Vocabulary("abc")
    with pytest.raises(flow.InvalidArgumentError, match="must be 1 or more"):
        flow.Vocabulary.fit(data, "city", max_size=0)
    with pytest.raises(flow.InvalidArgumentError, match="uint8"):
        flow.Lookup(np.zeros(3), vocabulary=flow.Vocabulary(["a"]))
    numbers = [*map(int, flow.Lookup([b"b", b"a"], vocabulary=flow.Vocabulary(["a", "b"])))]
    assert np.stack(flow.OneHot(numbers, depth=2)).tolist() == [[0, 1], [1, 0]]
