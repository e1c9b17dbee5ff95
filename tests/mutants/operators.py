"""Mutants: small changes to source files that some test should notice. MUTATIONS lists the kinds of changes."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

_COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift,
}  # fmt: skip
_NAMED = {"min": "max", "max": "min", "any": "all", "all": "any"}
_METHODS = {"startswith": "endswith", "endswith": "startswith", "union": "intersection", "issubset": "issuperset"}
_LEAVES = ast.Raise | ast.Return | ast.Continue | ast.Break
_KINDS = {"Callable", "Iterator", "Literal", "Mapping", "dict", "frozenset", "list", "set", "tuple"}
_TYPED = ("annotation", "returns", "decorator_list", "type_params")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change to the bytes `start` to `end` of a file, inside `scope`; `nth` numbers equal changes in a scope."""

    path: str
    scope: str
    change: str
    old: str
    new: str
    nth: int
    start: int
    end: int

    @property
    def key(self) -> str:
        """Return a name that stays the same while the changed code moves within its function."""
        spelled = " -> ".join(re.sub(r"\s+", " ", text) for text in (self.old, self.new))
        return f"{self.path}::{self.scope} {self.change}: {spelled}" + (f" ({self.nth})" if self.nth > 1 else "")

    def applied(self, source: bytes) -> bytes:
        """Return the source with the change."""
        return source[: self.start] + self.new.encode() + source[self.end :]


def mutants(path: str, source: bytes) -> list[Mutant]:
    """Return every mutant of a file, including a few that do not compile or change nothing (see `is_one`)."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    result: list[Mutant] = []
    likes: Counter[tuple[str, ...]] = Counter()
    for scope, change, node, new in _changes(tree):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        old = source[start:end].decode()
        likes[scope, change, old, new] += 1
        nth = likes[scope, change, old, new]
        result.append(Mutant(path, scope, change, old, new, nth, start, end))
    return result


def is_one(mutant: Mutant, source: bytes) -> bool:
    """Return whether the changed file compiles and has a different syntax tree."""
    try:
        return ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def _changes(tree: ast.Module) -> Iterator[tuple[str, str, Any, str]]:
    """Yield the scope, the mutation's name, the node and its new source, for every node to which a mutation applies."""
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, scope = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope = f"{scope}.{node.name}".lstrip(".")
        for change, mutation in MUTATIONS.items():
            for place, new in mutation(node):
                yield scope, change, place, new
        waiting += [(child, scope) for child in _parts(node)]


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    # Tests do not cover messages, types and decorators. Python 3.11 misplaces the parts of f-strings.
    if isinstance(node, ast.Raise | ast.JoinedStr) or _is_list_of_names(node) or _is_type(node):
        return
    for name, value in ast.iter_fields(node):
        if name not in _TYPED:
            yield from (part for part in (value if isinstance(value, list) else [value]) if isinstance(part, ast.AST))


def _is_list_of_names(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in {"__all__", "__slots__"}


def _is_type(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in _KINDS


Changed = Iterator[tuple[ast.AST, str]]


def _with(node: ast.AST, **fields: object) -> str:
    changed = deepcopy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return f"({ast.unparse(changed)})"


def _bounds(node: ast.AST) -> Changed:
    if isinstance(node, ast.Compare):
        for number, operator in enumerate(node.ops):
            other = _COMPARED[type(operator)]()
            yield node, _with(node, ops=[*node.ops[:number], other, *node.ops[number + 1 :]])


def _logic(node: ast.AST) -> Changed:
    if isinstance(node, ast.BoolOp):
        yield node, _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        for left_out in range(len(node.values)):
            yield node, _with(node, values=[part for number, part in enumerate(node.values) if number != left_out])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, f"({ast.unparse(node.operand)})"


def _arithmetic(node: ast.AST) -> Changed:
    if isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED and not _makes_text(node):
        yield node, _with(node, op=_COMPUTED[type(node.op)]())


def _makes_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(isinstance(side, ast.JoinedStr) or isinstance(getattr(side, "value", None), str) for side in sides)


def _constants(node: ast.AST) -> Changed:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield node, str(not node.value)
        elif isinstance(node.value, int | float):
            yield node, str(node.value + 1)


def _texts(node: ast.AST) -> Changed:
    """Change only strings used in comparisons, because other strings are messages for people."""
    compared: list[ast.expr] = []
    if isinstance(node, ast.Compare):
        compared = [node.left, *node.comparators]
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in {"startswith", "endswith", "removeprefix"}:
        compared = node.args
    for text in compared:
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield text, repr(text.value + "~")


def _members(node: ast.AST) -> Changed:
    elements = getattr(node, "elts", None) if isinstance(node, ast.Set | ast.List | ast.Tuple) else None
    if elements and len(elements) > 1 and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        if isinstance(node, ast.Tuple) and not all(isinstance(each, ast.Constant) for each in elements):
            return
        for left_out in range(len(elements)):
            remaining = deepcopy(node)
            del remaining.elts[left_out]  # type: ignore[attr-defined]
            yield node, ast.unparse(remaining)


def _caught(node: ast.AST) -> Changed:
    if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Tuple):
        for left_out in range(len(node.type.elts)):
            remaining = [each for number, each in enumerate(node.type.elts) if number != left_out]
            yield node.type, _with(node.type, elts=remaining)


def _calls(node: ast.AST) -> Changed:
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Name) and function.id in _NAMED:
            yield function, _NAMED[function.id]
        if isinstance(function, ast.Attribute) and function.attr in _METHODS:
            yield function, f"{ast.unparse(function.value)}.{_METHODS[function.attr]}"


def _guards(node: ast.AST) -> Changed:
    """Make a guard never apply, or a filter pass everything."""
    if isinstance(node, ast.If) and isinstance(node.body[-1], _LEAVES) and not isinstance(node.test, ast.NamedExpr):
        yield node.test, f"(({ast.unparse(node.test)}) and False)"
    if isinstance(node, ast.comprehension):
        for condition in node.ifs:
            yield condition, f"(({ast.unparse(condition)}) or True)"


def _statements(node: ast.AST) -> Changed:
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
    if is_call or isinstance(node, ast.AugAssign | ast.Raise | ast.Delete):
        yield node, "pass"
    if isinstance(node, ast.Return) and node.value and not isinstance(node.value, ast.Constant):
        yield node, "return None"


MUTATIONS = {
    "bound": _bounds,
    "logic": _logic,
    "arithmetic": _arithmetic,
    "constant": _constants,
    "text": _texts,
    "member": _members,
    "caught": _caught,
    "call": _calls,
    "guard": _guards,
    "statement": _statements,
}
