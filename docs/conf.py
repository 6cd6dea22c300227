"""The documentation site. `.ci/site` builds it; `build/site/index.html` opens from disk."""

import gc
import sys
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

import cofactor

sys.path.insert(0, str(Path(__file__).parent))
gc.set_threshold(1_000_000)  # Sphinx keeps nearly all that it makes: to search it for garbage took a quarter of a build

project = "cofactor"
author = "The cofactor developers"
copyright = "The cofactor developers, BSD-3-Clause"
version = release = cofactor.__version__

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "extension",  # extension.py beside this file
]
exclude_patterns = ["**/README.txt", "gallery/**/*.ipynb"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
default_role = "py:obj"
nitpicky = False
language = "en"

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block", "attrs_inline", "dollarmath", "deflist"]
suppress_warnings = ["myst.header"]  # pages that are also read on their own begin where they like

autodoc_typehints = "none"  # types stand in the docstrings
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_validation_checks = set()

html_theme = "pydata_sphinx_theme"
html_title = f"cofactor {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"  # of extension.py: nothing is loaded from elsewhere
html_context = {"default_mode": "auto"}  # light or dark, as the reader's machine is
html_theme_options = {
    "logo": {"text": f"cofactor {release}"},
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
    "collapse_navigation": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars: dict[str, list[str]] = {  # none on pages without others beside or below them
    page: []
    for page in ("index", "how-to/**", "coming-from", "api/**", "benchmarks", "changelog", "search", "genindex")
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "subsection_order": ExplicitOrder(
        [f"../examples/{name}" for name in ("start", "ratings", "labels", "evaluation", "scale")]
    ),
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "api/used",
    "doc_module": ("cofactor",),
    "reference_url": {"cofactor": None},
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 0,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "plot_gallery": "True",
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib", "extension.returned_picture"),
    "reset_modules": ("matplotlib", "extension.quiet_look"),
    "ignore_repr_types": r"matplotlib",
    "capture_repr": ("_repr_html_", "__repr__"),
}
