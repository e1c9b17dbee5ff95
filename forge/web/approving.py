"""Approvals on the pages. Each is a POST request with the token, for exactly the text that was shown."""

import getpass
from contextlib import AbstractContextManager
from functools import partial

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from forge.evolution import approve as evolution
from forge.memory import approvals, lessons
from forge.web.day import Day
from forge.web.desk import DeskPages
from pitlake.errors import BadInput
from pitlake.web.app import form

CHANGED = "its text, its review or the book has changed since this page was loaded; this is the current state"


class Approvals:
    """The PM's decisions on Expressions and skills."""

    def __init__(self, pages: DeskPages) -> None:
        self._pages = pages

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/desk/e/{name}/approve", self.approve, methods=["POST"]),
            Route("/desk/e/{name}/reject", self.reject, methods=["POST"]),
            Route("/desk/pk/{name}/approve", self.approve_lesson, methods=["POST"]),
            Route("/desk/pk/{name}/reject", self.reject_lesson, methods=["POST"]),
            Route("/desk/skills/{name}/approve", self.apply, methods=["POST"]),
            Route("/desk/skills/{name}/reject", self.reject_proposal, methods=["POST"]),
        ]

    async def approve(self, request: Request) -> Response:
        """Approve an Expression, if its text is still the one shown."""
        fields = await form(request)
        return await to_thread.run_sync(partial(self._decide, request, fields, None))

    async def reject(self, request: Request) -> Response:
        """Reject an Expression with a reason, if its text is still the one shown."""
        fields = await form(request)
        return await to_thread.run_sync(partial(self._decide, request, fields, fields.get("reason", "")))

    async def approve_lesson(self, request: Request) -> Response:
        """Approve a lesson, if its text is still the one shown."""
        fields = await form(request)
        return await to_thread.run_sync(partial(self._decide_lesson, request, fields.get("sha256", ""), ""))

    async def reject_lesson(self, request: Request) -> Response:
        """Reject a lesson with a reason, if its text is still the one shown."""
        fields = await form(request)
        reason = " ".join(fields.get("reason", "").split()) or "rejected"
        return await to_thread.run_sync(partial(self._decide_lesson, request, fields.get("sha256", ""), reason))

    async def apply(self, request: Request) -> Response:
        """Apply a proposal to the PM's folder of skills, if it is still the one shown."""
        fields = await form(request)
        return await to_thread.run_sync(partial(self._decide_proposal, request, fields, None))

    async def reject_proposal(self, request: Request) -> Response:
        """Reject a proposal with a reason, if it is still the one shown."""
        fields = await form(request)
        return await to_thread.run_sync(partial(self._decide_proposal, request, fields, fields.get("reason", "")))

    def _decide_proposal(self, request: Request, fields: dict[str, str], reason: str | None) -> Response:
        name, sha256, user = request.path_params["name"], fields.get("sha256", ""), getpass.getuser()
        with self._today(request) as day:
            try:
                if reason is None:
                    own, untested = day.desk.changed_skills, fields.get("untested", "")
                    evolution.approve(day.memory, name, sha256, user, own, untested)
                else:
                    evolution.reject(day.memory, name, sha256, user, reason)
            except BadInput as refused:
                return self._pages.proposed(request, day, str(refused), 409)
        return RedirectResponse("/desk/skills", 303)

    def _decide_lesson(self, request: Request, sha256: str, reason: str) -> Response:
        with self._today(request) as day:
            try:
                lessons.decide(day.memory, request.path_params["name"], sha256, getpass.getuser(), reason)
            except BadInput as refused:
                return self._pages.waiting(request, day, str(refused), 409)
            day.memory.flush()
        return RedirectResponse("/desk/approvals", 303)

    def _today(self, request: Request) -> AbstractContextManager[Day]:
        if "as_of" in request.query_params:
            raise BadInput("as_of", "is an earlier instant", "go to today's desk to decide")
        return self._pages.day(request)

    def _decide(self, request: Request, fields: dict[str, str], reason: str | None) -> Response:
        name, sha256 = request.path_params["name"], fields.get("sha256", "")
        with self._today(request) as day:
            current_hash = next((item.sha256 for item in day.waiting() if item.expression.id == name), "")
            if not current_hash or current_hash != sha256:
                return self._pages.waiting(request, day, f"{name}: {CHANGED}.", 409)
            by, confirmed, approvers = fields.get("by") or getpass.getuser(), "confirmed" in fields, day.approvers
            memory, limits, place = day.memory, day.guardrails, f"/desk/e/{name}"
            try:
                if reason is not None:
                    approvals.reject(memory, name, reason, by, limits, approvers)
                elif not approvals.approve(memory, name, sha256, by, limits, confirmed=confirmed, approvers=approvers):
                    place = f"/desk/approvals#{name}"
            except BadInput as refused:
                return self._pages.waiting(request, day, str(refused), 409)
            memory.flush()
        return RedirectResponse(place, 303)
