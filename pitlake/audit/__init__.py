"""Audits of a table without a lake: how much of the future its rows hold.

`table` reads the table and guesses what its columns mean, `rules` finds rows, `history` has the public facts that the
rules need, and `report` says what was found.
"""

from pitlake.audit.report import AuditReport, audit
from pitlake.audit.rules import Finding

__all__ = ["AuditReport", "Finding", "audit"]
