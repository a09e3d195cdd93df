"""What is publicly known about where the records lie."""

from .ball import Ball as Ball
from .ball import check_ball as check_ball
from .ball import widest_ball as widest_ball
from .base import Region as Region
from .base import Settled as Settled
from .base import check_invalid as check_invalid
from .base import check_region as check_region
from .base import check_settled as check_settled
from .ellipsoid import Ellipsoid as Ellipsoid
from .look import Look as Look
from .look import NoLook as NoLook
