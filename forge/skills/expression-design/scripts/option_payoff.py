"""Best, worst and breakevens of legs at expiry. fetch('analytics', {"op": "payoff", "legs": [{"kind": "call",
"strike": 100, "quantity": 1, "premium": 2.5}]}): null where nothing bounds it.
"""

import json
import sys
from dataclasses import asdict

from forge.analytics.options import Leg, payoff

if __name__ == "__main__":
    print(json.dumps(asdict(payoff([Leg(**leg) for leg in json.loads(sys.argv[1])["legs"]]))))
