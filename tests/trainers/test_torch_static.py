"""static=True: each batch is in the same tensors, which torch.compile and CUDA graphs ask for."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import TorchLoader, sink  # noqa: E402
from support.late_copies import FakeStream, LateCopies, fake_cuda  # noqa: E402

RECORDS, BATCH = 26, 4
X = np.random.default_rng(0).normal(size=(RECORDS, 3)).astype(np.float32)


def plain(last="drop", form=tuple, **attrs):
    data = flow.from_arrays({"i": np.arange(RECORDS), "x": X}).shuffle(seed=5)
    batch = data.batch(BATCH, last=last, **attrs)
    return flow.DataLoader({"i": batch["i"], "x": batch["x"]} if form is dict
                           else (batch["i"], batch["x"]))  # fmt: skip


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("form", [tuple, dict])
def test_batches_of_all_epochs_are_in_the_same_tensors(form, where, monkeypatch):
    with plain(form=form) as own:
        wanted = [batch["i"] if form is dict else batch[0] for _ in range(2) for batch in own]
        wanted = [ids.tolist() for ids in wanted]
    if where == "device":
        fake_cuda(monkeypatch, FakeStream(), [])
    with TorchLoader(plain(form=form), static=True) as loader:
        assert repr(loader).endswith(", static=True)")
        if where == "device":
            loader._hand_over.copies = LateCopies(loader.device)
        places, seen, states = set(), [], []
        for _ in range(2):
            for batch in loader:
                ids, x = batch.values() if form is dict else batch
                assert torch.equal(x, torch.from_numpy(X[ids.numpy()]))
                places.add((ids.data_ptr(), x.data_ptr(), id(ids), id(x), type(batch)))
                seen.append(ids.tolist())
                states.append(loader.state_dict())
        assert len(places) == 1 and seen == wanted
        loader.load_state_dict(states[8])
        (ids, *_) = next(iter(loader)).values() if form is dict else next(iter(loader))
        assert ids.tolist() == wanted[9] and (ids.data_ptr(), id(ids)) == (
            next(iter(places))[0], next(iter(places))[2],
        )  # fmt: skip


def test_a_batch_may_be_kept_by_a_copy_alone():
    with TorchLoader(plain(), static=True) as loader:
        batches = iter(loader)
        ids, _ = next(batches)
        first, copy = ids.tolist(), ids.clone()
        second, _ = next(batches)
        assert second is ids and ids.tolist() != first and copy.tolist() == first


def test_a_batch_may_be_used_for_inference_and_for_gradients():
    whole = [row.tolist() for row in X]
    with TorchLoader(plain(), static=True) as loader:
        with torch.inference_mode():
            ids, x = next(iter(loader))  # as Lightning's sanity check takes it
        for ids, x in loader:
            assert x.tolist() == [whole[i] for i in ids]
            x.requires_grad_(True)
            x.sum().backward()


def test_a_compiled_step_is_compiled_once():
    compiled = []

    def backend(graph, _inputs):
        compiled.append(graph)
        return graph.forward

    model = torch.nn.Linear(3, 2)
    step = torch.compile(lambda x: model(x).square().mean(), backend=backend)
    with TorchLoader(plain(), static=True) as loader:
        for _ in range(2):
            for _, x in loader:
                torch.testing.assert_close(step(x), model(x).square().mean())
    assert len(compiled) == 1


def test_a_compiled_step_that_may_not_compile_again_sees_a_short_batch():
    """The test above can fail: it would show batches of other shapes."""
    torch._dynamo.reset()
    compiled = []

    def backend(graph, _inputs):
        compiled.append(graph)
        return graph.forward

    step = torch.compile(lambda x: x.square().mean(), backend=backend)
    with TorchLoader(plain("short")) as loader:
        for _, x in loader:
            step(x)
    assert len(compiled) == 2


@pytest.mark.parametrize("last", ["pad", "wrap"])
def test_a_last_batch_that_is_filled_has_its_rows(last):
    with TorchLoader(plain(last), static=True) as loader:
        assert [len(ids) for ids, _ in loader] == [BATCH] * 7


def test_loaders_whose_batches_differ_are_refused():
    with pytest.raises(flow.InvalidArgumentError, match="static=True, and .*short last batch"):
        TorchLoader(plain("short"), static=True)
    rows = [{"x": [0.0] * i} for i in range(8)]
    x = flow.GeneratorReader(rows, fields="x:float32[?]", batch_size=4)
    for blob in (x, flow.PadBatch(x)):
        with pytest.raises(flow.InvalidArgumentError, match="one shape are needed; Pad makes"):
            TorchLoader(flow.DataLoader(blob), ragged="dense", static=True)
    with TorchLoader(flow.DataLoader(flow.Pad(x, shape=[8])), static=True) as loader:
        assert len({batch.data_ptr() for batch in loader}) == 1
    with pytest.raises(flow.InvalidArgumentError, match="static=True and pin_memory=True"):
        TorchLoader(plain(), static=True, pin_memory=True)
    with TorchLoader(plain(), static=True) as loader:
        with pytest.raises(flow.InvalidArgumentError, match=r"give its DataLoader, loader\.loader"):
            sink(loader, print)
