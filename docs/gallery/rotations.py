"""How an implant sits.

Surgeons plan how a knee's implant is to sit, and scans say how it does: a rotation for each patient.
Zero is the plan, which is public; the release shows by which angles a hospital is off on average.
Data: made up by a seeded generator, 250 patients about 4° off the plan."""

import numpy as np
from scipy.spatial.transform import Rotation

import sfumato as sf

rng = np.random.default_rng(4)
angles = [3.0, -2.0, 1.0] + 4.0 * rng.normal(size=(250, 3))
patients = Rotation.from_rotvec(angles, degrees=True).as_matrix()
region = sf.Ball(sf.Rotations(), center=np.eye(3), radius=np.radians(15))
release = sf.private_mean(patients, region, epsilon=1.0, unit="one patient")
release.plot("rotations.png")
