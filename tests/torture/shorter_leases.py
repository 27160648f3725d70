"""`python -m tests.torture.shorter_leases serve …` is `findspot serve …` with leases of three seconds."""

import sys
from functools import partial

from findspot import app
from findspot.indexing import worker
from findspot.indexing.leases import SharedLeases
from findspot.models import Backoff
from findspot.surfaces.cli.main import run

if __name__ == "__main__":
    app.SharedLeases = partial(SharedLeases, lease_s=3.0, renew_s=1.0)  # type: ignore[attr-defined,assignment]
    worker.DENIED_BACKOFF = Backoff(first_s=0.5, longest_s=0.5)
    run(sys.argv[1:])
