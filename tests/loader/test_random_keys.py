"""The random numbers of ops: functions of seed, epoch, name and record, whatever is beside them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from support.oracle import random_bits, random_key

import pyflowdata as flow

if shutil.which("cc") is None:
    pytest.skip("cc is not here", allow_module_level=True)

DRAW = r"""
#include "pyflowdata/op.h"

static const pfd_port inputs[] = {{"in", "Any rows."}};
static const pfd_port outputs[] = {{"out", "The first random number of each row."}};

static pfd_status draw_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT64};
    return PFD_OK;
}

static pfd_status draw_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    uint64_t *out = (uint64_t *)(void *)args->outputs[0]->data;
    for (int64_t row = 0; row < args->num_rows; row++)
        out[row] = args->host->random_bits(args->random_key, args->records[row].ordinal, 0);
    return PFD_OK;
}

static const pfd_op pfd_op_draw = {
    PFD_OP_SIZES,
    .name = "KeyedDraw",
    .doc = "Draws.",
    .flags = PFD_TAKES_RAGGED,
    .inputs = inputs,
    .num_inputs = 1,
    .outputs = outputs,
    .num_outputs = 1,
    .infer = draw_infer,
    .compute = draw_compute,
};
PFD_PLUGIN("draw", "1", &pfd_op_draw)
"""


@pytest.fixture
def draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return flow.compile(DRAW).KeyedDraw


@pytest.fixture
def rows(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"1\n22\n3\n")
    return lambda seed=5, size=3: flow.TextLineReader(files=path, batch_size=size, seed=seed)


def numbers(*blobs: flow.Blob) -> list[list[int]]:
    with flow.DataLoader(*blobs) as loader:
        batch = next(iter(loader))
    parts = batch if len(blobs) > 1 else (batch,)
    return [part.tolist() for part in parts if isinstance(part, np.ndarray)]


def expected(name: str, number: int | None, seed: int = 5, epoch: int = 0) -> list[int]:
    key = random_key(seed, epoch, name)
    key = key if number is None else random_bits(key, number)
    return [random_bits(random_bits(key, ordinal), 0) for ordinal in range(3)]


def test_keys_are_made_of_names_and_numbers(draw, rows) -> None:
    source = rows()
    assert numbers(draw(source), draw(source), draw(source, name="mine")) == [
        expected("KeyedDraw", 0), expected("KeyedDraw", 1), expected("mine", None),
    ]  # fmt: skip


def test_other_ops_change_nothing(draw, rows) -> None:
    alone = numbers(draw(rows()))
    assert numbers(draw(flow.PadBatch(rows()))) == alone
    source = rows()
    assert numbers(flow.PadBatch(source), draw(source)) == alone
    assert numbers(draw(source, name="mine"), draw(source))[1:] == alone


def test_one_behind_the_other(draw, rows) -> None:
    first = draw(rows())
    assert numbers(draw(first), first) == [expected("KeyedDraw", 1), expected("KeyedDraw", 0)]


def test_an_open_loader_draws_by_the_seed_and_the_epoch_that_it_goes_to(draw, rows) -> None:
    with flow.DataLoader(draw(rows(6, 1))) as other:
        states = {6: other.state_dict()}
    with flow.DataLoader(draw(rows(5, 1)), prefetch=1) as loader:  # within an epoch
        states[5] = loader.state_dict()
        for seed, epoch in ((5, 0), (5, 1), (6, 1), (6, 0), (5, 0)):
            loader.load_state_dict(states[seed])
            loader.seek(0, epoch=epoch)
            assert next(iter(loader)).tolist() == expected("KeyedDraw", 0, seed, epoch)[:1]
