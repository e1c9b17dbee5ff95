"""Graphiti, Zep's graph: facts as edges with two clocks, in an embedded Kuzu. No model is called."""

import asyncio
import os
from collections.abc import Iterable
from datetime import datetime
from typing import Any

os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"

from graphiti_core.driver.kuzu_driver import KuzuDriver
from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode
from graphiti_core.search.search_filters import ComparisonOperator, DateFilter, SearchFilters
from graphiti_core.search.search_utils import edge_similarity_search

from asofbench.adapters.base import Rows
from asofbench.adapters.memory import Memory

_VECTOR = [0.1] * 1024


class Graphiti(Memory):
    """An edge is created when its row was loaded, and valid from when the row was public; the next one ends it."""

    def remember(self, rows: Rows) -> None:
        """Save an edge for each row, in the group of its entity."""
        self.loop = asyncio.new_event_loop()
        self.driver = KuzuDriver(db=str(self.folder / "facts.kuzu"))
        self._run(self._saved(rows))

    async def _saved(self, rows: Rows) -> None:
        nodes: dict[tuple[str, str], EntityNode] = {}
        current: dict[tuple[str, str], EntityEdge] = {}
        for row in rows:
            ends, key = [(row["entity"], ""), (row["entity"], row["item"])], (row["entity"], row["item"])
            for end in ends:
                if end not in nodes:
                    node = EntityNode(name=end[1] or end[0], group_id=end[0], labels=[], name_embedding=_VECTOR)
                    nodes[end] = node
                    await node.save(self.driver)
            edge = EntityEdge(
                group_id=row["entity"], source_node_uuid=nodes[ends[0]].uuid, target_node_uuid=nodes[key].uuid,
                created_at=row["loaded_at"], valid_at=row["available_at"], name="STATES", fact=self.content(row),
                fact_embedding=_VECTOR, episodes=[],
            )  # fmt: skip
            await edge.save(self.driver)
            if key in current:
                ended = {"invalid_at": row["available_at"], "expired_at": row["loaded_at"]}
                await current[key].model_copy(update=ended).save(self.driver)
            current[key] = edge
            self.memories.append((edge, row))

    def about(self, entity: str, *at: datetime | None) -> Iterable[str]:
        """Return the facts of a group."""
        return list(self._run(self._facts([entity], *at)))

    def found(self, term: str, at: datetime) -> Iterable[str]:
        """Return the facts of all groups that have a word."""
        return [fact for fact in self._run(self._facts(sorted(self.entities), at)) if term in fact]

    async def _facts(self, groups: list[str], *at: datetime | None) -> list[str]:
        filters = SearchFilters()
        if at and at[0]:
            until = DateFilter(date=at[0], comparison_operator=ComparisonOperator.less_than_equal)
            after = DateFilter(date=at[0], comparison_operator=ComparisonOperator.greater_than)
            never = DateFilter(comparison_operator=ComparisonOperator.is_null)
            filters = SearchFilters(valid_at=[[until]], invalid_at=[[after], [never]])
        found = await edge_similarity_search(
            self.driver, _VECTOR, None, None, filters, group_ids=groups, limit=100_000, min_score=-1
        )
        return [edge.fact for edge in sorted(found, key=lambda edge: (str(edge.valid_at), edge.created_at))]

    def forget(self, memories: list[Any]) -> None:
        """Delete the edges."""
        for edge in memories:
            self._run(edge.delete(self.driver))
        self._run(self.driver.execute_query("CHECKPOINT"))

    def _run(self, call: Any) -> Any:
        return self.loop.run_until_complete(call)

    def close(self) -> None:
        """The driver."""
        self._run(self.driver.close())
        self.loop.close()
