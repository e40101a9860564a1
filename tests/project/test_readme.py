"""Commands and links of README.md and of all pages lead somewhere."""

import re

import pytest
from support.paths import ROOT


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 115


PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_targets_and_links_lead_somewhere(page):
    text = (ROOT / page).read_text()
    rules = re.findall(r"^([a-z -]+):", (ROOT / "Makefile").read_text(), re.M)
    targets = {target for rule in rules for target in rule.split()}
    for target in re.findall(r"(?:^    |&& |`)make ([a-z][a-z-]*)", text, re.M):
        assert target in targets
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    for link in re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", prose):
        assert (ROOT / page).parent.joinpath(link).exists(), link
    for path in re.findall(r"`((?:tests|csrc|pyflowdata)/[\w/.]*)`", text):
        exists = (ROOT / path).exists() or (ROOT / "csrc" / "include" / path).exists()
        assert exists or "number_reader." in path, path
