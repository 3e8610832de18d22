"""The order and the pace in which figures are drawn, on a clock of the test's own."""

import threading

from lua_compat.drawing.waiting import Waiting


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def drawn_by(waiting: Waiting[int], clock: Clock, seconds: float = 1.0) -> list[tuple[str, int]]:
    """Ends ``waiting`` and returns what it draws until then."""
    drawn = []

    def draw(path: str, picture: int) -> None:
        clock.now += seconds
        drawn.append((path, picture))

    waiting.end()
    while waiting.draw_next(draw):
        pass
    return drawn


def test_the_latest_picture_of_each_file_is_drawn() -> None:
    waiting: Waiting[int] = Waiting(clock := Clock())
    for path, picture in [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("a", 5)]:
        waiting.add(path, picture)
    assert drawn_by(waiting, clock) == [("a", 5), ("b", 2), ("c", 4)]


def test_a_file_that_was_drawn_rests_unless_somebody_waits_for_it() -> None:
    waiting: Waiting[int] = Waiting(clock := Clock())
    drawn = []

    def draw(path: str, picture: int) -> None:
        clock.now += 1
        drawn.append((path, picture))

    waiting.add("a", 1)
    assert waiting.draw_next(draw)
    waiting.add("a", 2)
    waiting.add("b", 3)
    assert waiting.draw_next(draw)
    assert drawn == [("a", 1), ("b", 3)]  # a rests for 19 seconds after its one
    clock.now = 20.0
    assert waiting.draw_next(draw)
    assert drawn[-1] == ("a", 2)

    waiting.add("a", 4)
    waiting.add("b", 5)
    wants = threading.Thread(target=waiting.settle, args=(["a", "unknown"],))
    wants.start()
    assert waiting.draw_next(draw)
    wants.join()
    assert drawn[-1] == ("a", 4)
    assert drawn_by(waiting, clock) == [("b", 5)]


def test_who_adds_too_many_files_waits_for_the_drawing() -> None:
    waiting: Waiting[int] = Waiting(clock := Clock())

    def add_all() -> None:
        for number in range(500):
            waiting.add(str(number), number)
        waiting.end()

    adding = threading.Thread(target=add_all)
    adding.start()
    drawn: list[int] = []
    while waiting.draw_next(lambda path, picture: drawn.append(picture)):
        assert len(waiting._latest) <= 64
    adding.join()
    assert drawn == list(range(500)) and clock.now == 0
