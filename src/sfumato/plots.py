"""Pictures of releases, which live in :mod:`sfumato.views.plots`."""

from .views.plots import plot_release, plot_shape

__all__ = ["plot_release", "plot_shape"]
