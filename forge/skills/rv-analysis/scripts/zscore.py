"""The distance of the newest value from the values before it. fetch('analytics', {"op": "zscore", "series": "DGS10",
"window":
250}), or with "ticker" and "start_date": score, mean, deviation and percentile.
"""

import json
import sys
from dataclasses import asdict

from forge.analytics.sizing import z_score

if __name__ == "__main__":
    print(json.dumps(asdict(z_score(**json.loads(sys.argv[1])))))
