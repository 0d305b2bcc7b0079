"""The examples in documents and docstrings do what they say."""

import doctest
import importlib
import pathlib
import pkgutil
import re

import pytest

import kyoho

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ["README.md", "docs/python.md", "docs/pairs.md", "python/README.md"]
MODULES = ["kyoho", *(module.name for module in pkgutil.walk_packages(kyoho.__path__, "kyoho."))]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_pages(page):
    """Blocks follow one another; a comment behind print(...) is what it prints."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    assert blocks
    printed = []
    space = {"print": lambda *values: printed.append(" ".join(str(value) for value in values))}
    for block in blocks:
        exec(block, space)
    promised = re.findall(r"^ *print\(.*\) +# (.*)$", "".join(blocks), re.MULTILINE)
    assert printed == promised


def test_public_names_are_documented():
    for name in kyoho.__all__:
        assert name == "__version__" or getattr(kyoho, name).__doc__, name
