"""Tests and campaigns of Forge."""
