"""AsOfBench: who sees the future? A benchmark of data layers that claim, or are used, to answer as of an instant.

Cases are small worlds of dated rows with something planted after the instant that is asked about. Nothing here needs
pitlake, which is one of the systems that are scored; the core needs the standard library alone.
"""
