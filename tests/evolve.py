"""Changes to the source graph between two runs, as listed in `quirks.yaml`: overwritten texts, dividends with the same
id, and a late filing.

They are applied over Bolt to a loaded world. In these cases, the outcomes of a second extraction replace those of
the manifest.
"""

from sample.graph_admin import GraphAdmin
from sample.load import write_graphs
from sample.quirks import evolved


def evolve(admin: GraphAdmin) -> None:
    """Apply the changes between two runs to a loaded world. Repeated calls change nothing."""
    for change in evolved().changes:
        statement = f"MATCH (n:{change.label} {{id: $id}}) SET n += $properties"
        admin.write(statement, {"id": change.name, "properties": change.properties})
    arrivals = evolved().arrivals
    if not admin.write("MATCH (n:Report) WHERE n.id IN $ids RETURN n.id", {"ids": [*arrivals.nodes["Report"]]}):
        write_graphs(admin, [arrivals])
