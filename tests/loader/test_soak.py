"""The short form of tests/loader/soak.py, and that its counts would show a fault."""

import pytest

from loader import soak

pytestmark = pytest.mark.slow

STEPS = soak.STEPS


def test_killed_runs_lose_and_repeat_nothing():
    report = soak.soak(cycles=9, seed=1, most_steps=40)
    assert (report.lost, report.repeated, report.wrong) == (0, 0, 0), report
    assert report.batches > 2 * STEPS, "more than two epochs were looked at"
    assert report.rolled_back > 0, "some steps were taken and not saved"


def counts(ledger, expected):
    report = soak.Report()
    soak.compare(ledger, expected, report)
    return report.lost, report.repeated, report.wrong


def test_a_lost_or_repeated_batch_is_counted():
    expected = [b"%d" % i for i in range(3 * STEPS)]
    assert counts(expected[: 2 * STEPS + 5], expected) == (0, 0, 0)
    assert counts(expected[:3] + expected[4:STEPS], expected)[0] == 1
    assert counts(expected[:5] + expected[4 : STEPS - 1], expected) == (1, 1, STEPS - 5)
    swapped = [expected[1], expected[0], *expected[2:STEPS]]
    assert counts(swapped, expected) == (0, 0, 2)


def test_a_state_that_is_a_batch_off_is_found(monkeypatch):
    """The whole way: what a loader would do that counts what it made ahead as delivered."""
    read = soak.read_checkpoints

    def off_by_one(*args):
        batches, state = read(*args)
        if state is not None:
            place = min(state["position"] + 1, STEPS)
            state = {**state, "position": place, "version": 1}
            del state["sum"]  # which this version does not have
        return batches, state

    monkeypatch.setattr(soak, "read_checkpoints", off_by_one)
    report = soak.soak(cycles=4, seed=2, most_steps=15)
    assert report.wrong > 0 and report.lost > 0
