"""The template environment of every page and report: all values are escaped, and an unknown name raises an error."""

import jinja2

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{% block title %}pitlake{% endblock %}{{ site | default("") }}</title>
<link rel="icon" href="data:,">
{% block head %}
{% endblock %}
</head>
<body>
{% block body %}
{% endblock %}
</body>
</html>
"""


def environment(loader: jinja2.BaseLoader) -> jinja2.Environment:
    """Return an environment to which pages add their functions and filters. Each page extends `page.html`."""
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader([loader, jinja2.DictLoader({"page.html": PAGE})]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
