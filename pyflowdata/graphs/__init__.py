"""The graph of blobs as a drawing: for a terminal, a notebook, a page or a wiki."""

from .graph import Graph, graph

__all__ = ["Graph", "graph"]
