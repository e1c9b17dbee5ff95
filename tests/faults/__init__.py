"""What goes wrong around the lake, done to it on purpose: to disks, processes, clocks, limits, stores, providers."""
