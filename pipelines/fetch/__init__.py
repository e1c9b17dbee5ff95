"""One question to one outside source, answered with the agents' envelope: from lake and captures first, then the
source.

`asking` parses the question, `operations` lists what each source can answer, `answering` answers. This implements
`pitlake fetch`.
"""
