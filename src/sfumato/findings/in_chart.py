"""Findings that are made in a chart: where the chart lies, as their files say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..numerics.arrays import Array
from ..regions import Ellipsoid
from ..release.document import Document, built
from ..release.record import SpaceOf


@dataclass(frozen=True, eq=False)
class ChartAt:
    """A chart of a space: the point that it is about, and public directions there with their lengths."""

    space: SpaceOf
    center: Array
    axes: Array
    basis: Array


@dataclass(frozen=True, eq=False)
class InChart(ChartAt, Document):
    """A finding in a chart, saved as one JSON file."""

    @staticmethod
    def where(chart: Ellipsoid) -> tuple[SpaceOf, Array, Array, Array]:
        """Return where a chart lies, as the first arguments of a finding in it."""
        return SpaceOf.of(chart.space), chart.space.present(chart.center), chart.axes, chart.basis

    def chart_content(self) -> dict[str, Any]:
        """Return where the chart lies, as JSON can hold it."""
        numbers = {name: getattr(self, name).tolist() for name in ("center", "axes", "basis")}
        return {"space": asdict(self.space), **numbers}

    @staticmethod
    def chart_from(content: Mapping[str, Any]) -> tuple[SpaceOf, Array, Array, Array]:
        """Return where the chart of a document lies."""
        chart = built(ChartAt, {name: content[name] for name in ("space", "center", "axes", "basis")})
        return chart.space, chart.center, chart.axes, chart.basis
