"""Memory: an append-only journal, its batches in a lake of its own, and both as of an instant.

`journal` writes, `chain` proves what was written, `flush` publishes, `remembered` is what one turn sees, `memory` is
the entry point to them, and `effects` are the writes that follow from a write.
"""

from forge.memory.chain import Fault, Row
from forge.memory.journal import Journal, WriteCall, Writing
from forge.memory.memory import Memory
from forge.memory.remembered import Remembered

__all__ = ["Fault", "Journal", "Memory", "Remembered", "Row", "WriteCall", "Writing"]
