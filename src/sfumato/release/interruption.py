"""Ctrl-C, and other ways to ask a process to end, while a release is made."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any

# Ctrl-C; what a batch system sends when the time is up; a terminal that is closed.  Each with its handler if nobody changed it.
SIGNALS: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


class Stopped(BaseException):
    """Ctrl-C.  Click would turn a KeyboardInterrupt into the one word "Aborted!"."""


class Interruption:
    """Ctrl-C that cannot get lost; ``words`` say what was spent when it came.  The other signals count as Ctrl-C.

    Python prints and forgets an exception that is raised in a callback, such as those of compiled code.  So Ctrl-C is also
    noted, and checked before every step that counts: charging, drawing, saving.  A step that must not be left half done (a
    charge, a record on its way to disk) is finished first.
    """

    def __init__(self) -> None:
        self.asked = 0  # the number of the signal
        self.waits = False
        self.words = "nothing was released, and nothing was charged"

    def __call__(self, number: int, _: object) -> None:
        self.asked = number
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
        """Handle those signals that nobody else handles, if this is the main thread."""
        self.__init__()  # type: ignore[misc]
        main = current_thread() is main_thread()
        free = [number for number, usual in SIGNALS.items() if main and signal.getsignal(number) == usual]
        for number in free:
            signal.signal(number, self)
        try:
            yield
        finally:
            for number in free:
                signal.signal(number, SIGNALS[number])
