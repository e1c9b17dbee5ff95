"""Tests of Forge, and the campaigns on its memory."""
