"""Rankings that are kept: for whom, for how long, and how many."""

from findspot.cursors import KEPT_S, Cursors


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_is_kept_is_given_back_to_its_own_project_only() -> None:
    cursors: Cursors[list[int]] = Cursors()
    name = cursors.keep(1, [1, 2])
    assert cursors.get(1, name) == [1, 2]
    assert cursors.get(2, name) is None
    assert cursors.get(1, name + "x") is None
    assert cursors.keep(1, [1, 2]) != name


def test_five_minutes_without_use_end_it_and_each_use_begins_them_anew() -> None:
    clock = Clock()
    cursors: Cursors[list[int]] = Cursors(clock)
    name = cursors.keep(1, [1])
    for _ in range(3):
        clock.now += KEPT_S - 1
        assert cursors.get(1, name) == [1]
    clock.now += KEPT_S
    assert cursors.get(1, name) is None
    assert len(cursors) == 0


def test_too_many_hits_push_out_what_was_not_used_for_longest() -> None:
    clock = Clock()
    cursors: Cursors[list[int]] = Cursors(clock, most=10)
    old, used = cursors.keep(1, [0] * 4), cursors.keep(1, [0] * 4)
    growing = [0]
    grown = cursors.keep(1, growing)
    assert cursors.get(1, old) == [0] * 4
    growing += [0] * 3  # what grows is counted when it is asked for again
    assert cursors.get(1, grown) == growing
    assert [cursors.get(1, name) is None for name in (old, used, grown)] == [False, True, False]
    huge = cursors.keep(1, [0] * 50)
    assert (cursors.get(1, huge), len(cursors)) == ([0] * 50, 1)  # the newest stays, whatever its size


def test_what_is_over_makes_room_without_being_asked_for() -> None:
    clock = Clock()
    cursors: Cursors[list[int]] = Cursors(clock)
    for _ in range(5):
        cursors.keep(1, [1])
    clock.now += KEPT_S
    cursors.keep(1, [1])
    assert len(cursors) == 1
