"""Merges settings and removes them again. Lists gain missing entries; existing entries never change.

This module accesses no files. `part` removes the additions of `join`.
"""

from typing import Any

Tree = dict[str, Any]


class Conflict(Exception):
    """The project already has a different value for a setting. The message is the path of the setting's keys."""


def join(own: Tree, more: Tree, where: str = "") -> tuple[Tree, Tree]:
    """Merge settings; return the result and the additions. Raises Conflict if the settings contradict each other."""
    whole, added = dict(own), Tree()
    for name, value in more.items():
        place = f"{where}.{name}" if where else name
        if name not in own:
            whole[name] = added[name] = value
        # A server is one entry and is never merged.
        elif isinstance(value, dict) and isinstance(own[name], dict) and not place.startswith("mcpServers."):
            whole[name], inner = join(own[name], value, place)
            added |= {name: inner} if inner else {}
        elif isinstance(value, list) and isinstance(own[name], list):
            lacking = [entry for entry in value if entry not in own[name]]
            whole[name] = [*own[name], *lacking]
            added |= {name: lacking} if lacking else {}
        elif value != own[name]:
            raise Conflict(place)
    return whole, added


def part(whole: Tree, added: Tree) -> Tree:
    """Remove additions from settings, and anything that becomes empty."""
    left = dict(whole)
    for name, value in added.items():
        there = left.get(name)
        if there == value:
            del left[name]
        elif isinstance(value, dict) and isinstance(there, dict):
            left[name] = part(there, value)
        elif isinstance(value, list) and isinstance(there, list):
            left[name] = [entry for entry in there if entry not in value]
        if name in left and left[name] in ({}, []):
            del left[name]
    return left


def holds(whole: Tree, needed: Tree) -> bool:
    """Return whether settings contain everything needed."""
    try:
        return not join(whole, needed)[1]
    except Conflict:
        return False
