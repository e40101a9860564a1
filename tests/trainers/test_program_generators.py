"""The DataLoader in the program's process leaves the program's generators alone."""

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")

from pyflowdata.integrations.torch import DataLoader, sample_generator  # noqa: E402


class Drawing:
    def __init__(self, draw):
        self.draw = draw

    def __len__(self):
        return 20

    def __getitem__(self, index):
        return index, self.draw()


class DrawingMany(Drawing):
    def __getitems__(self, indices):
        return [(index, self.draw()) for index in indices]


DRAWS = {
    "nothing": lambda: 0.0,
    "random": random.random,
    "gauss": lambda: random.gauss(0, 1),
    "numpy": lambda: float(np.random.rand()),
    "torch": lambda: torch.rand(1).item(),
}
BEFORE = {
    "seeds": lambda step: random.seed(step),
    "seeds and draws": lambda step: (random.seed(step), random.random()),
    "draws": lambda step: random.random(),
    "draws one gauss": lambda step: random.gauss(0, 1),
    "nothing": lambda step: None,
}


@pytest.mark.parametrize("kind", [Drawing, DrawingMany])
@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("before", BEFORE)
def test_each_step_leaves_the_states_as_they_were(kind, draw, before):
    random.seed(1)
    for step, _ in enumerate(DataLoader(kind(DRAWS[draw]), batch_size=4)):
        if step:
            assert random.getstate() == python
            assert np.random.get_state()[2] == numpy[2]
            assert np.array_equal(np.random.get_state()[1], numpy[1])
            assert torch.equal(torch.get_rng_state(), torchs)
        BEFORE[before](step)
        python, numpy, torchs = random.getstate(), np.random.get_state(), torch.get_rng_state()
    assert step == 4


@pytest.mark.parametrize("kind", [Drawing, DrawingMany])
@pytest.mark.parametrize("draw", DRAWS)
def test_what_is_drawn_does_not_depend_on_the_program(kind, draw):
    def values(before):
        found = []
        for step, (_, drawn) in enumerate(DataLoader(kind(DRAWS[draw]), batch_size=4, seed=5)):
            found += drawn.tolist()
            before(step)
        return found

    expected = values(lambda step: None)
    assert len(set(expected)) == (1 if draw == "nothing" else 20)
    for before in BEFORE.values():
        assert values(before) == expected


def test_a_seed_of_the_program_between_batches_is_noticed():
    """Samples begin to draw late, after the program has seeded once more without a draw."""
    drawn = []

    def late():
        drawn.append(0)
        return random.random() if len(drawn) > 12 else 0.0

    for step, _ in enumerate(DataLoader(Drawing(late), batch_size=4)):
        if step:
            assert random.getstate() == state
        random.seed(step)
        state = random.getstate()
    assert step == 4


def _forked():
    with torch.random.fork_rng():
        return torch.rand(1).item()


def _set_back():
    state = random.getstate()
    drawn = random.random()
    random.setstate(state)
    return drawn


def _of_inner_loader():
    return next(iter(DataLoader(range(1000), shuffle=True))).item()


HIDDEN = {
    "numpy": lambda: float(np.random.randn()),
    "gauss": lambda: random.gauss(0, 1),
    "forked": _forked,
    "set back": _set_back,
    "inner loader": _of_inner_loader,
}


@pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")
@pytest.mark.parametrize("draw", HIDDEN)
@pytest.mark.parametrize("size", [1, 4])
def test_draws_that_leave_no_trace_are_keyed(draw, size):
    """The hidden draws: a normal number that the generator has kept, and a generator set back."""
    found, after = [], []
    for workers in (0, 1):
        np.random.seed(0), random.seed(0), torch.manual_seed(0)
        kept = np.random.randn(), random.gauss(0, 1)
        loader = DataLoader(Drawing(HIDDEN[draw]), size, num_workers=workers, seed=1)
        found.append([value for _, values in loader for value in values.tolist()])
        after.append((kept, np.random.randn(), random.gauss(0, 1)))
    assert found[0] == found[1]
    assert len(set(found[0])) > 15
    assert after[0] == after[1]


class Nesting(Drawing):
    def __getitem__(self, index):
        before = sample_generator().random()
        assert len(list(DataLoader(range(4), 2, seed=5))) == 2
        return np.array([before, sample_generator().random()])


def test_a_loader_in_a_dataset_leaves_the_generator_of_the_sample():
    rows = torch.cat(list(DataLoader(Nesting(None), 4, seed=1)))
    assert torch.equal(rows[:, 0], rows[:, 1])
    assert len(set(rows[:, 0].tolist())) == 20
    with pytest.raises(RuntimeError, match="sample_generator"):
        sample_generator()
