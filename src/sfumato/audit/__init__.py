"""Attacks on our own claims."""
