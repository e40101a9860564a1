"""No code decides by the text of an error."""

import ast
import re

import pytest
from support.paths import ROOT
from support.rules import keep, line_with
from support.source_tree import C_FILES, PACKAGE, code, modules

COMPARES = re.compile(
    r"\b(?:strn?(?:case)?cmp|str(?:case)?str|memcmp|memmem|strr?chr|strpbrk|strs?pn|sscanf|fnmatch)"
    r"(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))"
)
RULE = "no code looks into the text of an error: `reason`, `records` and `attr` are for programs"
REGEX_METHODS = set("match fullmatch search findall finditer sub subn split".split())


def compared_messages_in_c(text: str) -> list[str]:
    """The calls that look into the message of an error."""
    return [
        found[0] for found in COMPARES.finditer(text) if re.search(r"(\.|->)message\b", found[1])
    ]


def compared_messages_in_python(tree: ast.Module) -> list[str]:
    """The expressions that look into the message of an error, or into the str() of an exception."""
    caught = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name
    }
    texts: set[str] = set()  # names that were given a message

    def is_message(node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr == "message"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            given = {each.id for each in node.args if isinstance(each, ast.Name)}
            return node.func.id == "str" and bool(given & caught)
        return isinstance(node, ast.Name) and node.id in texts

    def looks_inside(node: ast.AST) -> bool:
        if isinstance(node, ast.Compare):
            return any(map(is_message, [node.left, *node.comparators]))
        if isinstance(node, ast.Subscript):
            return is_message(node.value)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        by_regex = node.func.attr in REGEX_METHODS and any(map(is_message, node.args))
        return by_regex or (is_message(node.func.value) and node.func.attr != "encode")

    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.NamedExpr)) and is_message(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            texts |= {each.id for each in targets if isinstance(each, ast.Name)}
    return [ast.unparse(node) for node in ast.walk(tree) if looks_inside(node)]


def test_no_message_is_compared():
    """Errors have a reason, an attr, counts and a cause: what decides is never a sentence."""
    for path in C_FILES:
        found = compared_messages_in_c(code(path))
        keep(RULE, (f"{line_with(path, text)}: {text}" for text in found))
    for path, tree in modules():
        found = compared_messages_in_python(tree)
        keep(RULE, (f"{line_with(path, text)}: {text}" for text in found))


@pytest.mark.parametrize(
    "planted",
    [
        'if (strstr(err->message, "not one record")) return 1;',
        'return !strncmp(shorten(loop->error->message, 9), "attr", 4);',
        'int same = memcmp("gzip", inner.message, 4);',
        'sscanf(err.message, "%d records", &n);',
    ],
)
def test_a_message_that_is_compared_in_c_is_found(planted):
    assert compared_messages_in_c(planted)
    assert not compared_messages_in_c(planted.replace("message", "name"))


@pytest.mark.parametrize(
    "planted",
    [
        'failure.message == "gone"',
        '"not one record" in failure.message',
        're.search("world_size = ", failure.message)',
        "_BEFORE.search(failure.message)",
        'failure.message.startswith("attr")',
        "failure.message[:4]",
        "said = failure.message\n_BEFORE.search(said)",
        'try:\n    pass\nexcept Error as failure:\n    found = "gone" in str(failure)',
    ],
)
def test_a_message_that_is_compared_in_python_is_found(planted):
    assert compared_messages_in_python(ast.parse(planted))
    assert not compared_messages_in_python(ast.parse(planted.replace("message", "name").replace(
        "str(failure)", "names")))  # fmt: skip
