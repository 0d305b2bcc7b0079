"""The examples in documents and docstrings do what they say."""

import ast
import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re

import pytest

import kyoho

ROOT = pathlib.Path(__file__).parents[2]
# Blocks follow one another. One that needs something, such as a GPU, has its name behind `python`.
BLOCK = re.compile(r"^```python(?: (\w+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILES = [ROOT / "README.md", ROOT / "python/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = {str(page.relative_to(ROOT)): found for page in FILES if (found := BLOCK.findall(page.read_text()))}
NEEDS = {"amuse", "astropy", "gpu", "h5py", "mpi"}
MODULES = ["kyoho", *(module.name for module in pkgutil.walk_packages(kyoho.__path__, "kyoho."))]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("page", BLOCKS)
def test_pages(page):
    """A comment behind print(...) is what it prints."""
    printed = []
    space = {"print": lambda *values: printed.append(" ".join(str(value) for value in values))}
    blocks = [block for needed, block in BLOCKS[page] if not needed]
    for block in blocks:
        exec(compile(block, page, "exec"), space)
    promised = re.findall(r"^ *print\(.*\) +# (.*)$", "".join(blocks), re.MULTILINE)
    assert printed == promised


@pytest.mark.parametrize("page", [page for page in BLOCKS if any(needed for needed, _ in BLOCKS[page])])
def test_blocks_that_need_something(page):
    """They are Python, and what they take from kyoho is there."""
    for needed, block in BLOCKS[page]:
        assert not needed or needed in NEEDS
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of_kyoho = isinstance(node.func.value, ast.Name) and node.func.value.id == "kyoho"
                if of_kyoho:
                    function = inspect.signature(getattr(kyoho, node.func.attr))
                    function.bind(*node.args, **{word.arg: word.value for word in node.keywords})


def test_all_pages_are_there():
    assert len(BLOCKS) > 8


def test_public_names_are_documented():
    for name in kyoho.__all__:
        assert name == "__version__" or getattr(kyoho, name).__doc__, name
