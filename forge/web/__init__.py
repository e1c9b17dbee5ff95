"""The desk's pages, next to the time machine's: the portfolio manager's memory as of an instant."""

import jinja2
from starlette.routing import BaseRoute

from forge.web.approving import Approvals
from forge.web.commanding import Commands
from forge.web.desk import LINKS, TEMPLATES, DeskPages
from pitlake.lake.lake import Lake
from pitlake.web.app import Room

__all__ = ["room"]


def _routes(templates: jinja2.Environment, lake: Lake) -> list[BaseRoute]:
    pages = DeskPages(templates, lake)
    return [*pages.routes(), *Approvals(pages).routes(), *Commands(pages).routes()]


room = Room("Desk", LINKS, TEMPLATES, _routes)
