"""The report of ranks that train together: three loaders of one job, which meet in each step."""

import time

import numpy as np
import pytest
from support.report_pages import reports

import pyflowdata as flow


def test_a_rank_that_is_slow_in_its_own_step(tmp_path):
    found = reports((0.01, 0.01, 0.03), (0, 0, 0), marks=True)
    whole = flow.RankReport(found)
    assert (whole.limit, whole.cause) == ("rank", "step"), whole
    assert "rank 2's training step takes" in whole.verdict.sentence
    assert "the loader is not the cause" in whole.verdict.sentence
    assert whole.verdict.evidence["slowest_rank"] == 2
    assert whole.verdict.evidence["own_step_seconds"] > 0.028
    assert 0.008 < whole.verdict.evidence["others_step_seconds"] < 0.025
    last = str(whole).splitlines()[-3:]
    assert [line.split()[0] for line in last] == ["0", "1", "2"]
    assert int(last[2].split()[-2]) > 80  # % of the steps in which it is the last one in
    # The others spend what they wait for it in collectives, and the numbers survive a file.
    found[2].save(tmp_path / "2.json")
    again = flow.RankReport([*found[:2], flow.Report.load(tmp_path / "2.json")])
    assert again.verdict == whole.verdict and str(again) == str(whole)
    again.save(tmp_path / "ranks.html")
    page = (tmp_path / "ranks.html").read_text()
    assert "Skew, step by step" in page and "rank 2&#39;s training step" in page
    assert "<script" not in page and "http" not in page.replace("http://www.w3.org", "")


def test_collectives_that_are_not_marked_hide_it():
    whole = flow.RankReport(reports((0.01, 0.01, 0.03), (0, 0, 0), marks=False))
    assert whole.cause != "step" and "all alike" in whole.verdict.sentence
    assert "No collective is marked by loader.collective()" in str(whole)


def test_ranks_that_do_not_meet_show_it():
    whole = flow.RankReport(reports((0.01, 0.02, 0.01), (0, 0, 0), marks=None))
    assert (whole.cause, whole.verdict.evidence["slowest_rank"]) == ("step", 1)


@pytest.mark.parametrize("marks", (True, False))
def test_a_rank_with_a_slow_loader(marks):
    whole = flow.RankReport(reports((0.005, 0.005, 0.005), (0, 0.03, 0), marks))
    assert whole.limit == "rank" and whole.cause not in ("", "step"), whole
    assert whole.verdict.sentence.startswith("rank 1 is slow: its loader waits")


def test_the_latest_steps_of_a_loader():
    """They are those of the steps, without the turns of epochs, and at most 255."""
    x = flow.from_arrays({"x": np.arange(200.0)}).batch(4, rank=0, world_size=2)["x"]
    with flow.DataLoader(x) as loader:
        for _ in range(2):
            for step, _ in enumerate(loader):
                if step == 7:
                    time.sleep(0.02)
        steps = loader.report().to_dict()["steps"]
    assert steps["first"] == 0 and len(steps["trains"]) == 99
    assert [i for i, one in enumerate(steps["trains"]) if one is None] == [49]
    assert [i for i, one in enumerate(steps["waits"]) if one is None] == [0, 50]
    assert {7, 57} <= {i for i, one in enumerate(steps["trains"]) if one is not None and one > 0.02}
