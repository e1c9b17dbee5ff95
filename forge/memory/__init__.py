"""Memory: an append-only journal and a lake of its published batches, which are read as of an instant.

`journal` writes, `chain` verifies the rows, `flush` publishes, `remembered` is one turn's memory, `memory` is the entry
point, and `effects` makes the writes that follow from a write.
"""

from forge.memory.chain import Fault, Row
from forge.memory.journal import Journal, WriteCall, Writing
from forge.memory.memory import Memory
from forge.memory.remembered import Remembered

__all__ = ["Fault", "Journal", "Memory", "Remembered", "Row", "WriteCall", "Writing"]
