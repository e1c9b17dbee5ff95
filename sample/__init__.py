"""The sample world: a deterministic graph of the upstream's shape, for the demo, the tests and the benchmarks.

Tickers, CIKs and the exchange calendar are real; texts, ids and nearly all figures are made up. `world` generates it,
`load` writes it over Bolt, `manifest` says what a correct extraction makes of its planted oddities. No product code
imports this package.
"""
