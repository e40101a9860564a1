"""How a command says that it was called wrongly."""


class UsageError(Exception):
    """The arguments do not make sense: the usage is printed with the text, and 2 returned."""
