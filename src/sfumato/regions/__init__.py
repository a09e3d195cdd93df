"""What is publicly known about where the records lie."""

from .ball import Ball, check_invalid

__all__ = ["Ball", "check_invalid"]
