"""`cut_off`: cuts off the results of a Python function at T, for tools that are not MCP servers."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from pitlake import clock
from pitlake.answers.envelope import strict
from pitlake.errors import BadInput
from pitlake.proxy.cutting import CutAnswer, Sightings, Unusable, cut_document, receipt
from pitlake.proxy.policy import Policy, ToolPolicy, from_members

Tool = Callable[..., Any]


def cut_off(as_of: str | datetime, policy: ToolPolicy | Policy | None = None, **members: Any) -> Callable[[Tool], Tool]:
    """Return a decorator that cuts a function's answers at an instant.

    The function may be plain or async and must return JSON values. The decorated function returns the envelope: `data`
    with items that were public, `gaps`, and a receipt. Its signature lacks the arguments that the policy binds or
    fixes. An exception becomes a gap, because its message has no date.

    Args:
        as_of: The instant, ISO-8601 with an offset, or an aware datetime.
        policy: The function's policy, or a whole policy with a table of the function's name.
        members: The lines of a policy, in place of `policy`, such as `items="results[]", published="date",
        fields=["title"]`.

    Raises:
        BadInput: For an instant in the future, and for a policy that does not fit the function.
    """
    moment = clock.past(as_of)
    if (policy is None) == (not members):
        raise BadInput("policy", "must be given exactly once", "give a policy, or its members by name")

    def decorate(function: Tool) -> Tool:
        name = getattr(function, "__name__", "tool")
        if isinstance(policy, Policy) and name not in policy.tools:
            raise BadInput("policy", f"has no tools.{name}", "add it, or decorate a function that the policy names")
        own_policy = policy.tools[name] if isinstance(policy, Policy) else policy or from_members(members)
        tool = _CutTool(name, own_policy, moment, inspect.signature(function))

        async def asynchronous(*positional: Any, **keywords: Any) -> dict[str, Any]:
            arguments, most = tool.arguments(positional, keywords)
            try:
                answer = await function(**arguments)
            except Exception:  # noqa: BLE001  What it says may reveal later days.
                return tool.answer(CutAnswer())
            return tool.cut(answer, most)

        def plain(*positional: Any, **keywords: Any) -> dict[str, Any]:
            arguments, most = tool.arguments(positional, keywords)
            try:
                answer = function(**arguments)
            except Exception:  # noqa: BLE001  What it says may reveal later days.
                return tool.answer(CutAnswer())
            return tool.cut(answer, most)

        is_asynchronous = inspect.iscoroutinefunction(function)
        wrapper: Callable[..., Any] = asynchronous if is_asynchronous else plain
        # Frameworks derive a schema from these attributes.
        described = cast("Any", wrapper)
        for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(described, attribute, getattr(function, attribute, None))
        described.__signature__ = tool.signature
        annotations = {
            name: kind for name, kind in function.__annotations__.items() if name in tool.signature.parameters
        }
        described.__annotations__ = {**annotations, "return": dict[str, Any]}
        return wrapper

    return decorate


class _CutTool:
    """A function's policy at an instant. `signature` is what callers see."""

    def __init__(self, name: str, policy: ToolPolicy, as_of: datetime, signature: inspect.Signature) -> None:
        self._name, self._policy, self._as_of = name, policy, as_of
        self._bound, self._sightings = policy.bound(as_of), Sightings()
        self._limit = policy.limit.argument if policy.limit else None
        if policy.pages:
            raise BadInput("policy", f"pages of {name} can't be followed", "make the function read all of its pages")
        self.signature = _shown(signature, {*self._bound} - {self._limit}, name)

    def arguments(self, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> tuple[dict[str, Any], int | None]:
        """Return the function's arguments, and the caller's limit on the number of items."""
        bound = self.signature.bind(*positional, **keywords)
        bound.apply_defaults()
        most = bound.arguments.get(self._limit) if self._limit else None
        return {**bound.arguments, **self._bound}, most

    def cut(self, answer: Any, most: int | None) -> dict[str, Any]:
        """Return the function's answer as the envelope, with up to `most` items."""
        try:
            cut = cut_document(
                strict(answer, self._name, "the answer"),
                self._policy,
                self._as_of,
                name=self._name,
                sightings=self._sightings,
                observed_at=clock.now(),
            )
        except (Unusable, BadInput, RecursionError):
            cut = CutAnswer()
        return self.answer(replace(cut, rows=cut.rows[:most]))

    def answer(self, cut: CutAnswer) -> dict[str, Any]:
        """Return a cut answer as the envelope with its receipt."""
        payload = cut.envelope(self._as_of)
        return {**payload, "receipt": receipt(payload, self._as_of)}


def _shown(signature: inspect.Signature, bound: set[str], name: str) -> inspect.Signature:
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    if kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY}:
        raise BadInput(name, "takes arguments without names", "name every argument, so that none can pass the cut-off")
    if missing := bound - signature.parameters.keys():
        raise BadInput(
            "policy", f"binds {min(missing)!r}, which {name} does not take", "bind an argument of the function"
        )
    callers_parameters = [parameter for parameter in signature.parameters.values() if parameter.name not in bound]
    # Removing an argument may leave a default before an argument without one, which only keyword-only ones allow.
    by_name = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in callers_parameters]
    try:
        return signature.replace(parameters=callers_parameters, return_annotation=dict[str, Any])
    except ValueError:
        return signature.replace(parameters=by_name, return_annotation=dict[str, Any])
