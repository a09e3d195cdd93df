"""What is proven: bounds of spaces, laws of noise, calibration, exact samplers, kinds of privacy.  Sees no data."""
