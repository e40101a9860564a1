"""The order that a report shows is that of the loader, which goes on undisturbed."""

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.loader.order_sample import sample_order

FILES, LINES = 4, 500


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files whose field n is the place of its record in all of them."""
    folder = tmp_path_factory.mktemp("order")
    for file in range(FILES):
        places = range(file * LINES, (file + 1) * LINES)
        rows = "".join(f"{one},{one // 300},{one % 2}\n" for one in places)
        (folder / f"part-{file}.csv").write_text(f"n,label,odd\n{rows}")
    return folder


def sample(loader, epoch=0, **options):
    return sample_order(flow.DataLoader, loader.blobs, loader.readers, epoch, **options)


def numbers(blob, epoch):
    with flow.DataLoader(blob) as loader:
        loader.seek(0, epoch=epoch)
        return [batch.tolist() for batch in loader]


def test_places_are_those_of_the_records(folder):
    data = flow.open(f"{folder}/*.csv")
    orders = {
        "files": data,
        "global": data.shuffle(seed=3),
        "window": data.shuffle(seed=3, kind="window", block_size=8, window=4),
        "buffer": data.shuffle(seed=3, kind="buffer", buffer_size=64),
        "part": data.where("odd == 1").shuffle(seed=5).take(200),
    }
    for name, ordered in orders.items():
        for epoch in (0, 2):
            batch = ordered.batch(30)
            with flow.DataLoader({"n": batch["n"], "odd": batch["odd"]}) as loader:
                found = sample(loader, epoch, seconds=1000)
            expected = numbers(batch["n"], epoch)[: len(found["rows"])]
            assert found["missing"] == "" and found["epoch"] == epoch, name
            assert found["rows"] == [len(one) for one in expected], name
            together = np.concatenate(expected)
            assert found["positions"] == list(range(len(together)))
            assert found["places"] == together.tolist(), name
            assert found["extent"] > max(found["places"])
            firsts = [LINES * file for file in range(FILES)]
            assert [one["first"] for one in found["files"]] == firsts
            assert [one["name"] for one in found["files"]][:1] == ["part-0.csv"]
            if name != "part":
                counts = [[one.count(0), one.count(1)] for one in
                          ([value % 2 for value in batch] for batch in expected)]  # fmt: skip
                assert found["extent"] == FILES * LINES
                assert found["labels"] == {"missing": "", "name": "BatchDataset/odd",
                                           "values": [0, 1], "counts": counts}  # fmt: skip


def test_labels_go_by_name_and_by_how_many_values_they_have(folder):
    batch = flow.open(f"{folder}/*.csv").shuffle(seed=1).batch(50)
    with flow.DataLoader((batch["odd"], batch["n"], batch["label"])) as loader:
        labels = sample(loader)["labels"]
    assert labels["name"] == "BatchDataset/label" and labels["values"] == list(range(7))
    assert np.sum(labels["counts"], axis=1).tolist() == [50] * 40
    with flow.DataLoader(batch["n"]) as loader:
        assert "not 2 to 24 values" in sample(loader)["labels"]["missing"]
    floats = flow.Affine(batch["n"], scale=2.0, dtype="float32")
    with flow.DataLoader(floats) as loader:
        assert "no wanted blob" in sample(loader)["labels"]["missing"]


def test_sources_of_a_mix_lie_one_after_another(folder):
    first, second = (flow.open(f"{folder}/part-{file}.csv") for file in (0, 2))
    batch = flow.mix([first, second], weights=[1, 1]).shuffle(seed=1).batch(20)
    with flow.DataLoader(batch["n"]) as loader:
        found = sample(loader, seconds=1000)
    together = np.concatenate(numbers(batch["n"], 0))[: len(found["places"])]
    assert found["places"] == np.where(together < LINES, together, together - LINES).tolist()
    assert [one["first"] for one in found["files"]] == [0, LINES]


def test_ranks_see_the_batches_of_all(folder):
    found = []
    for rank, world_size in ((0, 1), (0, 2), (1, 2)):
        reader = flow.open(f"{folder}/*.csv").shuffle(seed=1)
        batch = reader.batch(40, rank=rank, world_size=world_size)
        with flow.DataLoader(batch["n"]) as loader:
            found.append(sample(loader, seconds=1000))
    assert found[0] == found[1] == found[2] and found[0]["rows"] == [40] * 50


def test_the_loader_goes_on_undisturbed(folder):
    def blob():
        return flow.CSVReader(
            files=f"{folder}/*.csv", columns=["n:int64"], header="yes", batch_size=16,
            random_shuffle=True, seed=9, name="rows",
        )  # fmt: skip

    expected = numbers(blob(), 0)
    with flow.DataLoader(blob(), num_threads=2) as loader:
        batches = iter(loader)
        taken = [next(batches).tolist() for _ in range(5)]
        state, delivered = loader.state_dict(), loader.stats()["batches"]
        assert sample(loader)["places"][:16] == expected[0]
        assert loader.state_dict() == state and loader.stats()["batches"] == delivered
        taken += [batch.tolist() for batch in batches]
    assert taken == expected
    assert sample(loader)["places"][:16] == expected[0]  # of a closed one


def test_no_report_is_about_the_look(folder, monkeypatch, capsys):
    monkeypatch.setenv("PYFLOWDATA_REPORT", "1")
    with flow.DataLoader(flow.open(f"{folder}/*.csv").batch(100)["n"]) as loader:
        assert len(sample(loader)["rows"]) == 20
    assert capsys.readouterr().err == ""
    with flow.DataLoader(flow.open(f"{folder}/*.csv").batch(100)["n"]) as loader:
        list(loader)
    assert capsys.readouterr().err.count("report of DataLoader") == 1


def test_large_batches_are_thinned_out(folder):
    batch = flow.open(f"{folder}/*.csv").repeat(20).shuffle(seed=1).batch(2000)
    with flow.DataLoader(batch["n"]) as loader:
        found = sample(loader, seconds=1000)
        stopped = sample(loader, seconds=0)
    assert found["rows"] == [2000] * 8 and found["positions"] == list(range(0, 16000, 4))
    together = np.concatenate(numbers(batch["n"], 0))
    assert found["places"] == together[:16000:4].tolist()
    assert stopped["rows"] == [2000]  # each look at the clock comes after a batch


def test_what_is_left_out_says_why(folder, tmp_path, monkeypatch):
    def why(blob, **options):
        with flow.DataLoader(blob) as loader:
            return sample(loader, **options)["missing"]

    def stream():
        yield from range(100)

    calls = []

    class Source:
        def __len__(self):
            return 100

        def __getitem__(self, place):
            calls.append(place)
            return place

    reader = {"fields": ["x:int64"], "batch_size": 10, "seed": 1}
    assert "in sequence" in why(flow.GeneratorReader(stream, **reader))
    with flow.DataLoader(flow.GeneratorReader(Source(), **reader)) as loader:
        list(loader)
    before = len(calls)
    assert "Python" in sample(loader)["missing"]
    assert len(calls) == before
    blob = flow.open(f"{folder}/*.csv").batch(10)["n"]
    assert why(blob) == ""
    with flow.DataLoader(blob) as loader:
        monkeypatch.setattr("pyflowdata.loader.order_sample._MOST_BYTES", 10)
        assert "MB to read" in sample(loader)["missing"]
        monkeypatch.undo()
        monkeypatch.setattr("pyflowdata.loader.order_sample._INDEX_SECONDS", -1.0)
        assert "would take it again" in sample(loader)["missing"]
    monkeypatch.undo()
    (tmp_path / "gone.csv").write_text("n\n1\n2\n")
    with flow.DataLoader(flow.open(tmp_path / "gone.csv").batch(1)["n"]) as loader:
        list(loader)
    (tmp_path / "gone.csv").unlink()
    assert "failed" in sample(loader)["missing"]
