"""`pitlake demo`: a small lake of public figures, and a question with two answers.

`answers/` contains excerpts of responses from EDGAR and ALFRED. Its README lists the omissions.
"""
