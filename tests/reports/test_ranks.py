"""The report of ranks that train together: three loaders of one job, which meet in each step."""

import time

import numpy as np
import pytest
from reports.recorded import WAITING, recorded, work
from support.report_pages import reports

import pyflowdata as flow
from pyflowdata.insight.ranks import Steps

COUNT = 40


def met(steps, marks, slow_loader=None):
    """Reports of ranks whose steps are so long, in seconds; `marks` is as of reports(): all meet at
    the end of each step."""
    found = []
    for rank, own in enumerate(steps):
        rest = max(steps) - own if marks is not None else 0.0
        waits, trains = (0.0,) * COUNT, (own if marks else own + rest,) * COUNT
        of_loader = {"processors": 4, **WAITING} if rank == slow_loader else {}
        counters = recorded(
            work("Decode", 14.0, 13.5), rank=rank, world_size=len(steps), **of_loader
        )
        in_them = (rest if marks else 0.0,) * COUNT
        found.append(flow.Report(counters, steps=Steps(5, waits, trains, in_them)))
    return found


def test_a_rank_that_is_slow_in_its_own_step():
    whole = flow.RankReport(met((0.01, 0.012, 0.03), marks=True))
    assert (whole.limit, whole.cause) == ("rank", "step"), whole
    assert whole.verdict.sentence.startswith(
        "rank 2's training step takes 2.7 times as long as those of the others, 30 ms beside 11 ms"
    )
    assert "the loader is not the cause" in whole.verdict.sentence
    assert "profile the step of rank 2" in whole.verdict.remedies[0]
    evidence = whole.verdict.evidence
    assert (evidence["slowest_rank"], evidence["own_step_seconds"]) == (2, 0.03)
    assert evidence["others_step_seconds"] == pytest.approx(0.011)
    last = str(whole).splitlines()[-3:]
    assert [line.split()[0] for line in last] == ["0", "1", "2"]
    assert [line.split()[-2] for line in last] == ["0", "0", "100"]  # %: the last one in
    alike = flow.RankReport(met((0.01, 0.0101, 0.0102), marks=True))
    assert alike.cause != "step" and "all alike" in alike.verdict.sentence


def test_collectives_that_are_not_marked_hide_it():
    whole = flow.RankReport(met((0.01, 0.01, 0.03), marks=False))
    assert whole.cause != "step" and "all alike" in whole.verdict.sentence
    assert "No collective is marked by loader.collective()" in str(whole)
    apart = flow.RankReport(met((0.01, 0.02, 0.01), marks=None))  # ranks that do not meet show it
    assert (apart.cause, apart.verdict.evidence["slowest_rank"]) == ("step", 1)


@pytest.mark.parametrize("marks", (True, False))
def test_a_rank_with_a_slow_loader(marks):
    whole = flow.RankReport(met((0.005, 0.005, 0.005), marks, slow_loader=1))
    assert (whole.limit, whole.cause) == ("rank", "op"), whole
    assert whole.verdict.sentence.startswith("rank 1 is slow: its loader waits")


def test_the_numbers_of_ranks_survive_a_file(tmp_path):
    found = reports((0.001, 0.001, 0.003), (0, 0, 0), marks=True)
    whole = flow.RankReport(found)
    found[2].save(tmp_path / "2.json")
    again = flow.RankReport([*found[:2], flow.Report.load(tmp_path / "2.json")])
    assert again.verdict == whole.verdict and str(again) == str(whole)
    again.save(tmp_path / "ranks.html")
    page = (tmp_path / "ranks.html").read_text()
    assert "Skew, step by step" in page
    assert "<script" not in page and "http" not in page.replace("http://www.w3.org", "")


def test_the_latest_steps_of_a_loader():
    """The periods are those of the steps, without the turns of epochs, and at most 255."""
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
