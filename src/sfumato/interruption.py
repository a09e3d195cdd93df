"""Ctrl-C while a release is made."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread


class Stopped(BaseException):
    """Ctrl-C.  Click would turn a KeyboardInterrupt into the one word "Aborted!"."""


class Interruption:
    """Ctrl-C that cannot be swallowed and never leaves in doubt what was spent, which ``words`` say.

    An exception raised in a callback, such as those of compiled code, is printed and forgotten by Python.  So the wish is
    also noted, and asked for before every step that counts: charging, drawing, saving.  While a step is at work that must be
    done or not done (a charge, a record on its way to disk) Ctrl-C waits for its end.
    """

    def __init__(self) -> None:
        self.asked, self.waits, self.words = False, False, "nothing was released, and nothing was charged"

    def __call__(self, *_: object) -> None:
        self.asked = True
        if not self.waits:
            raise Stopped

    def check(self) -> None:
        if self.asked and not self.waits:
            raise Stopped

    @contextmanager
    def held_back(self) -> Iterator[None]:
        self.check()
        self.waits = True
        try:
            yield
        finally:
            self.waits = False

    @contextmanager
    def in_charge(self) -> Iterator[None]:
        """Of what Ctrl-C does, unless this is not the main thread or Ctrl-C is ignored already."""
        self.__init__()  # type: ignore[misc]
        if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
