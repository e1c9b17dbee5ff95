"""The sample world: a deterministic graph in the shape of the source graph, for the demo, the tests and the benchmarks.

Tickers, CIKs and the exchange calendar are real; texts, ids and nearly all figures are made up. `world` generates it,
`load` writes it over Bolt, and `manifest` states the correct outcome of every planted oddity. No product code imports
this package.
"""
