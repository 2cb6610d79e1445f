"""A folder in which a generator makes a client of the OpenAPI document, and the client meets the service.

The tools are installed by ``sh scripts/generators``, pinned by their locks, into ``.generators``.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from acceptance.servers import Server

HERE = Path(__file__).parent
TOOLS = HERE.parents[2] / ".generators"
PYTHON = str(TOOLS / "python" / "bin" / "python")
PATIENCE_S = 900
"""Rust compiles a hundred crates the first time."""
_BUNDLED = ("--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--types", "node")
_RESOLUTION = ("--module", "preserve", "--moduleResolution", "bundler")


@dataclass(frozen=True)
class Workshop:
    """A folder with both forms of the document, ``exact.json`` and ``generators.json``, and what runs in it."""

    folder: Path
    server: Server

    def fetch(self, *names: str) -> None:
        """Copy files of ``programs`` or ``tools`` into the folder."""
        for name in names:
            (found,) = (HERE / part / name for part in ("programs", "tools") if (HERE / part / name).is_file())
            shutil.copy(found, self.folder)

    def run(self, *words: str) -> str:
        """Run a tool or a program in the folder and return what it printed; it must end well."""
        bins = [str(TOOLS / "node_modules" / ".bin"), str(TOOLS / "python" / "bin"), os.environ["PATH"]]
        # What Rust has compiled stays between runs: nothing but the client changes.
        environment = os.environ | {
            "PATH": os.pathsep.join(bins),
            "ADDRESS": self.server.url,
            "KEY": self.server.key,
            "CARGO_TARGET_DIR": str(TOOLS / "rust"),
        }
        done = subprocess.run(
            list(words),
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def run_typescript(self, name: str, *strictness: str) -> None:
        """Check a program by the strict compiler, and run it in Node."""
        self.fetch(f"{name}.ts")
        self.run("tsc", *_BUNDLED, *strictness, *_RESOLUTION, f"{name}.ts")
        self.run("esbuild", f"{name}.ts", "--bundle", "--platform=node", "--format=esm", "--outfile=out.mjs")
        assert "passed" in self.run("node", "out.mjs")
