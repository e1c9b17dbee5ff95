"""A Celery app made as Dagster makes its app, with a task that waits for the same task on another worker."""

import time
from pathlib import Path

from dagster_celery.make_app import make_app

PATIENCE_SECONDS = 20.0

app = make_app()


@app.task(bind=True)
def meet(self, folder: str, count: int) -> int:
    """Register this worker in a folder, wait for `count` workers or a timeout, and return how many have registered."""
    (Path(folder) / self.request.hostname).touch()
    end = time.monotonic() + PATIENCE_SECONDS
    while (here := len(list(Path(folder).iterdir()))) < count and time.monotonic() < end:
        time.sleep(0.05)
    return here
