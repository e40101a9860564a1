"""The words of the package for people: numbers, lists and tables as text and as HTML."""
