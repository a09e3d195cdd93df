"""Findings beside the mean: how far and in which directions records vary, their size, groups, change with a covariate."""

from .combined import combine as combine
from .components import Components as Components
from .components import private_components as private_components
from .groups import Comparison as Comparison
from .groups import compare_groups as compare_groups
from .regression import Regression as Regression
from .regression import Regressions as Regressions
from .regression import private_regression as private_regression
from .scalar import SizeRelease as SizeRelease
from .scalar import centroid_size as centroid_size
from .scalar import private_size as private_size
from .scalar import private_variance as private_variance
