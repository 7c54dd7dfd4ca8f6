"""The backend that pyproject.toml names: builds a wheel with CMake, for pip install . and the like.

It compiles in build/wheel. NESTLINE_BUILD_DIR in the environment, or --config-settings
build-dir=FOLDER, names another build folder; one that was configured with NESTLINE_BUILD_PYTHON=ON
is used as it is, so that nothing is compiled twice. Whatever the folder is, the wheel is what CMake
installs as its component python, so there is one list of files.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]

# What a wheel does not have.
LEFT_OUT = ["TESTS", "BENCH", "C", "COMMAND", "REDIS"]


def run(*command):
    subprocess.run([str(word) for word in command], check=True)


def configured(build_dir):
    """Whether the folder is a build with the module in it."""
    cache = build_dir / "CMakeCache.txt"
    found = re.search(r"^NESTLINE_BUILD_PYTHON:\w+=ON$", cache.read_text(), re.M) if cache.is_file() else None
    return found is not None


def build(settings):
    """Compiles the module; returns the build folder."""
    named = (settings or {}).get("build-dir") or os.environ.get("NESTLINE_BUILD_DIR")
    build_dir = pathlib.Path(named).resolve() if named else ROOT / "build" / "wheel"
    if not (named and configured(build_dir)):
        if named and (build_dir / "CMakeCache.txt").is_file():
            raise SystemExit(
                f"{build_dir} is a build without NESTLINE_BUILD_PYTHON, and it is left as it is. Set that "
                f"to ON there (cmake -B {build_dir} -DNESTLINE_BUILD_PYTHON=ON), or name a new folder."
            )
        options = [f"-DNESTLINE_BUILD_{name}=OFF" for name in LEFT_OUT]
        run("cmake", "-S", ROOT, "-B", build_dir, "-DCMAKE_BUILD_TYPE=Release", *options,
            "-DNESTLINE_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}")
    run("cmake", "--build", build_dir, "--target", "nestline_python", "--parallel",
        os.cpu_count() or 1)
    return build_dir


def only(found, what):
    found = list(found)
    if len(found) != 1:
        raise RuntimeError(
            f"the component python has {len(found)} {what} where one is expected; was it "
            f"built for this interpreter, {sys.executable}?"
        )
    return found[0]


def tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}-{platform}"


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517: puts a wheel into the folder and returns its name."""
    build_dir = build(config_settings)
    with tempfile.TemporaryDirectory() as stage:
        run("cmake", "--install", build_dir, "--component", "python", "--prefix", stage, "--strip")
        top = only(pathlib.Path(stage).rglob("nestline/__init__.py"), "packages").parent.parent
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        only(top.glob(f"nestline/_nestline{suffix}"), f"modules with the ending {suffix}")
        info = only(top.glob("*.dist-info"), "folders of metadata")
        (info / "WHEEL").write_text(
            f"Wheel-Version: 1.0\nGenerator: nestline\nRoot-Is-Purelib: false\nTag: {tag()}\n"
        )
        (info / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())
        name = f"{info.stem}-{tag()}.whl"
        record = f"{info.name}/RECORD"
        path = pathlib.Path(wheel_directory) / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
            lines = ""
            for path in sorted(path for path in top.rglob("*") if path.is_file()):
                inside = path.relative_to(top).as_posix()
                wheel.write(path, inside)
                lines += record_line(inside, path.read_bytes())
            wheel.writestr(record, f"{lines}{record},,\n")
    return name


def version():
    """As include/nestline/version.h says."""
    text = (ROOT / "include/nestline/version.h").read_text()
    return ".".join(
        only(re.findall(rf"^#define NESTLINE_VERSION_{part} (\d+)", text, re.MULTILINE), "versions")
        for part in ("MAJOR", "MINOR", "PATCH"))


def metadata():
    """What CMake makes of METADATA.in."""
    return (ROOT / "lib/faces/python/METADATA.in").read_text().replace("@PROJECT_VERSION@", version())


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """PEP 517: what pip asks first, so that it need not compile for it."""
    info = pathlib.Path(metadata_directory) / f"nestline-{version()}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(metadata())
    return info.name


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517: puts the sources into the folder, as a tar file, and returns its name."""
    top = f"nestline-{version()}"
    path = pathlib.Path(sdist_directory) / f"{top}.tar.gz"
    with tempfile.TemporaryDirectory() as stage, tarfile.open(path, "w:gz") as archive:
        for name in ["CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "docs", "include",
                     "lib", "pyproject.toml"]:
            archive.add(ROOT / name, f"{top}/{name}",
                        filter=lambda file: None if "__pycache__" in file.name else file)
        info = pathlib.Path(stage) / "PKG-INFO"
        info.write_text(metadata())
        archive.add(info, f"{top}/PKG-INFO")
    return path.name
