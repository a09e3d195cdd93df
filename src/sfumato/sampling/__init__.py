"""Exact draws by rejection, the public lattice, secure randomness, and a Markov chain kept for comparison."""

from .chain import metropolis
from .lattice import add_exactly, is_precise, lattice_spacing, round_to_lattice
from .precise import coarse
from .rejection import Draws, EnvelopeError, Target
from .secure import GENERATOR, secure_generator

__all__ = [
    "GENERATOR",
    "Draws",
    "EnvelopeError",
    "Target",
    "add_exactly",
    "coarse",
    "is_precise",
    "lattice_spacing",
    "metropolis",
    "round_to_lattice",
    "secure_generator",
]
