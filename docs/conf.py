"""The site of the documents: `make docs` builds it into target/docs.

The pages are the Markdown files of this folder, which GitHub shows too. `site/generated.py` fills in
what comes from the sources: a comment `<!-- generated: header include/kyoho.h -->` stands in the
page, and the site has the reference in its place.
"""

import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "site"))
# The package with the built library in it, which `make docs` puts together.
if os.environ.get("KYOHO_PACKAGE"):
    sys.path.insert(0, os.environ["KYOHO_PACKAGE"])

import generated  # noqa: E402

project = "Kyoho"
author = "The Kyoho developers"
project_copyright = author
version = release = re.search(r'(?m)^version = "(.*)"', (ROOT / "Cargo.toml").read_text())[1]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
root_doc = "index"
# The notes are one page of the site.
exclude_patterns = ["site", "notes/[a-z]*.md"]

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
# A link that leads nowhere is a warning, and `make docs` takes warnings for errors.
suppress_warnings = []
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_preprocess_types = False
copybutton_exclude = ".linenos, .gp, .go"
highlight_language = "text"

html_theme = "furo"
html_title = f"Kyoho {version}"
html_static_path = ["site/static"]
html_css_files = ["kyoho.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"source_edit_link": "", "top_of_page_buttons": []}


def setup(app):
    app.connect("source-read", generated.fill)
    # Before Napoleon reads the sections of a docstring.
    app.connect("autodoc-process-docstring", generated.free_text, priority=1)
