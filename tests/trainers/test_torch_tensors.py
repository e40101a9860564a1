"""What blobs become in torch: bfloat16, batches padded to their longest row, nested tensors."""

import gc

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import TorchLoader, sink  # noqa: E402
from support.late_copies import FakeStream, LateCopies, fake_cuda, use_late_copies  # noqa: E402

RECORDS, BATCH = 23, 5
LENGTHS = [(7 * i) % 6 for i in range(RECORDS)]  # with some of 0
ROWS = [np.arange(n, dtype=np.float32) + 100 * i for i, n in enumerate(LENGTHS)]


def samples(**others):
    return [
        {"i": i, "x": ROWS[i], "y": (ROWS[i][:, None] * [1, -1]).astype(np.int64),
         "text": b"t" * LENGTHS[i]}
        for i in range(RECORDS)
    ]  # fmt: skip


def blobs(*names, rank=0, world_size=1, batch_size=BATCH):
    fields = ["i:int64", "x:float32[?]", "y:int64[?,2]", "text:bytes"]
    made = dict(zip(("i", "x", "y", "text"), flow.GeneratorReader(
        samples(), fields=fields, batch_size=batch_size, rank=rank, world_size=world_size
    ), strict=True))  # fmt: skip
    return [made[name] for name in names]


def batches_of_rows(batch_size=BATCH):
    return [range(b, min(b + batch_size, RECORDS)) for b in range(0, RECORDS, batch_size)]


# ---- bfloat16 -----------------------------------------------------------------------------------


def test_every_float32_is_rounded_as_torch_does():
    """A million of all: chosen bits around the middles, and random ones."""
    chance = np.random.default_rng(0)
    upper = chance.integers(0, 2**16, 250_000, np.uint32) << 16
    lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    bits = np.concatenate([upper | chance.choice(lower, len(upper)),
                           chance.integers(0, 2**32, 750_000, np.uint32)])  # fmt: skip
    given = bits.view(np.float32)
    x = flow.from_arrays({"x": given}).batch(1 << 18)["x"]
    with TorchLoader(flow.DataLoader(flow.Cast(x, dtype="bfloat16", overflow="wrap"))) as loader:
        found = torch.cat(list(loader))
    wanted = torch.from_numpy(given).to(torch.bfloat16)
    assert found.dtype == torch.bfloat16
    nan = np.isnan(given)
    assert torch.equal(found.view(torch.int16)[~nan], wanted.view(torch.int16)[~nan])
    assert found[nan].isnan().all()


@pytest.mark.parametrize("fields", [["x:bfloat16[2]", "y:bfloat16"],
                                    ["x:bfloat16[2]", "y:bfloat16", "r:bfloat16[?]"]])  # fmt: skip
def test_tensors_of_bfloat16_are_samples(fields):
    whole = torch.arange(12).reshape(6, 2).bfloat16() * 1.5
    samples = [(row, row[0], row[: i % 3])[: len(fields)] for i, row in enumerate(whole)]
    blobs = flow.GeneratorReader(samples, fields=fields, batch_size=6)
    with TorchLoader(flow.DataLoader(*blobs), ragged="jagged") as loader:
        (found,) = loader
    assert torch.equal(found[0], whole) and torch.equal(found[1], whole[:, 0])
    for row, sample in zip(found[2] if found[2:] else (), samples, strict=False):
        assert torch.equal(row, sample[2])


def test_bfloat16_is_the_memory_of_the_loader():
    rows = np.arange(8 * 3, dtype=np.float32).reshape(8, 3)
    x = flow.Affine(flow.from_arrays({"x": rows}).batch(4)["x"], scale=0.5, dtype="bfloat16")
    with TorchLoader(flow.DataLoader(x)) as loader:
        batch = next(iter(loader))
        assert loader.stats()["slots_held"] == 1
        kept = batch[1:]
        del batch
        for _ in range(3):
            list(loader)
        assert torch.equal(kept, torch.from_numpy(rows[1:4] * 0.5).bfloat16())
        del kept
        gc.collect()
        assert loader.stats()["slots_held"] == 0


# ---- Padded to the longest of each batch --------------------------------------------------------


@pytest.mark.parametrize("where", ["host", "device"])
def test_pad_batch_gives_a_tensor_as_long_as_the_longest(where, monkeypatch):
    if where == "device":
        fake_cuda(monkeypatch, FakeStream(), [])
    i, x, y = blobs("i", "x", "y")
    x, mask, lengths = flow.PadBatch(x, value=-1, with_mask=True, with_length=True)
    y = flow.Cast(flow.PadBatch(y, multiple_of=4), dtype="float32")
    loader = TorchLoader(flow.DataLoader({"i": i, "x": x, "y": y, "mask": mask, "n": lengths}))
    if where == "device":
        loader._hand_over.copies = LateCopies(loader.device)
    for rows, batch in zip(batches_of_rows(), loader, strict=True):
        longest = max(LENGTHS[row] for row in rows)
        wanted = np.full((len(rows), longest), -1, np.float32)
        for k, row in enumerate(rows):
            wanted[k, : LENGTHS[row]] = ROWS[row]
        assert batch["i"].tolist() == list(rows)
        assert np.array_equal(batch["x"].numpy(), wanted)
        assert np.array_equal(batch["mask"].numpy(), wanted != -1)
        assert batch["n"].tolist() == [LENGTHS[row] for row in rows]
        assert batch["y"].shape == (len(rows), -(-longest // 4) * 4, 2)
        assert np.array_equal(batch["y"][:, :longest, 1].numpy(), np.where(wanted < 0, 0, -wanted))
    loader.close()


def test_a_rank_without_rows_has_an_empty_padded_tensor():
    (x,) = blobs("x", rank=3, world_size=4, batch_size=20)
    with TorchLoader(flow.DataLoader(flow.PadBatch(x))) as loader:
        assert [tuple(batch.shape)[0] for batch in loader] == [5, 0]


def test_rows_that_happen_to_be_equal_are_taken_on_request():
    rows = [{"x": [i, i + 1.0]} for i in range(8)]
    x = flow.GeneratorReader(rows, fields="x:float32[?]", batch_size=4)
    with pytest.raises(flow.InvalidArgumentError, match="is ragged.*ragged='dense'"):
        TorchLoader(flow.DataLoader(x))
    with TorchLoader(flow.DataLoader(x), ragged="dense") as loader:
        assert torch.cat(list(loader)).tolist() == [row["x"] for row in rows]
    (x,) = blobs("x")
    with TorchLoader(flow.DataLoader(x), ragged="dense") as loader:
        with pytest.raises(flow.InvalidArgumentError, match="row 0 has shape"):
            next(iter(loader))


# ---- Nested tensors -----------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["host", "device", "sink"])
def test_ragged_columns_become_nested_tensors_that_share_their_offsets(where, monkeypatch):
    if where != "host":
        fake_cuda(monkeypatch, FakeStream(), [])
    i, x, y, text = blobs("i", "x", "y", "text")
    half = flow.Affine(x, scale=0.5, dtype="bfloat16")
    plain, found = flow.DataLoader(i, x, y, text, half), []

    def step(batch):
        ids, x, y, texts, half = batch
        assert x.layout == y.layout == torch.jagged and x.offsets() is y.offsets()
        weighed = (x.unsqueeze(-1) * y).sum(-1)  # computes with both
        found.append(
            (ids.tolist(), [row.tolist() for row in x.unbind()],
             [row.tolist() for row in y.unbind()], texts,
             [row.tolist() for row in weighed.unbind()], half.values().tolist())
        )  # fmt: skip

    if where == "sink":
        use_late_copies(monkeypatch)
        run = sink(plain, step, ragged="jagged")
        run()
        run.close()
    else:
        loader = TorchLoader(plain, ragged="jagged")
        if where == "device":
            loader._hand_over.copies = LateCopies(loader.device)
        for batch in loader:
            step(batch)
        loader.close()
    for rows, (ids, xs, ys, texts, weighed, halves) in zip(batches_of_rows(), found, strict=True):
        assert ids == list(rows)
        assert xs == [ROWS[row].tolist() for row in rows]
        assert ys == [(ROWS[row][:, None] * [1, -1]).tolist() for row in rows]
        assert texts == [b"t" * LENGTHS[row] for row in rows]
        assert weighed == [[0.0] * LENGTHS[row] for row in rows]
        whole = torch.from_numpy(np.concatenate([ROWS[row] for row in rows]) * 0.5)
        assert halves == whole.bfloat16().tolist()


def test_a_nested_tensor_is_no_copy_and_keeps_the_memory(monkeypatch):
    addresses, begin = [], flow.DataLoader._begin

    def remembered(loader, *args, **kwargs):
        for batch in begin(loader, *args, **kwargs):
            addresses.append((batch.values.ctypes.data, batch.row_splits.ctypes.data))
            yield batch

    monkeypatch.setattr(flow.DataLoader, "_begin", remembered)
    (x,) = blobs("x")
    plain = flow.DataLoader(flow.Affine(x))
    with TorchLoader(plain, ragged="jagged") as loader:
        nested = next(iter(loader))
        assert [(nested.values().data_ptr(), nested.offsets().data_ptr())] == addresses
        kept = nested.unbind()[1]
        del nested
        for _ in range(3):
            list(loader)
        assert kept.tolist() == ROWS[1].tolist(), "memory with a row in use is not written again"
        del kept
        gc.collect()
        assert plain.stats()["slots_held"] == 0


def test_offsets_of_other_lengths_are_not_shared():
    rows = [{"x": row, "twice": np.concatenate([row, row])} for row in ROWS]
    fields = ["x:float32[?]", "twice:float32[?]"]
    both = flow.GeneratorReader(rows, fields=fields, batch_size=BATCH)
    with TorchLoader(flow.DataLoader(*both), ragged="jagged") as loader:
        for x, twice in loader:
            assert x.offsets() is not twice.offsets()
            assert torch.equal(twice.offsets(), 2 * x.offsets())


def test_what_no_nested_tensor_can_be():
    images = [{"image": np.zeros((i + 1, 3), np.float32)} for i in range(4)]
    image = flow.GeneratorReader(images, fields="image:float32[?,?]", batch_size=2)
    with pytest.raises(flow.InvalidArgumentError, match="the first dimension of a row varies"):
        TorchLoader(flow.DataLoader(image), ragged="jagged")
    with pytest.raises(flow.InvalidArgumentError, match="None, 'dense' or 'jagged'"):
        TorchLoader(flow.DataLoader(image), ragged="nested")
    (x,) = blobs("x")
    said = "Pad makes them of one size, PadBatch .* ragged='jagged' gives nested tensors"
    with pytest.raises(flow.InvalidArgumentError, match=said):
        TorchLoader(flow.DataLoader(x))


def test_an_attention_over_a_batch_without_padding():
    """torch's own attention takes them, and gives what each row alone does."""
    rows = [{"x": np.random.default_rng(i).normal(size=(i % 4 + 1, 8)).astype(np.float32)}
            for i in range(6)]  # fmt: skip
    x = flow.GeneratorReader(rows, fields="x:float32[?,8]", batch_size=6)
    with TorchLoader(flow.DataLoader(x), ragged="jagged") as loader:
        batch = next(iter(loader))
    heads = batch.unflatten(-1, [2, 4]).transpose(1, 2)
    attend = torch.nn.functional.scaled_dot_product_attention
    found = attend(heads, heads, heads).transpose(1, 2).flatten(-2)
    for row, given in zip(found.unbind(), rows, strict=True):
        alone = torch.from_numpy(given["x"]).unflatten(-1, [2, 4]).transpose(0, 1)
        wanted = attend(alone, alone, alone).transpose(0, 1).flatten(-2)
        torch.testing.assert_close(row, wanted)
