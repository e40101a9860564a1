"""States that former versions have saved, tests/fixtures/states, continue as they did there."""

from __future__ import annotations

import itertools
import json

import pytest

import pyflowdata as flow
from loader.state_cases import CASES, STATES, following, open_case


@pytest.fixture(params=CASES)
def case(request):
    if request.param == "grouped":
        request.getfixturevalue("test_ops")
    return CASES[request.param]


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def saved(request, case):
    return json.loads((STATES / f"{request.node.callspec.params['case']}.json").read_text())


def as_saved_then(state, saved):
    """A state of today without what the version that has saved the other did not have."""
    return {key: state[key] for key in saved if key in state} | {"version": 1}


@pytest.mark.parametrize("threads, prefetch", [(1, 1), (2, 3)])
def test_a_saved_state_continues_with_the_same_batches(case, saved, threads, prefetch, tmp_path):
    with open_case(case, tmp_path, num_threads=threads, prefetch=prefetch) as loader:
        loader.load_state_dict(saved["state"])
        assert as_saved_then(loader.state_dict(), saved["state"]) == saved["state"]
        assert following(loader) == saved["following"]


def test_the_same_state_is_saved_today(case, saved, tmp_path):
    """But for its version: what was recorded is not written in another way."""
    with open_case(case, tmp_path, num_threads=2) as loader:
        for _ in itertools.islice(loader.repeat(), case.steps):
            pass
        if case.has_seed:
            assert as_saved_then(loader.state_dict(), saved["state"]) == saved["state"]
            assert following(loader) == saved["following"]
        else:
            assert saved["state"].keys() <= loader.state_dict().keys()


def test_states_are_taken_inside_an_epoch():
    for name in CASES:
        assert json.loads((STATES / f"{name}.json").read_text())["state"]["position"] > 0, name
    assert {path.stem for path in STATES.glob("*.json")} == {*CASES}


def test_a_saved_state_of_other_data_is_refused(tmp_path):
    saved = json.loads((STATES / "mini-shuffled.json").read_text())["state"]
    with open_case(CASES["mini-shuffled"], tmp_path) as loader:
        loader.load_state_dict(saved)
    part = tmp_path / "part-0"
    part.write_text(part.read_text().replace("3,", "4,", 1), newline="")
    blobs = flow.MiniReader(
        str(tmp_path), batch_size=4, with_id=True, random_shuffle=True, shuffle_after_epoch=True,
        seed=7,
    )  # fmt: skip
    with flow.DataLoader(*blobs) as loader, pytest.raises(flow.InvalidArgumentError):
        loader.load_state_dict(saved)
