"""OneFlow's builder: wrappers written for it run as they are."""


import numpy as np
import pytest
from support.paths import ROOT

import pyflowdata as flow

DATA = str(ROOT / "data")
ROWS = [
    (1.01, 2.02), (2.01, 4.02), (3.0, 6.05), (4.1, 8.205), (5.0, 10.0),
    (6.0, 12.0), (7.0, 14.2), (8.0, 16.3), (9.1, 18.03),
    (1.01, 2.02), (2.01, 4.02), (4.0, 8.05), (4.1, 8.205), (9.0, 18.0),
    (6.0, 12.0), (7.0, 14.2), (8.0, 16.3), (9.1, 18.03),
]  # fmt: skip


# ---- The wrappers of OneFlow's custom data loader, unchanged ------------------------------------


def MiniDecoder(
    input_blob,
    name=None,
):
    if name is None:
        name = "Mini_Decoder_uniqueID"
    return (
        flow.user_op_builder(name)
        .Op("mini_decoder")
        .Input("in", [input_blob])
        .Output("x")
        .Output("y")
        .Build()
        .InferAndTryRun()
        .RemoteBlobList()
    )


def MiniReader(
    minidata_dir: str,
    batch_size: int = 1,
    data_part_num: int = 2,
    part_name_prefix: str = "part-",
    part_name_suffix_length: int = -1,
    random_shuffle: bool = False,
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    name=None,
):
    if name is None:
        name = "Mini_Reader_uniqueID"
    return (
        flow.user_op_builder(name)
        .Op("MiniReader")
        .Output("out")
        .Attr("data_dir", minidata_dir)
        .Attr("data_part_num", data_part_num)
        .Attr("batch_size", batch_size)
        .Attr("part_name_prefix", part_name_prefix)
        .Attr("random_shuffle", random_shuffle)
        .Attr("shuffle_after_epoch", shuffle_after_epoch)
        .Attr("part_name_suffix_length", part_name_suffix_length)
        .Attr("shuffle_buffer_size", shuffle_buffer_size)
        .Build()
        .InferAndTryRun()
        .RemoteBlobList()[0]
    )


def reader(name=None, **attrs):
    builder = flow.user_op_builder(name).Op("MiniReader").Output("out").Attr("data_dir", DATA)
    for key, value in attrs.items():
        builder = builder.Attr(key, value)
    return builder.Build().InferAndTryRun().SoleOutputBlob()


# ---- What they give -----------------------------------------------------------------------------


def test_wrappers_give_the_rows():
    blob = MiniReader(DATA, batch_size=5, data_part_num=2, part_name_suffix_length=3)
    x, y = MiniDecoder(blob)
    with flow.DataLoader(x, y) as loader:
        batches = list(loader)
    assert [len(a) for a, _ in batches] == [5, 5, 5, 3]
    found = np.concatenate([np.hstack(batch) for batch in batches])
    assert found.dtype == np.float64
    assert found.tolist() == [list(row) for row in ROWS]


def test_wrappers_shuffle():
    blob = MiniReader(
        DATA,
        batch_size=10,
        data_part_num=2,
        part_name_suffix_length=3,
        random_shuffle=True,
        shuffle_after_epoch=True,
        shuffle_buffer_size=1024,
    )
    with flow.DataLoader(MiniDecoder(blob)) as loader:
        epochs = [np.concatenate([np.hstack(batch) for batch in loader]) for _ in range(2)]
    for epoch in epochs:
        assert sorted(map(tuple, epoch.tolist())) == sorted(ROWS)
    assert epochs[0].tolist() != epochs[1].tolist()


def test_same_as_the_functions():
    one = reader(batch_size=4, random_shuffle=True, seed=3)
    other = flow.MiniReader(DATA, batch_size=4, random_shuffle=True, seed=3)
    assert (one.shape, one.dtype, one.sbp) == (other.shape, other.dtype, other.sbp)
    with flow.DataLoader(one) as a, flow.DataLoader(other) as b:
        assert np.array_equal(np.concatenate(list(a)), np.concatenate(list(b)))


@pytest.mark.parametrize("spelling", ["MiniDecoder", "mini_decoder"])
def test_spellings(spelling):
    op = flow.user_op_builder("d").Op(spelling).Input("in", [reader()]).Output("y").Build()
    assert op.SoleOutputBlob().name == "d/y"


def test_blob_list_has_the_order_of_output_calls():
    op = (
        flow.user_op_builder("d")
        .Op("mini_decoder")
        .Input("in", [reader()])
        .Output("y")
        .Output("x", 1)
        .Build()
        .InferAndTryRun()
    )
    assert [blob.name for blob in op.RemoteBlobList()] == ["d/y", "d/x"]
    blobs = op.RemoteBlobDict()
    assert list(blobs) == ["y", "x"]
    assert blobs["x"][0] is op.RemoteBlobList()[1]
    with pytest.raises(flow.InvalidArgumentError, match="y, x"):
        op.SoleOutputBlob()


def test_bare_blob_as_input():
    op = flow.user_op_builder().Op("mini_decoder").Input("in", reader()).Output("x").Build()
    assert op.SoleOutputBlob().shape == (1, 1)


def test_optional_outputs():
    builder = flow.user_op_builder("r").Op("MiniReader").Attr("data_dir", DATA)
    op = builder.Attr("with_id", True).Output("id").Build()
    assert op.SoleOutputBlob().dtype == np.int64
    builder = flow.user_op_builder("r").Op("MiniReader").Attr("data_dir", DATA).Output("mask")
    with pytest.raises(flow.InvalidArgumentError, match="with_mask"):
        builder.Build()


# ---- Names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [None, ""])
def test_readers_without_a_name_do_not_collide(name):
    with flow.DataLoader(reader(name), reader(name, random_shuffle=True, seed=1)) as loader:
        assert len(loader) == 18


def test_same_name_is_told():
    with pytest.raises(flow.InvalidArgumentError, match="Mini_Reader_uniqueID"):
        flow.DataLoader(
            MiniReader(DATA, part_name_suffix_length=3),
            MiniReader(DATA, part_name_suffix_length=3),
        )


def test_one_node_twice_is_one_node():
    blob = reader("rows")
    with flow.DataLoader(blob, *MiniDecoder(blob)) as loader:
        rows, x, y = next(iter(loader))
    assert rows.tolist() == np.hstack([x, y]).tolist()


# ---- Mistakes -----------------------------------------------------------------------------------


def mini_decoder():
    return flow.user_op_builder("d").Op("mini_decoder")


@pytest.mark.parametrize(
    "mistake, says",
    [
        (lambda b: b.Attr("data_dir", DATA), r"Op\(type\) must come first"),
        (lambda b: b.Output("out"), r"Output\('out'\) .* before Op"),
        (lambda b: b.Input("in", []), r"before Op"),
        (lambda b: b.Build(), r"before Op"),
        (lambda b: b.Op("MiniRader"), "did you mean 'MiniReader'"),
        (lambda b: b.Op(None), "a str"),
        (lambda b: b.Op("MiniReader").Op("MiniReader"), r"after Op\('MiniReader'\)"),
        (lambda b: b.Op("MiniReader").Output("outt"), "outputs of MiniReader: out, mask, id"),
        (lambda b: b.Op("MiniReader").Output("out").Output("out"), "twice"),
        (lambda b: b.Op("MiniReader").Output("out", 2), "2 times"),
        (lambda b: b.Op("MiniReader").Input("in", []), "has no inputs"),
        (lambda b: b.Op("MiniReader").Output("out").Build(), "data_dir"),
        (lambda b: b.Op("MiniReader").Attr("data_dir", DATA).Build(), r"no Output\(\)"),
    ],
)
def test_mistakes_in_the_chain(mistake, says):
    with pytest.raises(flow.InvalidArgumentError, match=says):
        mistake(flow.user_op_builder("name"))


@pytest.mark.parametrize(
    "mistake, says",
    [
        (lambda b, blob: b.Build(), "input 'in' is missing"),
        (lambda b, blob: b.Input("inn", [blob]), "inputs of MiniDecoder: in"),
        (lambda b, blob: b.Input("in", [blob, blob]), "2 blobs"),
        (lambda b, blob: b.Input("in", []), "0 blobs"),
        (lambda b, blob: b.Input("in", ["rows"]).Build(), "must be a Blob"),
        (lambda b, blob: b.Input("in", [blob]).Input("in", [blob]), "twice"),
        (lambda b, blob: b.Input("in", [flow.MiniDecoder(blob)[0]]).Build(), r"\(1,\)"),
        (lambda b, blob: b.Input("in", [blob]).Attr("scale", 2).Build(), "unknown attr 'scale'"),
    ],
)
def test_mistakes_with_inputs(mistake, says):
    with pytest.raises(flow.InvalidArgumentError, match=says) as caught:
        mistake(mini_decoder().Output("x"), reader())
    assert caught.value.op == "MiniDecoder"


@pytest.mark.parametrize(
    "attr, value, says",
    [
        ("batch_sise", 4, "did you mean 'batch_size'"),
        ("batch_size", 0, r"batch_size' = 0"),
        ("batch_size", "4", "'4'"),
        ("random_shuffle", 1, "True or False"),
        ("last_batch", "wrapp", "did you mean 'wrap'"),
    ],
)
def test_wrong_attrs(attr, value, says):
    with pytest.raises(flow.InvalidArgumentError, match=says) as caught:
        reader(**{attr: value})
    assert caught.value.op == "MiniReader"


def test_nothing_is_opened():
    blob = (
        flow.user_op_builder("r")
        .Op("MiniReader")
        .Output("out")
        .Attr("data_dir", "/no/such/folder")
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
    with pytest.raises(flow.FileError, match="/no/such/folder"):
        flow.DataLoader(blob)
