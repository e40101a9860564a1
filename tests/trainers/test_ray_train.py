"""Ray Train: workers that are killed, and runs that go on with another number of workers."""

import json
import os
import signal
import sys
import tempfile

import numpy as np
import pytest
from support.paths import ROOT
from support.trainer_truth import numbered_parts, steps_of_parts
from tools.page_blocks import blocks_of

import pyflowdata as flow

ray = pytest.importorskip("ray", reason="ray is not installed: pip install pyflowdata[ray]")
trainers = pytest.importorskip(
    "ray.train.v2.api.data_parallel_trainer",
    reason="ray[train] is not installed: pip install pyflowdata[ray]",
    exc_type=ImportError,
)

RECORDS, BATCH, SEED = 50, 8, 3
STEPS = 7  # of an epoch; the last one has 2 records

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    """Two CPUs; what this file defines goes to the workers by value."""
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'examples'}")
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_TRAIN_V2_ENABLED", "1")
        patch.setenv("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.1")
        patch.setenv("OMP_NUM_THREADS", "1")
        try:
            ray.init(
                num_cpus=2, object_store_memory=80 * 2**20, include_dashboard=False,
                log_to_driver=False,
            )  # fmt: skip
            yield
        finally:
            ray.shutdown()
            ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The record i has x = i."""
    return numbered_parts(tmp_path_factory.mktemp("ray") / "in", RECORDS)


@pytest.fixture(scope="module")
def expected(folder):
    """The ids of 4 epochs' steps, by a loader without Ray."""
    return steps_of_parts(folder, BATCH, SEED, epochs=4)


def train(config):
    """Writes down what each step and each evaluation has, in a file of this worker."""
    rank = ray.train.get_context().get_world_rank()
    attrs = {"data_dir": config["folder"], "batch_size": BATCH, "seed": SEED}
    record = flow.MiniReader(**attrs, shuffle=True)
    padded, mask = flow.MiniReader(**attrs, last_batch="pad", with_mask=True)
    checkpoint, step = ray.train.get_checkpoint(), 0
    with flow.DataLoader(record) as loader, flow.DataLoader(padded, mask) as test_loader:
        assert "Ray Train" in repr(loader) and loader.readers[0].rank == rank
        if checkpoint:
            state = checkpoint.get_metadata()
            loader.load_state_dict(state["loader"])
            step = state["step"]
        with open(f"{config['log']}/{rank}-{os.getpid()}.jsonl", "w") as log:
            while loader.state_dict()["epoch"] < config["epochs"]:
                for batch in loader:
                    if config["kill"] == [rank, step]:
                        die_once(f"{config['log']}/killed")
                    step += 1
                    ids = batch[:, 0].astype(int).tolist()
                    print(json.dumps([rank, step, ids]), file=log, flush=True)
                    if step % config["save_every"] == 0:
                        report(rank, {"step": step, "loader": loader.state_dict()})
            ids = [int(i) for rows, real in test_loader for i in rows[real, 0]]
            print(json.dumps([rank, "evaluation", ids]), file=log, flush=True)


def report(rank, state):
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = None
        if rank == 0:
            checkpoint = ray.train.Checkpoint.from_directory(folder)
            checkpoint.set_metadata(state)
        ray.train.report({"step": state["step"]}, checkpoint=checkpoint)


def die_once(mark):
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def fit(folder, out, workers, epochs, save_every, kill=None):
    """Goes on with the run in a folder; returns what its workers wrote down, as they ended."""
    log = out / f"log-{workers}-{epochs}"
    log.mkdir(parents=True)
    config = {"folder": folder, "log": str(log), "epochs": epochs, "save_every": save_every}
    trainers.DataParallelTrainer(
        train,
        train_loop_config={**config, "kill": kill},
        scaling_config=ray.train.ScalingConfig(
            num_workers=workers, resources_per_worker={"CPU": 0.5}
        ),
        run_config=ray.train.RunConfig(
            name="run", storage_path=str(out),
            failure_config=ray.train.FailureConfig(max_failures=1 if kill else 0),
        ),
    ).fit()  # fmt: skip
    found = []
    for path in sorted(log.glob("*.jsonl"), key=lambda path: path.stat().st_ctime_ns):
        found.append([json.loads(line) for line in path.read_text().splitlines()])
    return found


def steps(worker):
    return [line for line in worker if line[1] != "evaluation"]


def parts(expected, world_size, rank, begin, end):
    """What a rank of so many has in the steps [begin, end), counted from 0."""
    return [
        [rank, step + 1, np.array_split(expected[step], world_size)[rank].tolist()]
        for step in range(begin, end)
    ]


def evaluated(workers):
    """The records that the last evaluation had, of all workers."""
    return sorted(sum((worker[-1][2] for worker in workers if worker[-1][1] == "evaluation"), []))


@pytest.mark.cell("Ray Train", "fit")
@pytest.mark.cell("Ray Train", "epoch-end resume")
@pytest.mark.cell("Ray Train", "mid-epoch resume")
@pytest.mark.cell("Ray Train", "other world size")
@pytest.mark.cell("Ray Train", "evaluation counts")
def test_a_run_in_three_parts(cluster, folder, expected, tmp_path):
    """Two workers, then two of which one is killed, then one worker; each part costs seconds."""
    everything = list(range(RECORDS))
    first = sorted(fit(folder, tmp_path, 2, epochs=1, save_every=STEPS))
    assert [*map(steps, first)] == [parts(expected, 2, rank, 0, STEPS) for rank in range(2)]
    assert sorted(sum(expected[:STEPS], [])) == evaluated(first) == everything

    # From the end of epoch 0 on; rank 1 is killed in epoch 1 after step 12, and its report of step
    # 10 is most often taken in before.
    *before, again0, again1 = fit(folder, tmp_path, 2, epochs=3, save_every=5, kill=[1, 12])
    assert sorted(worker[0][0] for worker in before) == [0, 1]
    for worker in before:
        rank, end = worker[0][0], worker[-1][1]
        assert steps(worker) == parts(expected, 2, rank, STEPS, end)
        assert end == 12 or rank == 0
    saved = again0[0][1] - 1
    assert saved in (STEPS, 10)
    found = [steps(worker) for worker in sorted([again0, again1])]
    assert found == [parts(expected, 2, rank, saved, 3 * STEPS) for rank in range(2)]
    assert evaluated([again0, again1]) == everything

    # From step 20 on, in the middle of epoch 2.
    [alone] = fit(folder, tmp_path, 1, epochs=4, save_every=5)
    assert steps(alone) == parts(expected, 1, 0, 20, 4 * STEPS)
    assert evaluated([alone]) == everything


def test_the_page_about_ray(cluster, tmp_path):
    """Its training function saves the place after each second batch of an epoch of 3."""
    [block] = [one for one in blocks_of("docs/how-to/ray.md") if one.language == "python"]
    code = {}
    exec(compile(block.at_its_line(), block.page, "exec"), code)
    run = {"name": "run", "storage_path": str(tmp_path)}
    for epochs in (1, 2):
        result = trainers.DataParallelTrainer(
            code["train"],
            train_loop_config={"data_dir": str(ROOT / "data"), "epochs": epochs},
            run_config=ray.train.RunConfig(**run),
        ).fit()
        state = result.checkpoint.get_metadata()["loader"]
        assert (state["epoch"], state["position"]) == (epochs, 0)
    assert len(result.best_checkpoints) == 4, "the second run began with the second epoch"


# ---- examples/train_ray.py ----------------------------------------------------------------------


def train_example(config):
    """The example, which writes down what each training step has; rank 1 dies in step 13."""
    import torch
    import train_ray

    rank, count = ray.train.get_context().get_world_rank(), 0
    squared_errors = train_ray.squared_errors

    def logged(model, x, y, mask):
        nonlocal count
        if torch.is_grad_enabled():
            count += 1
            with open(f"{config['log']}/{rank}-{os.getpid()}.jsonl", "a") as log:
                print(json.dumps(x[mask, 0].int().tolist()), file=log)
            if count == 13 and rank == 1:
                die_once(f"{config['log']}/killed")
        return squared_errors(model, x, y, mask)

    train_ray.squared_errors = logged
    train_ray.train(config)


def trained_alone(expected, steps, accumulate):
    """The weights that torch without Ray and without a loader comes to."""
    import torch
    import train_ray

    model = train_ray.make_model(SEED)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step, ids in enumerate(expected[:steps]):
        x = torch.tensor(ids, dtype=torch.float64)[:, None]
        loss = (model(x) - 10 * x).square().mean()
        (loss / accumulate).backward()
        place = (step + 1) % STEPS
        if place % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
    return model.state_dict()


@pytest.mark.cell("Ray Train", "accumulation")
def test_the_example_is_killed_between_two_batches_of_an_update(
    cluster, folder, expected, tmp_path, monkeypatch
):
    """A checkpoint is of step 6, 7, or 11: that of 11 is most often taken in before step 13."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.syspath_prepend(ROOT / "examples")
    import train_ray

    options = f"--accumulate 2 --save-every 3 --epochs 2 --batch-size {BATCH} --seed {SEED}"
    paths = ["--storage", str(tmp_path / "runs"), "--data-dir", folder]
    monkeypatch.setattr(train_ray, "train", train_example)
    arguments = train_ray.parse_arguments

    def with_log(given):
        args = arguments(given)
        args.log = str(tmp_path)
        return args

    monkeypatch.setattr(train_ray, "parse_arguments", with_log)
    result = train_ray.main([*options.split(), *paths])
    assert result.metrics == {"epoch": 1, "updates": 8, "records": RECORDS} | {
        "error": result.metrics["error"]
    }
    with result.checkpoint.as_directory() as saved:
        found = torch.load(f"{saved}/training.pt", weights_only=True)["model"]
    for name, weight in trained_alone(expected, 2 * STEPS, 2).items():
        torch.testing.assert_close(found[name], weight, rtol=1e-9, atol=1e-12)

    logs = sorted(tmp_path.glob("1-*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    before, after = ([json.loads(line) for line in path.open()] for path in logs)
    ids = [np.array_split(step + step[-1:] * (BATCH - len(step)), 2)[1] for step in expected]
    ids = [part[: max(0, len(step) - BATCH // 2)].tolist() for part, step in zip(ids, expected)]
    saved = 2 * STEPS - len(after)
    assert before == ids[:13] and saved in (6, 7, 11) and after == ids[saved : 2 * STEPS]
