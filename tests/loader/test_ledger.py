"""Ledgers: what a killed and resumed run notes, and that an audit finds what is wrong with it."""

import collections
import contextlib
import json
import os
import random
import signal
import warnings

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.cli import main

RECORDS, BATCH = 51, 6


@pytest.fixture
def made(tmp_path):
    """A function that opens a loader with a ledger in tmp_path/ledger."""

    def open_loader(records=RECORDS, batch=BATCH, seed=7, ledger=None, last="short", **attrs):
        data = flow.from_arrays({"x": np.arange(records)}).shuffle(seed=seed)
        given = tmp_path / "ledger" if ledger is None else ledger
        return flow.DataLoader(data.batch(batch, last=last, **attrs)["x"], ledger=given)

    return open_loader


def audited(tmp_path):
    return flow.audit(tmp_path / "ledger")


def only_history(found):
    assert len(found.loaders) == 1, found
    assert len(found.loaders[0].histories) == 1, found
    return found.loaders[0].histories[0]


def counts(history):
    return [(one.status, one.once, one.twice, one.never, one.repeated) for one in history.epochs]


def ledgers(tmp_path):
    return sorted((tmp_path / "ledger").iterdir(), key=lambda path: path.stat().st_ctime_ns)


def taken(batches, count):
    return [next(batches) for _ in range(count)]


# ---- Killed runs --------------------------------------------------------------------------------


def in_a_child(work):
    """Runs work() in a fork; it may kill itself."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


def run_rank(made, log, state, steps, after_log, rank, world_size):
    """One rank of a run: logs "epoch position id id ..." for each step, then kills itself."""

    def work():
        loader = made(rank=rank, world_size=world_size)
        loader.load_state_dict(state)
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        place = loader.state_dict()
        for done, batch in enumerate(loader.repeat(), 1):
            if done == steps and not after_log:
                os.kill(os.getpid(), signal.SIGKILL)
            numbers = [place["epoch"], place["position"], *batch.tolist()]
            os.write(file, (" ".join(map(str, numbers)) + "\n").encode())
            place = loader.state_dict()
            if done == steps:
                os.kill(os.getpid(), signal.SIGKILL)

    assert in_a_child(work) == signal.SIGKILL


def state_at(made, epoch, position):
    with made(ledger="") as loader:
        loader.seek(position, epoch=epoch)
        return loader.state_dict()


def kept_lines(log, place):
    """(epoch, position, ids) of the lines before the place."""
    lines = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
    return [line for line in lines if line[:2] < place]


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a sanitizer does not like forks")
@pytest.mark.parametrize("seed", range(3))
def test_an_audit_agrees_with_what_killed_ranks_wrote(made, tmp_path, seed):
    """The consumer's own list of the ids that it got is the truth."""
    rng = random.Random(seed)
    per_epoch, state = -(-RECORDS // BATCH), state_at(made, 0, 0)
    place, kept = (0, 0), []
    for start in range(5):
        world_size = rng.randint(1, 3)
        steps = [rng.randint(1, 7) for _ in range(world_size)]
        logs = [tmp_path / f"log-{start}-{rank}" for rank in range(world_size)]
        after_log = rng.random() < 0.5
        for rank, log in enumerate(logs):
            run_rank(made, log, state, steps[rank], after_log, rank, world_size)
        done = place[0] * per_epoch + place[1] + min(steps) - (not after_log)
        checkpoint = divmod(rng.randint(place[0] * per_epoch + place[1], done), per_epoch)
        kept += [line for log in logs if log.exists() for line in kept_lines(log, checkpoint)]
        place, state = checkpoint, state_at(made, *checkpoint)
    last = (place[0] + 2) * per_epoch - place[0] * per_epoch - place[1]
    run_rank(made, tmp_path / "log", state, last, True, 0, 1)
    kept += kept_lines(tmp_path / "log", (place[0] + 2, 0))

    found = audited(tmp_path)
    assert found.is_exact, found
    history = only_history(found)
    times = collections.Counter((line[0], one) for line in kept for one in line[2:])
    assert set(times.values()) == {1}
    epochs = collections.Counter(epoch for epoch, _ in times)
    assert {one.epoch: one.once for one in history.epochs} == dict(epochs)
    assert {one.status for one in history.epochs} == {"finished"}


def test_steps_after_the_state_are_repeated_and_no_fault(made, tmp_path):
    with made() as loader:
        batches = iter(loader)
        taken(batches, 3)
        state = loader.state_dict()
        taken(batches, 4)
    with made() as loader:
        loader.load_state_dict(state)
        for _ in loader:
            pass
    history = only_history(audited(tmp_path))
    assert counts(history) == [("finished", RECORDS, 0, 0, 4 * BATCH)]
    assert [start.by for start in history.starts] == ["", "state"]


def test_a_state_that_is_loaded_in_the_same_process_rolls_back(made, tmp_path):
    with made() as loader:
        state = loader.state_dict()
        for _ in range(2):
            taken(loader.repeat(), 4)
            loader.load_state_dict(state)
        for _ in loader:
            pass
        state = loader.state_dict()
        taken(iter(loader), 2)
        loader.load_state_dict(state)
        for _ in loader:
            pass
    history = only_history(audited(tmp_path))
    assert not history.faults
    assert [one.repeated for one in history.epochs] == [8 * BATCH, 2 * BATCH]


def test_a_run_is_audited_while_it_goes_on(made, tmp_path):
    loader = made()
    batches = iter(loader)
    taken(batches, 2)
    assert counts(only_history(audited(tmp_path))) == [("running", 2 * BATCH, 0, 0, 0)]
    for _ in batches:
        pass
    taken(iter(loader), 1)
    found = counts(only_history(audited(tmp_path)))
    assert found == [("finished", RECORDS, 0, 0, 0), ("running", BATCH, 0, 0, 0)]


def test_a_run_that_begins_anew_is_a_history_of_its_own(made, tmp_path):
    for steps in (3, 9):
        with made() as loader:
            taken(iter(loader), steps)
    found = audited(tmp_path)
    assert found.is_exact
    statuses = [counts(one)[0][:2] for one in found.loaders[0].histories]
    assert statuses == [("running", 3 * BATCH), ("finished", RECORDS)]


class Interrupted(Exception):
    pass


def interrupt(*_):
    raise Interrupted


def test_signals_at_any_time_leave_an_exact_ledger(made, tmp_path):
    """Also while the file is made, while an entry is written, and before a batch is returned."""
    before, rng = signal.signal(signal.SIGALRM, interrupt), random.Random(0)
    try:
        for run in range(10):
            with made(records=900, batch=3, ledger=tmp_path / f"{run}") as loader:
                batches, is_over = iter(loader), False
                while not is_over:
                    with contextlib.suppress(Interrupted):
                        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 2e-3))
                        while next(batches, None) is not None:
                            pass
                        signal.setitimer(signal.ITIMER_REAL, 0)
                        is_over = True
            found = flow.audit(tmp_path / f"{run}")
            assert counts(only_history(found)) == [("finished", 900, 0, 0, 0)] and found.is_exact
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_epoch_that_the_program_leaves_is_no_fault(made, tmp_path):
    with made() as loader:
        for _ in range(2):
            taken(iter(loader), 3)
    found = counts(only_history(audited(tmp_path)))
    assert found == [("left", 3 * BATCH, 0, 0, 0), ("running", 3 * BATCH, 0, 0, 0)]


# ---- Planted faults -----------------------------------------------------------------------------


def run_epoch(made, **attrs):
    with made(**attrs) as loader:
        for _ in loader:
            pass


def step_entry(path, index):
    """The bytes of the index-th STEP entry, which are 56 long."""
    data, at, found = path.read_bytes(), 8, []
    while at < len(data):
        word = int.from_bytes(data[at + 4 : at + 8], "little")
        end = at + 8 + (word & 0xFFFFFF)
        if word >> 24 == 2:
            found.append((at, data[at:end]))
        at = end
    return found[index]


def test_a_copied_entry_is_a_batch_that_came_twice(made, tmp_path):
    run_epoch(made)
    [path] = ledgers(tmp_path)
    with open(path, "ab") as file:
        file.write(step_entry(path, 3)[1])
    found = audited(tmp_path)
    epoch = only_history(found).epochs[0]
    assert not found.is_exact
    assert (epoch.once, epoch.twice, epoch.never) == (RECORDS - BATCH, BATCH, 0)
    assert epoch.twice_at == [(3 * BATCH, 4 * BATCH)]
    assert f"positions {3 * BATCH}-{4 * BATCH - 1}" in found.faults[0]


def test_a_seek_back_delivers_twice(made, tmp_path):
    with made() as loader:
        taken(iter(loader), 5)
        loader.seek(3)
        for _ in loader:
            pass
    epoch = only_history(audited(tmp_path)).epochs[0]
    assert epoch.twice_at == [(3 * BATCH, 5 * BATCH)] and epoch.never == 0


def test_steps_that_a_seek_leaves_out_are_never_delivered(made, tmp_path):
    with made() as loader:
        taken(iter(loader), 2)
        loader.seek(4)
        for _ in loader:
            pass
    epoch = only_history(audited(tmp_path)).epochs[0]
    assert epoch.never_at == [(2 * BATCH, 4 * BATCH)] and epoch.twice == 0


def test_a_resumed_run_with_another_seed_is_found(made, tmp_path):
    with made() as loader:
        taken(iter(loader), 4)
        state = loader.state_dict()
    with made(seed=8) as loader:
        loader.seek(state["position"], epoch=state["epoch"])
        for _ in loader:
            pass
    assert "start 2 has seed 8, and start 1 7" in audited(tmp_path).faults[0]


def test_ranks_with_different_seeds_are_found(made, tmp_path):
    for rank in range(2):
        run_epoch(made, seed=rank, rank=rank, world_size=2)
    assert "rank 1 has seed 1, and rank 0 0" in audited(tmp_path).faults[0]


def test_ranks_with_different_attrs_are_found(made, tmp_path):
    for rank in range(2):
        run_epoch(made, batch=6 + 2 * rank, rank=rank, world_size=2)
    faults = "\n".join(audited(tmp_path).faults)
    assert "rank 1 of world size 2 has no ledger" in faults
    assert "batch_size = 8, not 6" in faults


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_lost_file_of_a_rank_is_found(made, tmp_path, lost):
    for rank in range(3):
        run_epoch(made, rank=rank, world_size=3)
    ledgers(tmp_path)[lost].unlink()
    found = audited(tmp_path)
    rows = 2 * (RECORDS // BATCH) + (lost < RECORDS % BATCH)
    assert only_history(found).epochs[0].never == rows
    assert f"rank {lost} of world size 3 has no ledger" in found.faults[0]


def test_a_rank_that_stops_before_the_others_is_found(made, tmp_path):
    ranks = [made(rank=rank, world_size=2) for rank in range(2)]
    for _ in range(2):
        collections.deque(ranks[0], 0)
    taken(iter(ranks[1]), 1)
    assert not audited(tmp_path).is_exact  # perhaps both were killed, and rank 0 much later
    for loader in ranks:
        loader.close()
    found = audited(tmp_path)
    assert counts(only_history(found)) == [
        ("finished", 26 + 3, 0, 25 - 3, 0), ("finished", 26, 0, 25, 0)
    ]  # fmt: skip
    assert "rank 1 in start 1" in found.faults[0]
    assert "ends at epoch 0, step 1, and another rank ended or left epoch 1" in found.faults[0]


def test_a_ledger_of_a_rank_that_is_cut_anywhere_is_found(made, tmp_path):
    ranks = [made(rank=rank, world_size=2) for rank in range(2)]
    for loader in ranks:
        for _ in range(2):
            collections.deque(loader, 0)
        loader.close()
    assert audited(tmp_path).is_exact
    path = next((tmp_path / "ledger").glob("*-rank1-*"))
    said = collections.Counter()
    for size in range(path.stat().st_size - 8, 0, -8):
        os.truncate(path, size)
        try:
            found = audited(tmp_path)
        except flow.CorruptDataError:  # in an entry
            continue
        assert not found.is_exact, size
        assert all(one.once + one.never == RECORDS for one in only_history(found).epochs)
        said["closed"] += any("rank 1 " in one and "no close" in one for one in found.faults)
        said["early"] += any("rank 1 " in one and " ends at " in one for one in found.faults)
    assert said["closed"] > said["early"] >= 18  # its steps


def test_ranks_that_are_killed_in_their_last_epoch_are_exact(made, tmp_path):
    """Also where one of them has had the last step, and the other has not."""
    ranks = [made(rank=rank, world_size=2) for rank in range(2)]
    batches = [iter(loader) for loader in ranks]
    taken(batches[0], -(-RECORDS // BATCH))
    taken(batches[1], 3)
    found = audited(tmp_path)
    assert found.is_exact, found
    assert only_history(found).epochs[0].status == "running"


def test_a_lost_start_is_found(made, tmp_path):
    state = None
    for _ in range(3):
        with made() as loader:
            if state:
                loader.load_state_dict(state)
            taken(iter(loader), 3)
            state = loader.state_dict()
    ledgers(tmp_path)[1].unlink()
    found = audited(tmp_path)
    assert only_history(found).epochs[0].never_at == [(3 * BATCH, 6 * BATCH)]
    assert "the batches before it end at epoch 0, step 3" in found.faults[0]


@pytest.mark.parametrize("offset", [0, 4, 5, 8, 30, 55])
def test_a_damaged_byte_names_its_entry(made, tmp_path, capsys, offset):
    run_epoch(made)
    [path] = ledgers(tmp_path)
    at = step_entry(path, 2)[0]
    data = bytearray(path.read_bytes())
    data[at + offset] ^= 0x55
    path.write_bytes(data)
    with pytest.raises(flow.CorruptDataError, match="damaged") as failure:
        audited(tmp_path)
    assert (failure.value.file, failure.value.byte) == (str(path), at)
    assert main(["audit", str(tmp_path / "ledger")]) == 1
    assert f"byte {at}" in capsys.readouterr().err


def test_zeros_in_the_middle_are_damage_and_at_the_end_are_not(made, tmp_path):
    run_epoch(made)
    [path] = ledgers(tmp_path)
    data = path.read_bytes()
    at = step_entry(path, -1)[0]
    path.write_bytes(data[:at] + bytes(8) + data[at + 8 : at + 56] + bytes(4096))  # head unwritten
    assert only_history(audited(tmp_path)).epochs[0].once == BATCH * (RECORDS // BATCH)
    path.write_bytes(data[:at] + bytes(8) + data[at + 8 :])
    with pytest.raises(flow.CorruptDataError, match="damaged"):
        audited(tmp_path)


def test_a_file_that_is_no_ledger_and_a_folder_without_one(tmp_path):
    folder = tmp_path / "ledger"
    with pytest.raises(flow.FileError, match="cannot be read"):
        audited(tmp_path)
    folder.mkdir()
    with pytest.raises(flow.FileError, match="no ledger"):
        audited(tmp_path)
    (folder / "a.pfdledger").write_bytes(b"something else")
    with pytest.raises(flow.CorruptDataError, match="not a ledger"):
        audited(tmp_path)


# ---- What is noted ------------------------------------------------------------------------------


def test_only_what_is_delivered_is_noted(made, tmp_path):
    with made() as loader:
        loader.read([1, 2])
        with loader.keep_place():
            taken(iter(loader), 3)
        assert not (tmp_path / "ledger").exists() or not ledgers(tmp_path)
        taken(iter(loader), 2)
        loader.speed(steps=2)
        for _ in loader:
            pass
    history = only_history(audited(tmp_path))
    assert not history.faults
    assert [one.once for one in history.epochs] == [2 * BATCH, RECORDS]


def test_a_step_takes_at_most_a_hundred_bytes_and_a_file_grows(made, tmp_path):
    with made(records=20_000, batch=4) as loader:
        for _ in loader:
            loader.state_dict()
    [path] = ledgers(tmp_path)
    assert path.stat().st_size < 100 * 5000 + 2000
    assert counts(only_history(audited(tmp_path))) == [("finished", 20_000, 0, 0, 0)]


@pytest.mark.parametrize("last", ["short", "even", "drop", "pad", "wrap"])
def test_each_rule_of_the_last_batch_is_exact(made, tmp_path, last):
    for rank in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # with "short" rank 2 has no rows in the last step
            run_epoch(made, records=50, last=last, rank=rank, world_size=3)
    epoch = only_history(audited(tmp_path)).epochs[0]
    left_out = {"drop": 50 % BATCH, "even": 50 % BATCH % 3}.get(last, 0)
    assert (epoch.once, epoch.twice, epoch.never) == (50 - left_out, 0, 0)


def pairs(path, damaged=(), **attrs):
    """The first number of 20 lines of two numbers."""
    path.mkdir(exist_ok=True)
    lines = ["x\n" if i in damaged else f"{i}, {i}\n" for i in range(20)]
    (path / "part-0").write_text("".join(lines))
    return flow.MiniDecoder(flow.MiniReader(str(path), batch_size=4, **attrs))[0]


@pytest.mark.parametrize("on_error", ["skip", "pad"])
def test_damaged_records_are_listed(tmp_path, on_error):
    x = pairs(tmp_path / "data", (3, 11), on_error=on_error)
    with flow.DataLoader(x, ledger=tmp_path / "ledger") as loader:
        for _ in loader:
            pass
    epoch = only_history(audited(tmp_path)).epochs[0]
    assert (epoch.once, epoch.damaged) == (20, 2)
    assert epoch.damaged_records == [[str(tmp_path / "data/part-0"), line] for line in (4, 12)]


def test_a_record_that_only_fills_a_batch_is_damaged_once(tmp_path):
    lines = [f"{i}, {i}\n" for i in range(17)]
    (tmp_path / "part-0").write_text("".join(lines) + "x\n")
    x = flow.MiniReader(str(tmp_path), batch_size=4, last_batch="pad", on_error="pad")
    with flow.DataLoader(flow.MiniDecoder(x)[0], ledger=tmp_path / "ledger") as loader:
        for _ in loader:
            pass
    epoch = only_history(audited(tmp_path)).epochs[0]
    assert (epoch.damaged, epoch.damaged_records) == (1, [[str(tmp_path / "part-0"), 18]])


def test_a_stream_is_audited_for_twice(tmp_path):
    shuffle = {"random_shuffle": True, "shuffle": "buffer", "shuffle_buffer_size": 5, "seed": 1}

    def stream():
        return flow.DataLoader(pairs(tmp_path / "data", **shuffle), ledger=tmp_path / "ledger")

    with stream() as loader:
        taken(iter(loader), 3)
        state = loader.state_dict()
    with stream() as loader:
        loader.load_state_dict(state)
        for _ in loader:
            pass
    history = only_history(audited(tmp_path))
    assert counts(history) == [("finished", 20, 0, 0, 0)] and not history.faults
    last = ledgers(tmp_path)[-1]
    with open(last, "ab") as file:
        file.write(step_entry(last, 0)[1])
    assert only_history(audited(tmp_path)).epochs[0].twice == 4


def test_shares_of_an_epoch_are_one_start(made, tmp_path):
    data = flow.from_arrays({"x": np.arange(RECORDS)})
    for index in range(2):
        share = (index, 2)
        with flow.DataLoader(data.batch(BATCH), share=share, ledger=tmp_path / "ledger") as loader:
            for _ in loader:
                pass
    history = only_history(audited(tmp_path))
    assert counts(history) == [("finished", RECORDS, 0, 0, 0)] and len(history.starts) == 1
    ledgers(tmp_path)[1].unlink()
    assert audited(tmp_path).faults


def test_a_sink_that_is_replaced_delivers_nothing_twice(made, tmp_path):
    with made() as loader:
        run = flow.sink(loader, lambda batch: None, sink_size=2, queue=3)
        run()
        run.close()
        for _ in loader:
            pass
    history = only_history(audited(tmp_path))
    assert counts(history) == [("finished", RECORDS, 0, 0, 0)] and not history.faults


def test_a_torch_loader_notes_the_same(made, tmp_path):
    pytest.importorskip("torch")
    from pyflowdata.integrations.torch import TorchLoader

    with TorchLoader(made()) as loader:
        batches = iter(loader)
        taken(batches, 3)
        state = loader.state_dict()
        taken(batches, 2)
        loader.load_state_dict(state)
        for _ in loader:
            pass
        loader.set_epoch(1)
        for _ in loader:
            pass
    history = only_history(audited(tmp_path))
    assert [one.once for one in history.epochs] == [RECORDS] * 2 and not history.faults


def test_a_jax_loader_notes_the_same(made, tmp_path):
    jax = pytest.importorskip("jax")
    from pyflowdata.integrations.jax import JaxLoader

    with JaxLoader(made(), jax.devices()[0], narrow=True) as loader:
        taken(loader.repeat(), 3)
        state = loader.state_dict()
        batches = loader.repeat()
        taken(batches, 9)
        loader.load_state_dict(state)
        for _ in range(2):
            for _ in loader:
                pass
    history = only_history(audited(tmp_path))
    assert [one.once for one in history.epochs] == [RECORDS] * 2 and not history.faults


def test_worker_processes_of_torch_note_their_shares(tmp_path, monkeypatch):
    torch_data = pytest.importorskip("torch.utils.data")
    monkeypatch.setenv("PYFLOWDATA_LEDGER", str(tmp_path / "ledger"))

    class Batches(torch_data.IterableDataset):
        def __iter__(self):
            data = flow.from_arrays({"x": np.arange(RECORDS)})
            with flow.DataLoader(data.batch(BATCH)["x"]) as loader:
                for batch in loader:
                    yield batch.copy()

    rows = [len(one) for one in torch_data.DataLoader(Batches(), batch_size=None, num_workers=2)]
    assert sum(rows) == RECORDS
    history = only_history(audited(tmp_path))
    assert counts(history) == [("finished", RECORDS, 0, 0, 0)] and not history.faults
    assert history.starts[0].shares == 2


# ---- Variable, arguments, command ---------------------------------------------------------------


def test_the_variable_names_the_directory_and_the_argument_goes_before(made, tmp_path, monkeypatch):
    monkeypatch.setenv("PYFLOWDATA_LEDGER", str(tmp_path / "ledger"))
    data = flow.from_arrays({"x": np.arange(RECORDS)})
    with flow.DataLoader(data.batch(BATCH), ledger="") as loader:
        taken(iter(loader), 1)
    assert not (tmp_path / "ledger").exists()
    with flow.DataLoader(data.batch(BATCH)) as loader:
        taken(iter(loader), 1)
        assert len(list(data)) == RECORDS  # by a loader of its own, which is not the program's
    assert len(ledgers(tmp_path)) == 1


def test_a_directory_that_cannot_be_made_is_an_error_at_once(made, tmp_path):
    (tmp_path / "ledger").write_text("")
    with pytest.raises(flow.FileError, match="the ledger cannot be made") as failure:
        made()
    assert failure.value.file == str(tmp_path / "ledger")
    with pytest.raises(flow.InvalidArgumentError, match="ledger = 7"):
        made(ledger=7)


def test_a_directory_that_is_lost_is_an_error_and_no_batch(made, tmp_path):
    with made(ledger=tmp_path / "ledger") as loader:
        (tmp_path / "ledger").rmdir()
        with pytest.raises(flow.FileError, match="the ledger cannot be made"):
            next(iter(loader))


def test_the_command_prints_and_exits_as_the_audit_says(made, tmp_path, capsys):
    run_epoch(made)
    folder = str(tmp_path / "ledger")
    assert main(["audit", folder]) == 0
    assert f"epoch 0 of {RECORDS} records, finished: {RECORDS} once" in capsys.readouterr().out
    assert main(["audit", folder, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["exact"]
    assert printed["loaders"][0]["histories"][0]["epochs"][0]["once"] == RECORDS
    [path] = ledgers(tmp_path)
    with open(path, "ab") as file:
        file.write(step_entry(path, 0)[1])
    assert main(["audit", folder]) == 1
    assert "NOT exact" in capsys.readouterr().out


def test_a_run_that_has_forgotten_its_state_is_no_proof_for_one_run(made, tmp_path, capsys):
    folder = str(tmp_path / "ledger")
    with made() as loader:
        taken(iter(loader), 3)
    assert main(["audit", folder, "--one-run"]) == 0
    assert "no record was lost" in capsys.readouterr().out
    run_epoch(made)
    assert main(["audit", folder]) == 0
    said = capsys.readouterr().out
    assert "exact within each history" in said and "no record was lost" not in said
    assert main(["audit", folder, "--one-run"]) == 1
    assert capsys.readouterr().out.endswith("NOT one run: 2 histories\n")
    assert not audited(tmp_path).is_one_run
