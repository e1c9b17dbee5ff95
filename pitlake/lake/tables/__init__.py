"""Delta tables: their commits, checkpoints, history and compacted files."""
