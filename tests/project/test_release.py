"""What a release says of itself; `make release-check` has the slow parts."""

import importlib.util
import re
import shutil

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


def test_every_codec_in_a_wheel_has_its_licence_there():
    script = (ROOT / "tools/wheel/build_codecs").read_text()
    checks = (ROOT / "tools/wheel/check_wheel.py").read_text()
    bundled = re.findall('"(.+?)"', re.search(r"^BUNDLED = \((.*)\)$", checks, re.M)[1])
    for name in bundled:
        assert re.search(rf'"\$licenses/LICENSE\.{re.escape(name)}', script), name
    libraries = re.search(r"^CODEC_LIBRARIES := (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]
    assert len(libraries.split()) == len(bundled) - 1, "one is the compiler's"
