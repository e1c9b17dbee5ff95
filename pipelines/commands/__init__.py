"""Commands of `pitlake` that need more than the kernel: one module per command, named in pyproject.toml.

At the top level, they import only small modules. Other modules are imported when a command runs.
"""
