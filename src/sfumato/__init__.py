"""sfumato: differentially private means of shapes, covariance matrices and directions, on their own manifold.

Examples
--------
>>> import numpy as np
>>> import sfumato as sf
>>> space = sf.SPD(size=2)
>>> ball = sf.Ball(space, center=np.eye(2), radius=1.5)       # public knowledge, never computed from the data
>>> matrices = np.array([np.diag([1.0 + 0.01 * i, 1.0]) for i in range(100)])
>>> release = sf.private_mean(matrices, ball, epsilon=1.0)
>>> release.value.shape, round(release.error(0.95), 2)
((2, 2), 0.19)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .adapters import as_opendp, from_geomstats
    from .calibration import Calibration, Scale
    from .classifier import PrivateMDM
    from .errors import (
        BudgetExceeded,
        FileError,
        InvalidPointError,
        LedgerError,
        PrecisionError,
        RadiusError,
        RecordError,
        Refusal,
        SfumatoError,
        UnsavedError,
    )
    from .estimator import PrivateFrechetMean, PrivateTangentSpace
    from .files import Dataset, read, write_points
    from .findings import (
        Comparison,
        Components,
        centroid_size,
        compare_groups,
        private_components,
        private_size,
        private_variance,
    )
    from .frechet import ConvergenceWarning, FrechetMean, frechet_mean
    from .ledger import Ledger
    from .mechanisms import (
        KNG,
        AmbientLaplace,
        Exponential,
        Forecast,
        ManifoldLaplace,
        ManifoldStaircase,
        PointwiseLaplace,
        TangentKNorm,
    )
    from .mechanisms.choice import plan, private_mean
    from .mechanisms.find import find_region, private_radius
    from .outlines import crosses_itself, outline_bandwidth, smooth_outline
    from .planning import needed_epsilon, needed_n
    from .plots import plot_release
    from .privacy import PureDP
    from .regions import Ball, Ellipsoid, widest_ball
    from .release import Guarantee, Release
    from .release.session import Session
    from .report import write_report
    from .spaces import (
        SPD,
        Axes,
        Chart,
        Circle,
        Correlation,
        DiagonalSPD,
        ElasticCurves,
        Euclidean,
        Grassmann,
        Hyperbolic,
        PlanarShapes,
        Product,
        Rotations,
        Shapes,
        Shapes3D,
        Simplex,
        SizeAndShape,
        Space,
        Sphere,
        Stiefel,
        Torus,
    )
    from .statistics import Objective
    from .symmetry import symmetrize

_HOMES = {
    "adapters": "as_opendp from_geomstats",
    "regions": "Ball Ellipsoid widest_ball",
    "calibration": "Calibration Scale",
    "classifier": "PrivateMDM",
    "estimator": "PrivateFrechetMean PrivateTangentSpace",
    "frechet": "ConvergenceWarning FrechetMean frechet_mean",
    "findings": "Comparison Components centroid_size compare_groups private_components private_size private_variance",
    "files": "Dataset read write_points",
    "errors": "BudgetExceeded FileError InvalidPointError LedgerError PrecisionError RadiusError RecordError "
    "Refusal SfumatoError UnsavedError",
    "ledger": "Ledger",
    "mechanisms": "KNG AmbientLaplace Exponential Forecast ManifoldLaplace ManifoldStaircase PointwiseLaplace TangentKNorm",
    "statistics": "Objective",
    "symmetry": "symmetrize",
    "privacy": "PureDP",
    "mechanisms.choice": "plan private_mean",
    "mechanisms.find": "find_region private_radius",
    "outlines": "crosses_itself outline_bandwidth smooth_outline",
    "planning": "needed_epsilon needed_n",
    "plots": "plot_release",
    "release": "Guarantee Release",
    "release.session": "Session",
    "report": "write_report",
    "spaces": "Axes Chart Circle Correlation DiagonalSPD ElasticCurves Euclidean Grassmann Hyperbolic "
    "PlanarShapes Product Rotations SPD Shapes Shapes3D Simplex SizeAndShape Space Sphere Stiefel Torus",
}
_WHERE = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "KNG",
    "SPD",
    "AmbientLaplace",
    "Axes",
    "Ball",
    "BudgetExceeded",
    "Calibration",
    "Chart",
    "Circle",
    "Comparison",
    "Components",
    "ConvergenceWarning",
    "Correlation",
    "Dataset",
    "DiagonalSPD",
    "ElasticCurves",
    "Ellipsoid",
    "Euclidean",
    "Exponential",
    "FileError",
    "Forecast",
    "FrechetMean",
    "Grassmann",
    "Guarantee",
    "Hyperbolic",
    "InvalidPointError",
    "Ledger",
    "LedgerError",
    "ManifoldLaplace",
    "ManifoldStaircase",
    "Objective",
    "PlanarShapes",
    "PointwiseLaplace",
    "PrecisionError",
    "PrivateFrechetMean",
    "PrivateMDM",
    "PrivateTangentSpace",
    "Product",
    "PureDP",
    "RadiusError",
    "RecordError",
    "Refusal",
    "Release",
    "Rotations",
    "Scale",
    "Session",
    "SfumatoError",
    "Shapes",
    "Shapes3D",
    "Simplex",
    "SizeAndShape",
    "Space",
    "Sphere",
    "Stiefel",
    "TangentKNorm",
    "Torus",
    "UnsavedError",
    "__version__",
    "as_opendp",
    "centroid_size",
    "compare_groups",
    "crosses_itself",
    "find_region",
    "frechet_mean",
    "from_geomstats",
    "needed_epsilon",
    "needed_n",
    "outline_bandwidth",
    "plan",
    "plot_release",
    "private_components",
    "private_mean",
    "private_radius",
    "private_size",
    "private_variance",
    "read",
    "smooth_outline",
    "symmetrize",
    "widest_ball",
    "write_points",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import sfumato`` itself is quick."""
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    value = getattr(import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
