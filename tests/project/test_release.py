"""What a release says of itself; `make release-check` has the slow parts."""

import importlib.util
import os
import re
import shutil
import subprocess

import pytest
from support.paths import ROOT


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools/wheel" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_release = load("check_release")


def test_version_changelog_and_licence_agree():
    assert not list(check_release.faults(ROOT))


@pytest.mark.parametrize("old, new, said", [
    ("## 0.1.0", "## 0.0.9", "the first version is not"),
    ("## 0.1.0", "## 0.1.0\n\n## 0.2.0", "the newest version must be the first"),
    ("## 0.1.0", "## 0.1.0\n\n## Unreleased", "not the first heading"),
    ("## 0.1.0", "## 0.1.0\n\n## Earlier", "neither Unreleased nor a version"),
])  # fmt: skip
def test_what_does_not_agree_is_said(old, new, said, tmp_path):
    for name in ("csrc/registry/version.h", "LICENSE", "pyproject.toml", "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / "CHANGELOG.md"
    text = re.sub(r"(?ms)^## Unreleased.*?(?=^## )", "", changelog.read_text())
    version = check_release.version_of(ROOT)
    changelog.write_text(re.sub(r"(?ms)^## .*", f"{old}\n", text))
    header = tmp_path / "csrc/registry/version.h"
    header.write_text(header.read_text().replace(version, "0.1.0"))
    assert not list(check_release.faults(tmp_path))
    changelog.write_text(changelog.read_text().replace(old, new))
    assert any(said in fault for fault in check_release.faults(tmp_path))


APT = """#!/bin/sh
case "$0 $*" in
    *apt-cache*) printf 'Version: 1.9\\nVersion: 1.10\\n' ;;
    *source*=1.10) echo 'E: 404  Not Found' >&2; exit 100 ;;
esac
"""


def test_no_older_codec_is_taken_unless_it_is_named(tmp_path):
    for name in ("apt-get", "apt-cache"):
        (tmp_path / name).write_text(APT)
        (tmp_path / name).chmod(0o755)
    script = ROOT / "tools/wheel/fetch_sources"
    packages = re.search(r"^for package in (.*); do$", script.read_text(), re.M)[1].split()

    def fetch(*named):
        command = [script, tmp_path / "sources", *named]
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PATH": path}
        )

    done = fetch()
    assert done.returncode == 1 and not (tmp_path / "sources").exists()
    assert "no sources of zlib 1.10: E: 404  Not Found\n" in done.stderr
    done = fetch(*(f"{name}=1.9" for name in packages))
    assert done.returncode == 0, done.stderr
    versions = (tmp_path / "sources/versions.txt").read_text()
    assert versions == done.stdout == "".join(f"{name} 1.9\n" for name in packages)


def test_every_codec_in_a_wheel_has_its_licence_there():
    script = (ROOT / "tools/wheel/build_codecs").read_text()
    checks = (ROOT / "tools/wheel/check_wheel.py").read_text()
    bundled = re.findall('"(.+?)"', re.search(r"^BUNDLED = \((.*)\)$", checks, re.M)[1])
    for name in bundled:
        assert re.search(rf'"\$licenses/LICENSE\.{re.escape(name)}', script), name
    libraries = re.search(r"^CODEC_LIBRARIES := (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]
    assert len(libraries.split()) == len(bundled) - 1, "one is the compiler's"
