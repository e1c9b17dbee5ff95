"""Faults around the lake, caused on purpose: of disks, processes, clocks, limits, stores and providers."""
