"""`pitlake demo`: a small lake of public figures, and one question that has two answers.

`answers/` holds a selection of what EDGAR and ALFRED answer; its README names what was left out.
"""
