from .ball import Ball
from .frechet import frechet_mean
from .spaces import SPD, Euclidean, PlanarShapes, Sphere
