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

import re
from importlib import import_module
from importlib.resources import files
from typing import Any

from .shown import wire

# ``__init__.pyi`` lists the public names with their homes: type checkers read it, and so does this module.
_STUB = files(__name__).joinpath("__init__.pyi").read_text(encoding="utf-8")
_LINES = re.findall(r"^from (\S+) import (.+)$", _STUB, re.M)
_HOMES = {name.split(" as ")[0]: home for home, names in _LINES for name in names.split(", ")}

__all__ = sorted(_HOMES)
wire(lambda name: import_module(f".views.{name}", __name__))  # type: ignore[arg-type, return-value]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import sfumato`` itself is quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
