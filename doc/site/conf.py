"""Sphinx: pages of build/site/source to HTML that needs no network, also when it is opened as files."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

project = "qkv"
html_title = "qkv"
extensions = ["myst_parser", "mathml"]
source_suffix = {".md": "markdown"}
smartquotes = False  # -- is an option, not a dash
root_doc = "index"

myst_enable_extensions = ["deflist", "dollarmath", "html_image"]
myst_fence_as_directive = {"math"}
myst_heading_anchors = 4
myst_links_external_new_tab = False
# Checked by doc/site/check.py in the HTML, where all anchors are known.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]

highlight_language = "text"
pygments_style = "friendly"
pygments_dark_style = "monokai"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
# The summaries of results are fetched, which browsers do not allow for files.
html_show_search_summary = False
html_theme_options = {"top_of_page_buttons": []}
html_last_updated_fmt = None
