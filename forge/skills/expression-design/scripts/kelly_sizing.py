"""The share of capital to stake on a bet. fetch('analytics', {"op": "kelly", "probability": 0.6, "win": 1.0,
"loss": 1.0, "fraction": 0.5}): 0 where there is no edge.
"""

import json
import sys

from forge.analytics.sizing import kelly

if __name__ == "__main__":
    print(json.dumps({"stake": kelly(**json.loads(sys.argv[1]))}))
