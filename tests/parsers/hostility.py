"""What the tests of hostile input share: processor time, and states that somebody has changed."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from renderlayer.errors import BadRequest
from renderlayer.parsers import Parser, State

ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["", "content", "arguments", "\ud800", "[" * 9_000]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "phase"]), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


def tampered(state: State, data: st.DataObject) -> State:
    """A copy of a state in which one value is another, or gone."""
    changed: State = json.loads(json.dumps(state))
    *path, last = data.draw(st.sampled_from([place for place in places(changed) if place]))
    holder: Any = changed
    for key in path:
        holder = holder[key]
    if data.draw(st.booleans()):
        holder[last] = data.draw(ANY_JSON)
    else:
        del holder[last]
    return changed


def assert_refused_or_harmless(parser: Parser, state: State) -> None:
    """The parser goes on from the state, or says that it is none of its own."""
    try:
        _, after = parser.feed(state, [(1, "x"), (2, '"}]'), (3, "</")])
        parser.finish(after)
    except BadRequest as error:
        assert error.message.startswith("invalid stream_state")


def seconds(action: Callable[[], object]) -> float:
    """Processor time of the quickest of three, without the garbage collector's, which other tests' objects cost."""
    taken = []
    gc.disable()
    try:
        for _ in range(3):
            begun = time.process_time()
            action()
            taken.append(time.process_time() - begun)
    finally:
        gc.enable()
    return min(taken)
