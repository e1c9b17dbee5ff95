"""What is extracted: one folder a source, one module a dataset. Pure functions and the asset made of them.

No wiring (see pipelines), no connection (see resources), nothing that decides what readers see (see pitlake).
"""
