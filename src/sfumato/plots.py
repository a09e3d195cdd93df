"""Pictures of releases, which live in :mod:`sfumato.views.plots`."""

from .views.plots import plot_release

__all__ = ["plot_release"]
