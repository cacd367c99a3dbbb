#!/usr/bin/env python3
"""Checks that each field of PostgreSQL's trees that the parser fills is read by somebody: a clause that nobody reads is dropped in silence.

The fields are those that `crates/sql/src/parse` writes into `ast::…` structs. A field counts as read where its name follows a dot, or stands in a pattern, in any source file but
those of the parser. (Two fields of one name are one here: the check finds what nobody reads at all.) What is left is in the lists below, with the reason why it is no clause of a
statement that is carried out. Exit status 1: something is new, or is read by now.
"""

from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1] / "pgsqlite"

#: Filled by PostgreSQL's analysis, never by its grammar (src/backend/parser/gram.y): they are empty in what the parser returns.
BY_ANALYSIS = """
    agglevelsup argnumber argisrow base_stmt casecollid casetype coalescecollid coalescetype coerce coll_oid cooked_default cooked_expr ctecolcollations ctecolnames ctecoltypes
    ctecoltypmods cterecursive cterefcount cursor_param cvarno cycle_mark_collation cycle_mark_neop cycle_mark_type cycle_mark_typmod exclude_op_names formatted_expr funcexpr
    identity_sequence idxcomment index_oid indexcolname inhcount initially_valid inputcollid is_from_type is_not_null iswithoutoverlaps minmaxcollid minmaxtype msfcollid msftype
    nnconstraints old_conpfeqop old_create_subid old_first_relfilelocator_subid old_number old_pktable_oid outargs owner_id recurse refs relation_oid reset_default_tblspc row_typeid
    rtindex sub_link_id transformed type_id type_mod typemod typid for_identity xpr
""".split()

#: Where something is in the text, which errors do not point at, or what a fingerprint of the statement leaves out.
PLACES = "arg_location conninfo_location isall jumble_args list_end list_start payload_location rexpr_list_end rexpr_list_start stmt_len stmt_location".split()

#: Read under another spelling: `override` is a word of Rust.
SPELLED = ["override"]

#: Parts of statements and expressions that are refused as a whole, or end with PostgreSQL's own error.
REFUSED = """
    amname amtype class_args coldefexpr colexpr conversion_name datatype dictname docexpr fdwname fdwoptions for_all_tables for_encoding_name for_ordinality fromsql func_name
    func_options handler_name has_version is_drop is_reset itemtype lang list_type local_schema named_args namespaces new_tablespacename opclassname opfamilyname order_family
    orig_tablespacename plhandler plinline plname pltrusted plvalidator pubname pubobjects pubobjtype pubtable remote_schema rowexpr server_name servername servertype storedtype
    table_list to_encoding_name tosql xmloption
""".split()

#: (field, why nothing is lost)
REASONS = {
    "defaction": "SET, ADD and DROP of options are of foreign data wrappers, which are refused",
    "is_rowsfrom": "ROWS FROM (f()) of one function is f(); of several it is told by their number",
    "objfuncargs": "the arguments of a routine with their modes: `objargs` has those that it is called with",
}


def main() -> int:
    filled: dict[str, set[str]] = {}
    for file in sorted((ROOT / "crates/sql/src/parse").glob("*.rs")):
        for struct in re.finditer(r"\bast::(\w+) \{(.*?)\n?\s*\}", file.read_text(), re.S):
            for name in re.findall(r"\b(\w+): (?:self\.|\w)", struct[2]):
                filled.setdefault(name, set()).add(struct[1])
    read: set[str] = set()
    for file in ROOT.rglob("*.rs"):
        if "target" in file.parts or file.parent.name == "parse" and file.name != "unnamed.rs":
            continue
        text = file.read_text()
        read.update(re.findall(r"\.(\w+)\b", text))
        for pattern in re.findall(r"\{([^{}\n]*), \.\. \}", text):
            read.update(re.findall(r"\b(\w+)(?=:|,|$)", pattern))
    known = {*BY_ANALYSIS, *PLACES, *SPELLED, *REFUSED, *REASONS}
    unread = {name for name in filled if name not in read}
    for name in sorted(unread - known):
        print(f"{name} of {', '.join(sorted(filled[name]))} is read by nobody: is a clause dropped?")
    for name in sorted(known - unread):
        print(f"{name} is in a list of {pathlib.Path(__file__).name}, but is read, or is no field")
    return 1 if unread ^ known else 0


if __name__ == "__main__":
    sys.exit(main())
