"""What `make instructions` makes of the counts of its runs; it is in .ci/run itself."""

from __future__ import annotations

import json

import pytest

from bench import instructions
from bench.instructions import Costs, Count

PROFILE = """\
version: 1
events: Ir
ob=(1) /usr/lib/libc.so.6
fl=(1) malloc.c
fn=(1) malloc
10 500
ob=(2) /tree/libpyflowdata.so
fl=(2) a.c
fn=(2) next
12 7
+1 20
cob=(1)
cfi=(1)
cfn=(1)
calls=3 10
* 1500
-2 3
ob=(1)
fn=(1)
10 40
ob=(2)
fn=(3) close
40 70
totals: 640
"""


def test_costs_are_those_of_the_object_file_without_its_calls():
    found: dict[str, int] = {}
    for name, cost in instructions.own_costs(PROFILE.splitlines()):
        found[name] = found.get(name, 0) + cost
    assert found == {"/usr/lib/libc.so.6": 540, "/tree/libpyflowdata.so": 100}


def test_costs_of_a_loader_are_told_apart():
    """Opening costs 10**6, a record 50, a batch 3000."""

    def run(records, size):
        made, batches = records + 2 * size, records // size + 2
        return Count(made, batches, 10**6 + 50 * made + 3000 * batches, "")

    found = instructions.costs(run(10_000, 100), run(30_000, 100), run(10_000, 10))
    assert found == pytest.approx((50 + 3000 / 100, 3000))


@pytest.mark.parametrize("change, is_as_recorded", [(1.02, True), (1.04, False), (0.96, False)])
@pytest.mark.parametrize("what", Costs._fields)
def test_three_percent_are_noticed(what, change, is_as_recorded):
    recorded = Costs(800.0, 5000.0)
    found = recorded._replace(**{what: getattr(recorded, what) * change})
    assert instructions.is_as_recorded(found, recorded) == is_as_recorded
    assert ("<-" not in instructions.described("W0", found, recorded)) == is_as_recorded


def test_a_limit_is_of_a_compiler_and_a_workload():
    (compiled_by, limits), *_ = instructions.LIMITS.items()
    for name, limit in limits.items():
        assert not instructions.is_above_limit(name, Costs(limit, 9e9), compiled_by)
        assert instructions.is_above_limit(name, Costs(limit + 0.1, 0), compiled_by)
        assert not instructions.is_above_limit(name, Costs(limit + 0.1, 0), "another compiler")
    assert not instructions.is_above_limit("W5", Costs(9e9, 9e9), compiled_by)


def test_all_workloads_are_recorded_within_their_limits():
    record = json.loads(instructions.RECORD.read_text())
    assert record
    assert instructions.LIMITS.keys() <= record.keys()
    for compiled_by, costs in record.items():
        for name, one in costs.items():
            assert not instructions.is_above_limit(name, Costs(**one), compiled_by), name
        assert costs.keys() == instructions.WORKLOADS.keys()
        assert all(Costs(**one) > (0, 0) for one in costs.values())
