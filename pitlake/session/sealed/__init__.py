"""The process of a session: the parent's side, the process itself, its sandbox, and the protocol between them."""
