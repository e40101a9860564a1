"""Commands and links of README.md and of all pages lead somewhere."""

import re

import pytest
from support.paths import ROOT


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 115


def test_the_table_of_features_is_that_of_its_page():
    """Each row of it is explained on the page."""
    readme = (ROOT / "README.md").read_text()
    page = (ROOT / "docs/coming-from/features.md").read_text()
    (table,) = re.findall(r"^\| \| pyflowdata \|.*?(?=\n\n)", readme, re.M | re.S)
    assert table in page
    names = [row.split(" | ")[0] for row in table.splitlines()[2:]]
    assert len(names) == 15 and all(page.count(f"\n{name} |") == 2 for name in names)


def test_each_folder_of_the_source_has_a_row():
    """In the map of CONTRIBUTING.md."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    (table,) = re.findall(r"^\| folder \|.*?(?=\n\n)", page, re.M | re.S)
    for file in [*ROOT.glob("csrc/*/*.[ch]"), *ROOT.glob("pyflowdata/*/*.*")]:
        folder = f"{file.parent.relative_to(ROOT)}/"
        assert f"`{folder}`" in table or folder.endswith("__pycache__/"), folder


PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_targets_and_links_lead_somewhere(page):
    text = (ROOT / page).read_text()
    rules = re.findall(r"^([a-z][a-z -]*):", (ROOT / "Makefile").read_text(), re.M)
    targets = " ".join(rules).split()
    for target in re.findall(r"(?:^    |&& |`)make ([a-z][a-z-]*)", text, re.M):
        assert target in targets
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    for link in re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", prose):
        target = (ROOT / page).parent.joinpath(link)
        assert target.exists(), link
    for path in re.findall(r"`((?:tests|csrc|pyflowdata)/[\w/.]*)`", text):
        exists = (ROOT / path).exists() or (ROOT / "csrc" / "include" / path).exists()
        assert exists or "number_reader." in path or "/north_sea" in path, path
