"""Rounds of kills while editors write, and an examination after some of them."""

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.torture import agreement, watch
from tests.torture.editor import Client, Editor
from tests.torture.fleet import Fleet

EDITORS = 3


@dataclass(frozen=True)
class Plan:
    """How long to go on: a number of rounds, or seconds. Everything is examined after every `examined` rounds."""

    seed: int
    rounds: int
    seconds: float = 0.0
    examined: int = 10
    longest_pause_s: float = 2.0  # between two kills

    def goes_on(self, done: int, began: float) -> bool:
        return time.monotonic() - began < self.seconds if self.seconds else done < self.rounds


@dataclass
class Report:
    """What happened in a run."""

    seed: int
    rounds: int = 0
    chunks: int = 0
    longest_s: float = 0.0
    longest_at: str = ""
    writes: Counter[str] | None = None
    refusals: Counter[str] | None = None
    killed: Counter[str] | None = None
    odd_ends: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in vars(self).items())


class Run:
    """One run on one installation. `examine` requires that store and engine agree, and returns how many chunks there
    are. It is called when everything is at rest, and may stop the fleet."""

    def __init__(self, fleet: Fleet, database: str | Path, token: str, plan: Plan, examine: Callable[[], int]) -> None:
        self._fleet = fleet
        self._database = database
        self._plan = plan
        self._examine = examine
        self._chance = random.Random(plan.seed)
        self._client = Client(fleet.urls, token, random.Random(plan.seed))
        self._token = token
        self.report = Report(plan.seed)

    def go(self) -> Report:
        """Kill and examine, until the plan is fulfilled. A failure is reported with the seed and the logs."""
        editors: list[Editor] = []
        watching = watch.Watch(self._database)
        try:
            self._fleet.start()
            self._fleet.revive_until_ready()
            project = self._client.call("POST", "/api/v1/projects", json={"name": "p"}).body["id"]
            editors = [self._editor(number, project) for number in range(EDITORS)]
            watching.start()
            for each in editors:
                each.start()
            self._rounds(editors, project)
            self._fleet.require_no_remains()
            return self._reported(editors, watching)
        except BaseException:
            print(self._reported(editors, watching), self._fleet.logs(), sep="\n")
            raise
        finally:
            watching.end()
            self._fleet.close()
            for each in editors:
                each.end()
            self._client.close()

    def _editor(self, number: int, project: int) -> Editor:
        chance = random.Random(1000 * self._plan.seed + number)
        return Editor(number, Client(self._fleet.urls, self._token, chance), project, chance)

    def _rounds(self, editors: list[Editor], project: int) -> None:
        began = time.monotonic()
        while self._plan.goes_on(self.report.rounds, began):
            self._fleet.revive_until_ready()
            for each in editors:
                each.resume()
            for _ in range(self._plan.examined):
                if self._plan.goes_on(self.report.rounds, began):
                    self._wait_for_progress(editors)
                    self._fleet.kill_one(self._chance)
                    self._fleet.revive()
                    self.report.rounds += 1
            for each in editors:
                each.pause()
            self._fleet.revive_until_ready()
            for each in editors:
                each.wait_until_idle()
            watch.wait_until_at_rest(self._database)
            agreement.require_acknowledged(self._client, project, [each.ledger for each in editors])
            self.report.chunks = max(self.report.chunks, self._examine())

    def _wait_for_progress(self, editors: list[Editor]) -> None:
        """Wait for a random time, for a write, and for a document of each editor: there has to be something to lose."""
        before = sum(each.ledger.count for each in editors)
        until = time.monotonic() + self._chance.random() * self._plan.longest_pause_s
        limit = time.monotonic() + 120

        def has_written() -> bool:
            return sum(each.ledger.count for each in editors) > before and all(
                each.ledger.documents for each in editors
            )

        while time.monotonic() < until or not has_written():
            assert time.monotonic() < limit, "nothing is acknowledged any more"
            failed = [each.error for each in editors if each.error is not None]
            if failed:
                raise failed[0]
            time.sleep(0.02)
            self._fleet.revive()

    def _reported(self, editors: list[Editor], watching: watch.Watch) -> Report:
        self.report.longest_s, self.report.longest_at = watching.longest_s, watching.where
        self.report.writes = sum((each.ledger.writes for each in editors), Counter())
        self.report.refusals = sum((each.refusals for each in editors), Counter())
        self.report.killed, self.report.odd_ends = self._fleet.killed, tuple(self._fleet.odd_ends)
        return self.report
