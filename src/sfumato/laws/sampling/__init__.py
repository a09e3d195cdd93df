"""Exact draws by rejection, the public lattice, and secure randomness."""

from .lattice import add_exactly as add_exactly
from .lattice import is_precise as is_precise
from .lattice import lattice_spacing as lattice_spacing
from .lattice import round_to_lattice as round_to_lattice
from .rejection import EnvelopeError as EnvelopeError
from .rejection import Target as Target
from .rejection import coarse as coarse
from .secure import HANDED_IN as HANDED_IN
from .secure import generator_name as generator_name
from .secure import replaying as replaying
from .secure import secure_generator as secure_generator
