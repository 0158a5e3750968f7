"""The documentation site: `make docs` builds it into docs/_build/html."""

from __future__ import annotations

import inspect
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers.special import TextLexer

import clusterbandits

if TYPE_CHECKING:
    from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).with_name("_ext")))

# Examples run without the settings of the user. Kernels only report errors; shells stop at the first failed
# command, and a refused request is one.
SETTINGS = Path(__file__).with_name("_build") / "settings"
STARTUP = Path(__file__).with_name("_ext") / "kernel_startup.py"
for file, text in {
    "profile_default/ipython_kernel_config.py": "get_config().IPKernelApp.log_level = 'ERROR'\n",
    "profile_default/startup/shell.py": STARTUP.read_text(),
    "bash": "set -e -o pipefail\n",
    ".curlrc": "fail-with-body\n",
}.items():
    (SETTINGS / file).parent.mkdir(parents=True, exist_ok=True)
    (SETTINGS / file).write_text(text)
os.environ |= {"IPYTHONDIR": str(SETTINGS), "BASH_ENV": str(SETTINGS / "bash"), "CURL_HOME": str(SETTINGS)}

project = "clusterbandits"
author = "clusterbandits contributors"
version = release = clusterbandits.__version__
language = "en"

extensions = [
    "mathml",
    "myst_nb",
    "numpydoc",
    "reference_pages",
    "shell_cells",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
html_math_renderer = "mathml"
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "**/.ipynb_checkpoints", "reference/generated/*.md"]
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).with_name("_build") / ".jupyter_cache")
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
# Announcements, such as that of a compilation, are not the same in every build.
nb_output_stderr = "remove"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = ["reference/api.md"]
autodoc_typehints = "none"
numpydoc_show_class_members = False
#: What only authors of policies inside the package call; CONTRIBUTING.md describes it.
INTERNAL = {
    *(
        "check_source",
        "clustered_fields",
        "description",
        "for_horizon",
        "fresh_state",
        "groups",
        "heeds_widths",
    ),
    *("kernels", "kind_of", "make", "new_state", "of_description", "of_parameters", "parameters", "prior"),
    *("resized", "skips_ahead", "supposing"),
}


def base_of(name: str) -> str | None:
    """Return the public class whose page describes the methods of another."""
    public = getattr(clusterbandits, name)
    for base in ("Policy", "Family", "Distribution"):
        if name != base and issubclass(public, getattr(clusterbandits, base)):
            return base
    return "Client" if name == "AsyncClient" else None


def shown_members(name: str) -> list[str]:
    """Return the methods and properties that the page of a class describes."""
    public = getattr(clusterbandits, name)
    classes = [public] if base_of(name) else public.__mro__
    found = {
        member: None
        for one in classes
        if one.__module__.startswith("clusterbandits")
        for member, value in vars(one).items()
        if inspect.isroutine(value) or isinstance(value, property)
    }
    alone = name == "PythonPolicy" or not base_of(name)
    return [one for one in found if alone and not one.startswith("_") and one not in INTERNAL]


autosummary_context = {"base_of": base_of, "shown_members": shown_members}

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
        r'^<a id="([\w-]+)"></a>\n\n### ([^\n]*)\n(.*?)(?=^<a id=|^## |\Z)', re.MULTILINE | re.DOTALL
    )
    source[0] = section.sub(r"::::{dropdown} \2\n(\1)=\n\3\n::::\n\n", source[0])


def setup(app: Sphinx) -> None:
    """Register what the pages need beyond extensions."""
    app.connect("source-read", _collapse)
    app.add_lexer("csv", TextLexer)
