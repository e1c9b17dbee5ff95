"""Forge's default models: for each size, the newest one that answers without thinking first, as of 2026-11-23.

Validation and compaction have low token limits, which thinking would exhaust.
"""

DEFAULTS = {
    "opus": "anthropic:claude-opus-4-8",
    "sonnet": "anthropic:claude-sonnet-4-6",
    "haiku": "anthropic:claude-haiku-4-5",
}
