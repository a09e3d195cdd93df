"""Exact draws by rejection, the public lattice, and secure randomness."""

from .lattice import add_exactly, is_precise, lattice_spacing, round_to_lattice
from .rejection import EnvelopeError, Target, coarse
from .secure import HANDED_IN, generator_name, replaying, secure_generator

__all__ = [
    "HANDED_IN",
    "EnvelopeError",
    "Target",
    "add_exactly",
    "coarse",
    "generator_name",
    "is_precise",
    "lattice_spacing",
    "replaying",
    "round_to_lattice",
    "secure_generator",
]
