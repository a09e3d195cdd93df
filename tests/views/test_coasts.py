"""Coastlines, where the records are places."""

import numpy as np

import sfumato as sf
from sfumato.views.globe import coastlines

SPHERE = sf.Sphere(dim=2)


def lines_of(release):
    return len(release.plot().axes[0].lines)


def test_places_are_drawn_with_coasts_and_other_directions_without(tmp_path):
    file = tmp_path / "quakes.csv"
    file.write_text("lat,lon\n" + "38.5,-122\n" * 300)
    ball = sf.Ball(SPHERE, SPHERE.from_degrees(np.array(40.0), np.array(-115.0)), 0.3)
    places = sf.private_mean(sf.read(file, SPHERE), ball, 1.0)
    plain = sf.private_mean(sf.read(file, SPHERE).points, ball, 1.0)
    assert lines_of(places) > lines_of(plain) + 50


def test_coasts_lie_on_the_sphere_and_where_they_should():
    points = np.concatenate(coastlines())
    assert np.allclose(np.linalg.norm(points, axis=1), 1)
    for latitude, longitude in ((-34.4, 18.5), (50.1, -5.6), (8.1, 77.5)):  # Cape Point, Land's End, Kanyakumari
        there = SPHERE.from_degrees(np.array(latitude), np.array(longitude))
        assert np.degrees(SPHERE.distance(there, points).min()) < 1.0
    desert = SPHERE.from_degrees(np.array(23.0), np.array(10.0))  # the middle of the Sahara
    assert np.degrees(SPHERE.distance(desert, points).min()) > 6
