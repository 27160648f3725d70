"""Rankings that are kept: for whom, for how long, and how many."""

from dataclasses import dataclass

from findspot.search.cursors import KEPT_S, Cursors


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Ranking:
    weight: int = 1


def test_what_is_kept_is_given_back_to_its_own_project_only() -> None:
    cursors: Cursors[Ranking] = Cursors()
    ranking = Ranking()
    name = cursors.keep(1, ranking)
    assert cursors.get(1, name) is ranking
    assert cursors.get(2, name) is None
    assert cursors.get(1, name + "x") is None
    assert cursors.keep(1, ranking) != name
    assert cursors.keep(1, ranking, name) == name


def test_five_minutes_without_use_end_it_and_each_use_begins_them_anew() -> None:
    clock = Clock()
    cursors: Cursors[Ranking] = Cursors(clock)
    name = cursors.keep(1, Ranking())
    for _ in range(3):
        clock.now += KEPT_S - 1
        assert cursors.get(1, name)
    clock.now += KEPT_S
    assert cursors.get(1, name) is None
    assert len(cursors) == 0


def test_too_many_hits_push_out_what_was_not_used_for_longest() -> None:
    cursors: Cursors[Ranking] = Cursors(Clock(), most=10)
    growing = Ranking()
    old, used, grown = cursors.keep(1, Ranking(4)), cursors.keep(2, Ranking(4)), cursors.keep(3, growing)
    assert cursors.get(1, old)
    growing.weight = 4
    cursors.keep(3, growing, grown)  # what has grown is weighed again
    assert [cursors.get(project, name) is None for project, name in ((1, old), (2, used), (3, grown))] == [0, 1, 0]
    huge = cursors.keep(1, Ranking(50))
    assert (cursors.get(1, huge), len(cursors)) == (Ranking(50), 1)  # the newest stays, whatever its weight


def test_one_project_does_not_push_out_what_another_reads() -> None:
    cursors: Cursors[Ranking] = Cursors(Clock(), most=100, most_of_project=10)
    read = cursors.keep(1, Ranking(4))
    names = [cursors.keep(2, Ranking(4)) for _ in range(20)]
    assert cursors.get(1, read)
    assert [cursors.get(2, name) is not None for name in names] == [False] * 18 + [True] * 2
    assert len(cursors) == 3


def test_what_is_over_makes_room_without_being_asked_for() -> None:
    clock = Clock()
    cursors: Cursors[Ranking] = Cursors(clock)
    for _ in range(5):
        cursors.keep(1, Ranking())
    clock.now += KEPT_S
    cursors.keep(1, Ranking())
    assert len(cursors) == 1
