"""What state_dict() holds, and which states load_state_dict() takes."""

import json

import numpy as np
import pytest

import pyflowdata as flow
from support.face import epoch_of, epoch_of_number, loader, make_loader, rows


def test_state_is_small_and_json():
    long = "a_reader_with_a_name_that_says_very_much_about_what_it_is_for"
    blobs = [rows(name=f"{long}_{n}", order_key="k" * 900, seed=2**62) for n in range(2)]
    with flow.DataLoader(*blobs) as opened:
        state = opened.state_dict()
        text = json.dumps(state)
        assert len(text) < 1024
        opened.load_state_dict(json.loads(text))
        assert opened.state_dict() == state


@pytest.mark.parametrize("count", range(1, 9))
@pytest.mark.parametrize("letter", ["n", "é", "\U0001f600", '"'])
def test_state_of_many_readers_is_small(count, letter):
    attrs = {"random_shuffle": True, "seed": 2**62, "order_key": "k" * 900}
    names = [f"{letter * 60}_{n}" for n in range(count)]
    with flow.DataLoader([rows(name=name, **attrs) for name in names]) as opened:
        opened.seek(4, epoch=2**62)
        state = opened.state_dict()
        assert (state["epoch"], len(state["readers"])) == (2**62, count)
        assert len(json.dumps(state)) < 1024


def test_state_of_many_readers_names_those_that_differ():
    def opened(**attrs):
        blobs = [rows(name=f"r{n}", seed=n) for n in range(7)]
        return flow.DataLoader([*blobs, rows(name="r7", seed=3, **attrs)])

    with opened() as one, opened(random_shuffle=True) as other:
        next(iter(one))
        state = json.loads(json.dumps(one.state_dict()))
        assert isinstance(state["readers"]["r7"]["spec"], str)
        with pytest.raises(flow.InvalidArgumentError) as caught:
            other.load_state_dict(state)
        assert "r7: the attrs that decide the order are others" in str(caught.value)
        assert "r6" not in str(caught.value) and "files" not in str(caught.value)
        one.load_state_dict(state)
        assert one.state_dict() == state and len(list(one)) == 4
        mixed = {**state["readers"], "r7": {**state["readers"]["r7"], "spec": {}}}
        with pytest.raises(flow.InvalidArgumentError, match="malformed"):
            one.load_state_dict({**state, "readers": mixed})


def test_a_state_too_large_for_words_names_each_attr_with_both_values():
    def opened(length=512, batch=8, rule="best_fit"):
        rows = [np.arange(number % 50 + 1) for number in range(300)]
        packed = flow.from_arrays({"x": rows}).shuffle(seed=3).pack(length, field="x", rule=rule)
        return flow.DataLoader(packed.batch(batch))

    with opened() as one:
        state = json.loads(json.dumps(one.state_dict()))
        assert isinstance(state["readers"]["BatchDataset_0"]["spec"], str)
        one.load_state_dict(state)
    for changes, said in (
        ({"length": 256}, "0:PackDataset.length = 256, in the state 512\nto go on"),
        ({"batch": 4}, "batch_size = 4, in the state 8\na position counts batches"),
        ({"rule": "chunk"}, "0:PackDataset.rule = chunk, in the state best_fit\nto go on"),
    ):
        with opened(**changes) as other, pytest.raises(flow.InvalidArgumentError) as caught:
            other.load_state_dict(state)
        assert f"\n  - BatchDataset_0: {said}" in str(caught.value)


@pytest.mark.parametrize("key, value", [("extra", b"x"), (1, "1"), ("extra", {1, 2})])
def test_what_json_does_not_have_is_malformed(loader, key, value):
    state = loader.state_dict()
    next(iter(state["readers"].values()))[key] = value
    with pytest.raises(flow.InvalidArgumentError, match="malformed"):
        loader.load_state_dict(state)


def test_names_in_a_state_are_unique():
    names = ["MiniReader_2", "MiniReader_2#2", None, "MiniReader_2#3"]
    with flow.DataLoader([rows(name=name, seed=n) for n, name in enumerate(names)]) as opened:
        state = opened.state_dict()
        assert [reader["seed"] for reader in state["readers"].values()] == [0, 1, 2, 3]
        opened.load_state_dict(state)
        assert opened.state_dict() == state


def test_last_epochs(loader):
    state = {**loader.state_dict(), "version": 1}
    del state["sum"]  # which this version does not have
    for epoch in (2**62 + 1, 2**63 - 1, 2**63, 10**5000):
        with pytest.raises(flow.InvalidArgumentError, match="malformed: epoch"):
            loader.load_state_dict({**state, "epoch": epoch})
    for begin in (iter, flow.DataLoader.repeat):
        loader.load_state_dict({**state, "epoch": 2**62 - 1, "position": 4})
        batches = begin(loader)
        next(batches)
        if begin is iter:
            assert list(batches) == []
        last = loader.state_dict()
        assert (last["epoch"], last["position"]) == (2**62, 0)
        loader.load_state_dict(last)
        assert loader.state_dict() == last
        with pytest.raises(flow.InvalidArgumentError, match="no epoch after"):
            begin(loader)
        assert loader.state_dict() == last


@pytest.mark.parametrize("stop", range(11))
def test_resume(loader, stop):
    expected = sum((epoch_of_number(number) for number in range(3)), [])
    endless = loader.repeat()
    for _ in range(stop):
        next(endless)
    state = loader.state_dict()
    assert (state["epoch"], state["position"]) == divmod(stop, 5)
    attrs = {"random_shuffle": True, "shuffle_after_epoch": True, "seed": 1}
    with make_loader(attrs, num_threads=1, prefetch=1) as other:
        other.load_state_dict(state)
        assert other.state_dict() == state
        assert (other.epoch, "seed=5" in repr(other)) == (stop // 5, True)
        rest = epoch_of(other)
        assert rest == expected[stop : stop // 5 * 5 + 5]
        other.load_state_dict(state)
        again = other.repeat()
        assert epoch_of(next(again) for _ in range(15 - stop)) == expected[stop:]


def test_load_stops_iterators(loader):
    iterator = iter(loader)
    next(iterator)
    loader.load_state_dict(loader.state_dict())
    with pytest.raises(flow.CancelledError, match="state was loaded"):
        next(iterator)
    assert len(list(loader)) == 4


def test_state_of_another_loader_is_refused(loader):
    state = loader.state_dict()
    with make_loader({"batch_size": 2, "random_shuffle": True, "last_batch": "drop"}) as other:
        with pytest.raises(flow.InvalidArgumentError) as caught:
            other.load_state_dict(state)
        assert other.epoch == 0 and len(list(other)) == 9
    for part in ("batch_size = 2, in the state 4", "last_batch = drop, in the state short"):
        assert part in str(caught.value)
    with make_loader({"name": "other"}) as other:
        with pytest.raises(flow.InvalidArgumentError, match="'MiniReader_0'(.|\n)*'other'"):
            other.load_state_dict(state)


def test_state_of_other_files_is_refused(tmp_path):
    def opened():
        return flow.DataLoader(flow.MiniReader(tmp_path, name="r"))

    (tmp_path / "part-0").write_text("1,2\n3,4\n")
    with opened() as first:
        state = first.state_dict()
    (tmp_path / "part-0").write_text("1,2\n3,5\n")
    with opened() as changed, pytest.raises(flow.InvalidArgumentError, match="other content"):
        changed.load_state_dict(state)
    (tmp_path / "part-1").write_text("5,6\n")
    with opened() as more, pytest.raises(flow.InvalidArgumentError) as caught:
        more.load_state_dict(state)
    assert "r: the data has 2 files, in the state 1" in str(caught.value)
    assert "r: the data has 3 records, in the state 2" in str(caught.value)


def change(**values):
    return lambda state: {**state, **values}


@pytest.mark.parametrize(
    "damage, says",
    [
        (lambda state: None, "NoneType"),
        (lambda state: {}, r"no version; give what DataLoader.state_dict\(\) returned"),
        (change(version=True), "version True"),
        (change(version=1.0), "version 1.0"),
        (change(version=np.array([1, 1])), "version array"),
        (change(epoch=np.array([1, 1])), "epoch = array"),
        (change(position="0" * 10**6), "position = '000"),
        (change(readers={3: {}}), "3 in readers"),
        (change(version=3), "version 3"),
        (change(epoch=-1), "epoch = -1"),
        (change(epoch=1.0), "epoch = 1.0"),
        (change(epoch=2**62 + 1), "epoch = 4611686018427387905"),
        (change(position="0"), "position = '0'"),
        (change(position=6), "has 5 batches"),
        (change(position=True), "position = True"),
        (change(readers=[]), "readers = \\[\\]"),
        (change(readers={"MiniReader_0": 1}), "must be a dict"),
        (change(readers={"MiniReader_0": {"spec": {}}}), "seed = None"),
        (change(readers={"MiniReader_0": {"spec": {"a": np.zeros(2)}}}), "spec.a = array"),
        (change(readers={"MiniReader_0": {"spec": {3: "4"}}}), "the key 3"),
    ],
)
def test_damaged_state_is_refused(loader, damage, says):
    state = loader.state_dict()
    with pytest.raises(flow.InvalidArgumentError, match=says):
        loader.load_state_dict(damage(state))
    assert loader.state_dict() == state


# ---- Seeking ------------------------------------------------------------------------------------


def test_seek_is_a_state_with_another_position(loader):
    expected = [epoch_of_number(0), epoch_of_number(1)]
    for epoch, position in [(0, 3), (1, 0), (1, 2), (0, 1)]:
        loader.seek(position, epoch=epoch)
        state = loader.state_dict()
        assert (state["epoch"], state["position"]) == (epoch, position)
        assert epoch_of(loader) == expected[epoch][position:]
    loader.seek(2)
    assert loader.state_dict()["epoch"] == 1  # behind the end of epoch 0
    assert epoch_of(loader) == expected[1][2:]


def test_seek_to_the_end_is_the_next_epoch(loader):
    loader.seek(len(loader))
    assert epoch_of(loader) == epoch_of_number(1)


def test_seek_ends_iterators(loader):
    batches = iter(loader)
    next(batches)
    loader.seek(0)
    with pytest.raises(flow.CancelledError):
        next(batches)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({"position": 6}, r"position = 6; it must be an int in \[0, 5\]"),
        ({"position": -1}, "position = -1"),
        ({"position": 1.0}, "position = 1.0"),
        ({"position": True}, "position = True"),
        ({"position": 0, "epoch": -1}, "epoch = -1"),
        ({"position": 0, "epoch": 2**62 + 1}, "epoch = 4611686018427387905"),
    ],
)
def test_seek_refuses_what_is_no_place(loader, place, text):
    state = loader.state_dict()
    with pytest.raises(flow.InvalidArgumentError, match=text):
        loader.seek(**place)
    assert loader.state_dict() == state


def test_what_a_loader_reads(loader):
    (reader,) = loader.readers
    assert (reader.op, reader.seed, reader.records, reader.batch_size) == ("MiniReader", 5, 18, 4)
    assert [blob.name for blob in loader.blobs] == ["MiniDecoder/x", "MiniDecoder/y"]
