"""Random kills: processes of a whole installation die by kill -9 while clients write, and everything must be right.

| module           | what it does |
|------------------|---|
| `editor`         | clients that write through the API, and note what was acknowledged |
| `fleet`          | starts the processes, kills one of them, and starts again what has ended |
| `watch`          | reads from the database how much work waits, and for how long none was done |
| `agreement`      | compares acknowledged writes, the store, and what the engine holds of every chunk |
| `run`            | rounds of kills, with an examination after some of them |
| `shorter_leases` | `findspot` with leases of three seconds, so that a short run does not wait for real ones |
| `test_kills`     | the installations, and how many rounds there are |
"""

import pytest

pytest.register_assert_rewrite("tests.torture.agreement")
