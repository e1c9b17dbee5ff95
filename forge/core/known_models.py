"""Forge's default models: of each size the newest that answers without thinking first, as of 2026-11-23.

Validation and compaction have low token limits, which thinking would use up.
"""

DEFAULTS = {
    "opus": "anthropic:claude-opus-4-8",
    "sonnet": "anthropic:claude-sonnet-4-6",
    "haiku": "anthropic:claude-haiku-4-5",
}
