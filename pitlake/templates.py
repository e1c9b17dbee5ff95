"""The template environment of every page and report: all values are escaped, and an unknown name is an error."""

import jinja2


def environment(loader: jinja2.BaseLoader) -> jinja2.Environment:
    """Return an environment without the functions and filters that its pages add."""
    return jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
