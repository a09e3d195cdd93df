"""The tutorial on directions: python docs/tutorials/directions.py runs its commands, draws and prints its numbers."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from shell import quote
from vega_datasets import local_data

import sfumato as sf

HERE = Path(__file__).parent
RADII = (0.3, 0.4, 1.0)


def main() -> None:
    airports = local_data.airports()
    with TemporaryDirectory() as name:
        folder = Path(name)
        table = airports[["iata", "state", "latitude", "longitude"]].set_axis(["id", "state", "lat", "lon"], axis=1)
        table["state"] = table["state"].fillna("none")
        table.to_csv(folder / "airports.csv", index=False)
        (folder / "center.csv").write_text("lat,lon\n39.83,-98.58\n")
        quote(HERE / "directions.md", folder)
        release = sf.Release.load(folder / "mean.json")
        states = sf.Release.load(folder / "states.json")
        shutil.copy(folder / "mean.png", HERE / "directions.png")
        shutil.copy(folder / "states.png", HERE / "directions-states.png")
        points = sf.read(folder / "airports.csv", sf.Sphere(dim=2)).points
        center = sf.read(folder / "center.csv", sf.Sphere(dim=2)).points[0]

    for name, done in (("one airport", release), ("one state", states)):
        print(f"unit {name}: n = {done.n}, error(0.95) = {np.degrees(done.error(0.95)):.3f}°")

    # For this page only: airports are public, so what clipping does may be told.
    space = sf.Sphere(dim=2)
    true = sf.frechet_mean(space, points).point
    print("mean of all airports, latitude and longitude:", space.to_degrees(true[None]).round(2))
    print("radius  clipped  mean moves by  error(0.95)")
    for radius in RADII:
        ball = sf.Ball(space, center, radius)
        moved = space.distance(true, sf.frechet_mean(space, ball.clip(points)).point)
        share = np.mean(ball.distances(points) > radius)
        error = sf.plan(space, radius, len(points), 1.0)[0].error_95
        print(f"{radius:6g}{share:9.1%}{np.degrees(moved):14.2f}°{np.degrees(error):12.3f}°")


if __name__ == "__main__":
    main()
