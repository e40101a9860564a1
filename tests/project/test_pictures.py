"""docs/pictures/*.svg are what `make pictures` writes: they show what loaders really do."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from support.paths import ROOT

from tools.site import data_way
from tools.site.pictures import FOLDER, PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_as_drawn(name):
    text = (FOLDER / name).read_text()
    assert text == PICTURES[name](), "run `make pictures`"
    assert len(text) < 100_000
    root = ElementTree.fromstring(text)
    assert root[0].tag.endswith("title") and root[0].text
    assert "prefers-color-scheme:dark" in text
    assert not re.search(r"(?:href|url\()=?[\"']?https?:", text)  # nothing from elsewhere


def test_every_picture_is_drawn():
    assert {path.name for path in FOLDER.glob("*.svg")} == set(PICTURES)


def test_the_order_in_the_picture_is_an_epoch():
    ranks = data_way.epoch()
    assert sorted(sum(ranks, [])) == list(range(24)) and len(ranks[0]) == len(ranks[1]) == 12
