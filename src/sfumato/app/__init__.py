"""The command line and the page."""

PLAIN = (ValueError, OSError, RuntimeError, ArithmeticError, MemoryError)  # errors that are said in a sentence
