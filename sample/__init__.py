"""The sample world: a deterministic graph in the shape of the source graph, for the demo, the tests and the benchmarks.

The exchange calendar is real. Companies, texts and figures are invented, except for answers marked as real in
`external`, and Apple's bars of 2009 and 2010 in `drops`. `world` generates the graph, `load` writes it over Bolt, and
`manifest` states the correct outcome of every planted oddity. No product code imports this package.
"""
