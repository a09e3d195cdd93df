"""Ctrl-C while a release is made."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread


class Stopped(BaseException):
    """Ctrl-C.  Click would turn a KeyboardInterrupt into the one word "Aborted!"."""


class Interruption:
    """Ctrl-C that cannot get lost; ``words`` say what was spent when it came.

    Python prints and forgets an exception that is raised in a callback, such as those of compiled code.  So Ctrl-C is also
    noted, and checked before every step that counts: charging, drawing, saving.  A step that must not be left half done (a
    charge, a record on its way to disk) is finished first.
    """

    def __init__(self) -> None:
        self.asked, self.waits, self.words = False, False, "nothing was released, and nothing was charged"

    def __call__(self, *_: object) -> None:
        self.asked = True
        if not self.waits:
            raise Stopped

    def check(self) -> None:
        """Stop here if Ctrl-C was pressed."""
        if self.asked and not self.waits:
            raise Stopped

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Let Ctrl-C wait until a step is done."""
        self.check()
        self.waits = True
        try:
            yield
        finally:
            self.waits = False

    @contextmanager
    def in_charge(self) -> Iterator[None]:
        """Handle Ctrl-C, unless this is not the main thread or someone else handles it."""
        self.__init__()  # type: ignore[misc]
        if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
