"""Every path of a tree, the mean and the deviation. fetch('analytics', {"op": "scenario_tree", "branches": [{"name":
"soft", "probability": 0.7, "value": 2.0}, {"name": "hard", "probability": 0.3, "value": -5.0}]}): siblings sum to 1.
"""

import json
import sys
from dataclasses import asdict
from typing import Any

from forge.analytics.scenarios import Branch, outlook


def _branch(fields: dict[str, Any]) -> Branch:
    below = tuple(_branch(item) for item in fields.get("branches", ()))
    return Branch(fields["name"], fields["probability"], fields.get("value"), below)


if __name__ == "__main__":
    print(json.dumps(asdict(outlook([_branch(item) for item in json.loads(sys.argv[1])["branches"]]))))
