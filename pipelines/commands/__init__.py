"""Commands of `pitlake` that need more than the kernel: one module a command, named in pyproject.toml.

What they import at the top is light; the rest is imported when they run.
"""
