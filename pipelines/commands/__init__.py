"""Commands of `pitlake` that need more than the kernel: one module per command, named in pyproject.toml.

Their top-level imports are light; the rest is imported when they run.
"""
