"""docs/pictures/*.svg are what `make pictures` writes: they show what loaders really do."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from support.paths import ROOT

from tools.site import data_way, fused_chain, orders
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
    """The picture of speed is drawn by `make bench`."""
    assert {path.name for path in FOLDER.glob("*.svg")} - {"speed.svg"} == set(PICTURES)


def test_the_order_in_the_picture_is_an_epoch():
    ranks = data_way.epoch()
    assert sorted(sum(ranks, [])) == list(range(24)) and len(ranks[0]) == len(ranks[1]) == 12


def test_the_panels_are_epochs(tmp_path):
    orders.write_files(str(tmp_path))
    everything = list(range(orders.RECORDS))
    blocks = {}
    for order in orders.ORDERS:
        ranks = [orders.epoch(str(tmp_path), order, rank) for rank in range(order.ranks)]
        positions, places = zip(*sum(ranks, []))
        assert sorted(positions) == sorted(places) == everything
        assert (sorted(positions) == list(places)) == (order.title == "no shuffle")
        blocks[order.title] = [{place // 16 for _, place in points} for points in ranks]
    together, apart = list(blocks.values())[-2:]
    assert len(together[0] & together[1]) > 40 and len(apart[0] & apart[1]) <= 2


def test_the_chain_is_fused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = fused_chain.graph()
    fused = [graph.vertices[edge.source].title for edge in graph.edges if edge.is_fused]
    assert fused == ["ImageDecoder"]
