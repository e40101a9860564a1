"""The DataLoader in the program's process leaves the program's generators alone."""

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")

from pyflowdata.integrations.torch import DataLoader  # noqa: E402
from pyflowdata.integrations.torch.data_loader import randomness  # noqa: E402


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


def test_the_mark_differs_after_each_draw_and_seed():
    assert randomness._words is not None, "the marks of this Python's random are not known"
    marks = []
    for seed in range(300):
        random.seed(seed)
        marks.append(randomness.python_mark())
    for draw in (random.random, random.getrandbits, random.gauss):
        for _ in range(1000):
            draw(*{random.getrandbits: (3,), random.gauss: (0, 1)}.get(draw, ()))
            marks.append(randomness.python_mark())
    assert len(set(marks)) == len(marks)
    random.seed(7)
    one = randomness.python_mark()
    state = random.getstate()
    random.random()
    random.setstate(state)
    assert randomness.python_mark() == one
