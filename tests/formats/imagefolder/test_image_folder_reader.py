"""ImageFolderReader: against os.walk by torchvision's rules, and Pillow, which wrote the files."""

from __future__ import annotations

import json
import os
import pickle
import resource
import shutil
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
from formats.imagefolder import image_trees
from formats.imagefolder.image_trees import by_torchvision, picture, pictures, write_tree

import pyflowdata as flow
from pyflowdata import cli
from pyflowdata.formats import detect, expanded, open_source
from pyflowdata.loader.state import _check_of

NAMES = (
    "cat/2.png", "cat/10.PNG", "cat/b.jpeg", "cat/a/z.jpg", "cat/a-b/y.jpg", "cat/a/deep/x.JPG",
    "dog/1.png", "dog/Z.png", "dog/é.png", "Bird/1.jpg", "an ant/q q.png", "cat.b/1.png",
)  # fmt: skip
OTHERS = {
    "cat/notes.txt": b"text", "cat/.hidden.png": b"x", "dog/._1.png": b"x", "stray.png": b"x",
    ".cache/1.png": b"x", "cat/.git/1.png": b"x", "dog/png": b"x",
}  # fmt: skip


def tree(root: Path) -> Path:
    return write_tree(pictures(root, *NAMES), OTHERS)


def read(folder, **attrs):
    """All records: (bytes, label) of each, and the ids."""
    batch_size = attrs.pop("batch_size", 5)
    blobs = flow.ImageFolderReader(folder, batch_size=batch_size, with_id=True, **attrs)
    records, ids = [], []
    with flow.DataLoader(list(blobs)) as loader:
        for images, labels, found in loader:
            assert images.dtype == np.uint8 and labels.dtype == np.int64
            records += [(image.tobytes(), int(label)) for image, label in zip(images, labels)]
            ids += found.tolist()
    return records, ids


def truth(root, classes=None, **options):
    samples = by_torchvision(Path(root), classes, **options)
    return [((Path(root) / path).read_bytes(), label) for path, label in samples]


# ---- What is read ------------------------------------------------------------------------------


def test_order_bytes_and_labels_are_those_of_torchvision(tmp_path):
    root = tree(tmp_path / "train")
    expected = truth(root)
    assert len(expected) == len(NAMES)
    for name in (root, f"{root}/", f"{root}//"):
        records, ids = read(name)
        assert records == expected
        assert ids == [[0, i] for i in range(len(NAMES))]
    image, label = flow.ImageFolderReader(root)
    assert (image.shape, label.shape) == ((1, None), (1,))
    classes = ["Bird", "an ant", "cat", "cat.b", "dog"]
    assert image.node.values["classes"] == classes
    assert pickle.loads(pickle.dumps(image)).node.values["classes"] == classes


def test_classes_may_be_named(tmp_path):
    root = tree(tmp_path / "train")
    for classes in (["dog", "cat"], ["cat"], ["dog", "an ant", "Bird"]):
        assert read(root, classes=classes)[0] == truth(root, classes)
        numbers = [7, -2, 7][: len(classes)]
        relabelled = [(image, numbers[label]) for image, label in truth(root, classes)]
        assert read(root, classes=classes, class_numbers=numbers)[0] == relabelled


def test_extensions(tmp_path):
    root = tree(tmp_path / "train")
    for wanted in ([".PNG"], [".png", ".txt"], ["g"], []):
        endings = tuple(one.lower() for one in wanted) or ("",)
        found = read(root, extensions=wanted, allow_empty=True)[0]
        assert found == truth(root, extensions=endings)


def test_what_is_left_out_is_counted_and_named(tmp_path):
    root = pictures(tmp_path / "train", "a/1.png", "a/2.png", "b/3.png")
    whole = {"index_dir": str(tmp_path / "cache"), "batch_size": 3, "name": tmp_path.name}
    with flow.DataLoader(list(flow.ImageFolderReader(root, **whole))) as loader:
        assert loader.readers[0].notices == ()
    write_tree(root, {"a/z.gif": b"GIF89a", "b/c/x.tif": picture(1, "TIFF"), "b/.hidden": b"x",
                      "a/readme.txt": b"x", "b/a.GIF": b"x"})
    for is_new in (True, False):
        settle()
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            with flow.DataLoader(list(flow.ImageFolderReader(root, **whole))) as loader:
                (notice,) = loader.readers[0].notices
                assert loader.readers[0].index.is_new == is_new
                assert loader.readers[0].records == 3 and notice in repr(loader)
        assert notice.startswith("4 files are left out")
        assert notice.endswith(": a/readme.txt, a/z.gif, b/c/x.tif and others")  # of each suffix
        assert [notice in str(one.message) for one in given] == [True] * is_new  # once
    found = read(root, extensions=[".png", ".tif", ".gif"])[0]
    assert len(found) == 6


def test_several_folders_are_one_data_set(tmp_path):
    one, two = pictures(tmp_path / "one", "b/1.png", "c/2.png"), tmp_path / "two"
    pictures(two, "a/1.png", "c/2.png", "c/3.png")
    expected = [(image, label + 1) for image, label in truth(one)]
    expected += truth(two, ["a", "b", "c"]) if (two / "b").mkdir() is None else []
    for files in ([one, two], [str(tmp_path / "*")], [f"{one}/", two]):
        blobs = flow.ImageFolderReader(files=files, batch_size=3, with_id=True)
        assert blobs[0].node.values["classes"] == ["a", "b", "c"]
        with flow.DataLoader(list(blobs)) as loader:
            batches = list(loader)
        found = [image.tobytes() for images, _, _ in batches for image in images]
        labels = np.concatenate([labels for _, labels, _ in batches])
        ids = np.concatenate([ids for _, _, ids in batches])
        assert list(zip(found, labels.tolist(), strict=True)) == expected
        assert ids.tolist() == [[0, 0], [0, 1], [1, 2], [1, 3], [1, 4]]
    opened = flow.open([one, two])
    assert [(one["image"], one["label"]) for one in opened] == expected


def test_names_that_are_not_utf8(tmp_path, capsys):
    root, name = tree(tmp_path / "tree"), os.fsdecode(b"\xe9t\xe9")
    pictures(root, f"{name}/1.png", f"{name}/{name}.png")
    expected = truth(root)
    assert read(root)[0] == expected
    assert flow.ImageFolderReader(root)[0].node.values["classes"][-1] == name
    assert read(root, classes=[name])[0] == [(image, 0) for image, _ in expected[-2:]]
    for command in "head", "verify":
        assert cli.main([command, str(root)]) == 0
        assert f"{len(expected)} records" in capsys.readouterr().out


def test_links_are_followed_but_not_in_circles(tmp_path):
    root = pictures(tmp_path / "train", "cat/1.png", "dog/2.png")
    outside = pictures(tmp_path / "other", "3.png", "deep/4.png")
    (root / "dog" / "linked").symlink_to(outside)
    (root / "emu").symlink_to(outside / "deep", target_is_directory=True)
    (root / "cat" / "5.png").symlink_to(outside / "3.png")
    expected = truth(root)
    assert len(expected) == 6
    assert read(root)[0] == expected
    (root / "dog" / "up").symlink_to("../dog")
    (root / "dog" / "top").symlink_to("..")
    (outside / "deep" / "back").symlink_to(outside)
    below = ["cat/1.png", "cat/5.png", "dog/2.png", "dog/linked/3.png", "dog/linked/deep/4.png",
             "emu/4.png", "emu/back/3.png"]  # fmt: skip
    assert read(root)[0] == [
        ((root / name).read_bytes(), ["cat", "dog", "emu"].index(name[:3])) for name in below
    ]  # os.walk goes round until a path is too long


def test_folders_that_link_to_each_other_are_listed_once(tmp_path):
    names = "abcdefghijkl"
    root = pictures(tmp_path / "train", *(f"cat/{name}/{name}.png" for name in names), "dog/1.png")
    for name in names:
        for other in names:
            if other != name:
                (root / "cat" / name / other).symlink_to(f"../{other}")
    (root / "dog" / "cats").symlink_to("../cat")
    images = [(root / "cat" / name / f"{name}.png").read_bytes() for name in names]
    found = read(root)[0]
    assert sorted(found[:12]) == sorted((image, 0) for image in images)
    assert found[12] == ((root / "dog" / "1.png").read_bytes(), 1)
    assert sorted(found[13:]) == sorted((image, 1) for image in images), "once for each class"


def test_few_files_are_open_at_a_time(tmp_path):
    """Readers of other formats keep each file open, or mapped."""
    root = write_tree(tmp_path / "train", {f"c/{i}.png": b"%d" % i for i in range(1000)})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with flow.DataLoader(list(flow.ImageFolderReader(root, batch_size=100))) as loader:
        open_now = len(os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_now + 30, hard))
        try:
            assert sum(len(labels) for _, labels in loader) == 1000
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert loader.stats()["read_bytes"] >= sum(len(str(i)) for i in range(1000))


# ---- What cannot be read -----------------------------------------------------------------------


def refused(match, *args, error=flow.InvalidArgumentError, **attrs):
    with pytest.raises(error, match=match) as caught:
        blobs = flow.ImageFolderReader(*args, **attrs)
        flow.DataLoader(list(blobs)).close()
    return caught.value


def test_wrong_folders_and_attrs(tmp_path):
    root = pictures(tmp_path / "train", "cat/1.png", "dog/2.png")
    (root / "empty").mkdir()
    (root / "text").mkdir()
    (root / "text" / "a.txt").write_bytes(b"x")
    flat = pictures(tmp_path / "flat", "1.png", "2.png")
    assert "train" in refused("the folders of 'empty', 'text' have no file", root).file
    refused(r"1 files have other extensions", root, classes=["text"])
    refused("there is no folder for 'cow'", root, classes=["cat", "cow"])
    refused("there is no folder for 'cow'", root, classes=["cat", "cow", "text"])
    refused("'cat' is there twice", root, classes=["cat", "cat"])
    for name in ("", "a/b", "..", "."):
        refused("is not a name", root, classes=["cat", name])
    refused("has 0 names", root, classes=[])
    refused("has 1 numbers, and there are 2 classes", root, classes=["cat", "dog"],
            class_numbers=[1])  # fmt: skip
    refused("there is no folder in it, but 2 files", flat, error=flow.FileError)
    assert len(read(tmp_path, classes=["flat"])[0]) == 2  # as the message says
    refused("no such folder", tmp_path / "nowhere", error=flow.FileError)
    refused("this is a file; the reader takes folders", root / "cat/1.png", error=flow.FileError)
    refused("no file matches", files=[str(tmp_path / "x*")], error=flow.FileError)
    refused("named twice", files=[root, f"{root}/"])
    assert refused("is given; it is about part files", root, data_part_num=3).attr == (
        "data_part_num"
    )
    refused("is given; it is about part files", root, part_name_prefix="x")
    refused("whose files are read as they are", root, compression="gzip")
    with pytest.raises(flow.CorruptDataError, match="not one record"):
        read(root, classes=["empty", "cow"], allow_empty=True)
    found = read(root, allow_empty=True)[0]
    assert [label for _, label in found] == [0, 1]
    assert flow.ImageFolderReader(root)[0].node.values["classes"] == ["cat", "dog", "empty", "text"]


@pytest.fixture
def damaged(tmp_path):
    """Ten files, of which numbers 1, 4, 6 and 9 are empty once the loader is open."""
    root = pictures(tmp_path / "train", *(f"c{i // 5}/{i}.png" for i in range(10)))

    def damage():
        for name in ("c0/1.png", "c0/4.png", "c1/6.png", "c1/9.png"):
            (root / name).write_bytes(b"")
            os.utime(root / name, (1, 1))  # as it was at open: a file written later has changed

    return root, damage


@pytest.mark.parametrize("shuffle", ["none", "global", "buffer"])
def test_a_file_that_cannot_be_read_is_a_damaged_record(damaged, shuffle):
    root, damage = damaged
    expected, bad = truth(root), {1, 4, 6, 9}

    def loader(on_error, **attrs):
        return flow.DataLoader(list(flow.ImageFolderReader(
            root, batch_size=4, on_error=on_error, with_mask=True, with_id=True, shuffle=shuffle,
            seed=3, **attrs,
        )))  # fmt: skip

    def ids_of(batches):
        return [number for batch in batches for _, number in batch[3].tolist()]

    order = ids_of(loader("raise"))
    one, two, three = (loader(on_error) for on_error in ("raise", "skip", "pad"))
    damage()
    with one:
        said, batches = {}, iter(one)
        for _ in range(20):
            try:
                next(batches)
            except flow.CorruptDataError as failure:
                said[failure.ordinal] = failure
            except StopIteration:
                break
    assert said and said.keys() <= bad
    for number, failure in said.items():
        assert failure.file == str(root / f"c{number // 5}/{number}.png")
        assert failure.op == "ImageFolderReader"
        assert "the file is empty" in failure.message and failure.file in str(failure)
    with two:
        batches = list(two)
        assert ids_of(batches) == [number for number in order if number not in bad]
        assert {error.ordinal for error in two.skipped} == bad
        assert all(str(error.ordinal) in os.path.basename(error.file) for error in two.skipped)
        assert two.stats()["skipped"] == 4
        for images, labels, mask, ids in batches:
            for image, label, whole, (_, number) in zip(images, labels, mask, ids, strict=True):
                assert whole and (image.tobytes(), label) == expected[number]
    with three:
        batches = list(three)
        assert ids_of(batches) == order
        for images, labels, mask, ids in batches:
            for image, label, whole, (_, number) in zip(images, labels, mask, ids, strict=True):
                assert whole == (number not in bad)
                assert (image.tobytes(), label) == (expected[number] if whole else (b"", 0))


CHANGES = {
    "absent": lambda file: None, "dangling": lambda file: file.symlink_to("nowhere"),
    "circle": lambda file: file.symlink_to(file.name), "folder": lambda file: file.mkdir(),
    "fifo": os.mkfifo, "no folder": lambda file: shutil.rmtree(file.parent),
    "no class": lambda file: (shutil.rmtree(file.parent), file.parent.write_bytes(b"")),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_listed_file_that_is_no_longer_there_has_changed(tmp_path, change):
    root = pictures(tmp_path / "train", *(f"{name}/{i}.png" for name in "ab" for i in range(4)))
    reader = flow.ImageFolderReader(root, batch_size=2, on_error="skip", max_skipped=1.0)
    with flow.DataLoader(list(reader)) as loader:
        (root / "b/2.png").unlink()
        CHANGES[change](root / "b/2.png")
        with pytest.raises(flow.FileError, match="changed while open") as caught:
            list(loader)
        assert f"{root}/b/" in caught.value.file and loader.stats()["skipped"] == 0


@pytest.mark.parametrize("target", ["nowhere", "a", "../train/b/0.png/x"])
def test_a_link_that_leads_nowhere_is_not_left_out(tmp_path, target):
    root = pictures(tmp_path / "train", *(f"{name}/{i}.png" for name in "bc" for i in range(4)))
    expected = truth(root)
    (root / "b" / ".#1.png").symlink_to("somebody@somewhere")  # an editor's lock

    def fails(link, **attrs):
        link.symlink_to(target)
        with pytest.raises(flow.FileError, match="remove the link") as caught:
            read(root, **attrs)
        assert caught.value.file == str(link) and repr(target) in caught.value.message
        link.unlink()

    (root / ".#a").symlink_to("somebody@somewhere")
    assert read(root)[0] == expected
    fails(root / "a")
    fails(root / "a", classes=["a", "b", "c"], allow_empty=True)
    fails(root / "b" / "a", classes=["b"])
    fails(root / "b" / "a", classes=["b"], extensions=[".png"])
    (root / "b" / "deep").mkdir()
    fails(root / "b" / "deep" / "a")
    (root / "a").symlink_to(target)
    assert read(root, classes=["b", "c"])[0] == expected


NOBODY = 65534


def as_nobody(run, folder):
    """Calls run(folder) as a user without root's rights, in a fork where this user is root."""
    if os.geteuid() != 0:
        return run(folder)
    os.chown(folder, NOBODY, NOBODY)
    read_end, write_end = os.pipe()
    if (child := os.fork()) == 0:
        said = b""
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            run(folder)
        except BaseException:
            said = traceback.format_exc().encode()
        os.write(write_end, said[-4000:])
        os._exit(0)
    os.close(write_end)
    with open(read_end) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    if "os.set" in said and "PermissionError" in said:
        pytest.skip("root may not become another user here")
    assert not said, said


def test_permissions():
    with tempfile.TemporaryDirectory() as folder:  # the folders above tmp_path are only for root
        as_nobody(check_permissions, Path(folder))


def check_permissions(folder):
    root = pictures(folder / "train", "c/1.png", "c/2.png")
    (root / "c/2.png").chmod(0)
    with flow.DataLoader(list(flow.ImageFolderReader(root, on_error="skip", batch_size=2))) as one:
        with pytest.raises(flow.FileError, match="Permission denied") as caught:
            list(one)  # rights are no damage: nothing is skipped
        assert caught.value.reason == "environment" and one.skipped == []
    (root / "c").chmod(0)
    try:
        refused("the folder cannot be read: Permission", root, error=flow.FileError)
        with pytest.raises(flow.FileError, match="Permission denied") as caught:
            flow.open(root)  # nor is it a folder of other files
        assert caught.value.reason == "environment"
        (root / "notes.txt").write_text("1 2\n")
        assert [one.format for one in map(detect, expanded([str(root)]))] == ["text"]
    finally:
        (root / "c").chmod(0o755)


def test_a_file_that_is_cut_after_open_has_changed(tmp_path):
    root = pictures(tmp_path / "train", *(f"c/{i}.png" for i in range(4)))
    whole = (root / "c/1.png").read_bytes()
    image = flow.ImageFolderReader(root, on_error="skip", max_skipped=-1, batch_size=2)[0]

    def loader():
        return flow.DataLoader(flow.ImageDecoder(image), num_threads=1, prefetch=1)

    with loader() as one:
        time.sleep(0.02)  # files are dated by a clock with ticks
        (root / "c/1.png").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(flow.FileError, match="the file changed while open") as caught:
            list(one)
        assert caught.value.file == str(root / "c/1.png") and one.skipped == []
    time.sleep(0.02)
    with loader() as two:
        assert [len(batch) for batch in two] == [1, 2] and len(two.skipped) == 1

def test_a_folder_that_goes_away(tmp_path):
    root = pictures(tmp_path / "train", *(f"c/{i}.png" for i in range(10)))
    with flow.DataLoader(list(flow.ImageFolderReader(root, batch_size=4))) as loader:
        assert len(list(loader)) == 3
        (root / "c/new.png").write_bytes(b"x")  # which the list does not have
        assert len(list(loader)) == 3
        shutil.rmtree(root)
        with pytest.raises(flow.Error):
            list(loader)


# ---- Order, ranks, state -----------------------------------------------------------------------


def test_shuffle_ranks_and_resume(tmp_path):
    root = pictures(tmp_path / "train", *(f"{i % 3}/{i}.png" for i in range(23)))
    expected = truth(root)
    orders = []
    for batch_size, threads in ((4, 1), (6, 3)):
        blobs = flow.ImageFolderReader(
            root, batch_size=batch_size, random_shuffle=True, seed=5, with_id=True
        )
        with flow.DataLoader(list(blobs), num_threads=threads) as loader:
            rows = [row for batch in loader for row in zip(*batch, strict=True)]
        orders.append([int(number) for _, _, (_, number) in rows])
        assert [(image.tobytes(), label) for image, label, _ in rows] == [
            expected[number] for number in orders[-1]
        ]
    assert orders[0] == orders[1] and sorted(orders[0]) == list(range(23)) != orders[0]
    parts = [
        [label for _, label in read(root, batch_size=4, random_shuffle=True, seed=5, rank=rank,
                                    world_size=2)[0]]
        for rank in range(2)
    ]  # fmt: skip
    assert sum(map(len, parts)) == 23
    blobs = list(flow.ImageFolderReader(root, batch_size=4, random_shuffle=True, seed=5))
    with flow.DataLoader(blobs) as loader:
        batches = iter(loader)
        _ = next(batches), next(batches)
        state, rest = loader.state_dict(), [labels for _, labels in batches]
    with flow.DataLoader(blobs) as loader:
        loader.load_state_dict(state)
        assert all(map(np.array_equal, rest, (labels for _, labels in loader)))


def test_a_state_knows_the_names_of_the_files(tmp_path):
    def attrs(root):
        return list(flow.ImageFolderReader(root, batch_size=4, seed=1, classes=["a", "b"]))

    root = pictures(tmp_path / "train", *(f"{'ab'[i % 2]}/{i}.png" for i in range(9)))
    with flow.DataLoader(attrs(root)) as loader:
        next(iter(loader))
        state = loader.state_dict()
    other = shutil.copytree(root, tmp_path / "elsewhere")
    (other / "c").mkdir()  # which is not read
    (other / "a" / "notes.txt").write_bytes(b"x")
    with flow.DataLoader(attrs(other)) as loader:
        loader.load_state_dict(state)
    (other / "a" / "notes.txt").unlink()
    with flow.DataLoader(attrs(other)) as loader:  # a state of the first version has this attr
        described = json.loads(json.dumps(state)) | {"version": 1}
        del described["sum"]
        (reader,) = described["readers"].values()
        reader["spec"]["extensions"] = "['.jpg','.jpeg',...#0123456789ab"
        described["check"] = _check_of(described["readers"])
        loader.load_state_dict(described)
    (other / "a/0.png").rename(other / "a/0b.png")
    with flow.DataLoader(attrs(other)) as loader:
        with pytest.raises(flow.InvalidArgumentError, match="other names"):
            loader.load_state_dict(state)
    (other / "a/0b.png").rename(other / "b/0.png")
    with flow.DataLoader(attrs(other)) as loader:
        with pytest.raises(flow.InvalidArgumentError, match="belongs to another loader"):
            loader.load_state_dict(state)


# ---- The index ---------------------------------------------------------------------------------


def index_of(root, **attrs):
    blobs = flow.ImageFolderReader(root, batch_size=64, **attrs)
    with flow.DataLoader(list(blobs)) as loader:
        return loader.readers[0].index, loader.readers[0].records


def settle():
    """A folder that has just been changed may change again within one tick of its clock."""
    time.sleep(0.12)


def test_the_list_of_files_is_kept_and_never_stale(tmp_path):
    root = pictures(tmp_path / "train", "a/1.png", "a/deep/2.png", "b/3.png")
    cache = str(tmp_path / "cache")
    (fresh, _), (again, _) = index_of(root, index_dir=cache), index_of(root, index_dir=cache)
    assert fresh.is_new and again.is_new and fresh.path == again.path == ""
    settle()
    (built, _), (found, records) = index_of(root, index_dir=cache), index_of(root, index_dir=cache)
    assert built.is_new and not found.is_new and built.path == found.path != "" and records == 3
    assert read(root, index_dir=cache)[0] == truth(root)
    assert index_of(f"{root}/", index_dir=cache)[0].path == built.path

    def change(action, *args):
        settle()
        assert not index_of(root, index_dir=cache)[0].is_new
        times = (root / "a").stat()
        action(*args)
        if (root / "a").exists():  # the time of modification is not what counts
            os.utime(root / "a", ns=(times.st_atime_ns, times.st_mtime_ns))
        settle()
        assert index_of(root, index_dir=cache)[0].is_new
        assert read(root, index_dir=cache)[0] == truth(root)

    change((root / "a/deep/9.png").write_bytes, picture(9))
    change((root / "a/1.png").unlink)
    change((root / "a/deep/2.png").rename, root / "a/7.png")
    change(pictures, root, "c/1.png", "c/2.png")
    change(shutil.rmtree, root / "c")
    change(os.rename, root / "b", root / "e")
    settle()
    assert not index_of(root, index_dir=cache)[0].is_new
    (root / "a/7.png").write_bytes(picture(77))  # its content is none of the list's business
    assert not index_of(root, index_dir=cache)[0].is_new
    assert read(root, index_dir=cache)[0] == truth(root)
    (path,) = {index_of(root, index_dir=cache)[0].path}
    Path(path).write_bytes(Path(path).read_bytes()[:-64])
    assert index_of(root, index_dir=cache)[0].is_new


def test_ten_thousand_files_open_at_once_the_second_time(tmp_path, monkeypatch):
    monkeypatch.setenv("PYFLOWDATA_INDEX_DIR", str(tmp_path / "cache"))
    (tmp_path / "one").write_bytes(b"x")
    for name in range(20):
        folder = tmp_path / "train" / f"class {name}"
        folder.mkdir(parents=True)
        for number in range(500):
            os.link(tmp_path / "one", folder / f"{number}.jpeg")
    small = pictures(tmp_path / "small", "a/1.png")
    settle()
    assert index_of(tmp_path / "train") and index_of(small)[0].path == ""
    index, records = index_of(tmp_path / "train")
    assert records == 10_000 and not index.is_new
    assert index.path.startswith(str(tmp_path / "cache")) and index.bytes < 40 * 10_000


# ---- Commands ----------------------------------------------------------------------------------


def test_a_folder_of_classes_is_known(tmp_path, capsys):
    root = pictures(tmp_path / "train", *(f"{i % 3}/{i}.png" for i in range(7)))
    found = detect(root)
    assert (found.path, found.format, found.compression) == (str(root), "imagefolder", None)
    source = open_source([root])
    assert [(field.name, field.dtype) for field in source.fields] == [
        ("image", "bytes"), ("label", "int64")
    ]  # fmt: skip
    assert cli.main(["head", str(root)]) == 0
    assert "image folder, 7 records" in capsys.readouterr().out
    write_tree(root, {"0/notes.txt": b"x", "2/more/a.csv": b"x", "2/.b.csv": b"x", "c.csv": b"x"})
    assert cli.main(["verify", str(root)]) == 0
    said = capsys.readouterr().out
    assert "7 records whole" in said and "2 files with other extensions left out" in said
    assert cli.main(["verify", "--attr", "extensions=", str(root)]) == 0
    assert "9 records whole" in (said := capsys.readouterr().out) and "left out" not in said
    assert cli.main(["index", str(root)]) == 0
    assert "bytes a record" in capsys.readouterr().out
    target = tmp_path / "all.tfrecord"
    assert cli.main(["convert", str(root), str(target)]) == 0
    record = flow.TFRecordReader(files=target, batch_size=10)
    blobs = flow.ExampleDecoder(record, features=["image/encoded:bytes", "image/class/label:int64"])
    with flow.DataLoader(list(blobs)) as loader:
        images, labels = next(iter(loader))
    assert [(i.tobytes(), n) for i, n in zip(images, labels, strict=True)] == truth(root)
    (root / "1/4.png").write_bytes(b"")
    assert cli.main(["verify", str(root)]) == 1
    said = capsys.readouterr().out
    assert str(root / "1/4.png") in said and "the file is empty" in said


def test_other_folders_are_none(tmp_path):
    write_tree(tmp_path, {"a/part-0": b"1,2\n", "b/x.txt": b"x", "c.png": b"x", ".d/x.png": b"x"})
    with pytest.raises(flow.FileError, match="folder"):
        detect(tmp_path)
    assert detect(tmp_path, "imagefolder").format == "imagefolder"
    assert image_trees.by_torchvision(tmp_path) == []
