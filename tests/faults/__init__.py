"""Deliberate faults around the lake: in disks, processes, clocks, limits, stores and providers."""
