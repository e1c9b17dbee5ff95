"""The process of a session: the parent's side, the process itself, its seal, and the bytes between them."""
