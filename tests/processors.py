"""The tests as other processors would run them: with other kernels of OpenBLAS, NumPy and Numba.

``python tests/processors.py [--only NAME] [arguments of pytest ...]``; without a name, all that this processor can run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

# NumPy's own names, which differ by version, of the kernels that it would choose here
DISPATCHED = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
WIDE = [name for name in DISPATCHED if name.startswith("AVX512") or name == "X86_V4"]

# name: the feature that the processor must have, and the environment
CHOICES = {
    "haswell": ("AVX2", {"OPENBLAS_CORETYPE": "Haswell"}),
    "zen": ("AVX2", {"OPENBLAS_CORETYPE": "Zen"}),
    "nehalem": ("SSE42", {"OPENBLAS_CORETYPE": "Nehalem"}),
    "skylakex": ("AVX512F", {"OPENBLAS_CORETYPE": "SkylakeX"}),
    "no-avx512": ("AVX512F", {"NPY_DISABLE_CPU_FEATURES": " ".join(WIDE)}),
    "older": (
        "AVX2",
        {
            "OPENBLAS_CORETYPE": "Haswell",
            "NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED),
            "NUMBA_CPU_NAME": "haswell",
            "NUMBA_CPU_FEATURES": "+avx2,+fma,-avx512f",
        },
    ),
}
KERNELS = """
import numba.core.registry, scipy.linalg, threadpoolctl
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
numpy = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
blas = {pool["architecture"] for pool in threadpoolctl.threadpool_info() if "architecture" in pool}
target = numba.core.registry.cpu_target.target_context.codegen().magic_tuple()[1]
print("OpenBLAS", *sorted(blas), "| NumPy", *(numpy[-1:] or ["baseline"]), "| Numba", target, flush=True)
"""


def run(name: str, arguments: list[str]) -> str:
    """What came of the tests under one choice."""
    feature, settings = CHOICES[name]
    if not __cpu_features__.get(feature):
        return f"not run: this processor has no {feature}"
    environment = {**os.environ, **settings}
    print(f"== {name}:", *(f"{key}='{value}'" for key, value in settings.items()), flush=True)
    subprocess.run([sys.executable, "-c", KERNELS], env=environment, check=True)
    code = subprocess.run([sys.executable, "-m", "pytest", *arguments], env=environment).returncode
    return "passed" if code == 0 else f"FAILED with code {code}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=CHOICES)
    options, arguments = parser.parse_known_args()
    results = {name: run(name, arguments) for name in ([options.only] if options.only else CHOICES)}
    print(*(f"{name}: {result}" for name, result in results.items()), sep="\n")
    return int(any(result.startswith("FAILED") for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
