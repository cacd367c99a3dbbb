"""Tests that are functions of one program: registered by a decorator, run one after the other, counted in the last line."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable


class Cases:
    """The tests of a program, in the order of the file.

    `@cases.test` registers a function; `cases.run()` runs all, or those that are named.
    """

    def __init__(self) -> None:
        self.functions: list[Callable[[], None]] = []

    def test(self, function: Callable[[], None]) -> Callable[[], None]:
        self.functions.append(function)
        return function

    def run(self, names: Iterable[str] = ()) -> int:
        """Runs the tests with these names (all, if there are none) and prints `N passed, N failed`. Returns the exit code: 1 if one
        failed. An unknown name ends the program: a test that is not found would otherwise pass."""
        wanted = set(names)
        unknown = wanted - {function.__name__ for function in self.functions}
        if unknown:
            raise SystemExit(f"no such test: {', '.join(sorted(unknown))}")
        chosen = [function for function in self.functions if not wanted or function.__name__ in wanted]
        failed = 0
        for function in chosen:
            print(function.__name__, flush=True)
            try:
                function()
            except Exception:  # the next test runs, too
                failed += 1
                print(f"FAIL {function.__name__}\n{traceback.format_exc()}", flush=True)
        print(f"{len(chosen) - failed} passed, {failed} failed")
        return 1 if failed else 0
