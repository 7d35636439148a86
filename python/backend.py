"""Builds the wheel: the package's files, the shared library, which SGEMM_LIBRARY names, and beside it those to preload.

It is the build backend of pyproject.toml, of the standard library alone, so that a wheel is built without a network. The wheel is the
same for the same files.
"""

import base64
import hashlib
import os
import re
import sysconfig
import tomllib
import zipfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PRELOADED = ("libsgemm_cublas.so", "libsgemm_blas.so")
LICENSES = ("LICENSE-APACHE", "LICENSE-MIT")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel, and returns its file name."""
    library = os.environ.get("SGEMM_LIBRARY")
    if not library:
        raise RuntimeError("SGEMM_LIBRARY names no libsgemm.so: use `cargo xtask wheel`")
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    stem = f"{project['name']}-{project['version']}"
    info = f"{stem}.dist-info"
    files = {f"sgemm/{path.name}": path.read_bytes() for path in sorted((FOLDER / "sgemm").glob("*.py"))}
    files["sgemm/libsgemm.so"] = Path(library).read_bytes()
    beside = [Path(library).with_name(name) for name in PRELOADED]
    files |= {f"sgemm/{path.name}": path.read_bytes() for path in beside if path.is_file()}
    tag = "py3-none-" + platform(data for path, data in files.items() if path.endswith(".so"))
    files |= {f"{info}/licenses/{name}": (FOLDER.parent / name).read_bytes() for name in LICENSES}
    files[f"{info}/METADATA"] = metadata(project).encode()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: sgemm\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    )
    lines = [f"{name},sha256={digest(data)},{len(data)}\n" for name, data in files.items()]
    files[f"{info}/RECORD"] = ("".join(lines) + f"{info}/RECORD,,\n").encode()
    name = f"{stem}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return name


def platform(libraries):
    """The platform of a wheel with these libraries, which need the C library and the compiler's alone: the oldest glibc that has all that
    they call, by the versions of symbols that they name."""
    machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    names = {name for data in libraries for name in re.findall(rb"\0GLIBC_([0-9.]+|ABI_DT_RELR)(?=\0)", data)}
    # That one is no number: it came with 2.36.
    minors = [36 if name == b"ABI_DT_RELR" else int(name.split(b".")[1]) for name in names]
    return machine.replace("linux", f"manylinux_2_{max(minors)}", 1) if minors and machine.startswith("linux_") else machine


def build_sdist(sdist_directory, config_settings=None):
    """There is none: the library is built by cargo, from the repository."""
    raise RuntimeError("sgemm has no source distribution: use `cargo xtask wheel`")


def metadata(project):
    """The file METADATA."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"Requires-Python: {project['requires-python']}",
        f"License-Expression: {project['license']}",
        *(f"License-File: {name}" for name in LICENSES),
        "Description-Content-Type: text/markdown",
        "",
        (FOLDER / project["readme"]).read_text(),
    ]
    return "\n".join(lines)


def digest(data):
    """A digest as RECORD has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
