"""The built-in readers and decoders pass the kit that plugins are checked with."""

import gzip
import os

import numpy as np
import pytest
from formats.flat_files import idx
from support.finder import FINDER, rows_of
from support.op_samples import FIXTURES, SAMPLES, TOKENS
from support.plugin_sources import build

import pyflowdata as flow
from pyflowdata import testing
from pyflowdata_kit.checks import GROUPS
from pyflowdata_kit.spec import spec_of
from pyflowdata.nodes import registered_ops

# What cannot be noticed: text has no checksums, another digit is another number; files of frames
# may end after any of them, and tokens that make no whole sample are left over.  Nor have CSV,
# Arrow and Parquet files, and the shards of MDS and MindRecord, whose columns have names: where
# these are damaged, the attr seems to be wrong.  The zeros that end a tar file may be cut short.
UNNOTICED = {
    "ArrowReader": {"damage-unnoticed", "damage-status"},
    "CacheReader": {"damage-unnoticed"},
    "COCOReader": {"damage-unnoticed"},
    "MDSReader": {"damage-unnoticed", "damage-status"},
    "MindRecordReader": {"damage-unnoticed", "damage-status"},
    "ParquetReader": {"damage-unnoticed", "damage-status"},
    "ManifestReader": {"damage-unnoticed", "cut-unnoticed"},
    "GPTReader": {"damage-unnoticed", "tail-ignored"},
    "MegatronReader": {"damage-unnoticed", "tail-ignored"},
    "MiniReader": {"damage-unnoticed", "cut-unnoticed"},
    "CSVReader": {"damage-unnoticed", "damage-status", "cut-unnoticed"},
    "TextLineReader": {"damage-unnoticed", "cut-unnoticed"},
    "JSONLinesReader": {"damage-unnoticed", "cut-unnoticed"},
    "TFRecordReader": {"cut-unnoticed"},
    "TarReader": {"damage-unnoticed", "cut-unnoticed", "tail-ignored"},
    "OneRecReader": {"cut-unnoticed"},
    "RawReader": {"damage-unnoticed", "cut-unnoticed"},
    "NpyReader": {"damage-unnoticed"},
    "IDXReader": {"damage-unnoticed"},
    "CIFARReader": {"damage-unnoticed", "cut-unnoticed"},
    "OFRecordReader": {"damage-unnoticed", "cut-unnoticed"},
}


# Groups of checks.  An op is shown damage of every kind where it can meet it: the numbers of these
# have no form that could be damaged, or a checksum of their reader tells of all damage before them.
# `types` gives them made-up bytes all the same.
EVERY = ["records", "ranges", "leaks", "threads", "types", "choices", "failures", "sizes", "sample",
         "large files", "many records", "loader"]
DAMAGED = ["damage: flipped", "damage: cut", "damage: zeros", "damage: lengths", "damage: swapped",
           "damage: resized"]
OTHERS = [group.name for group in GROUPS if group.name not in DAMAGED]
UNDAMAGED = {
    "AdjustSharpness", "Affine", "AutoContrast", "CSVCellTypes", "CSVEncoder", "Cast",
    "CenterCrop", "CoinFlip", "ColorJitter", "Concat", "CropMirrorNormalize", "CutMix",
    "DecodeRaw", "Equalize", "ExampleDecoder", "ExampleEncoder", "GaussianBlur", "Grayscale",
    "HWC2CHW", "ImageBatchAlign", "ImageFlip", "ImageNormalize", "ImagePad", "ImageRandomCrop",
    "ImageResizeKeepAspectRatio", "ImageResizeToFixed", "ImageTargetResize", "Invert", "MixUp",
    "Normalize", "OFRecordEncoder", "OFRecordFrame", "ObjectBboxFlip", "ObjectBboxScale",
    "ObjectSegmentationPolygonFlip", "ObjectSegmentationPolygonScale",
    "ObjectSegmentationPolygonToMask", "OneHot", "OneRecDecoder", "Pad", "PadBatch", "Posterize",
    "RandAugment", "RandomAffine", "RandomCrop", "RandomErasing", "RandomFlip",
    "RandomResizedCrop", "RandomRotation", "RecordEncoder", "Resize", "Rotate", "RowLength",
    "SequenceExampleDecoder", "SizeRatio", "Slice", "Solarize", "TFRecordFrame", "TrivialAugment",
}  # fmt: skip

# One damaged sample in six reaches the code that all of them reach, with what tests/formats, images
# and ops reach, but for these ops; `make soak` tries all samples of every op.
ALL_DAMAGE = {
    "ArrowReader", "COCOReader", "CacheReader", "ImageDecoder", "MindRecordReader", "NpyReader",
    "OFRecordImageDecoderRandomCrop", "TFRecordReader", "TarReader",
}  # fmt: skip


def built_in():
    """All ops but views, which have no kernels: tests/datasets/ tests views."""
    ops = (op for op in registered_ops() if op.origin == "built in")
    return {op.name: op for op in ops if not op.is_view}


def test_every_built_in_op_has_a_sample_here():
    assert set(SAMPLES) == set(built_in())


def checked(blob, ignore=(), groups=EVERY):
    """The reports of an op over groups, and, where it can meet damage, over DAMAGED."""
    spec = spec_of(blob.node)
    name = spec.op
    reports = [testing.run_checks(spec, ignore=ignore, groups=groups)]
    assert "loader" in reports[0].groups and "records" in reports[0].groups
    if name not in UNDAMAGED:
        some = name not in ALL_DAMAGE and "SOAK" not in os.environ
        reports += [testing.run_checks(spec, ignore=ignore, groups=DAMAGED, quick=some)]
    return reports


@pytest.mark.parametrize("name", SAMPLES)
def test_it_passes(name):
    made = SAMPLES[name]()
    expected = UNNOTICED.get(name, set())
    ignored = expected & {"damage-status", "tail-ignored"}
    for report in checked(made if isinstance(made, flow.Blob) else made[0], ignored):
        assert report.passed and report.op == name
        assert {finding.id for finding in report.findings} <= {*expected, "sample-poor"}


@pytest.mark.parametrize("attrs", [{"gaps": True}, {"dtype": "uint16"}, {"file_access": "read"}],
                         ids=lambda attrs: next(iter(attrs)))
def test_the_other_ways_of_a_token_reader_pass(attrs):
    reader = flow.GPTReader(files=TOKENS, seq_length=200, batch_size=4, **attrs)
    assert all(report.passed for report in checked(reader, ["tail-ignored"], OTHERS))


def test_megatrons_order_passes_but_for_shuffling_it():
    """The kit shuffles each reader at the end, which this order refuses."""
    blob = flow.GPTReader(files=TOKENS, seq_length=200, order="megatron", num_samples=14)
    report, damaged = checked(blob, ["tail-ignored"], OTHERS)
    (fault,) = report.faults
    assert fault.id == "loader-fails" and "already a random order" in fault.text and damaged.passed


@pytest.mark.parametrize("name", ["MiniReader", "TarReader"])
def test_compressed_files_pass(name, tmp_path):
    """Lines and frames as streams; checksums tell of every change, but not that nothing is left."""
    shard = (FIXTURES / "webdataset" / "written.tar").read_bytes()
    content = shard if name == "TarReader" else b"".join(b"%d,%d\n" % (i, i) for i in range(60))
    (tmp_path / "part-0").write_bytes(gzip.compress(content, mtime=0))
    attrs = {"fields": ["cls", "npy"]} if name == "TarReader" else {}
    report = testing.check_reader(
        getattr(flow, name)(str(tmp_path), batch_size=4, **attrs), ignore=["sample-poor"]
    )
    unnoticed = {"cut-unnoticed": "cut to 0 of"}
    if name == "TarReader":  # zeros alone are a tar file without members
        unnoticed["damage-unnoticed"] = "all of part-0 set to zero"
    assert {finding.id for finding in report.findings} == unnoticed.keys()
    for finding in report.findings:
        text = " ".join(finding.text.split())
        assert text.startswith("1 of ") and unnoticed[finding.id] in text


def test_images_and_labels_pass(tmp_path):
    """The labels are read in place, so no damaged copies of the labels are tried."""
    pixels = np.random.default_rng(7).integers(0, 256, (20, 3, 4), np.uint8)
    (tmp_path / "part-0").write_bytes(idx(pixels))
    (tmp_path / "labels").write_bytes(idx(np.arange(20, dtype=np.int32)))
    images, _ = flow.IDXReader(tmp_path, labels=tmp_path / "labels", shape=(3, 4),
                               label_dtype="int32", batch_size=4)  # fmt: skip
    report = testing.check_reader(images)
    assert report.passed
    expected = {"damage-unnoticed", "cut-unnoticed", "sample-poor"}
    assert {finding.id for finding in report.findings} <= expected


def test_a_reader_that_finds_its_attrs_passes(tmp_path):
    finder = flow.load_library(build(tmp_path / "finder", FINDER))
    path, _ = rows_of(tmp_path, 3)
    report = testing.check_reader(finder.FinderReader(files=path, batch_size=2), records=6)
    assert report.passed, report
