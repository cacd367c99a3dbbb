#!/usr/bin/env python3
"""Checks that source files are short enough, that names are quoted in one place, that XX000 stands for defects of ours, and that no code but the storage layer opens, makes,
renames or removes files that may be a database's.

When a process closes any descriptor of a database's file, SQLite's locks on it are gone, and with them commits that were acknowledged
(`pgsqlite/crates/storage/src/files/mod.rs` says how). So whatever opens or changes a file stands in the storage layer, or in the list
below with the reason why it can be no database's. Tests are left out. Exit status 1: something is new, or gone.

It also checks that names are quoted in one place, that each crate is built from its own files and has the licence, and that no word of SQL is
looked for in a text where a tree is at hand.
"""

from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1] / "pgsqlite"

# What opens, makes, renames, cuts or removes a file, or has SQLite do so.
TOUCHES = re.compile(
    r"""\bFile::(?:open|create|create_new|options)\b
      | \bOpenOptions\b
      | \bDirBuilder\b
      | \bfs::(?:read|read_to_string|write|copy|rename|remove_file|remove_dir|remove_dir_all|hard_link|set_permissions|create_dir|create_dir_all)\b
      | \bsymlink\b
      | \btokio::fs\b
      | \blibc::(?:open|openat|creat|unlink|unlinkat|rename|renameat|truncate|link|dup|dup2)\b
      | \bConnection(?:::<\w+>)?::open(?!_in_memory)\w*
      | (?<!self\.)(?<!async\ fn\ )\bopen_(?:file|existing)\(
      | \bsqlite3_open\w*
      | \bATTACH\ DATABASE\b
      | \bVACUUM\ INTO\b
      | \bset_len\b
    """,
    re.VERBOSE,
)

# A file that becomes a part of the program.
INCLUDES = re.compile(r'\binclude(?:_str|_bytes)?!\(\s*"([^"]+)"')

# The storage layer: it may open files of databases.
STORAGE = (
    "crates/storage/src/files/",
    "crates/storage/src/vfs/",
)

# Other places: how often something is touched there, and why that is no danger.
ALLOWED = {
    "crates/storage/src/connection/branch.rs": (2, "its tests"),
    "crates/natives/src/udf/groups.rs": (2, "a new temporary file, whose name is removed at once"),
    "crates/storage/src/connection/mod.rs": (4, "the connections of a database, which vfs/open.rs opens"),
    "crates/storage/src/writer/checkpointer.rs": (1, "a connection to the database that the writer has open"),
    "crates/engine/src/engine.rs": (4, "connections to the engine's own room, and the one by which SQLite reads what it has stored of the journal mode"),
    "crates/engine/src/image.rs": (1, "a connection to the room of a copy that has just been made"),
    "crates/engine/src/database_copy.rs": (8, "SQLite's connections to a room or to a file that the process does not have open, and copies, which are new files"),
    "crates/engine/src/settle.rs": (1, "a connection to the engine's own room, before anybody is served"),
    "crates/engine/src/inspect.rs": (2, "a connection of a process that serves nothing, and one to its own room"),
    "crates/storage/src/wal.rs": (1, "the log, which SQLite does not lock; it stays open as long as the database"),
    "crates/storage/src/stream.rs": (3, "the log, which SQLite does not lock, and connections to the stream's own room"),
    "crates/replication/src/bucket.rs": (2, "a new temporary file, whose name is removed at once"),
    "crates/replication/src/archive.rs": (11, "files of an archive, which are no databases"),
    "crates/replication/src/restore.rs": (6, "a new file under a name that no database has"),
    "crates/cluster/src/file.rs": (4, "the memory of a node of a cluster, and a copy of another one's: no database that anybody is served"),
    "crates/cluster/src/service.rs": (5, "the lock beside a node's memory, and a copy of another node's"),
    "crates/metadata/src/store/other.rs": (1, "SQLite looks at a database of the folder; it knows which files the process has open"),
    "crates/engine/src/session/execution/sequences.rs": (1, "SQLite writes to a copy that has no name yet"),
    "crates/metadata/src/databases.rs": (1, "SQLite writes to a new database that has no name yet"),
    "crates/storage/src/in_memory.rs": (4, "private folders of databases in memory, made by this process or abandoned by one that is gone"),
    "crates/memory/src/detect.rs": (3, "files of /proc and of cgroups"),
    "crates/memory/src/trim.rs": (1, "a file of /proc"),
    "crates/server/src/hba/ident.rs": (1, "the files of rules and of maps, which the administrator names"),
    "crates/server/src/hba/lines.rs": (1, "the files of names that a rule names with @"),
    "crates/server/src/listen.rs": (3, "the Unix socket and its lock file"),
    "crates/server/src/feed/changes.rs": (2, "a new file for changes, whose name is removed at once"),
    "crates/server/src/feed/kept.rs": (2, "the file beside a database that says how far its log was read for standbys"),
    "crates/server/src/standby/conninfo.rs": (1, "the file of passwords, which the administrator names"),
    "crates/server/src/kept.rs": (5, "the file beside a standby's database that says how far it has come"),
    "crates/server/src/standby/mod.rs": (1, "the file that asks for a promotion"),
    "crates/storage/src/apply.rs": (2, "a database in memory, to which the room's own is attached; SQLite reads the first page of a database that the engine has open"),
    "crates/server/src/failover/mod.rs": (2, "the files beside a database that say that its server leads, and ask it to leave its cluster"),
    "src/cluster.rs": (3, "the memory of a node of a cluster, and the file that asks its server to leave"),
    "src/promote.rs": (1, "the file beside a standby's database that asks for its promotion"),
    "src/exec.rs": (6, "the private folder of one command, and those that killed processes have left"),
    "src/import/csv_folder.rs": (1, "a CSV file"),
    "src/import/mod.rs": (1, "the new file of an import that failed, after it was closed"),
    "src/import/sql_file.rs": (1, "a dump, which is not the database that it is imported into"),
    "src/inspect.rs": (1, "a file of /proc"),
    "src/main.rs": (1, "the configuration file, before any database is open"),
}


# A file beyond so many lines usually holds several ideas.
MOST_LINES = 900
# Files that are longer, with their lines: neither the list nor a number in it may become greater.
LONG: dict[str, int] = {}

# What `PgError::internal`, by which we own up to a defect, must not say: that something outside has failed.
OUTSIDE = re.compile(r'\binternal\((?:format!\()?"[^"]*(?:shut down|is closed|engine is gone|random|thread|stored \w+ (?:is malformed|cannot be read))')

# A statement of PostgreSQL's, or the SQL made of one, in which a word is looked for: its tree says what it is, and a string in it may have any word.
SEARCHED = re.compile(
    r"""\b(?:contains|starts_with|ends_with|find|strip_prefix|strip_suffix|split_once|rsplit_once)\(\s*
        "[^"\n]*\b(?:SELECT|INSERT|UPDATE|DELETE|MERGE|WITH|VALUES|FROM|WHERE|JOIN|ON\ CONFLICT|RETURNING|AS|CREATE|TABLE|VIEW|INDEX|TRIGGER|CHECK
        |COMMIT|ROLLBACK)\b""",
    re.VERBOSE,
)
# Where that is right: how often, and why.
SEARCHES = {
    "crates/sql/src/deparse/definitions.rs": (1, "the text that it has just printed itself, of which it takes a part"),
    "crates/sql/src/deparse/mod.rs": (1, "as above"),
    "crates/sql/src/lower/with.rs": (2, "the first word of SQL that the lowering has just made"),
    "crates/sql/src/lower/query.rs": (2, "the first word, and the last alias, of SQL that the lowering has just made"),
    "crates/sql/src/lower/other_rows.rs": (1, "SQL that the lowering has just made: a sub-query in it, written or not; a word in a string only means less care"),
    "crates/sql/src/lower/from.rs": (2, "the last alias of SQL that the lowering has just made"),
    "crates/sql/src/lower/kept_rows.rs": (1, "as above"),
    "crates/sql/src/parse/mod.rs": (1, "messages of the parser, which have no code"),
    "crates/objects/src/ddl/alter_table.rs": (2, "whether a look at the trees is worth while: a word in a string costs time, and no more"),
    "crates/objects/src/ddl/partition.rs": (1, "a text of pg_get_expr that this file has printed"),
    "crates/objects/src/pg_catalog/information_schema.rs": (1, "a text of pg_get_constraintdef, of which it takes a part"),
    "crates/engine/src/session/explain/counts.rs": (1, "EXPLAIN QUERY PLAN: SQLite gives its plan as text"),
    "crates/engine/src/session/explain/nodes.rs": (8, "as above"),
    "crates/engine/src/session/copy/copy_from.rs": (1, "the end of an error's message"),
    "crates/objects/src/pg_catalog/functions/objects.rs": (1, "a bound that pg_get_expr's caller has read from pg_class, in the words of this server"),
    "crates/objects/src/pg_catalog/functions/privileges.rs": (1, "the words of a privilege, which clients give as text"),
    "crates/sqli/src/conversation/transaction.rs": (1, "a verb that this file has chosen"),
}

DOUBLED = r'''replace('"', "\"\"")'''


def code_of(path: pathlib.Path) -> str:
    """The text without comments and without the tests at its end."""
    text = path.read_text(encoding="utf-8")
    text = re.split(r"^#\[cfg\(test\)\]\n(?:pub )?mod \w+ \{", text, maxsplit=1, flags=re.MULTILINE)[0]
    return "\n".join(re.sub(r"^\s*//.*|\s//\s.*", "", line) for line in text.splitlines())


def sources() -> list[pathlib.Path]:
    found = [*ROOT.glob("src/**/*.rs"), *ROOT.glob("crates/*/src/**/*.rs")]
    # (crates/test is a client: it runs in other programs' tests)
    client = ROOT / "crates/test"
    return sorted(p for p in found if p.name != "tests.rs" and "tests" not in p.relative_to(ROOT).parts and client not in p.parents)


def quotes_by_hand() -> int:
    """Prints where a name is put in double quotes by hand, beside `pgsqlite_sql::names::quoted`. Returns how many places there are."""
    places = [
        f"pgsqlite/{name}:{n}: write pgsqlite_sql::names::quoted(name)"
        for path in sources()
        if (name := path.relative_to(ROOT).as_posix()) != "crates/sql/src/quoting.rs"
        for n, line in enumerate(code_of(path).splitlines(), 1)
        if DOUBLED in line
    ]
    print("\n".join(places), end="\n" if places else "")
    return len(places)


def files_of_other_crates() -> int:
    """Prints where a crate is built from files that are not its own, or from another crate by its folder alone: neither can be published. Returns how many places there are."""
    places = []
    for path in [*ROOT.glob("src/**/*.rs"), *ROOT.glob("crates/*/src/**/*.rs")]:
        crate = next(folder for folder in path.parents if (folder / "Cargo.toml").exists())
        for included in INCLUDES.findall(path.read_text()):
            if not (path.parent / included).resolve().is_relative_to(crate):
                places.append(f"pgsqlite/{path.relative_to(ROOT).as_posix()}: {included} is not a file of this crate")
    for manifest in [ROOT / "Cargo.toml", *ROOT.glob("crates/*/Cargo.toml")]:
        for line in manifest.read_text().splitlines():
            if "path = " in line and "version = " not in line:
                places.append(f"pgsqlite/{manifest.relative_to(ROOT).as_posix()}: write `CRATE.workspace = true` for {line}")
    print("\n".join(places), end="\n" if places else "")
    return len(places)


def blames_itself() -> int:
    """Prints where an error that is no defect of ours is reported as one. Returns how many places there are."""
    places = [
        f"pgsqlite/{path.relative_to(ROOT).as_posix()}:{n}: write PgError::corrupted, no_resources or shut_down"
        for path in sources()
        for n, line in enumerate(code_of(path).splitlines(), 1)
        if OUTSIDE.search(line)
    ]
    print("\n".join(places), end="\n" if places else "")
    return len(places)


def searches_text() -> int:
    """Prints where a word of SQL is looked for in a text, beside `SEARCHES`. Returns how many places there are."""
    places = []
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        found = len(SEARCHED.findall(code_of(path)))
        allowed, _ = SEARCHES.get(name, (0, ""))
        if found != allowed:
            places.append(f"pgsqlite/{name}: looks {found} times for words of SQL in a text, {allowed} are allowed: ask the tree (SEARCHES, tools/lint_files.py)")
    for name in SEARCHES:
        if not (ROOT / name).exists():
            places.append(f"pgsqlite/{name}: there is no such file; strike it from SEARCHES (tools/lint_files.py)")
    print("\n".join(places), end="\n" if places else "")
    return len(places)


def without_licence() -> int:
    """Prints which package has no LICENSE of its own: it is published without the root. Returns how many there are."""
    root = ROOT.parent
    folders = [path.parent for pattern in ("pgsqlite/Cargo.toml", "pgsqlite/crates/*/Cargo.toml", "packages/*/*/go.mod", "packages/*/pom.xml") for path in root.glob(pattern)]
    places = [
        f"{folder.relative_to(root)}: copy LICENSE there"
        for folder in sorted([*folders, root / "informix-db", root / "pg-parallel"])
        if not (folder / "LICENSE").exists()
    ]
    print("\n".join(places), end="\n" if places else "")
    return len(places)


def too_long() -> int:
    """Prints which files are too long, and which ones have become shorter than `LONG` says. Returns their number."""
    places = []
    lengths = {p.relative_to(ROOT).as_posix(): len(p.read_text(encoding="utf-8").splitlines()) for p in sources()}
    for name, lines in lengths.items():
        if lines > LONG.get(name, MOST_LINES):
            places.append(f"pgsqlite/{name}: {lines} lines; cut it along its ideas, {LONG.get(name, MOST_LINES)} are allowed")
    for name, allowed in LONG.items():
        lines = lengths.get(name, 0)
        if lines <= MOST_LINES:
            places.append(f"pgsqlite/{name}: it has {lines} lines now; strike it from LONG (tools/lint_files.py)")
        elif lines < allowed - 20:
            places.append(f"pgsqlite/{name}: it has {lines} lines now; write that into LONG (tools/lint_files.py)")
    print("\n".join(places), end="\n" if places else "")
    return len(places)


def main() -> int:
    wrong = quotes_by_hand() + files_of_other_crates() + too_long() + blames_itself() + searches_text() + without_licence()
    seen = set()
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(STORAGE):
            continue
        lines = [(n, line.strip()) for n, line in enumerate(code_of(path).splitlines(), 1) for _ in TOUCHES.findall(line)]
        allowed, _ = ALLOWED.get(name, (0, ""))
        if lines:
            seen.add(name)
        if len(lines) != allowed:
            wrong += 1
            print(f"pgsqlite/{name}: {len(lines)} places open or change files, {allowed} are allowed (tools/lint_files.py)")
            for n, line in lines:
                print(f"    {n}: {line}")
    for name in sorted(ALLOWED.keys() - seen):
        wrong += 1
        print(f"pgsqlite/{name}: nothing there opens or changes files any more (tools/lint_files.py)")
    if wrong:
        print("Files that may be a database's belong to storage/src/files/: use it, or add the place with its reason. Names are quoted in one place.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
