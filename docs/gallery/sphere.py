"""Places on the globe.

Where patients, members or sightings are on average is a direction from the centre of the Earth, and each place is somebody's.
The middle of the 48 states is public; places farther than 2500 km from it count as if they were at that distance.
Data: 3376 airports in the United States, public domain (ourairports.com), from the package vega_datasets."""

from vega_datasets import local_data

import sfumato as sf

globe = sf.Sphere(dim=2)
places = sf.read(local_data.airports.filepath, globe)
middle = globe.from_degrees(39.83, -98.58)
region = sf.Ball(globe, center=middle, radius=0.4)  # 0.4 rad are 2500 km
release = sf.private_mean(places, region, epsilon=0.02, unit="one airport")
release.plot("sphere.png")
