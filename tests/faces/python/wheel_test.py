"""pip install: builds the wheel of pyproject.toml from a build that is there, without a network,
and uses it in a fresh environment. NESTLINE_BUILD_DIR names the build; without it these tests are
skipped."""

import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.skipif("NESTLINE_BUILD_DIR" not in os.environ,
                                reason="NESTLINE_BUILD_DIR is not set")
sys.path.insert(0, str(ROOT / "lib" / "faces" / "python"))

import build_wheel  # pylint: disable=wrong-import-position

sys.path.pop(0)  # there is a folder nestline beside it, which processes of other tests would import


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


USE = """
import importlib.metadata, nestline, numpy, sys
filter = nestline.Filter.build(numpy.arange(1000), fpr=0.0001)
assert 5 in filter and 5000 not in filter
assert nestline.__file__.startswith(sys.prefix), nestline.__file__
assert importlib.metadata.version("nestline") == nestline.__version__
print("works")
"""


def test_a_wheel_installs_into_a_fresh_environment_works_and_goes(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run(sys.executable, "-m", "venv", "--system-site-packages", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    before = {path for path in (tmp_path / "venv").rglob("*") if "__pycache__" not in path.parts}
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    run(*pip, "wheel", "--no-index", "--no-deps", "-w", tmp_path, ROOT, env=environment)
    (wheel,) = tmp_path.glob("nestline-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    info = build_wheel.prepare_metadata_for_build_wheel(str(tmp_path))
    metadata = (tmp_path / info / "METADATA").read_bytes()
    assert zipfile.ZipFile(wheel).read(f"{info}/METADATA") == metadata
    assert sum(name.endswith(".so") for name in names) == 1
    assert {"nestline/__init__.py", "nestline/_nestline.pyi", "nestline/py.typed"} <= set(names)
    run(*pip, "install", "--no-index", wheel, env=environment)
    assert run(python, "-c", USE, cwd=tmp_path, env=environment) == "works\n"
    said = run(python, "-m", "nestline", "--seconds", "0.01", cwd=tmp_path, env=environment)
    assert said.startswith("nestline ") and said.count("million keys a second") == 4
    # Other packages of the system may lack something.
    checked = subprocess.run([*pip, "check"], env=environment, capture_output=True, text=True)
    assert "nestline" not in checked.stdout + checked.stderr
    run(*pip, "uninstall", "--yes", "nestline", env=environment)
    after = {path for path in (tmp_path / "venv").rglob("*") if "__pycache__" not in path.parts}
    assert after == before
    # The same from the sources in one step.
    run(*pip, "install", "--no-index", ROOT, env=environment)
    assert run(python, "-c", USE, cwd=tmp_path, env=environment) == "works\n"


def test_a_build_without_the_package_is_refused_and_left_as_it_is(tmp_path):
    cache = tmp_path / "CMakeCache.txt"
    cache.write_text("NESTLINE_BUILD_PYTHON:BOOL=OFF\n")
    with pytest.raises(SystemExit, match="NESTLINE_BUILD_PYTHON=ON"):
        build_wheel.build({"build-dir": str(tmp_path)})
    assert [path.name for path in tmp_path.iterdir()] == [cache.name]
    assert cache.read_text() == "NESTLINE_BUILD_PYTHON:BOOL=OFF\n"


def test_a_folder_of_sources_has_what_a_build_needs(tmp_path):
    name = build_wheel.build_sdist(str(tmp_path))
    with tarfile.open(tmp_path / name) as archive:
        archive.extractall(tmp_path)
    top = tmp_path / name.removesuffix(".tar.gz")
    assert (top / "PKG-INFO").read_text().startswith("Metadata-Version: 2.1\nName: nestline\n")
    options = [f"-DNESTLINE_BUILD_{part}=OFF" for part in build_wheel.LEFT_OUT]
    run("cmake", "-S", top, "-B", tmp_path / "build", "-DNESTLINE_BUILD_PYTHON=ON",
        f"-DPython_EXECUTABLE={sys.executable}", *options)
