"""A chain of augmentations gives a record the same pixels in an epoch, whatever is around it."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import pyflowdata as flow
from images.image_files import photo, saved

RECORDS, EPOCHS, SEED = 37, 2, 11
NORMAL = {"mean": flow.IMAGENET_MEAN, "std": flow.IMAGENET_STD}

Augmented = dict[tuple[int, int], bytes]  # (epoch, record) -> its pixels


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("images")
    for number in range(RECORDS):
        (path / str(number % 3)).mkdir(exist_ok=True)
        image = photo(50 + number, 90 - number, seed=number)
        (path / str(number % 3) / f"{number:02}.jpg").write_bytes(saved(image, "jpeg"))
    return path


def augmented(image, draws={}):  # noqa: B006
    """`draws` are those of a record, where `image` is an array."""
    image = flow.RandomResizedCrop(image, size=(24, 32), name="crop", **draws)
    image = flow.ColorJitter(image, brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1,
                             name="jitter", **draws)  # fmt: skip
    return flow.Normalize(flow.RandomFlip(image, name="flip", **draws), **NORMAL)


def open_loader(folder, threads=1, **reader):
    file, _, record = flow.ImageFolderReader(
        folder, random_shuffle=True, shuffle_after_epoch=True, seed=SEED, with_id=True, **reader
    )
    return flow.DataLoader(augmented(flow.ImageDecoder(file)), record, num_threads=threads)


def delivered(loader, epoch, batches=None) -> Augmented:
    found = {}
    for x, record in itertools.islice(loader, batches):
        assert x.shape[1:] == (3, 24, 32) and x.dtype == np.float32
        found |= {(epoch, int(n)): row.tobytes() for (_, n), row in zip(record, x, strict=True)}
    return found


@pytest.fixture(scope="module")
def truth(folder) -> Augmented:
    """What the ops answer, called on one image at a time."""
    files = sorted(folder.glob("*/*.jpg"))
    images = [flow.ImageDecoder(file.read_bytes()) for file in files]
    return {
        (epoch, number): augmented(
            image, {"seed": SEED, "epoch": epoch, "ordinal": number}).tobytes()
        for epoch in range(EPOCHS) for number, image in enumerate(images)
    }  # fmt: skip


def test_threads_batches_and_ranks_change_nothing(folder, truth):
    assert len(set(truth.values())) == RECORDS * EPOCHS, "no record is like another"
    for threads, batch_size, world_size in [(1, 3, 1), (4, 3, 1), (1, 8, 1), (4, 8, 1),
                                            (1, 8, 2), (4, 6, 2)]:  # fmt: skip
        found: Augmented = {}
        for rank in range(world_size):
            with open_loader(folder, threads, batch_size=batch_size, rank=rank,
                             world_size=world_size) as loader:  # fmt: skip
                for epoch in range(EPOCHS):
                    part = delivered(loader, epoch)
                    assert not part.keys() & found.keys()
                    found |= part
        assert found == truth, (threads, batch_size, world_size)


def test_so_does_a_resume_in_the_middle_of_an_epoch(folder, truth):
    with open_loader(folder, threads=4, batch_size=8) as loader:
        before = delivered(loader, 0) | delivered(loader, 1, batches=2)
        state = json.dumps(loader.state_dict())
    assert len(before) == RECORDS + 16
    after: Augmented = {}
    for rank in range(2):
        with open_loader(folder, batch_size=8, rank=rank, world_size=2) as loader:
            loader.load_state_dict(json.loads(state))
            after |= delivered(loader, 1)
    assert not before.keys() & after.keys()
    assert before | after == truth


def test_ops_draw_independently():
    """Flips of two ops are equal for about half of 4000 records, and so with CoinFlip."""
    image = np.arange(2, dtype=np.uint8).reshape(1, 2, 1)
    batch, draws = [image] * 4000, {"seed": SEED}
    first, second = (np.array(flow.RandomFlip(batch, name=name, **draws))[:, 0, 0, 0]
                     for name in ("first", "second"))  # fmt: skip
    coin = np.array(flow.CoinFlip(batch, name="coin", **draws))
    for one, other in itertools.combinations([first, second, coin], 2):
        assert 0.46 < (one == other).mean() < 0.54 and 0.46 < one.mean() < 0.54
