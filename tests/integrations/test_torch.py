"""Batches as torch tensors, the Stateful contract, and states in torch's own checkpoints."""

import contextlib
import gc
import itertools
import json
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")

import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader

from support.files import lines, rows, write_parts
from support.late_copies import FakeEvent, FakeStream, LateCopies, fake_cuda

RECORDS = 29
STEPS = 8  # of 4 records each, the last of one


@pytest.fixture
def folder(tmp_path):
    return write_parts(tmp_path / "parts", lines(0, 11), lines(11, RECORDS))


ATTRS = dict(batch_size=4, random_shuffle=True, shuffle_after_epoch=True)


def make_loader(folder, *, form=tuple, seed=3, rank=0, world_size=1, **options):
    numbers, ids = flow.MiniReader(
        folder, name="numbers", seed=seed, rank=rank, world_size=world_size, with_id=True, **ATTRS
    )
    blobs = {"ids": ids, "numbers": numbers} if form is dict else (ids, numbers)
    return flow.DataLoader(blobs, **{"num_threads": 2, **options})


# ---- Fake streams -------------------------------------------------------------------------------


class FakeDevice:
    def __init__(self, monkeypatch):
        self.user_stream = FakeStream()
        self.recorded = []  # tensors that the allocator knows the user's stream uses
        fake_cuda(monkeypatch, self.user_stream, self.recorded)

    def open(self, folder, **options):
        opened = TorchLoader(make_loader(folder, **options))
        opened._hand_over.copies = LateCopies(opened.device)
        return opened


@pytest.fixture
def device(monkeypatch):
    return FakeDevice(monkeypatch)


def opener(kind, monkeypatch):
    if kind == "device":
        return FakeDevice(monkeypatch).open
    if kind == "host":
        return lambda folder, **options: TorchLoader(make_loader(folder, **options))
    return make_loader


@pytest.fixture(params=["host", "device"])
def open_torch(request, monkeypatch):
    """Opens a TorchLoader: one that views the loader's memory, or one that copies ahead."""
    return opener(request.param, monkeypatch)


@pytest.fixture(params=["DataLoader", "host", "device"])
def open_any(request, monkeypatch):
    """Opens a DataLoader, or a TorchLoader over one."""
    return opener(request.param, monkeypatch)


def as_list(batch):
    ids, numbers = batch
    return [(int(i[1]), *n) for i, n in zip(ids, numbers.tolist(), strict=True)]


def expected(folder, epochs, **options):
    with make_loader(folder, **options) as loader:
        return [as_list(batch) for _ in range(epochs) for batch in loader]


# ---- Tensors ------------------------------------------------------------------------------------


def test_tensors_view_the_loaders_memory(folder):
    with make_loader(folder) as plain, TorchLoader(plain) as loader:
        assert len(loader) == STEPS and loader.loader is plain and str(loader.device) == "cpu"
        ids, numbers = next(iter(loader))
        assert isinstance(numbers, torch.Tensor)
        assert (numbers.dtype, tuple(numbers.shape)) == (torch.float64, (4, 2))
        view = numbers[1:3]
        kept = view.clone()
        del ids, numbers
        assert plain.stats()["slots_held"] == 1, "a view keeps the memory"
        for _ in range(3):
            assert sum(1 for _ in loader) == STEPS
        assert torch.equal(view, kept), "memory with a view on it is not written again"
        del view
        gc.collect()
        assert plain.stats()["slots_held"] == 0


def test_a_tensor_is_no_copy(folder, monkeypatch):
    addresses = []
    whole = flow.DataLoader._begin

    def remembered(loader, *args, **kwargs):
        for batch in whole(loader, *args, **kwargs):
            addresses.append([array.ctypes.data for array in batch])
            yield batch

    monkeypatch.setattr(flow.DataLoader, "_begin", remembered)
    with TorchLoader(make_loader(folder)) as loader:
        for batch, known in zip(loader, addresses, strict=False):
            assert [tensor.data_ptr() for tensor in batch] == known
    assert len(addresses) == STEPS


def test_tensors_outlive_the_loader(folder):
    with TorchLoader(make_loader(folder)) as loader:
        batches = list(loader)
    del loader
    gc.collect()
    read = torch.cat([numbers for _, numbers in batches])
    assert np.array_equal(read[read[:, 0].argsort()].numpy(), rows(0, RECORDS))


@pytest.mark.parametrize("form", [tuple, dict])
def test_a_batch_keeps_its_form(folder, open_torch, form):
    with open_torch(folder, form=form) as loader:
        batches = list(loader)
    assert len(batches) == STEPS
    assert all(type(batch) is form for batch in batches)
    if form is dict:
        assert all(list(batch) == ["ids", "numbers"] for batch in batches)
        batches = [tuple(batch.values()) for batch in batches]
    assert [as_list(batch) for batch in batches] == expected(folder, 1)
    one = TorchLoader(flow.DataLoader(flow.MiniReader(folder)))
    assert isinstance(next(iter(one)), torch.Tensor)
    one.close()


def test_a_rank_without_rows_gets_empty_tensors(folder, open_torch):
    with open_torch(folder, rank=3, world_size=4) as loader:
        last = list(loader)[-1]
    assert tuple(last[1].shape) == (0, 2)


def test_what_torch_cannot_do_is_said(folder, monkeypatch):
    loader = make_loader(folder)
    with pytest.raises(flow.InvalidArgumentError, match="takes a pyflowdata.DataLoader"):
        TorchLoader([1, 2])
    with pytest.raises(flow.InvalidArgumentError, match="'cud' is not a device that torch knows"):
        TorchLoader(loader, device="cud")
    with pytest.raises(flow.UnsupportedError, match="'cpu' or 'cuda'"):
        TorchLoader(loader, device="meta")

    from_numpy = torch.from_numpy

    def older(array):
        if array.dtype == loader.blobs[0].dtype:
            raise TypeError("can't convert np.ndarray of this type")
        return from_numpy(array)

    monkeypatch.setattr(torch, "from_numpy", older)
    name, dtype = loader.blobs[0].name, loader.blobs[0].dtype
    with pytest.raises(flow.UnsupportedError, match=f"{name} has dtype {dtype}, for which torch"):
        TorchLoader(loader)
    loader.close()


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_without_cuda(folder):
    with make_loader(folder) as loader:
        with pytest.raises(flow.UnsupportedError, match="is_available.. is false"):
            TorchLoader(loader, device="cuda")
        pinned = TorchLoader(loader, pin_memory=True)
        assert [as_list(batch) for batch in pinned] == expected(folder, 1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA")
def test_with_cuda(folder):
    with TorchLoader(make_loader(folder), device="cuda") as loader:
        batches = [batch for _ in range(20) for batch in loader]
        assert all(tensor.is_cuda for batch in batches for tensor in batch)
        assert [as_list([t.cpu() for t in batch]) for batch in batches] == expected(folder, 20)
    with TorchLoader(make_loader(folder), pin_memory=True) as loader:
        assert all(tensor.is_pinned() for tensor in next(iter(loader)))


def test_repr_names_loader_and_device(folder):
    with TorchLoader(make_loader(folder)) as loader:
        assert repr(loader) == f"TorchLoader({loader.loader!r}, device='cpu')"


# ---- Copies to a device -------------------------------------------------------------------------


def test_a_buffer_in_flight_is_never_overwritten(folder, device):
    with device.open(folder) as loader:
        batches = [batch for _ in range(5) for batch in loader]
    assert [as_list(batch) for batch in batches] == expected(folder, 5)


def test_late_copies_would_show_an_overwritten_buffer(folder, device, monkeypatch):
    """The test above can fail: without the wait, copies read what the next batch has written."""
    monkeypatch.setattr(FakeEvent, "synchronize", lambda event: None)
    with device.open(folder) as loader:
        stream = loader._hand_over.copies._stream
        batches = list(loader)
        last = stream.queue[-1]
        stream.run_up_to(last)
    assert [as_list(batch) for batch in batches] != expected(folder, 1)


def test_copies_run_ahead_and_the_users_stream_waits_for_its_own(folder, device):
    with device.open(folder) as loader:
        stream = loader._hand_over.copies._stream
        batches = iter(loader)
        for step, batch in enumerate(batches):
            assert len(device.user_stream.waited) == step + 1, "one event a batch"
            recorded = device.recorded[-2:]
            assert [a is b for a, b in zip(recorded, batch, strict=True)] == [True, True]
            copies = [entry for entry in stream.queue if isinstance(entry, tuple)]
            assert len(copies) == (2 if step + 1 < STEPS else 0), "the next batch is on its way"
        gc.collect()
        assert loader.loader.stats()["slots_held"] == 0, "the loader's memory is not in flight"


@pytest.mark.parametrize("stop", range(STEPS))
def test_an_interrupt_loses_no_batch(folder, device, monkeypatch, stop):
    with device.open(folder) as loader:
        batches = iter(loader)
        got = [as_list(next(batches)) for _ in range(stop)]

        def interrupted(pinned):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(loader._hand_over.copies, "_start_copy", interrupted)
            with contextlib.suppress(KeyboardInterrupt):
                got += [as_list(next(batches))]  # the last ones have nothing ahead of them
        got += [as_list(batch) for batch in batches]
        got += [as_list(batch) for batch in loader]
    assert got == expected(folder, 2)


def test_an_error_comes_in_its_place(tmp_path, open_torch):
    content = lines(0, RECORDS).replace(b"9,90\n", b"9;90\n", 1)
    folder = write_parts(tmp_path / "bad", content)

    def read(batches, loader):
        found = []
        while True:
            try:
                found.append(as_list(next(batches)))
            except flow.CorruptDataError as error:
                found.append(str(error))
            except StopIteration:
                return found
            found.append(loader.state_dict())

    with make_loader(folder) as plain, open_torch(folder) as loader:
        whole = read(iter(plain), plain)
        assert sum(isinstance(one, str) for one in whole) == 1
        assert read(iter(loader), loader) == whole


@pytest.mark.parametrize("begin", ["iter", "repeat"])
def test_an_epoch_whose_first_batch_fails_was_begun(tmp_path, open_any, begin):
    content = lines(0, RECORDS).replace(b"9,90\n", b"9;90\n", 1)
    folder = write_parts(tmp_path / "bad", content)
    seed = next(seed for seed in range(99) if 9 in begins_with(tmp_path, seed))
    with open_any(folder, seed=seed) as loader:
        batches = iter(loader) if begin == "iter" else loader.repeat()
        with pytest.raises(flow.CorruptDataError):
            next(batches)
        following = iter(loader)
        with contextlib.suppress(flow.CorruptDataError):
            next(following)
        assert loader.epoch == 1


def begins_with(tmp_path, seed):
    folder = tmp_path / "whole"
    if not folder.exists():
        write_parts(folder, lines(0, RECORDS))
    with make_loader(folder, seed=seed) as loader:
        return [ordinal for ordinal, *_ in as_list(next(iter(loader)))]


# ---- The Stateful contract ----------------------------------------------------------------------


def resumed(open_any, folder, state, **options):
    loader = open_any(folder, **options)
    loader.load_state_dict(json.loads(json.dumps(state)))
    return loader


def test_state_in_the_loop_body_counts_what_was_delivered(folder, open_any):
    whole = expected(folder, 3)
    with open_any(folder) as loader:
        states = [loader.state_dict()]
        for _ in range(2):
            for _ in loader:
                states.append(loader.state_dict())
            last = {key: value for key, value in states[-1].items() if key != "in_loop"}
            assert loader.state_dict() == last, "the end of an epoch is the next one's start"
    with make_loader(folder) as plain:
        fresh = plain.state_dict()
        assert states[0] == fresh
        assert states[1:] == [plain.state_dict() for _ in range(2) for _ in plain]
    for step, state in enumerate(states):
        with resumed(open_any, folder, state) as loader:
            assert loader.epoch == step // STEPS
            got = [as_list(batch) for batch in loader]
            assert got == whole[step : (step // STEPS + 1) * STEPS] and got
            assert loader.epoch == step // STEPS


def test_progress_shows_the_steps_that_were_delivered(folder, open_any, capsys):
    """Batches made ahead do not count; the state begins where the loader is."""
    with open_any(folder) as loader:
        for number, _ in enumerate(flow.progress(loader)):
            if number == 4:
                state = loader.state_dict()
                break
        loader.load_state_dict(state)
        assert sum(1 for _ in flow.progress(loader)) == STEPS - 5
    said = re.findall(r"epoch (\d+): (\d+) of (\d+) steps", capsys.readouterr().err)
    assert said[-1] == ("0", str(STEPS), str(STEPS)) and ("0", "5", str(STEPS)) in said


def test_a_second_resume_in_the_same_epoch(folder, open_any):
    whole = expected(folder, 1)
    state, got = None, []
    for stop in (2, 3, 1):
        with open_any(folder) as loader:
            if state is not None:
                loader.load_state_dict(state)
            got += [as_list(batch) for batch in itertools.islice(loader, stop)]
            state = loader.state_dict()
    with resumed(open_any, folder, state) as loader:
        assert got + [as_list(batch) for batch in loader] == whole


def test_load_acts_on_the_next_iter_also_after_an_early_one(folder, open_any):
    whole = expected(folder, 2)
    with open_any(folder) as loader:
        list(itertools.islice(loader, 3))
        state = loader.state_dict()
    with open_any(folder) as loader:
        early = iter(loader)
        next(early)
        loader.load_state_dict(state)
        with pytest.raises(flow.CancelledError):
            next(early)
        assert [as_list(batch) for batch in loader] == whole[3:STEPS]
        assert [as_list(batch) for batch in loader] == whole[STEPS:]
        loader.load_state_dict(state)
        loader.load_state_dict(state)
        assert [as_list(batch) for batch in loader] == whole[3:STEPS]


def test_a_newer_iterator_ends_the_older_one(folder, open_any):
    with open_any(folder) as loader:
        older = iter(loader)
        next(older)
        newer = iter(loader)
        first = as_list(next(newer))
        with pytest.raises(flow.CancelledError):
            next(older)
        assert [first, *map(as_list, newer)] == expected(folder, 2)[STEPS:]
        assert next(newer, None) is None and next(newer, None) is None
        last = iter(loader)
        next(last)
        loader.close()
        with pytest.raises(flow.CancelledError, match="closed"):
            next(last)


def test_an_iterator_that_was_not_used_begins_no_epoch(folder, open_torch):
    whole = expected(folder, 2)
    with open_torch(folder) as loader:
        for _ in range(3):
            iter(loader)
        assert loader.epoch == 0
        assert [as_list(batch) for batch in itertools.islice(loader, 3)] == whole[:3]
        for _ in range(3):
            iter(loader)
        assert loader.epoch == 0
        assert [as_list(batch) for batch in loader] == whole[STEPS:]
        assert loader.state_dict()["epoch"] == 2


def test_iter_and_repeat_take_turns(folder, open_any):
    whole = expected(folder, 4)
    with open_any(folder) as loader:
        endless = loader.repeat()
        got = [as_list(next(endless)) for _ in range(STEPS)]
        assert loader.epoch == 0
        assert [as_list(batch) for batch in loader] == whole[STEPS : 2 * STEPS]
        endless = loader.repeat()
        got = [as_list(next(endless)) for _ in range(3)]
        endless = loader.repeat()
        got += [as_list(next(endless)) for _ in range(STEPS)]
        assert got == whole[2 * STEPS : 3 * STEPS + 3]


def test_a_state_of_any_rank_goes_on_any_rank(folder, open_any):
    whole = expected(folder, 1)
    states = []
    for rank in range(4):
        with open_any(folder, rank=rank, world_size=4) as loader:
            list(itertools.islice(loader, 3))
            states.append(loader.state_dict())
    assert all(state == states[0] for state in states)
    parts = []
    for rank in range(2):
        with resumed(open_any, folder, states[3 - rank], rank=rank, world_size=2) as loader:
            parts.append([as_list(batch) for batch in loader])
    assert [a + b for a, b in zip(*parts, strict=True)] == whole[3:]


# ---- torch's checkpoints ------------------------------------------------------------------------


def state_after(folder, steps):
    with make_loader(folder) as loader:
        list(itertools.islice(loader.repeat(), steps))
        return loader.state_dict()


def test_torch_load_takes_a_state_as_mere_weights(folder, tmp_path, open_any):
    torch.save({"model": torch.zeros(2), "loader": state_after(folder, 5)}, tmp_path / "file.pt")
    saved = torch.load(tmp_path / "file.pt", weights_only=True)
    with resumed(open_any, folder, saved["loader"]) as loader:
        assert [as_list(batch) for batch in loader] == expected(folder, 1)[5:]


def batches_of(loader, count):
    batches = itertools.islice(loader.repeat(), count)
    return [[tensor.tolist() for tensor in batch] for batch in batches]


@pytest.mark.filterwarnings("ignore:torch.distributed is")
@pytest.mark.parametrize("steps", [0, 5, STEPS, STEPS + 1])
@pytest.mark.parametrize("num_readers", [1, 10])  # described in words, and by hashes
def test_distributed_checkpoint(folder, tmp_path, open_torch, steps, num_readers):
    """DCP splits the state into its values, and on loading puts them into the present state."""
    dcp = pytest.importorskip("torch.distributed.checkpoint", reason="torch is built without it")
    from torch.distributed.checkpoint.stateful import Stateful

    def opened(seed):
        if num_readers == 1:
            return open_torch(folder, seed=seed)
        readers = [flow.MiniReader(folder, seed=seed, **ATTRS) for _ in range(num_readers)]
        return TorchLoader(flow.DataLoader(*readers))

    with opened(3) as loader:
        assert isinstance(loader, Stateful) and isinstance(loader.loader, Stateful)
        batches_of(loader, steps)
        app = {"loader": loader, "weights": torch.full((2,), 7.0)}
        dcp.save(app, checkpoint_id=tmp_path / "checkpoint")
        rest = batches_of(loader, 3 * STEPS)
    with opened(4) as loader:  # the state brings its seed
        batches_of(loader, 2)
        app = {"loader": loader, "weights": torch.zeros(2)}
        dcp.load(app, checkpoint_id=tmp_path / "checkpoint")
        assert app["weights"].tolist() == [7, 7]
        assert batches_of(loader, 3 * STEPS) == rest


@pytest.mark.filterwarnings("ignore:torch.distributed is")
def test_distributed_checkpoint_of_another_loader(folder, tmp_path):
    """DCP leaves out what the present state has not, and says itself what it does not find."""
    dcp = pytest.importorskip("torch.distributed.checkpoint", reason="torch is built without it")
    place = tmp_path / "checkpoint"

    def opened(*names, **attrs):
        return flow.DataLoader(
            *[flow.MiniReader(folder, name=n, **{"batch_size": 4, **attrs}) for n in names]
        )

    with opened("a", "b") as loader:
        dcp.save({"loader": loader}, checkpoint_id=place)
    with opened("a", batch_size=8) as other, pytest.raises(flow.Error, match="batch_size"):
        dcp.load({"loader": other}, checkpoint_id=place)
    with opened("a") as other, pytest.raises(flow.Error, match="readers or attrs .* left out"):
        dcp.load({"loader": other}, checkpoint_id=place)
    with opened("a", "c") as other, pytest.raises(BaseException, match="Missing key.*readers[.]c"):
        dcp.load({"loader": other}, checkpoint_id=place)


# ---- Reports ------------------------------------------------------------------------------------


def test_a_report_has_the_copies(folder, device, monkeypatch):
    """Every batch is counted, that is copied: to a device or to pinned memory, not on the host."""
    with device.open(folder) as loader:
        sizes = sum(sum(tensor.nbytes for tensor in batch) for batch in loader)
        copies = loader.report().counters.hand_over
        assert (copies.batches, copies.bytes) == (STEPS, sizes) and copies.seconds > 0
    with TorchLoader(make_loader(folder)) as loader:
        assert len(list(loader)) == STEPS
        assert loader.report().counters.hand_over is None
        loader._hand_over.pins = True
        monkeypatch.setattr(torch.Tensor, "pin_memory", torch.clone)
        assert len(list(loader)) == STEPS
        copies = loader.report().counters.hand_over
        assert (copies.batches, copies.device) == (STEPS, "pinned memory")


def test_reports_of_ranks_are_gathered(folder, monkeypatch):
    with TorchLoader(make_loader(folder)) as loader:
        list(loader)
        alone = loader.report(gather=True)
        assert isinstance(alone, flow.RankReport) and len(alone.reports) == 1

    def all_gather_object(found, own):
        found[:] = [own, others]

    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "all_gather_object", all_gather_object)
    with TorchLoader(make_loader(folder, rank=1, world_size=2)) as loader:
        list(loader)
        others = loader.report()
    with TorchLoader(make_loader(folder, rank=0, world_size=2)) as loader:
        list(loader)
        both = loader.report(gather=True)
    assert [one.counters.rank for one in both.reports] == [0, 1]


def test_counters_are_those_of_the_data_loader(folder):
    with TorchLoader(make_loader(folder, num_threads="auto")) as loader:
        assert len(list(loader)) == STEPS
        inner = loader.loader
        assert loader.data_loader is inner and inner.data_loader is inner
        assert loader.stats()["batches"] == inner.stats()["batches"] == STEPS
        assert loader.skipped == [] and loader.last_stall is None
        assert loader.tuning is not None and loader.tuning.automatic == ("num_threads",)
        instead = r"a TorchLoader was given: give it to pyflowdata.integrations.torch.sink\(\)"
        with pytest.raises(flow.InvalidArgumentError, match=instead):
            flow.sink(loader, len)
