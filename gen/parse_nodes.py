#!/usr/bin/env python3
"""Writes crates/sql/src/parse/{statements,nodes}.rs: how each node that PostgreSQL's grammar makes is read from libpg_query's C structs.

What the C structs are is read from the headers in the crate `pg_query` (through libclang), what the Rust structs are from its
`protobuf.rs`, and which field becomes which from the list of its own writer of protobuf messages. Run by `make gen`, after another
version of that crate has been chosen.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBCLANG = ROOT / "build/libclang"
sys.path.insert(0, str(LIBCLANG / "python"))
import clang.cindex as clang  # noqa: E402

OUT = ROOT / "pgsqlite/crates/sql/src/parse"
#: Read by hand (c_tree.rs): values, whose structs are special cases of libpg_query, too.
BY_HAND = {"Integer", "Float", "Boolean", "String", "BitString", "List", "A_Const"}
WIDTH = 140
#: Which function reads a field, by the kind of its writer and its size in bytes.
SCALARS = {("INT", 4): "int", ("INT", 2): "short", ("UINT", 4): "uint", ("BOOL", 1): "bool", ("CHAR", 1): "char", ("STRING", 8): "string", ("LONG", 8): "long"}


def crate() -> pathlib.Path:
    meta = subprocess.run(["cargo", "metadata", "--format-version=1"], cwd=ROOT / "pgsqlite", check=True, capture_output=True, text=True)
    packages = json.loads(meta.stdout)["packages"]
    return next(pathlib.Path(p["manifest_path"]).parent for p in packages if p["name"] == "pg_query")


def plain(name: str) -> str:
    return name.replace("_", "").replace("r#", "").lower()


def rust_structs(text: str) -> dict[str, tuple[str, dict[str, tuple[str, str]]]]:
    """By plain name: the struct's name and, by plain name, its fields' names and types."""
    out = {}
    for name, body in re.findall(r"^pub struct (\w+) \{(?:\n(.*?)^)?\}", text, re.M | re.S):
        fields = re.findall(r"^    pub ([\w#]+): (.*?),$", body, re.M | re.S)
        out[plain(name)] = (name, {plain(f): (f, short(t)) for f, t in fields})
    return out


def short(rust: str) -> str:
    for path in ("::core::option::", "::prost::alloc::boxed::", "::prost::alloc::vec::", "::prost::alloc::string::"):
        rust = rust.replace(path, "")
    return "".join(rust.split())


def rust_variants(text: str) -> dict[str, tuple[str, bool]]:
    """By plain name of the message: the variant of `node::Node`, and whether it is boxed."""
    body = re.search(r"^    pub enum Node \{\n(.*?)^    \}", text, re.M | re.S).group(1)
    out = {}
    for variant, held in re.findall(r"^        (\w+)\((.*?)\),$", body, re.M | re.S):
        held = short(held)
        out[plain(re.search(r"super::(\w+)", held).group(1))] = (variant, held.startswith("Box<"))
    return out


def struct_layouts(source: pathlib.Path) -> tuple[dict[str, dict[str, tuple[int, int]]], dict[str, int]]:
    """Offset and size in bytes by struct and field, and the values of all enumerators."""
    stub = '#include "postgres.h"\n#include "nodes/parsenodes.h"\n#include "nodes/primnodes.h"\n#include "nodes/value.h"\n#include "nodes/pg_list.h"\n'
    if not clang.Config.loaded:
        clang.Config.set_library_path(str(LIBCLANG / "lib"))
    includes = [source, source / "src/postgres/include", source / "src/include", LIBCLANG / "include"]
    unit = clang.Index.create().parse("stub.c", args=[f"-I{i}" for i in includes], unsaved_files=[("stub.c", stub)])
    errors = [d.spelling for d in unit.diagnostics if d.severity >= clang.Diagnostic.Error]
    if errors:
        raise SystemExit("\n".join(errors[:5]))
    offsets: dict[str, dict[str, tuple[int, int]]] = {}
    values: dict[str, int] = {}
    for cursor in unit.cursor.get_children():
        if cursor.kind == clang.CursorKind.TYPEDEF_DECL:
            struct = cursor.underlying_typedef_type.get_canonical()
            if struct.kind == clang.TypeKind.RECORD:
                offsets[cursor.spelling] = {f.spelling: (struct.get_offset(f.spelling) // 8, f.type.get_size()) for f in struct.get_fields()}
        elif cursor.kind == clang.CursorKind.ENUM_DECL:
            values |= {e.spelling: e.enum_value for e in cursor.get_children()}
    return offsets, values


def grammar_nodes(postgres: pathlib.Path) -> set[str]:
    """The nodes that the grammar makes, by itself or by the functions that it calls for that."""
    out = set()
    for name in ("src_backend_parser_gram.c", "src_backend_nodes_makefuncs.c"):
        out |= set(re.findall(r"makeNode\((\w+)\)", (postgres / name).read_text()))
    # the grammar of PL/pgSQL's assignments, which is not asked for here
    return out - BY_HAND - {"PLAssignStmt"}


def enum_numbers(text: str, values: dict[str, int]) -> dict[str, list[tuple[int, int]]]:
    """By enum: pairs of the C value and the message's."""
    out = {}
    for name, body in re.findall(r"^_enumToInt(\w+)\(\w+ value\) \{\n(.*?)^\}", text, re.M | re.S):
        out[name] = [(values[c], int(n)) for c, n in re.findall(r"case (\w+): return (\d+);", body)]
    return out


def function(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).replace("__", "_").lower()


def main() -> None:
    source = crate() / "libpg_query"
    rust = (crate() / "src/protobuf.rs").read_text()
    structs, variants = rust_structs(rust), rust_variants(rust)
    offsets, values = struct_layouts(source)
    numbers = enum_numbers((source / "src/include/pg_query_enum_defs.c").read_text(), values)
    made = grammar_nodes(source / "src/postgres")
    writers = {
        c_name: (message, re.findall(r"WRITE_(\w+)_FIELD\((.*?)\);", body))
        for message, c_name, body in re.findall(
            r"^_out\w+\(OUT_TYPE\((\w+), \w+\) out, const (\w+) \*node\)\n\{\n(.*?)^\}",
            (source / "src/include/pg_query_outfuncs_defs.c").read_text(),
            re.M | re.S,
        )
    }
    by_message = {plain(message): c_name for c_name, (message, _) in writers.items()}
    used_enums: set[str] = set()

    def reader(c_name: str) -> str:
        message, fields = writers[c_name]
        struct, shape = structs[plain(message)]
        parts = []
        unwritten = dict(shape.values())
        for kind, arguments in fields:
            words = [a.strip() for a in arguments.split(",")]
            out_name, field = words[-3], words[-1]
            offset, size = offsets[c_name][field]
            rust_name, rust_type = shape[plain(out_name)]
            del unwritten[rust_name]
            match kind:
                case "INT" | "UINT" | "BOOL" | "CHAR" | "STRING" | "LONG":
                    value = f"self.{SCALARS[kind, size]}(p, {offset})"
                case "ENUM":
                    if counted(numbers[words[1]]):
                        value = f"self.counted(p, {offset})"
                    else:
                        used_enums.add(words[1])
                        value = f"{function(words[1])}(self.uint(p, {offset}))"
                case "LIST":
                    value = f"self.list(p, {offset})"
                case "NODE_PTR":
                    value = f"self.boxed_node(p, {offset})"
                case "SPECIFIC_NODE_PTR" if words[1] == "String":
                    value = f"self.held(p, {offset}, Self::string_node)"
                case "SPECIFIC_NODE_PTR" if by_message[plain(words[1])] in made:
                    read = "boxed" if rust_type.startswith("Option<Box<") else "held"
                    value = f"self.{read}(p, {offset}, Self::{function(by_message[plain(words[1])])})"
                case "SPECIFIC_NODE":
                    # the struct itself, not a pointer to one
                    value = f"Some(self.{function(words[1])}(p.within({offset})))"
                case _:
                    # nothing that the grammar fills in
                    value = f"self.absent(p, {offset})"
            parts.append(f"{rust_name}: {value}")
        parts += [f"{name}: None" for name in unwritten]
        lines = textwrap.wrap(", ".join(part.replace(" ", "\x01") for part in parts), WIDTH - 12, break_long_words=False)
        body = "\n".join(" " * 12 + line.replace("\x01", " ") for line in lines)
        if not parts:
            return f"    pub(super) fn {function(c_name)}(&mut self, _: Pointer) -> ast::{struct} {{\n        ast::{struct} {{}}\n    }}"
        return f"    pub(super) fn {function(c_name)}(&mut self, p: Pointer) -> ast::{struct} {{\n        ast::{struct} {{\n{body},\n        }}\n    }}"

    missing = sorted(made - set(writers))
    if missing:
        print("not in libpg_query's list:", *missing, file=sys.stderr)
    nodes = sorted(made & set(writers))
    statements = [n for n in nodes if n.endswith("Stmt")]
    others = [n for n in nodes if not n.endswith("Stmt")]

    texts = {n: reader(n) for n in nodes}
    imports = "use super::c_tree::{Pointer, Reader};\nuse pg_query::protobuf as ast;\n"
    for file, title, names, more in (
        ("statements", "Statements as the grammar makes them.", statements, ""),
        ("nodes", "What statements are made of, as the grammar makes it, and which function reads which node.", others, dispatch(nodes, writers, variants, values)),
    ):
        text = f"// Written by gen/parse_nodes.py: do not edit.\n//! {title}\n\n{imports}"
        text += "\n#[rustfmt::skip]\nimpl Reader {\n" + "\n\n".join(texts[n] for n in names) + "\n}\n" + more
        for enum in sorted(used_enums):
            if any(f" {function(enum)}(" in texts[n] for n in names):
                text += enumeration(enum, numbers[enum])
        (OUT / f"{file}.rs").write_text(text)
    (OUT / "layout.rs").write_text(layout(offsets, values))


def dispatch(nodes: list[str], writers: dict, variants: dict, values: dict[str, int]) -> str:
    arms = []
    for n in nodes:
        variant, boxed = variants[plain(writers[n][0])]
        value = f"self.{function(n)}(p)"
        arms.append(f"            {values['T_' + n]} => N::{variant}({f'Box::new({value})' if boxed else value}),")
    return f"""
#[rustfmt::skip]
impl Reader {{
    /// The node behind a tag. None: the grammar makes none of this kind.
    pub(super) fn tagged(&mut self, tag: u32, p: Pointer) -> Option<ast::node::Node> {{
        use ast::node::Node as N;
        Some(match tag {{
""" + "\n".join(arms) + """
            _ => return None,
        })
    }
}
"""


def layout(offsets: dict, values: dict[str, int]) -> str:
    tags = "\n".join(f"pub(super) const TAG_{t.upper()}: u32 = {values['T_' + t]};" for t in sorted(BY_HAND))
    places = [
        ("List", "length"), ("List", "elements"), ("Integer", "ival"), ("Float", "fval"), ("Boolean", "boolval"), ("String", "sval"),
        ("BitString", "bsval"), ("A_Const", "val"), ("A_Const", "isnull"), ("A_Const", "location"),
    ]  # fmt: skip
    offset = "\n".join(f"pub(super) const {struct.upper()}_{field.upper()}: usize = {offsets[struct][field][0]};" for struct, field in places)
    return f"""// Written by gen/parse_nodes.py: do not edit.
//! Tags, and offsets in bytes, of the nodes that `c_tree` reads by hand (PostgreSQL's nodes/nodes.h, pg_list.h, value.h).

{tags}

{offset}
"""


def counted(pairs: list[tuple[int, int]]) -> bool:
    """Whether C counts from 0 and the message from 1, where 0 means that the field is not set."""
    return pairs == [(i, i + 1) for i in range(len(pairs))]


def enumeration(name: str, pairs: list[tuple[int, int]]) -> str:
    """A function from C's number to the message's."""
    arms = "\n".join(f"        {a} => {b}," for a, b in pairs)
    return f"\nfn {function(name)}(value: u32) -> i32 {{\n    match value {{\n{arms}\n        _ => 0,\n    }}\n}}\n"


if __name__ == "__main__":
    main()
