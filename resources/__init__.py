"""What talks to the outside: the source graph, HTTP capture and replay, one client a provider, the lake.

Nothing here decides what a row means (assets/) or whether it may enter (checks/). Assets, checks and pipelines call it.
"""
