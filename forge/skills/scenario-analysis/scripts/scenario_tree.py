"""Every path of a tree, the mean and the deviation. fetch('analytics', {"op": "scenario_tree", "branches": [{"name":
"soft", "probability": 0.7, "value": 2.0}, {"name": "hard", "probability": 0.3, "value": -5.0}]}): siblings sum to 1.
"""

import json
import sys
from dataclasses import asdict
from typing import Any

from forge.analytics.scenarios import Branch, outlook


def _branch(told: dict[str, Any]) -> Branch:
    below = tuple(_branch(one) for one in told.get("branches", ()))
    return Branch(told["name"], told["probability"], told.get("value"), below)


if __name__ == "__main__":
    print(json.dumps(asdict(outlook([_branch(one) for one in json.loads(sys.argv[1])["branches"]]))))
