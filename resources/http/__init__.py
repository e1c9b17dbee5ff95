"""Outside sources over HTTP: every answer is captured raw before anybody parses it, and any run replays from captures.

`provider` says what a source is, `client` asks it, `capture` keeps what it answered. What an answer means is decided in
assets/external.
"""
