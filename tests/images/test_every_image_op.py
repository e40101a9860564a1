"""What holds for every image op: the same results with other vector instructions, and however a
loader reads the records.  An op is found by its source, and used as its sample does."""

import functools
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from support.op_samples import SAMPLES
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.nodes.node import reader_nodes, with_reader_attrs

SOURCES = {
    name: path.read_text()
    for path in sorted((ROOT / "csrc/images/ops").glob("*.c"))
    for name in re.findall(r'^const pfd_op [^"]*\.name = "(\w+)"', path.read_text(), re.MULTILINE)
}
OF_A_BATCH = {"ImageBatchAlign", "MixUp", "CutMix"}  # their rows depend on those beside them
BY_RECORD = sorted(SOURCES.keys() - OF_A_BATCH)

SIZES = [(4, 5), (5, 29), (4, 300), (9, 6), (16, 16), (31, 40), (40, 23)]
LEVELS = np.linspace(0, 255, 31).astype(np.uint8)
COLOURS = np.stack(np.meshgrid(*[LEVELS] * 3, indexing="ij"), -1).reshape(31, -1, 3)


def outputs_of(name):
    made = SAMPLES[name]()
    return made[0].node.outputs if isinstance(made, tuple) else made.node.outputs


def test_every_image_op_is_found():
    assert len(SOURCES) > 40 and SOURCES.keys() <= SAMPLES.keys()
    assert {"CoinFlip", "ImageDecoder", "RandomFlip", "Resize"} <= SOURCES.keys()


# ---- Vector instructions ------------------------------------------------------------------------


def more_attrs(name, channels):
    """The attrs that choose other loops than those of the sample."""
    if name == "Resize":
        return [
            {"size": size, "interpolation": interpolation, "antialias": antialias}
            for size in ((2, 3), (35, 21), (9, 100))
            for interpolation in ("bilinear", "bicubic", "area")
            for antialias in (False, True)
        ]
    if name == "CropMirrorNormalize":
        numbers = {"mean": [1.3, 99.9, 7, 8][:channels], "std": [57.1, 3, 0.3, 0.7][:channels]}
        return [
            {**numbers, "output_layout": layout, "output_dtype": dtype}
            for layout in ("NCHW", "NHWC")
            for dtype in ("float32", "float16")
        ]
    return {
        "AdjustSharpness": [{"factor": 4.3}],
        "ColorJitter": [{"saturation": [1.7, 1.7]}, {"contrast": [0.3, 0.3]}],
        "GaussianBlur": [{"kernel_size": [3, 9], "sigma": [1.3]}],
        "Grayscale": [{}],
        "RandomAffine": [{"degrees": [180]}, {"degrees": [180], "shear": [30], "scale": [0.5, 3]}],
    }.get(name, [])


def on_many_images(node):
    """Results for images of many sizes, where the op takes such."""
    names = [port.name for port in node.op.inputs]
    if len(node.inputs[0].shape) != 4 or not set(names[1:]) <= {"mirror", "flip_code"}:
        return
    function, dtype = getattr(flow, node.op.name), node.inputs[0].dtype
    for channels in (1, 2, 3, 4):
        chance = np.random.default_rng(channels)
        rows = [chance.integers(0, 256, (*size, channels)).astype(dtype) for size in SIZES]
        rows += [COLOURS.astype(dtype)] if channels == 3 else []
        codes = [np.int8(number % 2) for number in range(len(rows))]
        always = [{**node.values, "probability": 1.0}] if node.op.attr("probability") else []
        for attrs in [node.values, *always, *more_attrs(node.op.name, channels)]:
            try:
                found = function(rows, *[codes] * (len(names) - 1), seed=1, **attrs)
            except flow.InvalidArgumentError:
                continue  # it takes no images of so many channels
            for column in found if isinstance(found, tuple) else [found]:
                yield from column


def digests():
    """The digests of each op's results, with other vector instructions than those of this
    process."""
    made = {}
    for name in SOURCES:
        outputs = with_reader_attrs(outputs_of(name), lambda _: {"seed": 1})
        digest = hashlib.sha256()
        with flow.DataLoader(outputs) as loader:
            rows = [row for batch in loader for column in batch for row in column]
        for row in itertools.chain(rows, on_many_images(outputs[0].node)):
            digest.update(np.asarray(row).tobytes())
        made[name] = digest.hexdigest()
    return made


def output_at(level, code):
    """What Python code prints in a process with these instructions: plain, avx2 or avx512."""
    environment = {**os.environ, "PYFLOWDATA_SIMD": level, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, text=True,
                         capture_output=True, check=True)  # fmt: skip
    return run.stdout


@functools.cache
def both_digests():
    code = """
import json
from images.test_every_image_op import digests
print(json.dumps(digests()))
"""
    return digests(), json.loads(output_at("plain", code))


@pytest.mark.parametrize("name", SOURCES)
def test_vector_instructions_change_nothing(name):
    here, plain = both_digests()
    assert here[name] == plain[name]


# ---- Draws --------------------------------------------------------------------------------------


def by_record(outputs, *, world_size=1, resume_at=0, num_threads=1, epoch=0, **reader):
    """What the op makes of each record in an epoch, by the record's id."""
    found = {}
    for rank in range(world_size):
        attrs = {"seed": 3, "random_shuffle": True, "shuffle_after_epoch": True, "with_id": True,
                 "rank": rank, "world_size": world_size, **reader}  # fmt: skip
        made = with_reader_attrs(outputs, lambda _, attrs=attrs: attrs)
        node = reader_nodes(made)[0]
        (ids,) = (one for one in node.outputs if node.op.outputs[one.index].name == "id")
        with flow.DataLoader([ids, *made], num_threads=num_threads) as loader:
            for _ in range(epoch):
                assert list(loader)
            batches = iter(loader)
            taken = list(itertools.islice(batches, resume_at))
            state = loader.state_dict()
            if resume_at:
                next(batches)
                del batches
                loader.load_state_dict(state)
                batches = loader
            for keys, *columns in [*taken, *batches]:
                for key, *rows in zip(keys, *columns, strict=True):
                    arrays = [np.asarray(row) for row in rows]
                    found[bytes(key)] = [(one.shape, one.tobytes()) for one in arrays]
    return found


@pytest.mark.parametrize("name", BY_RECORD)
def test_the_same_for_a_record(name):
    """Threads, batch size, ranks and resuming change nothing; epochs and seeds do what it draws."""
    outputs = outputs_of(name)
    first = by_record(outputs, batch_size=8)
    assert len(first) > 5
    for attrs in (
        {"num_threads": 4, "batch_size": 5},
        {"world_size": 2, "batch_size": 6},
        {"resume_at": 1, "batch_size": 4},
    ):
        assert by_record(outputs, **attrs) == first, attrs
    if "random_draws.h" in SOURCES[name] or outputs[0].node.op.attr("probability"):
        assert by_record(outputs, batch_size=8, seed=4) != first
        assert by_record(outputs, batch_size=8, epoch=1) != first
