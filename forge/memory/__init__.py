"""Memory: an append-only journal, its batches in a lake of its own, and both as of an instant.

`journal` writes, `chain` proves what was written, `flush` publishes, `remembered` is what one turn sees, `memory` is
the door to them, and `effects` are what a write brings with it.
"""

from forge.memory.chain import Fault, Row
from forge.memory.journal import Journal, WriteCall, Writing
from forge.memory.memory import Memory
from forge.memory.remembered import Remembered

__all__ = ["Fault", "Journal", "Memory", "Remembered", "Row", "WriteCall", "Writing"]
