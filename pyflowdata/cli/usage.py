"""How a command says that it was called wrongly."""


class UsageError(Exception):
    """The arguments do not make sense: the usage is printed with the text, and 2 returned.

    Attributes:
        attr: The attr of an op that they set to something wrong, or None.
    """

    def __init__(self, said: str, attr: str | None = None) -> None:
        self.attr = attr
        super().__init__(said)
