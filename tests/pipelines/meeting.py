"""A Celery app as Dagster makes its own, with a task that waits for the same task on another worker."""

import time
from pathlib import Path

from dagster_celery.make_app import make_app

PATIENCE_SECONDS = 20.0

app = make_app()


@app.task(bind=True)
def meet(self, folder: str, count: int) -> int:
    """Record in a folder that this worker is here; return how many are, once enough are or the time is over."""
    (Path(folder) / self.request.hostname).touch()
    end = time.monotonic() + PATIENCE_SECONDS
    while (here := len(list(Path(folder).iterdir()))) < count and time.monotonic() < end:
        time.sleep(0.05)
    return here
