"""Compiles kernels into the wheel where ``COFACTOR_BUILD_KERNELS`` asks for it; other builds are as without this file.

``COFACTOR_BUILD_KERNELS=1`` compiles them in a temporary folder, the name of a folder in that one, which keeps them.
They are for any processor of the level x86-64-v3, and for the Python, Numba, llvmlite and NumPy that compiled them.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WANTED = os.environ.get("COFACTOR_BUILD_KERNELS", "")


class KernelsHook(BuildHookInterface):
    """Adds compiled kernels to a wheel."""

    _temporary: tempfile.TemporaryDirectory[str] | None = None

    def dependencies(self) -> list[str]:
        """Return what compiling needs: all that the package needs."""
        return self.metadata.core.dependencies if WANTED else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, before files are collected."""
        if not WANTED or version == "editable":
            return
        if WANTED == "1":
            self._temporary = tempfile.TemporaryDirectory()
        folder = Path(self._temporary.name if self._temporary is not None else WANTED).absolute()
        environment = {
            "PYTHONPATH": str(Path(self.root) / "src"),
            "COFACTOR_CACHE": str(folder),
            "NUMBA_CPU_NAME": "x86-64-v3",
            "NUMBA_CPU_FEATURES": "",  # else those of this processor
        }
        code = "import cofactor; cofactor.warm_up(n_jobs=-1)"
        subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | environment)
        build_data["force_include"][str(folder / "kernels")] = "cofactor/kernels/prebuilt"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled, when it is in the wheel."""
        if self._temporary is not None:
            self._temporary.cleanup()
