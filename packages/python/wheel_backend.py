"""Builds the wheel: the program as a script, the module beside it (PEP 517; standard library only).

The program is $PGSQLITE_BIN, or a release build of the sources. The same program gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import re
import struct
import subprocess
import sys
import sysconfig
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# (PyPI has another project under the name pgsqlite)
NAME = "pgsqlite-server"
SUMMARY = "A server that speaks the PostgreSQL protocol over SQLite files, with a database for each test"


def version() -> str:
    """The version of pgsqlite, which is written in one place: Cargo's workspace."""
    text = (ROOT / "pgsqlite" / "Cargo.toml").read_text()
    found = re.search(r'^\[workspace\.package\]\nversion = "(.+)"', text, re.MULTILINE)
    assert found, "the workspace has a version"
    return found[1]


def program() -> pathlib.Path:
    named = os.environ.get("PGSQLITE_BIN")
    if named:
        return pathlib.Path(named)
    subprocess.run(["cargo", "build", "--release"], cwd=ROOT / "pgsqlite", check=True)
    return ROOT / "pgsqlite" / "target" / "release" / "pgsqlite"


def platform_tag(content: bytes) -> str:
    """The oldest system that has what the program asks for: of glibc, the highest version among its symbols."""
    machines = {62: "x86_64", 183: "aarch64"}
    if content[:4] == b"\x7fELF":
        machine = machines[struct.unpack_from("<H", content, 18)[0]]
        versions = {(int(major), int(minor)) for major, minor in re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)", content)}
        if not versions:
            return f"musllinux_1_2_{machine}"
        major, minor = max(versions)
        return f"manylinux_{major}_{max(minor, 17)}_{machine}"
    return re.sub(r"[-.]", "_", sysconfig.get_platform())


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """Writes the wheel into a folder, and returns its name."""
    content = program().read_bytes()
    number, tag = version(), f"py3-none-{platform_tag(content)}"
    base = f"{NAME.replace('-', '_')}-{number}"
    info = f"{base}.dist-info"
    suffix = ".exe" if content[:2] == b"MZ" else ""
    files: dict[str, tuple[bytes, int]] = {}
    for source in sorted((HERE / "src" / "pgsqlite").iterdir()):
        if source.suffix == ".py" or source.name == "py.typed":
            files[f"pgsqlite/{source.name}"] = (source.read_bytes(), 0o644)
    files[f"{base}.data/scripts/pgsqlite{suffix}"] = (content, 0o755)
    files[f"{info}/licenses/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    files[f"{info}/METADATA"] = (metadata(number).encode(), 0o644)
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: pgsqlite\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644)
    files[f"{info}/entry_points.txt"] = (b"[pytest11]\npgsqlite = pgsqlite.pytest_plugin\n", 0o644)
    record = [f"{name},sha256={digest(content)},{len(content)}" for name, (content, _) in files.items()]
    files[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,"]).encode() + b"\n", 0o644)
    name = f"{base}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED, compresslevel=6) as wheel:
        for path, (data, mode) in files.items():
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return name


def digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def metadata(number: str) -> str:
    readme = (HERE / "README.md").read_text()
    return (
        f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {number}\nSummary: {SUMMARY}\nLicense-Expression: MIT\n"
        "License-File: LICENSE\nRequires-Python: >=3.9\nKeywords: postgresql,sqlite,testing,pytest\n"
        "Classifier: Framework :: Pytest\nClassifier: Topic :: Database :: Database Engines/Servers\n"
        f"Description-Content-Type: text/markdown\n\n{readme}"
    )


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    """Refused: the sources are those of the repository, and a wheel is built there."""
    raise SystemExit("pgsqlite has no source distribution: build the wheel in the repository, or install the crate")


if __name__ == "__main__":
    print(build_wheel(sys.argv[1] if len(sys.argv) > 1 else "."))
