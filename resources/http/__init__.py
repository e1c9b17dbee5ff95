"""Outside sources over HTTP: every raw answer is captured before it is parsed, and any run can replay captures.

`provider` describes a source, `client` queries it, and `capture` stores its answers. assets/external interprets the
answers.
"""
