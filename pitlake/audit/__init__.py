"""Audits of a table without a lake: which of its rows contain hindsight.

`table` reads the table and guesses the meaning of its columns. `rules` and `periods` find rows, and `finding` describes
them. `history` has the public facts that the rules need. `report` combines the results.
"""

from pitlake.audit.finding import Finding
from pitlake.audit.report import AuditReport, audit

__all__ = ["AuditReport", "Finding", "audit"]
