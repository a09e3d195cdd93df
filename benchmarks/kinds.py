"""What one noise promises: its length at the same (ε, δ), beside normal noise and pure ε; ``python -m benchmarks.kinds``."""

import math

from scipy.optimize import brentq

from sfumato.laws.privacy import GDP, ApproxDP

DIRECTIONS = (2, 5, 10, 20, 50, 96)


def normal(privacy: ApproxDP) -> float:
    """Return the deviation of normal noise for a shift of 1, by the analytic Gaussian mechanism (Balle and Wang 2018)."""
    return float(brentq(lambda sigma: GDP(1 / sigma).profile(privacy.epsilon) - privacy.delta, 0.05, 1e4, xtol=1e-12))


def main() -> None:
    """Print the root mean square of each noise over the largest shift, and the pure ε of ours."""
    privacy = ApproxDP(1.0, 1e-6)
    rows: dict[str, list[float]] = {"p": [], "ε = 1": [], str(privacy): [], "normal": [], "its pure ε": []}
    for p in DIRECTIONS:
        s = privacy.noise(p).epsilon
        length = math.sqrt(p * (p + 1))  # of noise of scale 1
        for row, number in zip(rows.values(), (p, length, length / s, math.sqrt(p) * normal(privacy), s), strict=True):
            row.append(number)
    for name, numbers in rows.items():
        print(f"{name:20s}" + "".join(f"{number:9.4g}" for number in numbers))


if __name__ == "__main__":
    main()
