"""`pyflowdata seal`, and what `verify` and `convert` do with seals."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pyflowdata import cli, io
from pyflowdata.formats import read_seal, seal_path


@pytest.fixture
def run(capsys):
    def call(*args: object) -> tuple[int, str, str]:
        status = cli.main([str(one) for one in args])
        return status, *capsys.readouterr()

    return call


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{i},{i * i}\n" for i in range(300)))
    return path


def test_verify_finds_every_change_of_a_sealed_file(run, table):
    status, out, _ = run("seal", table)
    assert status == 0 and "300 records" in out and "root " in out
    status, out, _ = run("verify", table)
    assert status == 0 and "agree with the seal" in out
    table.write_bytes(table.read_bytes().replace(b"7,49", b"7,48"))
    status, out, _ = run("verify", table)
    assert status == 1 and "differ from the seal" in out and "300 records whole" in out


def test_equal_data_have_equal_roots(run, table, tmp_path):
    copy = tmp_path / "b.csv"
    copy.write_bytes(table.read_bytes())
    _, out, _ = run("seal", "--json", table, copy)
    one, two = map(json.loads, out.splitlines())
    assert one["root"] == two["root"] and one["records"] == 300
    assert one["bytes"] == table.stat().st_size


def test_a_damaged_file_gets_no_seal(run, tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.arange(9))
    path.write_bytes(path.read_bytes()[:-1])
    status, _, err = run("seal", path)
    assert status == 1 and "it gets no seal" in err and not seal_path(path).exists()
    assert run("seal", "--no-check", path)[0] == 0 and seal_path(path).exists()


def test_data_that_differ_from_their_seal_are_sealed_again_only_on_request(run, table):
    run("seal", table)
    sealed = read_seal(table)
    assert run("seal", "--no-check", table)[0] == 0  # equal data
    table.write_bytes(table.read_bytes().replace(b"7,49", b"7,48"))
    status, _, err = run("seal", table)
    assert status == 1 and "differ from the seal" in err and "--replace" in err
    assert run("verify", table)[0] == 1 and sealed.bytes == read_seal(table).bytes
    assert run("seal", "--replace", table)[0] == 0 and run("verify", table)[0] == 0
    assert read_seal(table).root != sealed.root
    seal_path(table).write_bytes(b"x")
    assert run("seal", table)[0] == 1 and run("seal", "--replace", table)[0] == 0


def test_a_damaged_seal_is_damage(run, table):
    run("seal", table)
    seal = seal_path(table)
    seal.write_bytes(seal.read_bytes()[:-1])
    status, out, _ = run("verify", table)
    assert status == 1 and str(seal) in out


def test_convert_seals_each_shard(run, table, tmp_path):
    args = ("convert", table, tmp_path / "t.tfrecord", "--shards", 3, "--quiet", "--jobs", 1)
    assert run(*args, "--seal")[0] == 0
    made = sorted(tmp_path.glob("*.tfrecord"))
    assert [read_seal(path).records for path in made] == [100, 100, 100]
    assert run("verify", *made)[0] == 0
    assert run(*args, "--overwrite")[0] == 0
    assert not any(seal_path(path).exists() for path in made)


def test_bytes_of_an_unknown_format_are_compared_with_their_seal(run, tmp_path):
    path = tmp_path / "a.raw"
    with io.RawWriter(path, seal=True) as writer:
        writer.write_batch(np.arange(9.0))
    assert "agree with the seal" in run("verify", path)[1]
    path.write_bytes(bytes(72))
    status, out, _ = run("verify", path)
    assert status == 1 and "differ from the seal" in out
