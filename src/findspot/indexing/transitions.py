"""The states of a namespace and the events that change them, as pure functions. Nothing else makes a `NamespaceState`.

| event                 | unchecked       | in_service | queued        | rebuilding      |
|-----------------------|-----------------|------------|---------------|-----------------|
| `started`             | unchecked       | unchecked  | queued (3)    | queued (3)      |
| `comparison_wanted`   | unchecked       | unchecked  | queued        | rebuilding      |
| `compared`            | in_service      | in_service | queued        | rebuilding      |
| `rebuild_wanted`      | queued          | queued     | queued (1)    | rebuilding (1)  |
| `rebuild_began`       | –               | –          | rebuilding    | –               |
| `rebuild_progressed`  | –               | –          | –             | rebuilding      |
| `rebuilt`             | –               | –          | unchecked (2) | unchecked       |
| `rebuild_failed`      | –               | –          | queued        | queued          |
| `rebuild_interrupted` | –               | –          | queued        | queued          |

`started` is the start of the worker: a rebuild that was interrupted is queued again. After a rebuild, store and engine
are compared. "–" does not occur, and leaves the state as it is.

(1) It keeps its place in the queue. Damage replaces any other reason, because it decides how the index is rebuilt.
(2) What is to be rebuilt no longer exists: the comparison then removes it.
(3) If the reason was another embedder's vectors: `unchecked`. The embedder may have been changed back.

The worker feeds a namespace in every phase but `queued`. There it waits: a damaged index takes nothing, and vectors of
a new embedder do not fit an old index. Once the rebuild has begun, writes reach the old and the new index.
"""

from dataclasses import replace
from datetime import datetime

from findspot.errors import Failure
from findspot.models import NamespaceKey
from findspot.store.namespace_states import NamespaceState, Phase, RebuildReason

_WAITS_FOR_REBUILD = (Phase.QUEUED, Phase.REBUILDING)


def started(state: NamespaceState, now: datetime) -> NamespaceState:
    """Return the state of a namespace when the worker starts."""
    if state.phase in _WAITS_FOR_REBUILD and state.reason is not RebuildReason.WRONG_FINGERPRINT:
        queued = rebuild_interrupted(state)
        return replace(queued, queued_at=state.queued_at or now, error=None)
    return NamespaceState(state.key, Phase.UNCHECKED, fingerprint=state.fingerprint)


def comparison_wanted(state: NamespaceState) -> NamespaceState:
    """Have store and engine compared. A rebuild ends with a comparison anyway."""
    return replace(state, phase=Phase.UNCHECKED) if state.phase is Phase.IN_SERVICE else state


def compared(state: NamespaceState) -> NamespaceState:
    """Note that store and engine hold the same chunks, or that the differences have become work."""
    return replace(state, phase=Phase.IN_SERVICE) if state.phase is Phase.UNCHECKED else state


def rebuild_wanted(state: NamespaceState, reason: RebuildReason, now: datetime) -> NamespaceState:
    """Put a namespace into the queue of rebuilds."""
    if state.phase in _WAITS_FOR_REBUILD:
        is_worse = reason is RebuildReason.DAMAGED
        return replace(state, reason=reason) if is_worse else state
    return replace(state, phase=Phase.QUEUED, reason=reason, queued_at=now)


def rebuild_began(state: NamespaceState, total: int) -> NamespaceState:
    """Note that a new index is being written, which will hold `total` chunks."""
    if state.phase is not Phase.QUEUED:
        return state
    return replace(state, phase=Phase.REBUILDING, done=0, total=total, rate=0.0)


def rebuild_progressed(state: NamespaceState, done: int, elapsed_s: float) -> NamespaceState:
    """Note how many chunks the new index has after `elapsed_s`."""
    return replace(state, done=done, rate=_rate(done, elapsed_s)) if state.phase is Phase.REBUILDING else state


def rebuilt(state: NamespaceState, fingerprint: str) -> NamespaceState:
    """Note that the new index is in service."""
    if state.phase not in _WAITS_FOR_REBUILD:
        return state
    return NamespaceState(state.key, Phase.UNCHECKED, fingerprint=fingerprint)


def rebuild_failed(state: NamespaceState, error: Failure) -> NamespaceState:
    """Queue a rebuild again that failed. The old index stays in service."""
    if state.phase not in _WAITS_FOR_REBUILD:
        return state
    return replace(state, phase=Phase.QUEUED, error=error, done=0, total=0, rate=0.0)


def rebuild_interrupted(state: NamespaceState) -> NamespaceState:
    """Queue a rebuild again that ended before it was done: at the end of the process, or because its build was lost."""
    if state.phase not in _WAITS_FOR_REBUILD:
        return state
    return replace(state, phase=Phase.QUEUED, done=0, total=0, rate=0.0)


def fed(state: NamespaceState, done: int, elapsed_s: float) -> NamespaceState:
    """Note the rate at which the index in service takes chunks in. A rebuild shows its own rate."""
    return state if state.phase is Phase.REBUILDING else replace(state, rate=_rate(done, elapsed_s))


def holds_vectors_of(state: NamespaceState, fingerprint: str) -> NamespaceState:
    """Note which embedder's vectors the index holds."""
    return state if state.fingerprint == fingerprint else replace(state, fingerprint=fingerprint)


def initial(key: NamespaceKey) -> NamespaceState:
    """Return the state of a namespace that is new: there is nothing to compare."""
    return NamespaceState(key)


def takes_chunks(state: NamespaceState) -> bool:
    """Return whether the worker feeds the namespace."""
    return state.phase is not Phase.QUEUED


def _rate(done: int, elapsed_s: float) -> float:
    return done / max(1e-6, elapsed_s)
