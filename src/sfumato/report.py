"""Reports, which live in :mod:`sfumato.views.report`."""

from .views.report import write_report

__all__ = ["write_report"]
