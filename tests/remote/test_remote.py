"""Files at addresses: the bytes of local ones, also with faults, several processes and a small
cache."""

import base64
import contextlib
import gzip
import json
import os
import pickle
import re
import signal
import threading
import time
import traceback
from collections import Counter
from dataclasses import replace
from io import BytesIO
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from remote.server import files_below, serving
from remote.soak import soak
from reports.recorded import WAITING, recorded, work
from support import programs
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata import cli, io
from pyflowdata.formats import expanded
from pyflowdata.insight.verdict import judge
from pyflowdata.native import lib, text
from pyflowdata.remote import cache as blocks
from pyflowdata.remote import client, configure

pytest.importorskip("obstore")
MB = 1 << 20


@pytest.fixture(autouse=True)
def cache(tmp_path):
    folder = tmp_path / "cache"
    configure(cache_dir=folder, budget="1GB", requests=8, options={})
    return folder


def arrays(batch):
    parts = batch if isinstance(batch, tuple) else (batch,)
    return [np.array(one.values if isinstance(one, flow.Ragged) else one) for one in parts]


def read(data, batch_size=256):
    with flow.DataLoader(data.batch(batch_size)) as loader:
        return [arrays(batch) for batch in loader]


def assert_same(one, other):
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        for a, b in zip(left, right, strict=True):
            np.testing.assert_array_equal(a, b)


def write_formats(folder):
    """Data of many formats, and how each is opened."""
    rows = 3000
    columns = {
        "x": np.random.default_rng(0).standard_normal((rows, 128)).astype(np.float32),
        "y": np.arange(rows),
    }
    (folder / "of").mkdir(parents=True)
    for writer, name in [
        (io.TFRecordWriter, "a.tfrecord"), (io.OFRecordWriter, "of/part-0"),
        (io.MDSWriter, "mds"), (io.ArrowWriter, "a.arrow"), (io.MindRecordWriter, "a.mindrecord"),
    ]:  # fmt: skip
        with writer(folder / name) as out:
            out.write_batch(columns)
    text = "of lines, of which several blocks take fewer " * 9
    (folder / "a.jsonl").write_text("".join(f'{{"y": {y}, "z": "{text}"}}\n' for y in range(rows)))
    (folder / "a.jsonl.gz").write_bytes(gzip.compress((folder / "a.jsonl").read_bytes(), 1))
    fixture = ROOT / "tests/fixtures/flatbuffers/features.onerec"
    (folder / "a.onerec").write_bytes(fixture.read_bytes())
    names = [str(path.relative_to(folder)) for path in folder.iterdir() if path.is_file()]
    return [name for name in names if name != "a.mindrecord.db"] + ["of/part-0", "mds/"]


def test_every_format_gives_the_bytes_of_local_files(tmp_path):
    folder = tmp_path / "data"
    names = write_formats(folder)
    with serving(files_below(folder)) as server:
        for name in names:
            local, remote = flow.open(str(folder / name)), flow.open(f"{server.url}/{name}")
            assert_same(read(local), read(remote))
            if not name.endswith(".gz"):
                assert_same(read(local.shuffle(seed=1)), read(remote.shuffle(seed=1)))
        assert max(server.ranges.values()) == 1


def test_readers_take_addresses_in_files_and_data_dir(tmp_path):
    parts = {f"d/part-{i}": f"{i},{i + 1}\n".encode() * 3 for i in range(3)}
    with serving(parts) as server:
        text = flow.MiniReader(f"{server.url}/d", batch_size=2, data_part_num=3)
        x, y = flow.MiniDecoder(text)
        with flow.DataLoader(x, y) as loader:
            rows = np.concatenate([np.column_stack([*batch]) for batch in loader])
        np.testing.assert_array_equal(rows, [[i, i + 1] for i in range(3) for _ in range(3)])
        with pytest.raises(flow.FileError, match="part-3.*no such object"):
            flow.DataLoader(flow.MiniReader(f"{server.url}/d", batch_size=2, data_part_num=4))
        with pytest.raises(flow.UnsupportedError, match="lists no files"):
            flow.open(f"{server.url}/d/*")
        with pytest.raises(flow.UnsupportedError, match="lists no files"):
            flow.DataLoader(flow.ImageFolderReader(f"{server.url}/d", batch_size=1))


def raw(url, **options):
    return flow.open(url, format="raw", shape=[64], dtype="int32", **options)


def numbers(size):
    return np.arange(size // 4, dtype=np.int32)


def all_of(data, batch_size=4096):
    return np.concatenate([batch[0] for batch in read(data, batch_size)]).ravel()


def test_faults_of_the_network_cost_time_only(tmp_path):
    data = numbers(24 * MB)
    faults = {0: "503", 3: "reset", 6: "short"}
    with serving({"a.bin": data.tobytes()}) as server:
        server.fault = lambda number: faults.get(number % 9)
        before = flow.remote.cache_info()
        np.testing.assert_array_equal(all_of(raw(f"{server.url}/a.bin")), data)
        after = flow.remote.cache_info()
    assert after.retries > before.retries
    assert after.failures == before.failures
    assert after.bytes_fetched - before.bytes_fetched == 24 * MB


def test_a_short_soak_of_faults_gives_no_wrong_bytes():
    report = soak(faults=60, seed=3, seconds=6)
    assert not report.wrong, report
    assert report.right, report


def test_what_no_further_try_mends_is_told_at_once(tmp_path):
    with serving({"a.bin": numbers(3 * MB).tobytes()}) as server:
        with pytest.raises(flow.FileError, match=r"none.bin: there is no object") as missing:
            flow.open(f"{server.url}/none.bin")
        assert str(missing.value).count(server.url) == 1
        with pytest.raises(flow.UnsupportedError, match=f"^{server.url}/: a web server lists no"):
            flow.open(f"{server.url}/")
        with pytest.raises(flow.FileError, match=f"two slashes: '{server.url}/a.bin'"):
            flow.open(f"{server.url}/a.bin".replace("//", "/"))
        server.fault = lambda _number: "403"
        with pytest.raises(flow.FileError, match="credentials"):
            all_of(raw(f"{server.url}/a.bin"))
        assert server.gets == 1


@pytest.mark.parametrize("loop", ["for batch in flow.DataLoader(data.batch(2), num_threads=1)",
                                  "for row in map(data.__getitem__, range(40))",
                                  "for _ in [warm([sys.argv[1]])]",
                                  "for _ in [flow.open(sys.argv[1] + '3', format='npy')]",
                                  "for _ in [mindrecord(files=[sys.argv[1] + '2'], batch_size=1)]"])
def test_ctrl_c_ends_a_program_while_a_store_does_not_answer(tmp_path, loop):
    script = f"""
import sys
import pyflowdata as flow
from pyflowdata.remote import configure
from pyflowdata.remote.cache import warm
mindrecord = flow.MindRecordReader
configure(cache_dir=sys.argv[2], requests=2)
data = flow.open(sys.argv[1])
print("open", flush=True)
input()
{loop}: pass
"""
    rows = BytesIO()
    np.save(rows, np.zeros((40, 1 << 17)))
    with serving(dict.fromkeys(("x.npy", "x.npy2", "x.npy3"), rows.getvalue())) as server:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), programs.PIPE)
        program = programs.start(script, server.url + "/x.npy", tmp_path / "cache", **pipes)
        try:
            assert program.stdout.readline() == "open\n"
            server.fault = lambda _: "hang"
            print(file=program.stdin, flush=True)
            until = time.monotonic() + 30
            while not server.hanging and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(0.1)  # until the program waits
            program.send_signal(signal.SIGINT)
            _, err = program.communicate(timeout=10)
        finally:
            program.kill()
            server.hangs.set()
    assert program.returncode == -signal.SIGINT, err
    assert err.endswith("KeyboardInterrupt\n")


def test_a_new_opening_reads_the_new_version_and_an_open_loader_refuses_it(tmp_path):
    old, new = numbers(12 * MB), numbers(12 * MB)[::-1].copy()
    configure(budget=16 * MB)  # of which a quarter is fetched ahead
    with serving({"a.bin": old.tobytes()}) as server:
        data = raw(f"{server.url}/a.bin")
        with flow.DataLoader(data.batch(64)) as loader:
            batches = iter(loader)
            np.testing.assert_array_equal(arrays(next(batches))[0].ravel(), old[: 64 * 64])
            server.files["a.bin"] = new.tobytes()
            np.testing.assert_array_equal(all_of(raw(f"{server.url}/a.bin")), new)
            with pytest.raises(flow.FileError, match="changed while open"):
                list(batches)
        looks = server.looks
        np.testing.assert_array_equal(all_of(data), new)
        assert server.looks == looks + 1
        np.testing.assert_array_equal(all_of(raw(f"{server.url}/a.bin")), new)
        assert server.looks == looks + 2
        # What changes between the look at an object and its bytes is refused, and then read.
        server.stale["a.bin"] = old.tobytes()
        configure(cache_dir=tmp_path / "other")
        with pytest.raises(flow.FileError, match="changed while open"):
            raw(f"{server.url}/a.bin")
        server.stale.clear()
        np.testing.assert_array_equal(all_of(raw(f"{server.url}/a.bin")), new)


def signed(text):
    """A query of a secret, and of other words of a signature."""
    return f"X-Amz-Expires=60&response-content-type=a%20b&X-Amz-Signature={text}%2Fsecret"


def assert_tells_no_secret(*said):
    for one in said:
        assert "secret" not in f"{one}"


def test_no_text_has_a_password_which_all_requests_to_its_host_have(tmp_path, cache, capsys):
    line = json.dumps({"source": "1.png", "usage": "train", "annotation": [{"name": "a"}]})
    image = b"\x89PNG\r\n\x1a\n"
    files = {"d/t.csv": b"x,y\n1,2\n", "d/a.manifest": f"{line}\n".encode(), "d/1.png": image}
    with serving(files) as server:
        server.login = "Basic " + base64.b64encode(b"user:secret").decode()
        host, plain = server.url.replace("://", "://user:secret@"), f"{server.url}/d/t.csv"
        url, other = f"{host}/d/t.csv", f"{server.url}/d/t.csv".replace("://", "://user:secrets@")
        with pytest.raises(flow.FileError, match="as http://user:password@host/") as refused:
            flow.open(other)
        data = flow.open(url)
        reader = flow.CSVReader(files=url, columns=["y:int64"], header="yes", batch_size=1)
        with flow.DataLoader(reader) as loader:
            assert [arrays(batch)[0].tolist() for batch in loader] == [[2]]
            assert_tells_no_secret(data, loader.state_dict(), loader.report(), reader)
        ((images, _),) = read(flow.open(f"{host}/d/a.manifest"))  # what lies beside it, too
        assert images.tobytes() == image
        (tmp_path / "b.manifest").write_text(line.replace("1.png", f"{host}/d/1.png") + "\n")
        ((images, _),) = read(flow.open(str(tmp_path / "b.manifest")))
        assert images.tobytes() == image
        assert {one.url for one in blocks.cached_objects()} >= {plain, f"{server.url}/d/1.png"}
        assert not any(b"secret" in one.read_bytes() for one in cache.glob("*.pfdblocks"))
        carried = pickle.dumps(data)  # another process gets the password with the data set
        client._logins.clear()
        client._store.cache_clear()
        assert pickle.loads(carried).column("y").tolist() == [2]
        with pytest.raises(flow.FileError, match="no object") as missing:
            flow.open(f"{host}/none.csv")
        with pytest.raises(TypeError, match=r"takes blobs.*://\.\.\.@") as use:
            flow.DataLoader(url)

        # A user name alone, which is a token.
        server.login = "Basic " + base64.b64encode(b"token-secret:").decode()
        token = plain.replace("://", "://token-secret@")
        data = flow.open(token)
        assert data.column("x").tolist() == [1] and pickle.loads(pickle.dumps(data)) is not None
        with flow.DataLoader(data.batch(1)) as loader:
            assert_tells_no_secret(data, loader.state_dict(), loader.report())
        assert not any(b"secret" in one.read_bytes() for one in cache.glob("*.pfdblocks"))
        with pytest.raises(TypeError, match=r"takes blobs.*://\.\.\.@") as token_use:
            flow.DataLoader(token)
        with pytest.raises(flow.FileError, match="no object") as token_missing:
            flow.open(token.replace("t.csv", "none.csv"))
        assert client.name_object("abfs://box@host/a") == "abfs://box@host/a"  # no secret
        assert cli.main(["head", token]) == 0
        server.login = "Basic " + base64.b64encode(b"user:secret").decode()

        # Commands, of which one writes beside the files.
        server.query = signed("first")
        for name in ("head", "index"):
            assert cli.main([name, f"{url}?{server.query}"]) == 0
        gets = server.gets
        assert cli.main(["index", "--beside", f"{url}?{server.query}"]) == 1
        assert server.gets == gets
        assert cli.main(["cache", "list"]) == 0
        said = capsys.readouterr()
        assert "takes no files" in said.err and "1 records" in said.out
        with pytest.raises(flow.InvalidArgumentError, match="NUL") as cut:
            flow.CSVReader(files=f"{plain}?{server.query}\0", batch_size=1)
    assert_tells_no_secret(said.out, said.err)
    for told in (refused, missing, use, cut, token_use, token_missing):
        assert_tells_no_secret("".join(traceback.format_exception(told.value)))


def test_an_object_that_is_signed_again_is_the_same_and_no_text_has_a_signature(tmp_path, cache):
    data = numbers(3 * MB)
    files = {"d/a b.bin": data.tobytes(), "d/empty.bin": b"", "d/t.csv": b"x,y\n1,2\n"}
    with serving({name.replace(" ", "%20"): one for name, one in files.items()}) as server:
        url, server.query = f"{server.url}/d/a%20b.bin", signed("first")
        first = raw(f"{url}?{signed('first')}").shuffle(seed=1).batch(1024)
        with flow.DataLoader(first) as loader:
            batches = iter(loader)
            found = [np.array(next(batches)[0])]
            state = loader.state_dict()
            rest = [np.array(batch) for batch, in batches]
            assert_tells_no_secret(first, state, loader, loader.report(), loader.report().to_dict())
        np.testing.assert_array_equal(np.sort(np.concatenate([*found, *rest]).ravel()), data)
        gets, server.query, carried = server.gets, signed("second"), pickle.dumps(first)
        client.forget_facts()
        second = raw(f"{url}?{signed('second')}").shuffle(seed=1).batch(1024)
        with flow.DataLoader(second) as loader:
            loader.load_state_dict(state)
            np.testing.assert_array_equal(rest, [np.array(batch) for batch, in loader])
        assert server.gets <= gets + 2  # looks
        assert [one.url for one in blocks.cached_objects()] == [url]
        assert_tells_no_secret(second, *(path.name for path in cache.iterdir()))
        assert b"secret" not in next(cache.glob("*.pfdblocks")).read_bytes()
        assert flow.open(f"{server.url}/d/t.csv?{server.query}").column("y").tolist() == [2]
        empty = client.name_object(f"{server.url}/d/empty.bin?{server.query}")
        assert client.look_at([empty])[0].size == 0

        # Another process gets the signature with the data set.
        client._given.clear()
        server.query = signed("first")
        configure(cache_dir=tmp_path / "other")
        with flow.DataLoader(pickle.loads(carried)) as loader:
            assert sum(len(batch) for batch, in loader) == len(data) // 64

        # Failures, and what caused them.
        client.forget_facts()
        server.query, hidden = "another", "secret"
        with pytest.raises(flow.FileError, match="sign the address again") as expired:
            raw(f"{url}?{signed('first')}")
        with pytest.raises(flow.FileError, match="sign the address again") as other:
            raw(f"{url}?{signed('first')}&versionId={hidden}")
        with pytest.raises(TypeError, match="takes blobs.*d/t.csv[?][.][.][.]'") as use:
            flow.DataLoader(f"{server.url}/d/t.csv?{signed('first')}")
        server.query, gets, server.fault = signed("first"), server.gets, lambda _number: "400"
        with pytest.raises(flow.FileError, match="sign the address again"):
            raw(f"{url}?{signed('first')}")
        assert server.gets <= gets + 3  # one try
        with pytest.raises(flow.UnsupportedError, match="takes no files") as writing:
            io.RawWriter(f"{server.url}/new.bin?{server.query}={hidden}")
        server.fault, server.is_away = lambda _number: None, True
        client._LOOK_PAUSES, pauses = (0.01,), client._LOOK_PAUSES
        with pytest.raises(flow.FileError, match="the store failed for") as away:
            raw(f"{server.url}/d/t.csv?{signed('first')}")
        client._LOOK_PAUSES = pauses
    for told in (expired, other, use, writing, away):
        assert_tells_no_secret("".join(traceback.format_exception(told.value)))


def test_an_address_with_another_query_or_none_names_another_object():
    signed_again = ["?id=4&sig=a", "?id=4&sig=b"]
    texts = {"": "0", "?id=3": "1"} | dict.fromkeys(signed_again, "2")
    files = {f"get.csv{query}": f"x\n{text}\n".encode() for query, text in texts.items()}
    line = json.dumps({"source": "1.png", "usage": "train", "annotation": [{"name": "a"}]})
    files |= {"d/a.manifest?id=1": f"{line}\n".encode(), "d/1.png": b"\x89PNG\r\n\x1a\n"}
    with serving(files) as server:
        url = f"{server.url}/get.csv"
        opened = [flow.open(url + query) for query in ["?id=3", "", *signed_again]]
        assert [data.column("x").tolist() for data in opened] == [[1], [0], [2], [2]]
        reader = flow.CSVReader(files=url, columns=["x:int64"], header="yes", batch_size=1)
        with flow.DataLoader(reader) as loader:
            assert arrays(next(iter(loader)))[0].tolist() == [0]
        names = {one.url for one in blocks.cached_objects()}
        assert len(names) == 3 and url in names and not any("id=" in name for name in names)
        # What lies beside an object has another address, without its query.
        ((images, _),) = read(flow.open(f"{server.url}/d/a.manifest?id=1"))
        assert images.tobytes() == files["d/1.png"]
        client._given.clear()
        with pytest.raises(flow.UnsupportedError, match="give the address with its query"):
            flow.open(max(names))
        assert client.name_object(f"{max(names)}?id=3") in names


def test_a_manifest_may_name_signed_images(tmp_path, monkeypatch):
    files = {f"{i}.png": b"\x89PNG\r\n\x1a\n" + bytes([i]) * 100 for i in range(4)}
    with serving(files | {"none.png": b""}) as server:
        server.query, url = signed("one"), server.url.replace("http", "HTTP")
        lines = [
            json.dumps({"source": f"{url}/{name}?{server.query}", "usage": "train",
                        "annotation": [{"name": "a"}]}) + "\n"
            for name in [*files, "none.png"]
        ]  # fmt: skip
        for name, some in (("good", lines[:4]), ("bad", lines)):
            (tmp_path / f"{name}.manifest").write_text("".join(some))
        with flow.DataLoader(flow.open(str(tmp_path / "good.manifest")).batch(4)) as loader:
            ((images, _),) = loader
        assert [image.tobytes() for image in images] == [*files.values()]
        with pytest.raises(flow.CorruptDataError, match="none.png is empty") as empty:
            read(flow.open(str(tmp_path / "bad.manifest")))
        assert_tells_no_secret(empty.value)
        # Queries are kept for the rows that are being read, and told in one call for several.
        calls, name = [], blocks.name_objects
        monkeypatch.setattr(
            blocks, "name_objects", lambda *given: calls.append(given[1]) or name(*given)
        )
        monkeypatch.setattr(client, "_MOST_OF_ROWS", 4)
        data = flow.open(str(tmp_path / "good.manifest"))
        with flow.DataLoader(data.batch(4), num_threads=1) as loader:
            assert len(list(loader)) == 1 and set(calls) == {4}
        assert len(client._of_rows) == 4


def named_images(server, folder, files):
    """A data set of the images that a manifest names."""
    lines = [{"source": f"{server.url}/{name}", "usage": "train", "annotation": [{"name": "a"}]}
             for name in files]  # fmt: skip
    (folder / "i.manifest").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return flow.open(str(folder / "i.manifest"))


def test_images_of_later_batches_are_asked_for_ahead_and_so_many_at_a_time(tmp_path):
    files = {f"{i:03d}.png": b"\x89PNG\r\n\x1a\n" + i.to_bytes(2, "big") * 500 for i in range(160)}
    files["050.png"] = bytes(9 * MB) + b"the end"  # of which the beginning is asked for ahead
    with serving(dict(files)) as server:
        server.latency = 0.05
        data = named_images(server, tmp_path, files).shuffle(seed=1).batch(2)
        with flow.DataLoader(data, num_threads=1) as loader:
            found = Counter(image.tobytes() for images, _ in loader for image in images)
            assert found == Counter(files.values())
            # One thread makes batches of two images; requests are those of many batches.
            # The server ends one after the client has its answer.
            assert 6 <= server.most_at_once < 2 * len(blocks._threads)
            assert server.looks + server.gets < 1.5 * len(files)
            looks, gets = server.looks, server.gets
            assert sum(len(labels) for _, labels in loader) == len(files)
        assert (server.looks, server.gets) == (looks, gets)
        # The bytes are in the cache: a look at each tells that they are those of the object.
        client.forget_facts()
        again = named_images(server, tmp_path, files)
        assert len(read(again, 16)) == 10
        assert server.looks > looks + 60 and server.gets < gets + 90  # the first ones tell
        # What is missing is told by its row, and costs the epoch nothing else.
        del server.files["077.png"]
        configure(cache_dir=tmp_path / "other")
        data = named_images(server, tmp_path, files)
        with pytest.raises(flow.CorruptDataError, match="077.png is not there: there is no such"):
            read(data, 2)
        with flow.DataLoader(data.batch(4, on_error="skip")) as loader:
            assert sum(len(labels) for _, labels in loader) == len(files) - 1
        # A loader that is closed while its objects are being looked at leaves what it asked for.
        for epoch in range(4):
            configure(cache_dir=tmp_path / f"closed-{epoch}")
            client.forget_facts()
            with flow.DataLoader(data.batch(2)) as loader:
                next(iter(loader))


def test_all_threads_of_a_process_share_one_client_of_a_host(tmp_path, monkeypatch):
    made, make = [], client._Obstore.__init__

    def slowly(self, base, options):
        made.append(base)
        time.sleep(0.05)  # others ask for the same store meanwhile
        make(self, base, options)

    monkeypatch.setattr(client._Obstore, "__init__", slowly)
    with serving({f"{i}.png": b"\x89PNG" + bytes([i]) * 99 for i in range(40)}) as server:
        data = named_images(server, tmp_path, server.files)
        assert len(read(data, 8)) == 5
        assert made == [f"{server.url}/"]


def test_a_small_object_that_changes_is_noticed_though_the_cache_knows_its_old_version(tmp_path):
    files = {f"{i}.png": b"\x89PNG" + bytes([i]) * 99 for i in range(8)}
    with serving(dict(files)) as server:
        data = named_images(server, tmp_path, files)
        with flow.DataLoader(data.batch(4)) as loader:
            assert [image.tobytes() for images, _ in loader for image in images] == [
                *files.values()
            ]
            server.files["3.png"] = b"\x89PNG" + bytes(99)[::-1] + b"new"
            blocks.clear_cache()  # of the bytes; files of the cache stay for a day
            kept = {blocks.read_blocks(path)[1] for path, _ in blocks._current().files()}
            assert {f"{server.url}/{name}" for name in files} <= kept
            with pytest.raises(flow.FileError, match=r"3.png.*changed while open"):
                for _epoch in range(20):  # some were made before, of the old bytes
                    for images, _ in loader:
                        assert {image.tobytes() for image in images} <= {*files.values()}
                    blocks.clear_cache()
        found = [image.tobytes() for batch in opened_again(data) for image in batch]
        assert found == [*(files | {"3.png": server.files["3.png"]}).values()]


def png(number, size=100):
    return b"\x89PNG\r\n\x1a\n" + number.to_bytes(2, "big") * size


def test_a_loader_reads_one_version_of_each_object_whatever_else_is_opened(tmp_path):
    files = {f"{i}.png": png(i) for i in range(40)}
    (tmp_path / "other.csv").write_text("x\n1\n")

    def open_another():
        assert len(read(flow.open(str(tmp_path / "other.csv")))) == 1

    with serving(dict(files)) as server:
        data = named_images(server, tmp_path, files).shuffle(seed=1)
        with flow.DataLoader(data.batch(4)) as loader:
            for _epoch in range(2):
                found = [image.tobytes() for images, _ in loader for image in images]
                assert sorted(found) == sorted(files.values())
                server.files["3.png"] = png(3) + b"new"
                if not _epoch:
                    asked = server.looks, server.gets
                open_another()
            assert (server.looks, server.gets) == asked
            with pytest.raises(flow.FileError, match=r"3.png.*changed while open"):
                for _epoch in range(20):  # some batches were made before
                    blocks.clear_cache()
                    open_another()
                    found = [image.tobytes() for images, _ in loader for image in images]
                    assert server.files["3.png"] not in found
        assert server.files["3.png"] in [
            image.tobytes() for images in opened_again(data) for image in images
        ]


def objects_in_memory():
    return Path("/proc/self/maps").read_text().count(".pfdblocks")


def test_objects_that_were_asked_for_and_do_not_come_are_let_go(tmp_path):
    files, others = {f"{i}.png": png(i) for i in range(300)}, objects_in_memory()
    with serving(dict(files)) as server:
        data = named_images(server, tmp_path, files).shuffle(seed=1).batch(2)
        with flow.DataLoader(data, num_threads=1, prefetch=2) as loader:
            for _epoch in range(6):  # each one is left early
                next(iter(loader))
                time.sleep(0.1)
            assert objects_in_memory() < 200
        last = time.monotonic() + 60
        while objects_in_memory() > others and time.monotonic() < last:
            time.sleep(0.01)  # fetches that were on their way end
        assert objects_in_memory() <= others  # which earlier tests may have left
        # Damaged lines, of which no image is read, before others that come again and again.
        lines = (tmp_path / "i.manifest").read_text().splitlines()
        bad = [line.replace('{"name": "a"}', "") for line in lines[:200]]
        (tmp_path / "i.manifest").write_text("\n".join(bad + lines[200:] * 40))
        data = flow.open(str(tmp_path / "i.manifest")).batch(50, on_error="skip", max_skipped=-1)
        with flow.DataLoader(data, prefetch=2) as loader:
            for number, (_, labels) in enumerate(loader):
                assert len(labels) == (0 if number < 4 else 50)
                if number == 70:
                    assert objects_in_memory() < 200


@pytest.mark.parametrize("num_threads", [1, 16])
def test_a_store_that_goes_away_is_told_after_one_time_whatever_waits_for_it(
    tmp_path, monkeypatch, num_threads
):
    monkeypatch.setattr(client, "_LOOK_PAUSES", (0.1, 0.4, 1.5))
    monkeypatch.setattr(client, "_FETCH_PAUSES", (0.1, 0.4, 1.5))
    files, given_up, give_up = {f"{i}.png": png(i) for i in range(160)}, [], client._failed

    def noting(*given):
        given_up.append(client.retries)
        return give_up(*given)

    monkeypatch.setattr(client, "_failed", noting)
    with serving(files) as server:
        data = named_images(server, tmp_path, files)
        with flow.DataLoader(data.batch(16), num_threads=num_threads, prefetch=4) as loader:
            batches = iter(loader)
            next(batches)
            server.is_away = True
            begin = time.monotonic()
            with pytest.raises(flow.FileError, match="failed for [0-9]+ s"):
                list(batches)
            assert time.monotonic() - begin >= 2
            with pytest.raises(flow.FileError, match="failed for [0-9]+ s"):
                list(batches)
            # Once a request is given up, nothing pauses for a further try, also in the next call,
            # but what had failed by then.
            assert client.retries <= given_up[0] + len(blocks._threads) + num_threads
            server.is_away = False
            found, last = 0, time.monotonic() + 60
            while found <= 60 and time.monotonic() < last:
                with contextlib.suppress(flow.FileError):  # of tries before, for a second
                    for _, labels in batches:
                        found += len(labels)
                time.sleep(0.05)
            assert found > 60


@pytest.mark.parametrize("fault", ["503", "hang"])
def test_an_object_that_does_not_come_holds_up_no_other_object_or_store(cache, monkeypatch, fault):
    """Its tries took all threads, which slept in the pauses between them."""
    monkeypatch.setattr(client, "_FETCH_PAUSES", (3.0,) * 10)
    data, failures = numbers(6 * MB), []
    blocks._stop()  # other tests have more threads
    blocks._threads.clear()
    configure(cache_dir=cache, budget=16 * MB, requests=2)  # a.bin asks for all of its room
    files = {"a.bin": bytes(32 * MB), "b.bin": data.tobytes()}

    def read_it():
        try:
            for _ in loader:
                pass
        except flow.Error as failure:
            failures.append(failure)

    with serving(files) as server, serving({"c.bin": files["b.bin"]}) as other:
        bad = raw(f"{server.url}/a.bin").shuffle(seed=1).batch(16)
        urls = f"{server.url}/b.bin", f"{other.url}/c.bin"
        server.broken["a.bin"] = fault
        with flow.DataLoader(bad, num_threads=2) as loader:
            reader = threading.Thread(target=read_it)
            reader.start()
            tried, last = 0, time.monotonic() + 30
            least = 2 if fault == "503" else 1  # one that hangs may have all the room
            while tried < least and time.monotonic() < last:
                tried = max(server.hanging, server.injected[fault])
                time.sleep(0.01)
            assert tried >= least
            time.sleep(0.3)  # for a second request, where the first one left room
            for url in urls:
                np.testing.assert_array_equal(all_of(raw(url)), data)
            assert not failures and reader.is_alive()
            server.broken.clear()
            server.hangs.set()
        reader.join()


def test_who_asks_for_later_images_does_not_wait_for_the_list_of_them(tmp_path):
    files = {f"{i}.png": png(i) for i in range(30)}
    with serving(files) as images, serving({}) as server:
        named_images(images, tmp_path, files)
        lines = (tmp_path / "i.manifest").read_text().splitlines()
        long = "".join(line[:-1] + f', "id": "{"x" * 100_000}"}}\n' for line in lines)
        server.files["i.manifest"] = long.encode()
        data = flow.open(f"{server.url}/i.manifest", format="manifest")
        with flow.DataLoader(data.batch(1), num_threads=1, prefetch=1) as loader:
            (stored,) = [
                str(path) for path in (tmp_path / "cache").glob("*.pfdblocks")
                if blocks.read_blocks(str(path))[1].endswith("i.manifest")
            ]  # fmt: skip
            assert lib.pfd_cached_blocks_drop(stored.encode(), [2], 1) > 0
            server.fault = lambda _: "hang"
            end = threading.Timer(20, server.hangs.set)
            end.start()
            for (image,), _ in islice(loader, 15):
                assert image.tobytes() in files.values()
            assert not server.hangs.is_set()  # the list has not come
            server.hangs.set()
            end.cancel()


def test_next_works_on_local_files_also_where_remote_ones_were_read(tmp_path):
    rows = numbers(4 * MB)
    rows.tofile(tmp_path / "a.bin")
    with serving({"a.bin": rows.tobytes()}) as server:
        helped = []
        for path in f"{server.url}/a.bin", str(tmp_path / "a.bin"):
            with flow.DataLoader(raw(path).batch(1024), num_threads=1) as loader:
                count = sum(len(batch[0]) for _ in range(5) for batch in loader)
                assert count == 5 * len(rows) // 64
                helped.append(loader.stats()["help_seconds"])
    assert helped[0] == 0 < helped[1]


def test_a_failed_read_does_not_let_other_threads_read_another_version(cache):
    with serving({"a.png": b"old"}) as server:
        url = f"{server.url}/a.png"
        first = client.look_at([url], is_kept=True)
        server.files["a.png"] = b"newer"
        with pytest.raises(flow.FileError, match=r"a.png.*changed while open"):
            client.fetch(url, first[0].tag, 0, 3)
        assert client.known_facts([url]) == first


def opened_again(data):
    with flow.DataLoader(data.batch(4)) as loader:
        return [[np.array(image) for image in images] for images, _ in loader]


def test_schemes_may_have_capitals_and_a_file_may_have_one(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    for local in (f"file://{tmp_path}/a.csv", f"FILE://{tmp_path}/*.csv"):
        assert flow.open(local).column("x").tolist() == [1, 2]
        reader = flow.CSVReader(files=local, columns=["x:int64"], header="yes", batch_size=2)
        with flow.DataLoader(reader) as loader:
            assert arrays(next(iter(loader)))[0].tolist() == [1, 2]
    with serving(files_below(tmp_path)) as server:
        url = server.url.replace("http", "HTTP")
        assert flow.open(f"{url}/a.csv").column("x").tolist() == [1, 2]
        server.fault = lambda _number: "whole"
        configure(cache_dir=tmp_path / "other")
        with pytest.raises(flow.UnsupportedError, match="answers no ranges of bytes.*nginx") as no:
            flow.open(f"{url}/a.csv")
        assert url in str(no.value) and "Debug" not in str(no.value)


READ = """
import sys, numpy as np, pyflowdata as flow
data = flow.open(sys.argv[1].split(","), format="raw", shape=[64], dtype="int32")
data = data.shuffle(seed=int(sys.argv[2]))
with flow.DataLoader(data.batch(4096)) as loader:
    print("ready", flush=True)
    sys.stdin.readline()
    found = np.concatenate([np.array(batch).ravel() for batch, in loader])
counts = np.bincount(found)
assert counts.size == found.size and (counts == 1).all()
print(found.size)
"""


FORKS = """
import os, sys, pyflowdata
children = []
for seed in range(8):
    children.append(os.fork())
    if children[-1] == 0:
        sys.argv[2] = str(seed)
        exec(sys.argv[3])
        sys.stdout.flush()
        os._exit(0)
sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in children))
"""


def in_cache(folder):
    return programs.environment(PYFLOWDATA_CACHE=str(folder), PYFLOWDATA_CACHE_BUDGET="1GB")


def reading(url, cache, seed=0):
    return programs.start(
        READ, url, seed, stdin=programs.PIPE, stdout=programs.PIPE, env=in_cache(cache)
    )


def test_processes_fetch_each_block_once_and_outlive_one_that_is_killed(cache):
    size = 12 * MB
    hangs = threading.Event()
    with serving({"a.bin": numbers(size).tobytes()}) as server:
        url = f"{server.url}/a.bin"
        first = reading(url, cache)
        first.stdout.readline()
        server.fault = lambda _number: "hang"
        server.hangs = hangs
        first.stdin.write("\n")
        first.stdin.flush()
        while not server.hanging:
            time.sleep(0.01)
        others = [reading(url, cache, seed) for seed in (1, 2)]
        for other in others:
            other.stdout.readline()
        server.fault = lambda _number: None
        first.send_signal(signal.SIGKILL)
        first.wait()
        for other in others:
            assert other.communicate("\n", timeout=60)[0].strip() == str(size // 4)
        hangs.set()
        fetched = sum(end - begin for _, begin, end in server.ranges.elements())
        assert fetched == size


def test_eight_processes_that_read_at_random_fetch_each_block_once(cache):
    data, cuts = numbers(9 * MB + 4096), (0, 5 * MB // 4, 8 * MB // 4, (9 * MB + 4096) // 4)
    parts = [data[begin:end].tobytes() for begin, end in pairwise(cuts)]
    with serving({f"{i}.bin": part for i, part in enumerate(parts)}) as server:
        server.latency = 0.02
        urls = ",".join(f"{server.url}/{i}.bin" for i in range(3))
        done = programs.run(FORKS, urls, 0, READ, env=in_cache(cache), check=True, timeout=200)
        said = done.stdout
        assert said.count(str(data.size)) == 8, said
        sent = Counter(
            (path, block) for (path, first, end), times in server.ranges.items()
            for block in range(first // MB, -(-end // MB)) for _ in range(times)
        )
    assert sent == {
        (f"{i}.bin", block): 1 for i, part in enumerate(parts)
        for block in range(-(-len(part) // MB))
    }


def test_a_child_that_was_forked_after_a_request_is_told_so():
    with serving({"a.bin": bytes(MB)}) as server:
        raw(f"{server.url}/a.bin")
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            with contextlib.suppress(BaseException):
                try:
                    raw(f"{server.url}/a.bin")
                except flow.UnsupportedError as refused:
                    os._exit(0 if "spawn" in str(refused) else 3)
            os._exit(4)
        assert os.waitpid(child, 0)[1] == 0


def test_the_cache_keeps_its_budget_and_what_epochs_begin_with(cache):
    data = numbers(24 * MB)
    configure(cache_dir=cache, budget=16 * MB)
    most = 0

    def look():
        nonlocal most
        while not stopped.is_set():
            most = max(most, flow.remote.cache_info().bytes)
            time.sleep(0.01)

    stopped = threading.Event()
    watcher = threading.Thread(target=look)
    with serving({"a.bin": data.tobytes()}) as server:
        watcher.start()
        with flow.DataLoader(raw(f"{server.url}/a.bin").batch(4096)) as loader:
            for _ in range(4):
                rows = [arrays(batch)[0] for batch in loader]
                np.testing.assert_array_equal(np.concatenate(rows).ravel(), data)
        stopped.set()
        watcher.join()
        fetched = sum(end - begin for _, begin, end in server.ranges.elements())
    assert 8 * MB < most <= 16 * MB
    # A cache that drops what was used least recently would fetch 96 MB, and more.
    assert fetched < 91 * MB


def next_uses(cache):
    (path,) = cache.glob("*" + text(lib.pfd_cache_suffix()))
    return blocks.read_blocks(str(path))[0]["next_ms"]


def test_the_blocks_of_an_epoch_are_planned_in_pieces(cache):
    with serving({"a.bin": numbers(8 * MB).tobytes()}) as server:
        data = raw(f"{server.url}/a.bin").batch(16)
        with flow.DataLoader(data, num_threads=1, prefetch=1) as loader:
            batches = iter(loader)
            next(batches)
            lib.pfd_remote_note_next_uses()
            assert 1 <= np.count_nonzero(next_uses(cache)) <= 4
            for _ in range(300):
                next(batches)
            lib.pfd_remote_note_next_uses()
            assert np.count_nonzero(next_uses(cache)) == 8


def test_a_forked_child_does_not_note_what_its_parent_will_read(cache):
    with serving({"a.bin": numbers(8 * MB).tobytes()}) as server:
        with flow.DataLoader(raw(f"{server.url}/a.bin").batch(4096)) as loader:
            batches = iter(loader)
            next(batches)
            before = next_uses(cache)
            child = os.fork()
            if not child:
                lib.pfd_remote_note_next_uses()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            np.testing.assert_array_equal(next_uses(cache), before)
            lib.pfd_remote_note_next_uses()
            assert (next_uses(cache) > before).any()


def test_a_forked_child_has_locks_of_its_own(cache):
    """Threads of the parent may hold them, which the child does not have."""
    flow.remote.cache_info()
    used = blocks._cache
    with used.room(MB), used._lock, client._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(5)
            with contextlib.suppress(BaseException):
                client.forget_facts()
                with used.room(1):
                    os._exit(0 if used._pending == 1 else 3)
            os._exit(4)
        assert os.waitpid(child, 0)[1] == 0


def test_room_that_cannot_be_made_is_not_counted(cache, monkeypatch):
    flow.remote.cache_info()
    used = blocks._cache

    def fail():
        raise OSError

    monkeypatch.setattr(used, "_keep_budget", fail)
    with pytest.raises(OSError), used.room(MB):  # noqa: PT011  (any)
        pass
    assert used._pending == 0


def test_blocks_of_small_objects_count_as_what_they_have_on_disk(cache):
    """Each counted as 1 MiB, so that too few went."""
    with serving({f"{i}.bin": numbers(20_000).tobytes() for i in range(100)}) as server:
        blocks.warm([f"{server.url}/{i}.bin" for i in range(100)])
    before = flow.remote.cache_info().bytes
    blocks._cache.budget = before * 3 // 4
    blocks._cache._keep_budget()
    assert before // 2 < flow.remote.cache_info().bytes < before * 7 // 8
    blocks.clear_cache()
    assert not blocks.cached_objects() and 0 < flow.remote.cache_info().bytes < before


def test_a_look_at_the_cache_starts_no_threads(cache, monkeypatch):
    monkeypatch.setattr(blocks, "_threads", [])
    assert flow.remote.cache_info().bytes == blocks.clear_cache() == 0
    assert not blocks.cached_objects() and flow.remote.staging_folder()
    assert blocks._threads == []


def test_an_opening_within_another_leaves_it_its_facts(cache):
    with serving({"a.bin": b"1"}) as server, flow.remote.one_opening():
        for _ in range(2):
            assert client.is_object(f"{server.url}/a.bin")
            with flow.remote.one_opening():
                pass
            flow.remote.forget_facts()
        assert server.looks == 1


def test_damage_on_the_disk_is_fetched_again(cache):
    data = numbers(3 * MB)
    with serving({"a.bin": data.tobytes()}) as server:
        np.testing.assert_array_equal(all_of(raw(f"{server.url}/a.bin")), data)
        (stored,) = cache.glob("*.pfdblocks")
        with stored.open("r+b") as file:
            file.seek(stored.stat().st_size - 2 * MB - 50)
            file.write(b"damage")
        np.testing.assert_array_equal(all_of(raw(f"{server.url}/a.bin")), data)
        assert sum(end - begin for _, begin, end in server.ranges.elements()) == 4 * MB
        assert stored.stat().st_mode & 0o077 == 0


def test_other_stores_are_read_with_fsspec(tmp_path):
    files = pytest.importorskip("fsspec").filesystem("memory")
    data = numbers(2 * MB)
    for part in range(3):
        files.pipe(f"/set/{part}.bin", data[part::4].tobytes())
    files.pipe("/set/deep/3.bin", data[3::4].tobytes())
    expected = np.concatenate([data[part::4] for part in range(3)])
    np.testing.assert_array_equal(all_of(raw("memory://set/*.bin")), expected)
    some = expected[: 2 * data.size // 4]
    np.testing.assert_array_equal(all_of(raw("memory://set/[01].bin")), some)
    assert all_of(raw("memory://set/**/*.bin")).size == data.size
    with pytest.raises(flow.FileError, match="no object matches"):
        raw("memory://set/*.none")
    with pytest.raises(flow.UnsupportedError, match="nosuch"):
        raw("nosuch://a/b")


NAMES = (
    "a1", "a2", "b1", "A1", "a-", "[x]", "a]", ".h1", "d1/a1", "d1/.h", "d1/e/a1", "d2/a1",
    "e/b1", ".d/a1", "f[*/g?/a1", "f[*/a\\1",
)  # fmt: skip
PATTERNS = (
    "*", "?1", "[ab]1", "[!a]1", "[^a]1", "[a-c]?", "[a-]1", "a[-]", "[[]x]", "[]a]*", "*]", "a[",
    "A*", ".h*", ".*", "[.]h1", "?h1", "d*/a1", "*/a1", "*/*", "*/.h", "d?/.*", "[d-e]*/?1", "*/*/*"
)  # fmt: skip
DEEP = (
    "**", "**/a1", "d1/**", "d*/**/a1", "**/.h", "**1", "**/**/a1", "**/e/**", "**/[[]*", "**/a\\1",
)  # fmt: skip


def read_names(pattern):
    try:
        with flow.DataLoader(flow.TextLineReader(files=pattern, batch_size=1)) as loader:
            return {batch[0].tobytes().decode() for batch in loader}
    except flow.FileError:
        return set()


def test_a_pattern_means_the_same_to_readers_to_open_and_in_stores(tmp_path):
    files = pytest.importorskip("fsspec").filesystem("memory")
    tree = tmp_path / "tree"
    for name in NAMES:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)
        files.pipe(f"/globs/{name}", name.encode())
    (tree / "d1/e/links").mkdir()
    for link in ("up", "up-again", "here"):  # to folders around them
        (tree / "d1/e/links" / link).symlink_to("." if link == "here" else "..")
    for pattern in (*PATTERNS, *DEEP):
        path = f"{tree}/{pattern}"
        found = read_names(path)
        opened = set()
        with contextlib.suppress(flow.FileError):
            opened = {os.path.relpath(one, tree) for one in expanded([path]) if os.path.isfile(one)}
        keys = client.listed(f"memory://globs/{pattern}")
        stored = {key.removeprefix("memory://globs/") for key in keys}
        assert stored == opened == found, pattern
        assert bool(opened) == (pattern not in ("a[", "[.]h1", "?h1")), pattern


def test_a_pattern_stands_for_files_first_and_then_for_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "d/b.csv", "d/e.csv/c.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n1\n")
    assert expanded(["**"]) == expanded(["**/*.csv"]) == ["a.csv", "d/b.csv", "d/e.csv/c.csv"]
    assert len(flow.open("d/*.csv")) == 1 and expanded(["d/e*"]) == ["d/e.csv"]
    for pattern in ("**", "**/*.csv", "d/../**/**"):
        columns = {"columns": ["x:int64"], "header": "yes", "batch_size": 4}
        with flow.DataLoader(flow.CSVReader(files=pattern, **columns)) as loader:
            assert loader.readers[0].records == 3
    with pytest.raises(flow.FileError, match="no file matches the pattern 'd/[*][*]/x'"):
        flow.DataLoader(flow.CSVReader(files="d/**/x", **columns))


def test_options_are_checked(tmp_path, monkeypatch):
    with pytest.raises(flow.InvalidArgumentError, match="at least 16MiB"):
        configure(budget="1MB")
    with pytest.raises(flow.InvalidArgumentError, match="50GB"):
        configure(budget="much")
    with pytest.raises(TypeError, match="no argument 'cachedir'; did you mean 'cache_dir'"):
        configure(cachedir=tmp_path)
    tried, as_error = [], client._as_error  # earlier tests may have left others, which go on
    monkeypatch.setattr(client, "_as_error", lambda *of: tried.append(of[1]) or as_error(*of))
    for options, said in (
        ({"regionn": "x"}, "'regionn' is not valid"), ({"region": 3}, "'int'"),
        ({"client_options": {"timeout": "x"}}, 'parse "x"'),
    ):  # fmt: skip
        configure(options={"s3://b": options})
        with pytest.raises(flow.InvalidArgumentError, match=f"s3://b/: no client.*{said}.*options"):
            flow.open("s3://b/*.csv")
    assert sum(url.startswith("s3://b") for url in tried) == 3
    configure(requests=4, options={})
    info = flow.remote.cache_info()
    assert (info.folder, info.budget) == (str(tmp_path / "cache"), 1000**3)
    configure(cache_dir=tmp_path / "next")
    assert flow.remote.cache_info().budget == 1000**3
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(flow.FileError, match="this user's alone"):
        configure(cache_dir=shared)


def verdict_of(data, epochs=1):
    """Of what was fetched, and of other numbers in which threads wait for a reader: those depend on
    the machine."""
    with flow.DataLoader(data.batch(512)) as loader:
        for _ in range(epochs):
            for _batch in loader:
                pass
        counters = loader.report().counters
    waiting = {**WAITING, "cpu_seconds": 2.0, "process_cpu_seconds": 3.0}
    waiting["read_bytes"] = counters.stats["read_bytes"]
    told = recorded(work("Reader", 14.0, 2.0, kind="records"), **waiting)
    return judge(replace(told, fetched=counters.fetched, readers=counters.readers))


def test_a_bar_says_that_an_epoch_is_cold_and_what_is_missing(capsys):
    with serving({"a.bin": bytes(12 * MB), "b.bin": bytes(8 * MB)}) as server:
        urls = [f"{server.url}/{name}.bin" for name in "ab"]
        with flow.DataLoader(raw(urls).batch(4096)) as loader:
            for _ in flow.progress(loader):
                pass
            cold = capsys.readouterr().err
            for _ in flow.progress(loader):
                pass
            warm = capsys.readouterr().err
        with flow.DataLoader(raw(urls[1]).take(64).batch(64)) as loader:
            assert loader.report().counters.missing_bytes == 0
        configure(cache_dir=flow.remote.cache_info().folder + "-other")
        with flow.DataLoader(raw(urls[1]).take(64).batch(64)) as loader:
            for _ in flow.progress(loader):
                pass
            part, counters = capsys.readouterr().err, loader.report().counters
    assert re.search(r"cold: 1\d(\.\d)? MB fetched, 0 bytes not there", cold), cold
    assert "cold" not in warm and "records/s" in warm
    assert counters.missing_bytes == 0  # of the block that the epoch reads
    assert ", 0 bytes not there" in part


def test_what_an_epoch_lacks_is_counted_by_its_plan(cache):
    with serving({"a.bin": numbers(32 * MB).tobytes()}) as server:
        some = raw(f"{server.url}/a.bin").take(8 * MB // 256).shuffle(seed=1)  # a quarter of it
        configure(budget=16 * MB)  # of which a quarter is asked for ahead

        def missing():
            return loader.report().counters.missing_bytes

        with flow.DataLoader(some.batch(256), num_threads=1, prefetch=1) as loader:
            whole, batches = missing(), iter(loader)
            next(batches)
            for _ in range(100):  # the plan is made in pieces
                if missing() <= 8 * MB:
                    break
                next(batches)
            planned = missing()
            for _ in batches:
                pass
            assert whole > 28 * MB and missing() == 0  # all but what the format was told by
        assert planned <= 8 * MB


def test_reports_know_a_slow_line_slow_answers_and_a_small_cache(cache):
    data = numbers(8 * MB).tobytes()
    with serving({"a.bin": data}) as server:
        server.rate = 4 * MB
        line = verdict_of(raw(f"{server.url}/a.bin"))
    with serving({"b.bin": data}) as server:
        server.latency = 0.6
        answers = verdict_of(raw(f"{server.url}/b.bin"))
    configure(cache_dir=cache, budget=16 * MB)
    with serving({"c.bin": numbers(24 * MB).tobytes()}) as server:
        small = verdict_of(raw(f"{server.url}/c.bin"), epochs=3)
    assert [one.cause for one in (line, answers, small)] == [
        "network", "requests", "cache-too-small"
    ]  # fmt: skip
    assert answers.evidence["answer_seconds"] >= 0.6
    assert line.evidence["missing_bytes"] == 0 and "the epoch is cold" in line.sentence
    assert 24 * MB < small.evidence["enough_budget"] < 36 * MB
    assert 0.5 < line.evidence["fetched_per_used"] <= 1.1  # opening fetched some before
