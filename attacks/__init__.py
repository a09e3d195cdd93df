"""Attacks on the package's own claims, at full strength (``make audit``); not installed with it.

What a user runs on a mechanism is :mod:`sfumato.audit`.
"""
