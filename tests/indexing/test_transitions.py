"""The states of a namespace: every event in every phase, without an app."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from findspot.errors import Failure
from findspot.indexing import transitions
from findspot.models import NamespaceKey
from findspot.store.namespace_states import NamespaceState, Phase, RebuildReason

KEY = NamespaceKey(1, None)
NOW = datetime(2026, 1, 2, tzinfo=UTC)
EARLIER = NOW - timedelta(hours=1)
UNAVAILABLE = Failure("EMBEDDING_UNAVAILABLE", "The service is unavailable.", {"retryAfterMs": 5})

UNCHECKED, IN_SERVICE, QUEUED, REBUILDING = Phase
STATES = {
    UNCHECKED: NamespaceState(KEY, UNCHECKED, fingerprint="one"),
    IN_SERVICE: NamespaceState(KEY, IN_SERVICE, fingerprint="one"),
    QUEUED: NamespaceState(KEY, QUEUED, RebuildReason.REQUESTED, EARLIER, UNAVAILABLE, "one"),
    REBUILDING: NamespaceState(KEY, REBUILDING, RebuildReason.REQUESTED, EARLIER, UNAVAILABLE, "one", 3, 9, 1.5),
}
# The table in the docstring of the module: the phase after the event, in the order of the phases.
EVENTS: dict[str, tuple[tuple[Any, ...], tuple[Phase, ...]]] = {
    "started": ((NOW,), (UNCHECKED, UNCHECKED, QUEUED, QUEUED)),
    "comparison_wanted": ((), (UNCHECKED, UNCHECKED, QUEUED, REBUILDING)),
    "compared": ((), (IN_SERVICE, IN_SERVICE, QUEUED, REBUILDING)),
    "rebuild_wanted": ((RebuildReason.WRONG_FINGERPRINT, NOW), (QUEUED, QUEUED, QUEUED, REBUILDING)),
    "rebuild_began": ((9,), (UNCHECKED, IN_SERVICE, REBUILDING, REBUILDING)),
    "rebuild_progressed": ((4, 2.0), (UNCHECKED, IN_SERVICE, QUEUED, REBUILDING)),
    "rebuilt": (("two",), (UNCHECKED, IN_SERVICE, UNCHECKED, UNCHECKED)),
    "rebuild_failed": ((UNAVAILABLE,), (UNCHECKED, IN_SERVICE, QUEUED, QUEUED)),
    "rebuild_interrupted": ((), (UNCHECKED, IN_SERVICE, QUEUED, QUEUED)),
}


@pytest.mark.parametrize("event", EVENTS)
def test_each_event_leads_to_the_phase_in_the_table(event: str) -> None:
    arguments, phases = EVENTS[event]
    found = [getattr(transitions, event)(STATES[phase], *arguments) for phase in Phase]
    assert tuple(state.phase for state in found) == phases
    row = next(line for line in (transitions.__doc__ or "").splitlines() if f"`{event}`" in line)
    cells = [cell.split() for cell in row.strip("| ").split("|")[1:]]
    documented = [Phase(cell[0]) if cell[0] != "–" else phase for cell, phase in zip(cells, Phase, strict=True)]
    assert tuple(documented) == phases


def test_an_event_that_does_not_apply_changes_nothing() -> None:
    assert transitions.rebuild_began(STATES[IN_SERVICE], 9) is STATES[IN_SERVICE]
    assert transitions.rebuild_progressed(STATES[QUEUED], 4, 2.0) is STATES[QUEUED]
    assert transitions.rebuilt(STATES[IN_SERVICE], "two") is STATES[IN_SERVICE]
    assert transitions.rebuild_failed(STATES[UNCHECKED], UNAVAILABLE) is STATES[UNCHECKED]


def test_after_a_start_the_vectors_are_compared_again_instead_of_rebuilt_for_an_old_reason() -> None:
    for phase in (QUEUED, REBUILDING):
        state = replace(STATES[phase], reason=RebuildReason.WRONG_FINGERPRINT)
        assert transitions.started(state, NOW) == STATES[UNCHECKED]


def test_a_rebuild_keeps_its_place_in_the_queue_and_damage_outranks_other_reasons() -> None:
    queued = transitions.rebuild_wanted(STATES[IN_SERVICE], RebuildReason.REQUESTED, NOW)
    assert (queued.reason, queued.queued_at) == (RebuildReason.REQUESTED, NOW)
    again = transitions.rebuild_wanted(queued, RebuildReason.WRONG_FINGERPRINT, NOW + timedelta(hours=1))
    assert again is queued
    damaged = transitions.rebuild_wanted(queued, RebuildReason.DAMAGED, NOW + timedelta(hours=1))
    assert damaged == replace(queued, reason=RebuildReason.DAMAGED)
    assert transitions.rebuild_wanted(damaged, RebuildReason.REQUESTED, NOW) is damaged


def test_a_rebuild_shows_its_progress_and_its_end_clears_it() -> None:
    began = transitions.rebuild_began(STATES[QUEUED], 9)
    assert (began.done, began.total, began.error) == (0, 9, UNAVAILABLE)  # the error is shown until a rebuild succeeds
    progressed = transitions.rebuild_progressed(began, 4, 2.0)
    assert (progressed.done, progressed.rate) == (4, 2.0)
    assert transitions.rebuilt(progressed, "two") == NamespaceState(KEY, UNCHECKED, fingerprint="two")
    failed = transitions.rebuild_failed(progressed, UNAVAILABLE)
    assert (failed.phase, failed.error, failed.done, failed.total, failed.rate) == (QUEUED, UNAVAILABLE, 0, 0, 0.0)
    assert (failed.reason, failed.queued_at) == (RebuildReason.REQUESTED, EARLIER)


def test_a_restart_queues_an_interrupted_rebuild_again() -> None:
    found = transitions.started(STATES[REBUILDING], NOW)
    assert found == NamespaceState(KEY, QUEUED, RebuildReason.REQUESTED, EARLIER, None, "one")
    without_time = replace(STATES[QUEUED], queued_at=None)
    assert transitions.started(without_time, NOW).queued_at == NOW


def test_the_rate_of_feeding_is_shown_unless_a_rebuild_shows_its_own() -> None:
    assert transitions.fed(STATES[IN_SERVICE], 10, 2.0).rate == 5.0
    assert transitions.fed(STATES[REBUILDING], 10, 2.0) is STATES[REBUILDING]


def test_only_a_queued_namespace_takes_no_chunks() -> None:
    assert [transitions.takes_chunks(STATES[phase]) for phase in Phase] == [True, True, False, True]
    assert transitions.initial(KEY).phase is IN_SERVICE


def test_the_fingerprint_of_the_index_is_noted() -> None:
    assert transitions.holds_vectors_of(STATES[IN_SERVICE], "one") is STATES[IN_SERVICE]
    assert transitions.holds_vectors_of(STATES[IN_SERVICE], "two").fingerprint == "two"
