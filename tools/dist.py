#!/usr/bin/env python3
"""Builds what a release has, into build/dist: archive, symbols, Debian package, wheel, npm packages, SBOM, checksums.

The program is $PGSQLITE_BIN, else a release build. The same program gives the same files: nothing in them tells when or by whom they were made.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Nothing is older: some file systems and tools know no times before it.
EPOCH = 1577836800
SUMMARY = "server that speaks the PostgreSQL protocol over SQLite files"


def run(*command: str | pathlib.Path, **keywords: object) -> str:
    done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True, **keywords)  # type: ignore[call-overload]
    return str(done.stdout)


def version() -> str:
    found = re.search(r'^\[workspace\.package\]\nversion = "(.+)"', (ROOT / "pgsqlite/Cargo.toml").read_text(), re.MULTILINE)
    assert found, "the workspace has a version"
    return found[1]


def program() -> pathlib.Path:
    named = os.environ.get("PGSQLITE_BIN")
    if not named:
        subprocess.run(["cargo", "build", "--release", "--locked"], cwd=ROOT / "pgsqlite", check=True)
        return ROOT / "pgsqlite/target/release/pgsqlite"
    return pathlib.Path(named).resolve()


def split(built: pathlib.Path, stripped: pathlib.Path, symbols: pathlib.Path) -> None:
    """The program without symbols, which names the file that they are in, and that file."""
    run("objcopy", "--only-keep-debug", "--compress-debug-sections=zlib", built, symbols)
    run("objcopy", "--strip-all", f"--add-gnu-debuglink={symbols}", built, stripped)
    stripped.chmod(0o755)


def archive(path: pathlib.Path, files: dict[str, pathlib.Path], folder: str) -> None:
    """A tar.gz with a folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, source in sorted(files.items()):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            content = source.read_bytes()
            entry.size, entry.mtime, entry.mode = len(content), EPOCH, 0o755 if name.startswith("bin/") else 0o644
            tar.addfile(entry, io.BytesIO(content))
    path.write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))


def documents(stripped: pathlib.Path, work: pathlib.Path) -> dict[str, pathlib.Path]:
    """Manual pages and completions, from the program itself: where they go, and the files."""
    man = work / "man"
    man.mkdir()
    run(stripped, "man", "--dir", man)
    files = {f"share/man/man1/{page.name}": page for page in man.iterdir()}
    shells = {
        "bash": "share/bash-completion/completions/pgsqlite",
        "zsh": "share/zsh/vendor-completions/_pgsqlite",
        "fish": "share/fish/vendor_completions.d/pgsqlite.fish",
    }
    for shell, place in shells.items():
        files[place] = work / shell
        files[place].write_text(run(stripped, "completions", shell))
    return files


def debian(out: pathlib.Path, files: dict[str, pathlib.Path], work: pathlib.Path, number: str) -> None:
    """A package for dpkg. Its dependency is the C library that the program asks for."""
    architecture = run("dpkg", "--print-architecture").strip()
    tree = work / "deb"
    for name, source in files.items():
        target = tree / "usr" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if "/man/" in name:
            target = target.with_name(target.name + ".gz")
            target.write_bytes(gzip.compress(source.read_bytes(), 9, mtime=0))
        else:
            shutil.copy(source, target)
        target.chmod(0o755 if name.startswith("bin/") else 0o644)
    place = tree / "usr/share/doc/pgsqlite/copyright"
    place.parent.mkdir(parents=True)
    place.write_text((ROOT / "LICENSE").read_text())
    versions = re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)", files["bin/pgsqlite"].read_bytes())
    major, minor = max((int(a), int(b)) for a, b in versions)
    size = sum(f.stat().st_size for f in tree.rglob("*") if f.is_file()) // 1024
    control = tree / "DEBIAN/control"
    control.parent.mkdir()
    control.write_text(
        f"Package: pgsqlite\nVersion: {number}\nArchitecture: {architecture}\nMaintainer: the authors of pgsqlite <pgsqlite@localhost>\n"
        f"Installed-Size: {size}\nDepends: libc6 (>= {major}.{minor}), libgcc-s1\nSection: database\nPriority: optional\n"
        f"Description: {SUMMARY}\n Clients, drivers and tools see PostgreSQL 15; the data is one file that every\n SQLite tool can read.\n"
    )
    for path in [tree, *tree.rglob("*")]:
        os.utime(path, (EPOCH, EPOCH))
        # (whatever the mask of this process is)
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    target = out / f"pgsqlite_{number}_{architecture}.deb"
    run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, target, env={**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)})


def bill_of_materials(path: pathlib.Path, number: str) -> None:
    """The crates that the program is made of, in CycloneDX's format (version 1.5)."""
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version=1", "--filter-platform", "x86_64-unknown-linux-gnu"]
    metadata = json.loads(run(*command, cwd=ROOT / "pgsqlite"))
    packages = {p["id"]: p for p in metadata["packages"]}
    nodes = {n["id"]: n for n in metadata["resolve"]["nodes"]}
    # what is linked: not what only tests, benchmarks and build scripts use
    wanted = [next(i for i, p in packages.items() if p["name"] == "pgsqlite")]
    seen = set(wanted)
    while wanted:
        for dependency in nodes[wanted.pop()]["deps"]:
            if dependency["pkg"] not in seen and any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                seen.add(dependency["pkg"])
                wanted.append(dependency["pkg"])
    components = [
        {
            "type": "library",
            "name": package["name"],
            "version": package["version"],
            "licenses": [{"expression": package["license"].replace("/", " OR ")}] if package["license"] else [],
            "purl": f"pkg:cargo/{package['name']}@{package['version']}",
        }
        for package in sorted((packages[i] for i in seen), key=lambda p: (p["name"], p["version"]))
        if package["name"] != "pgsqlite"
    ]
    sqlite = next(p for p in packages.values() if p["name"] == "libsqlite3-sys")
    header = (pathlib.Path(sqlite["manifest_path"]).parent / "sqlite3/sqlite3.h").read_text(errors="replace")
    number_of_sqlite = re.search(r'#define SQLITE_VERSION\s+"(.+)"', header)
    if number_of_sqlite:
        components.append({"type": "library", "name": "sqlite", "version": number_of_sqlite[1], "licenses": [{"expression": "blessing"}]})
    product = {"type": "application", "name": "pgsqlite", "version": number, "licenses": [{"expression": "MIT"}]}
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": product}, "components": components}
    path.write_text(json.dumps(bill, indent=1) + "\n")


def main() -> int:
    out = ROOT / "build/dist"
    if len(sys.argv) > 1:
        out = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    number, built = version(), program()
    with tempfile.TemporaryDirectory(prefix="pgsqlite-dist.") as folder:
        work = pathlib.Path(folder)
        stripped, symbols = work / "pgsqlite", work / "pgsqlite.debug"
        split(built, stripped, symbols)
        files = {"bin/pgsqlite": stripped, **documents(stripped, work)}
        machine = os.uname().machine
        name = f"pgsqlite-{number}-{machine}-linux"
        extra = {"LICENSE": ROOT / "LICENSE", "README.md": ROOT / "README.md", "CHANGELOG.md": ROOT / "CHANGELOG.md"}
        archive(out / f"{name}.tar.gz", {**files, **extra}, name)
        archive(out / f"{name}-symbols.tar.gz", {"pgsqlite.debug": symbols}, f"{name}-symbols")
        if shutil.which("dpkg-deb"):
            debian(out, files, work, number)
        environment = {**os.environ, "PGSQLITE_BIN": str(stripped)}
        run(sys.executable, ROOT / "packages/python/wheel_backend.py", out, env=environment)
        if shutil.which("npm"):
            run("node", ROOT / "packages/npm/build.js", out, env=environment)
        bill_of_materials(out / f"pgsqlite-{number}.cdx.json", number)
        print(f"the program: {built.stat().st_size / 1e6:.1f} MB, without symbols {stripped.stat().st_size / 1e6:.1f} MB")
    sums = [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(sums))
    for file in sorted(out.iterdir()):
        print(f"{file.stat().st_size / 1e6:8.1f} MB  {file.relative_to(out)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
