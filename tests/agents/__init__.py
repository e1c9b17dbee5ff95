"""Tests of the data agents without a model: a lake with a marked future, a stand-in client, mutated hook messages."""
