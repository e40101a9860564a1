"""Servers that others made: nginx and moto's S3, which `make test-remote` installs, and Ceph's S3
where its programs are installed (Debian: ceph-mon, ceph-osd, radosgw)."""

import contextlib
import grp
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
import uuid

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata import io
from pyflowdata.cli import main
from pyflowdata.remote import configure

pytest.importorskip("obstore")
MB = 1 << 20
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
CONFIGURATION = """
user {user};
daemon off; error_log stderr crit; pid nginx.pid; worker_processes 1;
events {{ worker_connections 256; }}
http {{
    log_format plain '$request_method $uri $status $http_range';
    access_log access.log plain;
    {temporary}
    server {{
        listen 127.0.0.1:{port};
        root files;
        location /slow/ {{ alias files/; limit_rate 2m; }}
        location /denied/ {{ deny all; }}
        location /signed/ {{
            alias files/;
            if ($request_method != GET) {{ return 403; }}
            if ($arg_sig != "a%2Fb%2Bc") {{ return 403; }}
        }}
        location /whole/ {{ alias files/; max_ranges 0; }}
    }}
}}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path):
    configure(cache_dir=tmp_path / "cache", budget="1GB", options={})


class Nginx:
    """Serves the folder `files`.

    Attributes:
        files: The folder.
        url: Of the server.
    """

    def __init__(self, folder):
        self._folder, self.files = folder, folder / "files"
        self.files.mkdir(parents=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = " ".join(f"{kind}_temp_path {kind};" for kind in kinds)
        names = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
        text = CONFIGURATION.format(port=self._port, temporary=temporary, user=" ".join(names))
        (folder / "nginx.conf").write_text(text.replace("alias files", f"alias {self.files}"))

    def start(self):
        self._process = subprocess.Popen(
            [NGINX, "-p", f"{self._folder}/", "-c", "nginx.conf"], stderr=subprocess.PIPE
        )
        for _ in range(500):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self._port)).close()
                return
            assert self._process.poll() is None, self._process.stderr.read().decode()
            time.sleep(0.01)

    def stop(self):
        """Breaks off all connections."""
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate()

    def requests(self):
        """The requests that were answered, as [method, path, status, range]."""
        lines = (self._folder / "access.log").read_text().splitlines()
        return [line.split(" ", 3) for line in lines]


@pytest.fixture
def nginx(tmp_path):
    if NGINX is None:
        pytest.skip("nginx is not installed (Debian: nginx); make test-remote installs it")
    server = Nginx(tmp_path / "nginx")
    server.start()
    yield server
    server.stop()


def raw(url):
    return flow.open(url, format="raw", shape=[64], dtype="int32")


def all_of(data):
    with flow.DataLoader(data.batch(4096)) as loader:
        return np.concatenate([np.array(batch) for batch, in loader]).ravel()


def numbers(size):
    return np.arange(size // 4, dtype=np.int32)


def test_nginx_sends_each_range_once_and_a_change_is_noticed(nginx):
    data = numbers(20 * MB)
    (nginx.files / "a.bin").write_bytes(data.tobytes())
    found = all_of(raw(f"{nginx.url}/a.bin").shuffle(seed=1))
    np.testing.assert_array_equal(np.sort(found), data)
    sent = [one for *said, one in nginx.requests() if said == ["GET", "/a.bin", "206"]]
    bounds = [tuple(map(int, one.removeprefix("bytes=").split("-"))) for one in sent]
    assert sum(end + 1 - begin for begin, end in bounds) == 20 * MB
    configure(cache_dir=nginx.files / "cache", budget=16 * MB)
    with flow.DataLoader(raw(f"{nginx.url}/a.bin").batch(64)) as loader:
        batches = iter(loader)
        next(batches)
        (nginx.files / "new").write_bytes(data[::-1].tobytes())
        os.utime(nginx.files / "new", (1, 1))
        os.replace(nginx.files / "new", nginx.files / "a.bin")
        with pytest.raises(flow.FileError, match="changed while open"):
            list(batches)
    np.testing.assert_array_equal(all_of(raw(f"{nginx.url}/a.bin")), data[::-1])


def test_slow_connections_of_nginx_are_used_side_by_side(nginx):
    data = numbers(32 * MB)
    (nginx.files / "a.bin").write_bytes(data.tobytes())
    begin = time.monotonic()
    np.testing.assert_array_equal(all_of(raw(f"{nginx.url}/slow/a.bin")), data)
    assert time.monotonic() - begin < 32 / 2  # what one connection takes
    # A request is small now, so that all connections have work up to the end.
    (nginx.files / "b.bin").write_bytes(data[: 24 * MB // 4].tobytes())
    np.testing.assert_array_equal(all_of(raw(f"{nginx.url}/slow/b.bin")), data[: 24 * MB // 4])
    assert sum(path == "/slow/b.bin" for _, path, *_ in nginx.requests()) > 24 // 2


def test_nginx_that_is_started_again_costs_time_only(nginx):
    data = numbers(24 * MB)
    (nginx.files / "a.bin").write_bytes(data.tobytes())
    configure(budget=16 * MB)  # 4 MB are asked for ahead
    retries = flow.remote.cache_info().retries
    with flow.DataLoader(raw(f"{nginx.url}/slow/a.bin").batch(4096)) as loader:
        batches = iter(loader)
        found = [np.array(next(batches)[0])]
        nginx.stop()
        time.sleep(0.2)
        nginx.start()
        found += [np.array(batch) for batch, in batches]
    np.testing.assert_array_equal(np.concatenate(found).ravel(), data)
    assert flow.remote.cache_info().retries > retries


def test_what_nginx_refuses_is_told(nginx):
    (nginx.files / "a.bin").write_bytes(numbers(MB).tobytes())
    for path, said in (
        ("none.bin", "there is no object"), ("denied/a.bin", "credentials"),
        ("whole/a.bin", "answers no ranges"), ("signed/a.bin?sig=other&se=1", "sign the address"),
    ):  # fmt: skip
        with pytest.raises(flow.Error, match=said) as refused:
            raw(f"{nginx.url}/{path}")
        assert f"{nginx.url}/{path.partition('?')[0]}: " in str(refused.value)
        assert "other" not in str(refused.value)


def test_nginx_gets_signatures_as_they_were_written(nginx):
    data = numbers(3 * MB)
    (nginx.files / "a b.bin").write_bytes(data.tobytes())
    url = f"{nginx.url}/signed/a%20b.bin?se=2026-01-01T00%3A00%3A00Z&sig=a%2Fb%2Bc"
    np.testing.assert_array_equal(all_of(raw(url)), data)


@contextlib.contextmanager
def moto(_folder):
    server = pytest.importorskip("moto.server", reason="make test-remote installs moto")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    yield "http://{}:{}".format(*running.get_host_and_port())
    running.stop()


CEPH = """
[global]
fsid = {id}
mon host = v1:127.0.0.1:{monitor}
mon initial members = a
public network = 127.0.0.0/8
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
mon data = {folder}/mon
mon data avail crit = 1
mon allow pool size one = true
mon cluster log file = {folder}/log
osd data = {folder}/osd
osd objectstore = memstore
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default pg num = 1
rgw frontends = beast endpoint=127.0.0.1:{gateway}
rgw data = {folder}
rgw max listing results = 7
keyring = /dev/null
run dir = {folder}
admin socket = {folder}/$name.asok
log file = {folder}/log
crash dir = {folder}
"""


@contextlib.contextmanager
def ceph(folder):
    """A monitor, a store in memory and a gateway, which trust each other."""
    programs = ("monmaptool", "ceph-mon", "ceph", "ceph-osd", "radosgw-admin", "radosgw")
    if missing := [name for name in programs if not shutil.which(name)]:
        pytest.skip(f"{missing[0]} is not installed (Debian: ceph-mon ceph-osd radosgw)")
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        monitor, gateway = one.getsockname()[1], other.getsockname()[1]
    names = {"id": uuid.uuid4(), "folder": folder, "monitor": monitor, "gateway": gateway}
    (folder / "ceph.conf").write_text(CEPH.format(**names))
    for place in ("mon", "osd"):
        (folder / place).mkdir()
    variables = os.environ | {"CEPH_CONF": str(folder / "ceph.conf")}
    variables.pop("LD_PRELOAD", None)  # a sanitizer's
    with open(folder / "said", "wb") as said, contextlib.ExitStack() as running:

        def run(*words):
            done = subprocess.run(words, env=variables, stdout=said, stderr=said, timeout=60)
            assert done.returncode == 0, (folder / "said").read_text()

        def start(*words):
            process = subprocess.Popen([*words, "-f"], env=variables, stdout=said, stderr=said)
            running.callback(process.wait)
            running.callback(process.kill)
            return process

        run("monmaptool", "--create", "--fsid", str(names["id"]), "--addv", "a",
            f"[v1:127.0.0.1:{monitor}]", str(folder / "map"))
        run("ceph-mon", "-i", "a", "--mkfs", "--monmap", str(folder / "map"))
        start("ceph-mon", "-i", "a")
        store = str(uuid.uuid4())
        run("ceph", "osd", "new", store, "0")
        run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", store)
        for _ in range(5):  # a young monitor now and then says "wrong fsid", which ends it
            with contextlib.suppress(subprocess.TimeoutExpired):
                start("ceph-osd", "-i", "0").wait(timeout=2)
                continue
            break
        run("radosgw-admin", "user", "create", "--uid=me", "--display-name=me", "--access-key=me",
            "--secret-key=secret")
        start("radosgw", "-n", "client.rgw")
        for _ in range(3000):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", gateway)).close()
                break
            time.sleep(0.01)
        yield f"http://127.0.0.1:{gateway}"


@pytest.fixture(scope="module", params=[moto, ceph], ids=["moto", "ceph"])
def s3(request, tmp_path_factory):
    """The variables that lead to a server of S3, which has the bucket data."""
    with request.param(tmp_path_factory.mktemp("s3")) as url:
        variables = {
            "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }  # fmt: skip
        boto3 = pytest.importorskip("boto3", reason="make test-remote installs boto3")
        client = boto3.client(
            "s3", endpoint_url=url, aws_access_key_id="me", aws_secret_access_key="secret",
            region_name="us-east-1",
        )  # fmt: skip
        client.create_bucket(Bucket="data")
        yield client, variables


@pytest.fixture
def client(s3, monkeypatch, tmp_path):
    """boto3's, of the server that s3://data is at."""
    client, variables = s3
    for name, value in {
        **variables, "MOTO_S3_DEFAULT_MAX_KEYS": "7",
        "PYFLOWDATA_INDEX_DIR": str(tmp_path / "indexes"),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    configure(options={})
    return client


def test_s3_takes_parts_and_gives_ranges(client):
    data = np.random.default_rng(0).integers(0, 1 << 30, (20 * MB // 256, 64), np.int32)
    with io.RawWriter("s3://data/raw/a.bin") as out:
        out.write_batch(data)
    found = client.get_object(Bucket="data", Key="raw/a.bin")
    assert found["ETag"].strip('"').endswith("-3")  # made of three parts
    assert found["Body"].read() == data.tobytes()
    np.testing.assert_array_equal(all_of(raw("s3://data/raw/a.bin")), data.ravel())
    with pytest.raises(flow.FileError, match="it is there already"):
        io.RawWriter("s3://data/raw/a.bin")
    with io.RawWriter("s3://data/raw/a.bin", overwrite=True) as out:
        out.write_batch(data[::-1])
    np.testing.assert_array_equal(all_of(raw("s3://data/raw/a.bin")), data[::-1].ravel())


def test_presigned_addresses_of_s3_are_read(client):
    names, data = ["signed/a.bin", "signed/b c+d.bin"], numbers(3 * MB)
    for name in names:
        with io.RawWriter(f"s3://data/{name}") as out:
            out.write_batch(data.reshape(-1, 64))
    urls = [
        client.generate_presigned_url("get_object", Params={"Bucket": "data", "Key": name})
        for name in names
    ]
    assert all("Signature=" in one for one in urls)
    np.testing.assert_array_equal(all_of(raw(urls)), np.tile(data, 2))


def test_s3_lists_in_pages_what_was_written(client):
    with io.TFRecordWriter("s3://data/w/part.tfrecord", shard_records=5) as out:
        out.write_batch({"x": np.arange(100)})
    assert len(out.paths) == 20
    for pattern in ("w/*.tfrecord", "w", "**/*.tfrecord"):
        assert flow.open(f"s3://data/{pattern}").column("x").tolist() == [*range(100)]
    for number in range(16):
        with io.RawWriter(f"s3://data/train/{'cat' if number % 2 else 'dog'}/{number}.png") as out:
            out.write_batch(np.full((1, 64), number, np.uint8))
    with flow.DataLoader(flow.open("s3://data/train").batch(16)) as loader:
        ((images, labels),) = loader
    assert labels.tolist() == [0] * 8 + [1] * 8
    assert sorted(int(image[0]) for image in images) == [*range(16)]


def test_what_s3_has_is_converted_indexed_shuffled_and_refused_as_local_files(client, tmp_path):
    """Objects that convert made are the files that it makes, and so are shuffled epochs of them."""
    random = np.random.default_rng(0)
    (tmp_path / "raw").mkdir()
    client.put_object(Bucket="data", Key="whole/raw/.hidden.csv", Body=b"no CSV")
    for name in ("raw/1.csv", "raw/2.csv"):
        rows = random.random((16, 20_000), np.float32)
        columns = {f"x{i}": row for i, row in enumerate(rows)} | {"n": np.arange(20_000)}
        for place in (f"{tmp_path}/{name}", f"s3://data/whole/{name}"):
            with io.CSVWriter(place) as out:
                out.write_batch(columns)
    places = (str(tmp_path), "s3://data/whole")
    for place in places:
        words = ["convert", f"{place}/raw/*.csv", f"{place}/a.tfrecord", "--float32"]
        assert main(words) == 0
    made = (tmp_path / "a.tfrecord").read_bytes()
    found = client.get_object(Bucket="data", Key="whole/a.tfrecord")
    assert "-" in found["ETag"]  # was put in parts
    assert found["Body"].read() == made
    assert main(["index", "--beside", "s3://data/whole/*.tfrecord"]) == 0
    epochs = []
    for place in places:
        data = flow.open(f"{place}/*.tfrecord", fields=["n", "x0"]).shuffle(seed=1).batch(1000)
        with flow.DataLoader(data) as loader:
            epochs.append([np.array(n).tobytes() + np.array(x).tobytes()
                           for _ in range(2) for n, x in loader])  # fmt: skip
    assert epochs[0] == epochs[1] and len(epochs[0]) == 2 * 40
    configure(cache_dir=tmp_path / "small", budget=16 * MB)
    with flow.DataLoader(flow.open("s3://data/whole/*.tfrecord").batch(1000)) as loader:
        batches = iter(loader)
        next(batches)
        client.put_object(Bucket="data", Key="whole/a.tfrecord", Body=made[::-1])
        with pytest.raises(flow.FileError, match="whole/a.tfrecord.*changed while open"):
            list(batches)
