"""The documentation site: `make docs` builds it into docs/_build/html."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pygments.lexers.special import TextLexer

import clusterbandits

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "clusterbandits"
author = "clusterbandits contributors"
version = release = clusterbandits.__version__
language = "en"

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "_templates", "**/.ipynb_checkpoints"]
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_cache_path = "_build/.jupyter_cache"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "clusterbandits"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}


def _collapse(app: Sphinx, page: str, source: list[str]) -> None:
    """Collapse the sections that generated pages mark with an HTML anchor; links to the anchor open them."""
    del app, page
    section = re.compile(
        r'^<a id="([\w-]+)"></a>\n\n### (.*)\n(.*?)(?=^<a id=|^## |\Z)', re.MULTILINE | re.DOTALL
    )
    source[0] = section.sub(r"::::{dropdown} \2\n(\1)=\n\3\n::::\n\n", source[0])


def setup(app: Sphinx) -> None:
    """Register what the pages need beyond extensions."""
    app.connect("source-read", _collapse)
    app.add_lexer("csv", TextLexer)
