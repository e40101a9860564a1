"""The runner of pages itself: what it takes from a page, and that it finds what is wrong there."""

from __future__ import annotations

import pytest
from support.page_runner import PageProcess, run_page
from tools.page_blocks import blocks_of
from tools.page_types import write_modules

PAGE = """\
# A page

```python
x = 2
print(x)
```

It prints

```text
2
```

- in a list

  <!-- prints its comments -->
  ```python
  print(x + 1)   # 3
  ```

```csv title="points.csv"
a,b
1,2
```

    pyflowdata head points.csv

```py
import a_library_that_is_not_there
```
<!-- needs a_library_that_is_not_there -->
```python
import a_library_that_is_not_there
```
<!-- not run: it would wait for ever -->
```python
input()
```
```sh
python -c 'print("first"); print("second")'
```
```text
…
second
```
<!-- prints its comments -->
"""

WRONG = {
    "print(1)": ("print(1)\n```\n```text\n2\n```\n", "page.md:2 prints\n1\nand the page shows\n2"),
    "an error": ("x = 1\n1 / 0\n```\n", "ZeroDivisionError"),
    "its line": ("x = 1\n1 / 0\n```\n", 'page.md", line 3, in <module>'),
    "a warning": ("import warnings\nwarnings.warn('old')\n```\n", "UserWarning: old"),
    "a command": ("\n```\n\n    pyflowdata head missing.csv\n", "head missing.csv ends with 1"),
    "a script": ("\n```\n```sh\nexit 3\n```\n", "ends with 3"),
    "C": ("\n```\n```c\n#include <nothing.h>\nPFD_PLUGIN\n```\n", "nothing.h"),
    "at exit": ("import atexit, os\natexit.register(os._exit, 5)\n```\n", "ends with 5"),
}  # fmt: skip


def run(process, text, folder):
    folder.mkdir()
    page = folder / "page.md"
    page.write_text(text)
    run_page(process, blocks_of(str(page)), folder)


def test_what_a_page_shows_is_run(tmp_path):
    process = PageProcess()
    run(process, PAGE, tmp_path / "right")
    assert (tmp_path / "right" / "page" / "points.csv").read_text() == "a,b\n1,2\n"
    blocks = blocks_of(str(tmp_path / "right" / "page.md"))
    assert [(one.language, one.line) for one in blocks if one.runs] == [
        ("python", 4), ("python", 18), ("sh", 26), ("python", 33), ("sh", 40),
    ]  # fmt: skip
    assert blocks[0].prints and blocks[0].prints.text == "2\n" and blocks[3].title == "points.csv"
    for number, (text, message) in enumerate(WRONG.values()):
        with pytest.raises(AssertionError) as caught:
            run(process, f"```python\n{text}", tmp_path / str(number))
        assert message in str(caught.value)
    process.close()


def test_modules_have_the_lines_of_their_page(tmp_path):
    assert write_modules(tmp_path / "modules") > 20
    text = (tmp_path / "modules" / "how_to_map.py").read_text()
    page = blocks_of("docs/how-to/map.md")[0]
    assert text.splitlines()[page.line - 1] == page.text.splitlines()[0] == "import numpy as np"
    assert (tmp_path / "modules" / "how_to_python_ops__collatz.py").exists()
