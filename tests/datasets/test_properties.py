"""Random pipelines of views, killed and resumed on 1, 3 and 8 ranks: the short form of soak.py, and
that it would show a fault."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pyflowdata as flow
from support.views import pipelines, soak, view_model
from support.views.pipelines import NT, Generator, Made, N, T, V
from support.views.view_model import Batching, Model
from support.oracle import fewer


def test_what_is_delivered_is_the_models(tmp_path):
    batches = noticed = 0
    for seed in range(max(8, fewer(60))):
        folder = tmp_path / str(seed)
        folder.mkdir()
        run = soak.run_pipeline(seed, folder, most_steps=6)
        batches += run.batches
        noticed += run.noticed
    assert batches > 5 * seed and noticed > 0


def test_several_records_of_one_and_one_of_several(tmp_path, monkeypatch):
    """More pipelines that end in elements, windows and runs."""
    more = (pipelines.W, pipelines.G, pipelines.E, pipelines.F) * 4
    monkeypatch.setattr(pipelines, "SCHEMAS", (*pipelines.SCHEMAS, *more))
    seen = set()
    for seed in range(10_000, 10_000 + max(12, fewer(48))):
        folder = tmp_path / str(seed)
        folder.mkdir()
        seen |= {*soak.run_pipeline(seed, folder, parts=2, most_steps=4).pipeline.text.split()}
    assert seen >= {"explode", "elements", "parts", "windows", "runs"}


def test_sources_with_blocks(tmp_path, monkeypatch):
    """Row groups of Parquet and compressed record batches of Arrow, below views and alone: a
    shuffle in windows keeps groups together where batches are made of a source itself."""
    kinds, in_windows, make = dict(pipelines.FORMATS), 0, Generator.make

    def source(self, schema, depth, *, at_top=False):
        is_source = at_top and schema in kinds["parquet"]
        return self.source(schema) if is_source else make(self, schema, depth, at_top=at_top)

    for number in range(48, 48 + max(8, fewer(100))):  # 49 and 53 have a shuffle in windows
        is_view = number % 4 == 0
        names = ("arrow", "parquet") if is_view else ("parquet",)
        monkeypatch.setattr(pipelines, "FORMATS", {name: kinds[name] for name in names})
        monkeypatch.setattr(Generator, "make", make if is_view else source)
        folder = tmp_path / str(number)
        folder.mkdir()
        made = soak.run_pipeline(20_000 + number, folder, parts=2, most_steps=4).pipeline
        in_windows += bool(made.model.blocks) and made.batching.shuffle == "window"
    assert in_windows > 1


def test_killed_processes(tmp_path):
    """SIGKILL in the middle of work; the state that was saved last counts."""
    steps = 0
    for seed in range(5):
        folder = tmp_path / str(seed)
        folder.mkdir()
        steps = steps or soak.run_killed(seed, folder, parts=2)  # 0: not one for this
    assert steps >= 2


def two_data_sets(seed: int, folder: Path) -> list[tuple[Made, Model]]:
    """Two pipelines of equal length, without damage; their batches have the same seed."""
    made = []
    for number in range(2):
        own = folder / str(number)
        own.mkdir()
        generator = Generator(2 * seed + number, own, None)
        generator.may_damage, generator.seed, generator.num_flips = False, 7, 100 * number
        made.append(generator.make((V, N, T, NT)[(seed + number) % 4], 2))
    size = min(one.size for one in made)
    rows = [Made(one.data.take(size), view_model.take(one.node, size), size, one.schema)
            for one in made]  # fmt: skip
    batching = Batching(24, ("short", "drop", "pad", "wrap")[seed % 4], 7, "raise")
    return [(one, Model(one.node, batching, one.schema)) for one in rows]


def test_two_data_sets_in_one_loader(tmp_path):
    """Each has its own views; their batches come side by side."""
    for seed in range(max(4, fewer(8))):
        folder = tmp_path / str(seed)
        folder.mkdir()
        both = two_data_sets(seed, folder)
        last = both[0][1].batching.last
        for rank, world_size in ((0, 1), (2, 3)):
            blobs = {
                f"{number}.{name}": blob
                for number, (made, _) in enumerate(both)
                for name, blob in made.data.batch(
                    24, last=last, seed=7, rank=rank, world_size=world_size,
                    with_mask=True, with_id=True).blobs.items()
            }  # fmt: skip
            with flow.DataLoader(blobs, num_threads=2) as loader:
                assert len(loader) == both[0][1].num_batches
                for epoch in range(2):
                    for step, batch in enumerate(loader):
                        for number, (made, model) in enumerate(both):
                            own = {name[2:]: values for name, values in batch.items()
                                   if name.startswith(f"{number}.")}  # fmt: skip
                            expected = model.batch(epoch, step, rank, world_size)
                            soak.compare(own, expected, dict(made.schema))


@pytest.mark.slow
def test_a_fault_is_found(tmp_path, monkeypatch):
    """A model with another draw, order or repeat does not agree with what is delivered."""

    def failures(pipelines: int = 24) -> Iterator[bool]:
        for seed in range(pipelines):
            folder = tmp_path / str(next(numbers))
            folder.mkdir()
            try:
                soak.run_pipeline(seed, folder, parts=1, most_steps=6)
                yield False
            except AssertionError:
                yield True

    numbers = itertools.count()
    monkeypatch.setattr(soak, "change_a_file", lambda *_: "")  # its error would come first
    count_draw, permutation = view_model.count_draw, view_model.permutation
    with monkeypatch.context() as patched:
        patched.setattr(view_model, "count_draw", lambda draw, number: count_draw(draw, number + 1))
        assert any(failures()) and not all(failures())
    with monkeypatch.context() as patched:
        patched.setattr(view_model, "permutation", lambda key, n: permutation(key ^ 1, n))
        assert len([*itertools.islice(filter(None, failures()), 5)]) == 5
    with monkeypatch.context() as patched:
        patched.setattr(soak.Run, "following", lambda self, place: [place[0], place[1] + 2])
        assert sum(failures(8)) > 6  # one may have no batches


@flow.register_decoder(outputs={"ids": ("int64", (2,))}, replace=True)
def ids_of_rows(x, *, ids):
    return ids


@flow.register_decoder(outputs={"ids": ("int64", (2,))}, per="row", replace=True)
def ids_of_row(x, *, ids):
    return ids


def test_functions_are_told_the_records_whatever_tells_their_draws_apart(tmp_path):
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.arange(5))
    a, b = (flow.Dataset(flow.NpyReader(files=str(tmp_path / f"{name}.npy"))) for name in "ab")
    with_ids = [flow.Dataset({"out": one["out"], "ids": flow.ops.IdsOfRow(one["out"])})
                for one in (a, b)]  # fmt: skip
    data = with_ids[0].concat(with_ids[1]).repeat(3).shuffle()
    batches = data.batch(30, seed=1, with_id=True)
    outside = flow.ops.IdsOfRows(batches["out"])
    with flow.DataLoader(batches["ids"], outside, batches["id"]) as loader:
        for inside, found, expected in loader:
            assert np.array_equal(inside, expected)
            assert np.array_equal(found, expected)
            assert np.array_equal(np.unique(expected[:, 0]), [0, 1])


def weights_changed_at(row: int, folder: Path, batch_size: int) -> flow.DataLoader:
    np.save(folder / "a.npy", np.arange(30))
    sources = [flow.Dataset({"n": flow.NpyReader(files=str(folder / "a.npy"))}) for _ in range(2)]
    data = flow.mix(sources, weights={0: [1, 1], row: [1, 3]} if row else [1, 1], length=40)
    return flow.DataLoader(data.batch(batch_size, seed=0).blobs)


@pytest.mark.parametrize("batch_size, batches, delivered", [(24, 1, 24), (48, 1, 40), (20, 1, 20)])
def test_weights_may_change_at_the_next_row(tmp_path, batch_size, batches, delivered):
    """Also where fewer rows than a batch are left of the epoch, or where all of it is one batch."""
    with weights_changed_at(0, tmp_path, batch_size) as loader:
        for _ in zip(range(batches), loader):
            pass
        state = json.loads(json.dumps(loader.state_dict()))
    with weights_changed_at(delivered, tmp_path, batch_size) as loader:
        loader.load_state_dict(state)
        next(iter(loader))
    with weights_changed_at(delivered - 1, tmp_path, batch_size) as loader:
        with pytest.raises(flow.InvalidArgumentError, match="weights"):
            loader.load_state_dict(state)
