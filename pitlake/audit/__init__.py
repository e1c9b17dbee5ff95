"""Audits of a table without a lake: how much of the future its rows hold.

`table` reads the table and guesses what its columns mean, `rules` and `periods` find rows, `finding` is what they say,
`history` has the public facts that they need, and `report` puts it together.
"""

from pitlake.audit.finding import Finding
from pitlake.audit.report import AuditReport, audit

__all__ = ["AuditReport", "Finding", "audit"]
