"""What would be published: built, checked, and installed in an environment of its own."""

import ast
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import informix_db

tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "speed").exists(), reason="not the repository")


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), ".", cwd=ROOT)
    return folder


def test_one_version():
    """CalVer, in one place for the driver; the compiled package and the extra say the same."""
    assert re.fullmatch(r"20\d\d\.(1[0-2]|[1-9])\.\d+", informix_db.__version__)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["speed"] == [f"informix-sqli-speed=={informix_db.__version__}"]
    cargo = tomllib.loads((ROOT / "speed/Cargo.toml").read_text())
    assert cargo["package"]["version"] == informix_db.__version__
    assert (ROOT / "LICENSE").read_text() == (ROOT / "speed/LICENSE").read_text()


def test_names_that_an_index_takes():
    """An index refuses a name that differs from another one by separators only."""
    taken = {"informixdb", "informixdriver", "informixdbknight", "pyinformix", "ifxpy", "sqlalchemyinformix"}
    for file in ("pyproject.toml", "speed/pyproject.toml"):
        name = tomllib.loads((ROOT / file).read_text())["project"]["name"]
        assert re.sub(r"[-_.]", "", name.lower()) not in taken


def test_the_source_distribution_can_be_tested(built, tmp_path):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    for name in ("LICENSE", "CHANGELOG.md", "tests/conftest.py", "tests/peer/server.py", "tests/tls/server.pem"):
        assert (folder / name).exists(), name
    run(
        *(
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "tests/test_types.py",
            "tests/test_transcripts.py",
        ),
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "PATH": ""},
    )


def test_the_wheel(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(n for n in names if n.endswith("/METADATA"))).decode()
    assert "informix_db/py.typed" in names
    assert any(n.endswith("licenses/LICENSE") for n in names)
    assert not [n for n in names if n.startswith("tests")]
    assert f"Version: {informix_db.__version__}\n" in metadata
    for field in ("Author", "License-Expression: MIT", "Classifier: Programming Language :: Python :: 3.13"):
        assert field in metadata, field


def compiled():
    """The wheels of the compiled package: those that run elsewhere, or the one that runs here."""
    return [*(ROOT / "build/wheels").glob("*.whl")] or [*(ROOT / "build/speed").glob("*.whl")]


def test_the_compiled_package_is_for_old_systems_and_musl():
    wheels = [*(ROOT / "build/wheels").glob("*.whl")]
    if not wheels:
        pytest.skip("the wheels are not built (make wheels)")
    tags = {wheel.name.split("-", 2)[2].removesuffix(".whl") for wheel in wheels}
    assert any("manylinux_2_17" in tag for tag in tags)
    assert all(tag.startswith("cp310-abi3-") for tag in tags)
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            (library,) = (archive.read(n) for n in archive.namelist() if n.endswith(".so"))
        versions = {tuple(map(int, v.split(b"."))) for v in re.findall(rb"GLIBC_(\d+\.\d+)", library)}
        assert max(versions, default=(0, 0)) <= ((0, 0) if "musl" in wheel.name else (2, 17)), wheel.name


def test_an_index_would_take_them(built):
    pytest.importorskip("twine")
    files = [*built.iterdir(), *compiled()]
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, files))


def test_the_extra_installs_the_compiled_package(built, tmp_path):
    if not compiled():
        pytest.skip("the compiled package is not built")
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"))
    python = str(tmp_path / "venv/bin/python")
    links = ["--no-index", "--find-links", str(built), "--find-links", str(compiled()[0].parent)]
    run(python, "-m", "pip", "install", "--quiet", *links, "informix-sqli[speed]")
    program = "import informix_db; from informix_db._core import speed; print(informix_db.__version__, speed.enabled())"
    assert run(python, "-W", "error", "-c", program, cwd=tmp_path).split() == [informix_db.__version__, "True"]
    # The files of the other driver of this import name are noticed.
    package = Path(run(python, "-c", "import informix_db; print(informix_db.__path__[0])", cwd=tmp_path).strip())
    (package / "_protocol.py").touch()
    done = subprocess.run([python, "-c", "import informix_db"], capture_output=True, text=True, cwd=tmp_path)
    assert "informix-driver has the same import name" in done.stderr


def imports(file, package):
    """The modules of the package that a file imports when it is loaded itself."""
    name = ".".join(file.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
    own = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith(package.name)):
            base = ".".join([*own[: len(own) - node.level + 1], node.module or ""]) if node.level else node.module
            yield name, base.rstrip(".")
            yield from ((name, f"{base.rstrip('.')}.{alias.name}") for alias in node.names)


def test_no_module_imports_itself_by_way_of_others():
    package = Path(informix_db.__file__).parent
    found = list(package.rglob("*.py"))
    edges = [edge for file in found for edge in imports(file, package)]
    modules = {module for module, _ in edges}
    # a package that gathers its modules is imported before them in any case
    graph = {m: {b for a, b in edges if a == m and b in modules and not m.startswith(b + ".")} for m in modules}
    # modules that import nothing that is left are no part of a circle
    while free := [m for m, needed in graph.items() if not needed & graph.keys()]:
        for module in free:
            del graph[module]
    assert graph == {}
