"""Outside sources over HTTP: every answer is captured raw before it is parsed, and any run can replay captures.

`provider` describes a source, `client` queries it, `capture` stores its answers. assets/external interprets the
answers.
"""
