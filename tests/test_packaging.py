"""The built distribution is complete: it installs into a clean environment and runs there."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import pomdplite

ROOT = Path(__file__).parents[1]


def run(*command: object, folder: Path) -> str:
    """Run a command in a folder outside the checkout, without the checkout on the path."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment["NUMBA_DISABLE_JIT"] = "1"
    done = subprocess.run([str(c) for c in command], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from the source distribution."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, folder=folder)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_every_file_of_the_package(wheel):
    source = ROOT / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in (source / "pomdplite").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == expected | {"pomdplite_program.py"}
    assert "pomdplite/py.typed" in packed
    assert any(name.endswith("shipped/table1.toml") for name in packed)


def test_the_wheel_states_license_and_version(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        (license_file,) = [n for n in archive.namelist() if n.endswith(".dist-info/licenses/LICENSE")]
        fields = message_from_bytes(archive.read(metadata))
        text = archive.read(license_file).decode()
    assert fields["Version"] == pomdplite.__version__
    assert fields["License-Expression"] == "MIT" and fields["License-File"] == "LICENSE"
    assert text.startswith("MIT License") and "pomdplite contributors" in text


def test_an_installed_wheel_runs_outside_the_checkout(wheel, tmp_path):
    """The clean environment borrows the dependencies of this one, so that the test needs no network. It runs Tiger
    interpreted: compiling every kernel again would take most of a minute and has nothing to do with packaging."""
    environment = tmp_path / "env"
    venv.create(environment, with_pip=True)
    python, scripts = environment / "bin" / "python", environment / "bin"
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel, folder=tmp_path)
    (site_packages,) = (environment / "lib").glob("python*/site-packages")
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site_packages / "dependencies.pth").write_text("\n".join(sorted(borrowed)) + "\n")
    location = run(python, "-c", "import pomdplite; print(pomdplite.__file__)", folder=tmp_path).strip()
    assert Path(location).is_relative_to(environment)
    printed = json.loads(run(scripts / "pomdplite", "run", "tiger", "--episodes", "5", "--json", folder=tmp_path))
    assert printed["version"] == pomdplite.__version__
    assert (printed["problem"], printed["episodes"]) == ("tiger", 5) and printed["mean"] > 0


def test_the_citation_names_this_version():
    stated = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert stated and stated[1] == pomdplite.__version__


def test_the_constraints_pin_every_direct_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    names = {re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-") for requirement in needed} - {"pomdplite"}
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().split()}
    assert names <= pinned
