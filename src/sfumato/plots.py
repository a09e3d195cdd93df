"""Pictures of releases, which live in :mod:`sfumato.views.plots`."""

from .views.plots import plot_release

plot_shape = plot_release  # its former name for shapes

__all__ = ["plot_release", "plot_shape"]
