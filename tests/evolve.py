"""Changes of the source graph between two runs, which `quirks.yaml` lists: overwritten texts, dividends with the same
id, a late filing.

They are applied over Bolt to a loaded world. For these cases, the outcomes of a second extraction replace the
manifest's.
"""

from sample.graph_admin import GraphAdmin
from sample.load import write_graphs
from sample.quirks import evolved


def evolve(admin: GraphAdmin) -> None:
    """Change a loaded world as between two runs. Repeating it changes nothing."""
    for change in evolved().changes:
        statement = f"MATCH (n:{change.label} {{id: $id}}) SET n += $properties"
        admin.write(statement, {"id": change.name, "properties": change.properties})
    arrivals = evolved().arrivals
    if not admin.write("MATCH (n:Report) WHERE n.id IN $ids RETURN n.id", {"ids": [*arrivals.nodes["Report"]]}):
        write_graphs(admin, [arrivals])
