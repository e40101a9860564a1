"""flow.graph() says what a loader does: compared with the nodes, and with what loaders deliver."""

import os
from collections import Counter

import numpy as np
import pytest

import pyflowdata as flow
from images.image_files import photo, saved
from support.decoder_rows import bytes_of
from support.face import DATA, rows

X = np.arange(120, dtype=np.float32).reshape(40, 3)
Y = np.arange(40)


def arrays(**more):
    return flow.from_arrays({"x": X, "y": Y, **more})


def double(x):
    return x * 2


def write_csv(folder, number, records=40):
    path = folder / f"{number:02d}.csv"
    path.write_text("a,b\n" + "".join(f"{i},{i + number}\n" for i in range(records)))
    return path


def edges_between(blobs):
    """(op, op) -> names of outputs, followed from blob to blob: what the drawing has to have."""
    found, todo, seen = {}, [blob.node for blob in blobs], set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        for blob in node.inputs:
            name = blob.name.rpartition("/")[2]
            found.setdefault((blob.node, node), set()).add(name)
            todo.append(blob.node)
    return seen, found


def title_of(node):
    name = node.op.name
    return name.removesuffix("Dataset").lower() if node.op.is_view else name


def check_against_nodes(graph, blobs):
    """Every node is there once, and every edge between two of them; nothing else is."""
    nodes, edges = edges_between(blobs)
    inner = [one for one in graph.vertices[:-1] if one.kind != "files"]
    assert Counter(one.title for one in inner) == Counter(map(title_of, nodes))
    assert graph.vertices[-1].kind == "batch" and len(graph.vertices[-1].outputs) == len(blobs)
    titles = [one.title for one in graph.vertices]
    drawn = Counter(
        (titles[edge.source], titles[edge.target], frozenset(edge.outputs))
        for edge in graph.edges
        if graph.vertices[edge.source].kind != "files"
        and edge.target != len(graph.vertices) - 1
    )
    assert drawn == Counter(
        (title_of(a), title_of(b), frozenset(names)) for (a, b), names in edges.items()
    )
    last = {edge.source: edge.outputs for edge in graph.edges if edge.target == len(titles) - 1}
    wanted = Counter((title_of(blob.node), blob.name.rpartition("/")[2]) for blob in blobs)
    assert Counter((titles[a], name) for a, names in last.items() for name in names) == wanted
    assert all(edge.source < edge.target for edge in graph.edges)


def test_every_op_and_every_edge_is_there_once():
    x, y = flow.MiniDecoder(rows())
    check_against_nodes(flow.graph(x, y), [x, y])
    data = arrays().take(30).shuffle(seed=2)
    batch = data.concat(arrays().skip(5)).batch(6)
    half = flow.Cast(batch["x"], dtype="float16", name="half")
    small = flow.Cast(batch["y"], dtype="int16")
    both = [small, half, flow.Cast(half, dtype="float64"), batch["y"]]
    check_against_nodes(flow.graph(both), both)
    assert [one.name for one in flow.graph(both).vertices if one.name] == ["half"]


def test_attrs_that_were_given_are_shown_and_no_others():
    batch = arrays().batch(8, last="drop")
    graph = flow.graph(flow.Cast(batch["x"], dtype="float64"))
    (cast,) = (one for one in graph.vertices if one.title == "Cast")
    assert cast.attrs == (("dtype", "'float64'"),)
    (batched,) = (one for one in graph.vertices if one.kind == "batches")
    assert dict(batched.attrs) == {"batch_size": "8", "last_batch": "'drop'"}
    reader = flow.graph(rows(batch_size=5, random_shuffle=True)).vertices[1]
    assert dict(reader.attrs) == {"batch_size": "5", "random_shuffle": "True"}


def test_bytes_are_those_of_delivered_batches():
    for rank, world in ((0, 1), (0, 4), (3, 4)):
        batch = arrays().batch(8, rank=rank, world_size=world)
        blobs = {"x": batch["x"], "z": flow.Cast(batch["x"], dtype="float64"), "y": batch["y"]}
        with flow.DataLoader(blobs) as loader:
            delivered = next(iter(loader))
            graph = flow.graph(loader)
        assert flow.graph(blobs).vertices[:-1] == graph.vertices[:-1]
        assert flow.graph(blobs).edges == graph.edges
        for one, array in zip(graph.vertices[-1].outputs, delivered.values(), strict=True):
            assert one.batch_bytes == array.nbytes and one.rows == len(array) == 8 // world
            assert one.row_bytes == array[0].nbytes and one.type.dtype == array.dtype


def test_ragged_blobs_and_batches_that_differ_in_size_say_so():
    samples = [{"t": np.arange(length)} for length in (3, 1, 4, 1, 5, 9, 2, 6)]
    data = flow.Dataset(flow.GeneratorReader(samples, fields=["t:int64[?]"]))
    output = flow.graph(data.batch(4)).vertices[-1].outputs[0]
    assert output.row_bytes is None and output.batch_bytes is None
    assert output.type_text == "int64[?]" and "ragged" in output.bytes_text
    sized = data.batch_by_tokens(12, field="t", most_rows=5)
    text = str(flow.graph(sized))
    assert "bucket" in text and "batch of up to 5 rows" in text


def test_fused_ops_are_those_that_the_loader_fuses():
    """A crop of the upper half of a truncated image is delivered if decoder and crop are one op."""
    content = saved(photo(400, 64), "jpeg", quality=95)
    cut = content[: len(content) // 2]
    image = flow.ImageDecoder(bytes_of([cut] * 8, on_error="skip", max_errors=8))
    crops = {op: op(image, size=(20, 20), **more) for op, more in (
        (flow.CenterCrop, {"position": [0.2, 0.5]}), (flow.Resize, {}),
    )}  # fmt: skip
    for wanted in ([crops[flow.CenterCrop]], [crops[flow.CenterCrop], image], [crops[flow.Resize]]):
        with flow.DataLoader(wanted) as loader:
            delivered = sum(len(batch[0]) for batch in loader)
        graph = flow.graph(wanted)
        fused = [edge for edge in graph.edges if edge.is_fused]
        assert bool(fused) == bool(delivered) and delivered in (0, 8)
        for edge in fused:
            ends = graph.vertices[edge.source], graph.vertices[edge.target]
            assert [one.title for one in ends] == ["ImageDecoder", "CenterCrop"]
            assert ends[0].notes == ("computed together with CenterCrop, as one op",)
        assert str(graph).count("as one op") == len(fused)


def test_ops_that_no_wanted_blob_needs_are_not_computed():
    calls = []

    def seen(x):
        calls.append(len(x))
        return x * 2

    data = arrays().map(seen, "x", outputs={"x": "float32[3]"})
    for wanted, is_computed in ((["y"], False), (["x", "y"], True)):
        calls.clear()
        batch = data.batch(8)
        blobs = [batch[name] for name in wanted]
        with flow.DataLoader(blobs) as loader:
            assert len(list(loader)) == 5
        assert bool(calls) == is_computed
        assert ("not computed" in str(flow.graph(blobs))) == (not is_computed)


def test_stages_of_ops_over_whole_batches():
    batch = arrays(image=np.zeros((40, 8, 8, 3), np.float32)).batch(8)
    label = flow.OneHot(batch["y"], depth=40)
    mixed, labels = flow.MixUp(batch["image"], label, alpha=0.2)
    graph = flow.graph(flow.Cast(mixed, dtype="float64"), labels)
    notes = {one.title: one.notes for one in graph.vertices}
    assert notes["OneHot"] == ("stage 0: ranges of rows",)
    assert notes["MixUp"] == ("stage 1: the whole batch at once",)
    assert notes["Cast"] == ("stage 2: ranges of rows",)
    assert "stage" not in str(flow.graph(label))


# ---- Data sets ----------------------------------------------------------------------------------


def test_equal_branches_are_drawn_as_one(tmp_path):
    paths = [write_csv(tmp_path, number) for number in range(20)]
    sources = [flow.open(path).skip(3) for path in paths]
    graph = flow.graph(flow.mix(sources, weights=[1.0] * 20).batch(8))
    titles = [(one.title.partition(",")[0], one.count) for one in graph.vertices]
    assert titles == [
        ("20 files", 20), ("CSVReader", 20), ("skip", 20), ("mix", 1), ("batch", 1),
        ("batch of 8 rows", 1),
    ]  # fmt: skip
    assert graph.vertices[0].files.bytes == sum(os.path.getsize(path) for path in paths)
    assert graph.vertices[0].name == "00.csv ..."
    assert len(graph.edges) == 5 and "CSVReader(header='yes') x 20" in str(graph)
    few = flow.graph(flow.mix(sources[:3], weights=[1.0] * 3).batch(8))
    assert [one.count for one in few.vertices] == [1] * 12


def test_branches_that_differ_or_are_shared_are_not_mixed_up(tmp_path):
    one = flow.open(write_csv(tmp_path, 0))
    shared = flow.graph(flow.mix([one] * 6, weights=[1.0] * 6).batch(8))
    assert [vertex.title for vertex in shared.vertices].count("CSVReader") == 1
    differ = flow.graph(one.concat(*(one.take(3 + number) for number in range(5))).batch(8))
    assert [dict(v.attrs) for v in differ.vertices if v.title == "take"] == [
        {"count": str(3 + number)} for number in range(5)
    ]
    many = [flow.open(tmp_path / "00.csv").take(1 + number % 10) for number in range(20)]
    graph = flow.graph(flow.mix(many, weights=[1.0] * 20).batch(8))
    takes = sum(vertex.count for vertex in graph.vertices if vertex.title == "take")
    (more,) = (vertex for vertex in graph.vertices if vertex.kind == "more")
    assert more.title == f"and {20 - takes} more data sets" and takes < 10
    assert len(str(graph).splitlines()) < 120


def test_a_data_set_has_records_and_no_batches(tmp_path):
    data = flow.open(write_csv(tmp_path, 0))
    graph = flow.graph(data)
    assert [one.title.partition(",")[0] for one in graph.vertices] == [
        "1 file", "CSVReader", "record"
    ]  # fmt: skip
    assert [one.bytes_text for one in graph.vertices[-1].outputs] == ["8 bytes a record"] * 2
    shuffled = flow.graph(data.shuffle(seed=5, kind="window", block_size=8))
    (shuffle,) = (one for one in shuffled.vertices if one.title == "shuffle")
    assert {("seed", "5"), ("shuffle_block_size", "8")} < set(shuffle.attrs)
    assert "batch_size" not in dict(shuffle.attrs)


def test_a_cache_is_drawn_with_what_it_keeps(tmp_path):
    """Also before its file is there; what made it is not run again, and is not said to be idle."""
    data = flow.open(write_csv(tmp_path, 0)).map(double, "a", outputs={"c": "int64"})
    cached = data.cache(tmp_path / "kept")
    graph = flow.graph(cached.batch(8)["c"])
    titles = [one.title.partition(",")[0] for one in graph.vertices]
    assert titles[:2] == ["1 file", "CSVReader"] and titles[2].startswith("Map")
    assert titles[3:] == [f"cache({str(tmp_path / 'kept')!r})", "batch", "batch of 8 rows"]
    assert {(2, 3), (1, 3), (3, 4)} < {(edge.source, edge.target) for edge in graph.edges}
    assert "not computed" not in str(graph) and not (tmp_path / "kept").exists()


def test_views_made_from_arrays_say_what_was_asked():
    data = arrays()
    views = data.where("y > 3"), data.split([0.5, 0.5], seed=2)[0], data.select([3, 5])
    steps = [repr(view).rpartition("-> ")[2] for view in views]
    assert [flow.graph(view).vertices[-2].title for view in views] == steps
    assert steps[0] == "where('y > 3')"


# ---- Files --------------------------------------------------------------------------------------


def test_files_are_counted_and_not_opened(tmp_path):
    paths = [write_csv(tmp_path, number, records=10 + number) for number in range(3)]
    reader = flow.CSVReader(files=[str(tmp_path / "*.csv")], columns=["a:int64"], batch_size=4)
    files = flow.graph(reader).vertices[0]
    assert (files.files.files, files.files.folders) == (3, 0)
    assert files.files.bytes == sum(os.path.getsize(path) for path in paths)
    assert files.name == "00.csv ..." and files.title.startswith("3 files, ")
    folder = flow.graph(rows()).vertices[0]
    names = sorted(name for name in os.listdir(DATA) if name.startswith("part-"))
    assert folder.files.files == len(names) and folder.name.startswith(names[0])
    for path in paths:
        path.unlink()
    missing = flow.graph(reader).vertices[0]
    assert missing.title == "missing files" and missing.name == str(tmp_path / "*.csv")
    assert [one.title for one in flow.graph(arrays()).vertices][-1] == "record"
    assert all(one.kind != "files" for one in flow.graph(arrays()).vertices)


# ---- What is given ------------------------------------------------------------------------------


def test_all_that_a_loader_takes_and_the_loader():
    batch = arrays().batch(8)
    keys = [[one.name for one in flow.graph(given).vertices[-1].outputs] for given in (
        batch["x"], (batch["x"], batch["y"]), {"a": batch["x"], 7: batch["y"]}, batch,
    )]  # fmt: skip
    assert keys == [[batch["x"].name], ["[0]", "[1]"], ["a", "7"], ["x", "y"]]
    assert flow.graph(batch["x"], batch["y"]) == flow.graph([batch["x"], batch["y"]])

    class Wrapper:
        def __init__(self, loader):
            self.data_loader = loader

    with flow.DataLoader(batch["x"]) as loader:
        graph = flow.graph(loader)
        assert graph == flow.graph(Wrapper(loader))
    assert graph.vertices[-1].notes == ("40 records", "5 batches an epoch")
    twice = flow.graph(batch["x"], batch["x"])
    assert [one.wanted for one in twice.vertices[-2].outputs] == [("[0]", "[1]"), ()]
    with pytest.raises(AttributeError):
        graph.vertices = ()


def test_a_loader_explains_itself(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("km,n\n1.5,1\n,2\n2.5,3\n")
    batch = flow.open(path).batch(2)
    narrow = flow.Affine(batch["n"], scale=0.5)
    with flow.DataLoader({"km": batch["km"], "half": narrow}) as loader:
        graph = loader.explain()
    assert graph == flow.graph(loader)
    *counts, hint = graph.vertices[-1].notes
    assert hint.startswith("float64: km; Cast(x, dtype='float32')")
    assert [one.batch_bytes for one in graph.vertices[-1].outputs] == [16, 8]
    small = flow.Cast(batch["km"], dtype="float32")
    with flow.DataLoader({"km": small, "half": narrow}) as loader:
        assert list(loader.explain().vertices[-1].notes)[1:] == counts[1:]


def test_what_is_no_graph_is_refused():
    x = arrays().batch(8)["x"]
    for given in (3, "x", [x, 3], {"a": None}, [], {}):
        with pytest.raises(flow.InvalidArgumentError):
            flow.graph(given)
    with pytest.raises(flow.InvalidArgumentError, match="no batches yet"):
        flow.graph(arrays()["x"])
