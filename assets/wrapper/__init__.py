"""One question to one outside source, answered as the agents' envelope: from lake and captures first, then the source.

`asking` reads the question, `operations` says what each source can be asked, `answering` answers. Feeds, lake and gate
are others'.
"""
