"""The table of docs/reference/formats.md: does it say of each format what the registry says?"""

import re


def rows(page):
    """The cells of each row that has a format's name: format, name, suffixes, reader, writer."""
    table = page.split("| format | name |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return [row for row in found if row[1]]


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


def differences(page, formats):
    """What of the page is not as in the registry."""
    found = {quoted(row[1])[0]: row for row in rows(page)}
    wrong = [f"the page has {name} twice" for name in found
             if [quoted(row[1])[0] for row in rows(page)].count(name) > 1]  # fmt: skip
    wrong += [f"{name} is not known" for name in found.keys() - formats.keys()]
    every_reader = page.split("| format | name |", 1)[1].split("\n\n", 1)[0]
    for name, one in formats.items():
        if name not in found:
            wrong.append(f"{name} has no row")
            continue
        _, _, suffixes, reader, writer, *_ = found[name]
        if tuple(quoted(suffixes)) != one.suffixes:
            wrong.append(f"{name} has the suffixes {one.suffixes}")
        if one.reader not in quoted(reader):
            wrong.append(f"{name} is read by {one.reader}")
        wrong += [f"{name} has the decoder {op}" for op in one.decoders
                  if f"`{op}`" not in every_reader]  # fmt: skip
        if one.writer and one.writer.__name__ not in quoted(writer):
            wrong.append(f"{name} is written by {one.writer.__name__}")
    return wrong
