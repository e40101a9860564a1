"""Sink mode with jax: steps, and scans over stacks of batches; how a JaxLoader measures itself."""

import itertools
import json
import re
import textwrap

import numpy as np
import pytest
from support.files import lines, write_parts
from support.paths import ROOT

jax = pytest.importorskip("jax", reason="jax is not here: pip install pyflowdata[jax]")
jax.config.update("jax_platforms", "cpu")

import jax.numpy as jnp

import pyflowdata as flow
from pyflowdata.integrations.jax import JaxLoader, scan, sink

pytestmark = pytest.mark.slow
RECORDS, BATCH = 24, 4
STEPS = 6


@pytest.fixture
def folder(tmp_path):
    return write_parts(tmp_path / "parts", lines(0, 11), lines(11, RECORDS))


def make_loader(folder, records=RECORDS, **attrs):
    order = {"random_shuffle": True, "shuffle_after_epoch": True, "seed": 3}
    reader = flow.MiniReader(folder, **{"batch_size": BATCH, **order, **attrs})
    x = flow.Affine(reader, dtype="float32")
    return flow.DataLoader({"x": x, "again": x}, num_threads=2)


def plainly(folder, steps):
    with make_loader(folder) as loader:
        return [one["x"].tolist() for one in itertools.islice(loader.repeat(), steps)]


def test_a_report_has_the_copies_as_made_ahead(folder):
    with make_loader(folder) as loader, sink(loader, len, sink_size=STEPS) as run:
        assert run() == [2] * STEPS
        run.close()
        report = run.report()
    assert report.counters.hand_over is None and report.counters.stats["steps"] == STEPS - 1
    ahead = report.counters.ahead
    assert ahead.batches == run.stats()["batches_sent"] >= STEPS
    assert ahead.device == jax.default_backend() and ahead.bytes > 0


def test_the_sink_of_arrays_names_this_one(folder):
    with JaxLoader(make_loader(folder)) as loader:
        said = "a JaxLoader was given.*pyflowdata.integrations.jax.sink"
        with pytest.raises(flow.InvalidArgumentError, match=said):
            flow.sink(loader, len)


def test_steps_get_what_plain_iteration_gives(folder):
    whole = plainly(folder, 20)

    def step(batch):
        assert isinstance(batch["x"], jax.Array)
        return batch["x"].tolist()

    with make_loader(folder) as loader, sink(loader, step, sink_size=4) as run:
        assert run() + run() == whole[:8], "over the end of an epoch"
        saved = json.loads(json.dumps(run.state_dict()))
        run()
        run.load_state_dict(saved)
        assert run() == whole[8:12]
        assert "on the default device: put there ahead" in repr(run)
    with JaxLoader(make_loader(folder), jax.devices()[0]) as loader:
        for _ in zip(range(2), loader, strict=False):
            pass
        with sink(loader, step) as run:
            assert run() == whole[loader.state_dict()["position"] : STEPS]
            assert str(jax.devices()[0]) in repr(run)


def train(weights, batch):
    """A step, as jax.lax.scan has it; the order of the batches decides what comes out."""
    gradient = jnp.sin(batch["x"] @ weights) @ batch["again"]
    return weights - 0.001 * gradient, (gradient, batch["x"][0, 0])


def test_a_scan_is_the_same_as_its_steps(folder):
    weights, gradients, firsts = jnp.ones(2), [], []
    with make_loader(folder) as loader:
        for batch in itertools.islice(loader.repeat(), 20):
            weights, (gradient, first) = jax.jit(train)(weights, batch)
            gradients.append(gradient)
            firsts.append(float(first))
    with make_loader(folder) as loader, scan(loader, train, jnp.ones(2), sink_size=5) as run:
        found = [run() for _ in range(4)]
        np.testing.assert_allclose(run.carry, weights, rtol=1e-5)
        np.testing.assert_allclose(np.concatenate([one[0] for one in found]), gradients, rtol=1e-4)
        assert np.concatenate([one[1] for one in found]).tolist() == firsts
        assert run.state_dict()["epoch"] == 20 // STEPS and run.sink.stats()["steps"] == 4


def test_a_scan_goes_on_from_its_state(folder):
    with make_loader(folder) as loader, scan(loader, train, jnp.ones(2), sink_size=4) as run:
        run()
        saved, carry = json.loads(json.dumps(run.state_dict())), run.carry
        assert saved["position"] == 4, "stacks that wait in the queue do not count"
        expected, after = next(iter(run)), run.carry
    with make_loader(folder) as loader, scan(loader, train, carry, sink_size=4) as run:
        run.load_state_dict(saved)
        found = run()
        assert all(map(np.array_equal, found, expected))
        assert np.array_equal(run.carry, after)


def test_a_damaged_batch_loses_no_other(tmp_path):
    content = lines(0, RECORDS).replace(b"9,90\n", b"9;90\n", 1)
    folder = write_parts(tmp_path / "bad", content)
    whole = []
    with make_loader(folder) as loader:
        batches = loader.repeat()
        while len(whole) < 8:
            try:
                whole.append(next(batches)["x"].tolist())
            except flow.CorruptDataError:
                pass
    with make_loader(folder) as loader, scan(
        loader, lambda carry, batch: (carry, batch["x"]), 0, sink_size=4
    ) as run:
        found, failures = [], 0
        while len(found) < 8:
            try:
                found += run().tolist()
            except flow.CorruptDataError:
                failures += 1
        assert found == whole and failures >= 1


def test_what_a_scan_refuses(folder):
    with make_loader(folder) as loader:
        for wrong in (0, -1, True, "3"):
            with pytest.raises(flow.InvalidArgumentError, match="sink_size = .*len.loader"):
                scan(loader, train, 0, sink_size=wrong)
        mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
        over = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
        with pytest.raises(flow.UnsupportedError, match="a scan runs on one device"):
            scan(loader, train, 0, sink_size=2, sharding=over)
    with make_loader(folder, batch_size=5) as loader, pytest.raises(
        flow.InvalidArgumentError, match="last_batch='short' .* all batches need equal rows"
    ):
        scan(loader, train, 0, sink_size=2)


def test_a_jax_loader_stays_where_it_is_while_it_is_measured(folder):
    whole = plainly(folder, 3 * STEPS)
    with JaxLoader(make_loader(folder)) as loader:
        for epoch in range(3):
            batches = iter(loader)
            for number in range(STEPS):
                state = loader.state_dict()
                seen = []
                ceiling = loader.ceiling(lambda one, seen=seen: seen.append(one["x"]), steps=2)
                assert isinstance(seen[0], jax.Array) and not ceiling.is_copied
                assert loader.speed(steps=3).records == 3 * BATCH
                assert loader.state_dict() == state and loader.epoch == epoch
                assert next(batches)["x"].tolist() == whole[epoch * STEPS + number]
            assert next(batches, None) is None


@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_a_step_that_gives_its_batch_away_gets_another(folder):
    eat = jax.jit(lambda x: x + 1, donate_argnums=0)
    seen = []

    def step(batch):
        seen.append(batch["x"].tolist())
        eat(batch["x"])
        assert batch["x"].is_deleted()

    with JaxLoader(make_loader(folder)) as loader:
        assert loader.ceiling(step, steps=3, warm_up=1).is_copied
    assert seen == [seen[0]] * 4


def test_the_scan_of_the_page(folder):
    page = (ROOT / "docs/speed/sink.md").read_text()
    (code,) = re.findall(r"^    from pyflowdata.integrations.jax import scan\n.*?(?=^\S)", page,
                         re.S | re.M)  # fmt: skip
    seen = {"jax": jax, "weights": jnp.ones(2) * 1e-4, "loss_of": loss_of}
    with make_loader(folder) as seen["loader"]:
        exec(textwrap.dedent(code), seen)  # noqa: S102
    assert seen["losses"].shape == (100,) and seen["losses"][-1] < seen["losses"][0]


def loss_of(weights, batch):
    return jnp.square(jnp.tanh(batch["x"] / 240 @ weights) - 0.5).mean()
