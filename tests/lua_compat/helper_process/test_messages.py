"""Messages to a process beside this one: whole ones arrive as they were, of others nothing."""

import io

from lua_compat.helper_process.messages import packed, read_message


def test_messages_arrive_as_they_were() -> None:
    parts = [b"", b"\n{}\n", bytes(range(256)) * 3]
    stream = io.BytesIO(packed({"do": "draw", "path": "a\nb\udc80"}, parts) + packed({"do": "forget"}))
    assert read_message(stream) == ({"do": "draw", "path": "a\nb\udc80"}, parts)
    assert read_message(stream) == ({"do": "forget"}, [])
    assert read_message(stream) is None


def test_half_a_message_is_none() -> None:
    whole = packed({"do": "draw"}, [b"123", b"456"])
    for end in range(len(whole)):
        assert read_message(io.BytesIO(whole[:end])) is None
