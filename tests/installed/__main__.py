"""Build the wheel and the sdist, compare them with the sources, install them and try what is installed."""

from __future__ import annotations

import email
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
TOOLS = Path(__file__).with_name("tools.txt")
#: Every Python that the classifiers name.
PYTHONS = ("3.11", "3.12", "3.13")
#: The variable with which a missing Python is an error; without it, those that this machine has are tried.
REQUIRED = "CLUSTERBANDITS_PYTHONS_REQUIRED"
PINS = {name: str(ROOT / "constraints.txt") for name in ("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT")}


def run(*command: object, cwd: Path | None = None, variables: dict[str, str] | None = None) -> str:
    """Run a program and return what it prints; its output is shown where it fails."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | (variables or {})
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=kept, text=True, capture_output=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def environment(folder: Path, python: str) -> Path:
    """Return the interpreter of a new virtual environment without pip."""
    run(python, "-m", "venv", "--without-pip", folder)
    return folder / "bin" / "python"


def install(python: Path, *wanted: object, pinned: bool = True) -> None:
    """Install packages into an environment, at the versions of constraints.txt."""
    variables = PINS if pinned else {}
    run(sys.executable, "-m", "pip", "--python", python, "install", "-qq", *wanted, variables=variables)


def build(folder: Path) -> tuple[Path, Path]:
    """Return the wheel, which is made from the sdist, and the sdist; check metadata and citation."""
    tools = environment(folder / "tools", sys.executable)
    install(tools, "--requirement", TOOLS, pinned=False)
    out = folder / "dist"
    run(tools, "-m", "build", "--outdir", out, ROOT, variables=PINS)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    run(tools, "-m", "twine", "check", "--strict", wheel, sdist)
    run(tools.with_name("cffconvert"), "--validate", "--infile", ROOT / "CITATION.cff")
    return wheel, sdist


def check_files(wheel: Path, sdist: Path) -> None:
    """The wheel has every file of the package and its licence; the sdist has what is needed to test it."""
    package = ROOT / "src" / "clusterbandits"
    ours = {
        f"clusterbandits/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if not name.endswith("/")}
        (metadata,) = (name for name in packed if name.endswith(".dist-info/METADATA"))
        about = email.message_from_bytes(archive.read(metadata))
    inside = {name for name in packed if ".dist-info/" not in name}
    assert inside == ours, f"The wheel differs from the sources in {sorted(inside ^ ours)}."
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in packed)
    declared = {
        line.removeprefix("Programming Language :: Python :: ")
        for line in about.get_all("Classifier", [])
        if line.startswith("Programming Language :: Python :: 3.")
    }
    assert declared == set(PYTHONS), f"The classifiers name Python {sorted(declared)}."
    with tarfile.open(sdist) as archive:
        sources = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {f"src/{name}" for name in ours} | {
        "CITATION.cff",
        "LICENSE",
        "Makefile",
        "README.md",
        "constraints.txt",
        "pyproject.toml",
        "tests/installed/smoke.py",
    }
    assert wanted <= sources, f"The sdist lacks {sorted(wanted - sources)}."


def interpreters() -> list[str]:
    """Return one interpreter of every declared version that this machine has; this one comes first."""
    found = {f"{sys.version_info.major}.{sys.version_info.minor}": sys.executable}
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in PYTHONS:
        for place in (*sorted(versions.glob(f"{version}.*/bin/python")), f"python{version}"):
            if version not in found and _is_python(place, version):
                found[version] = str(place)
    if missing := ", ".join(version for version in PYTHONS if version not in found):
        if os.environ.get(REQUIRED):
            sys.exit(f"{REQUIRED} is set, but Python {missing} is not installed.")
        print(f"Not tried, because it is not installed: Python {missing}")
    return list(found.values())


def _is_python(place: object, version: str) -> bool:
    program = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([str(place), "-c", program], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.stdout.strip() == version


def attempt(folder: Path, python: str, wheel: Path, *then: Path) -> str:
    """Try the wheel in a new environment, and after it each other archive in its place."""
    inside, said = environment(folder, python), []
    install(inside, "--no-compile", wheel if not then else f"{wheel}[serve]")
    said.append(run(inside, "-I", SMOKE, cwd=folder))
    for archive in then:
        install(inside, "--no-deps", "--force-reinstall", archive)
        said.append(run(inside, "-I", SMOKE, cwd=folder))
    return "".join(said)


def main() -> None:
    """Build, compare and try; the first Python also tries the extra [serve] and the sdist."""
    supported = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert supported == f">={PYTHONS[0]}"
    with tempfile.TemporaryDirectory(prefix="clusterbandits-package-") as name, ThreadPoolExecutor(2) as pool:
        folder = Path(name)
        wheel, sdist = build(folder)
        check_files(wheel, sdist)
        first, *others = interpreters()
        tried = [pool.submit(attempt, folder / "first", first, wheel, sdist)]
        for number, python in enumerate(others):
            tried.append(pool.submit(attempt, folder / f"other-{number}", python, wheel))
        for each in tried:
            print(each.result(), end="")


if __name__ == "__main__":
    main()
