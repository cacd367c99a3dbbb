#!/usr/bin/env python3
"""What a role without any privilege gets by each statement of the grammar, on objects of others.

The statements are made from the synopses of psql's `\\h` (synopsis.py): every command, in every form, with every option. PostgreSQL's SQLSTATEs
are recorded in grammar.tsv; a command, a form or a word that the release of psql has and the record has not fails.

    python3 tests/entry/grammar.py                              # pgsqlite
    tools/oracle.sh python3 tests/entry/grammar.py --record     # PostgreSQL: writes grammar.tsv

An answer is wrong where pgsqlite does what PostgreSQL refuses, or denies what PostgreSQL does, or denies nothing where PostgreSQL denies; what is
refused as not implemented (0A000) gives nobody anything. Afterwards the file has the same tables with the same rows as before.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import oracle as reference  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402
import synopsis  # noqa: E402

TABLE = HERE / "grammar.tsv"
DIFFERENT = HERE / "grammar_different.tsv"
DATABASE = "reach"
DENIED, DONE, NOT_HERE = "42501", "00000", "0A000"

#: Objects of the superuser. What pgsqlite does not have is refused, and then there is nothing to reach.
SETUP = """
CREATE ROLE nobody LOGIN
CREATE ROLE victim LOGIN
CREATE ROLE crew
REVOKE ALL ON DATABASE reach FROM PUBLIC
GRANT CONNECT ON DATABASE reach TO nobody
CREATE SCHEMA app
CREATE TABLE tab (id int CONSTRAINT tab_key PRIMARY KEY, txt text, num int CONSTRAINT tab_con CHECK (num > 0))
INSERT INTO tab VALUES (1, 'one', 1), (2, 'two', 2)
CREATE TABLE parent (id int, txt text, num int)
CREATE TABLE part (id int, num int) PARTITION BY RANGE (id)
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (1) TO (10)
CREATE INDEX tab_idx ON tab (num)
CREATE INDEX part_idx ON part (id)
CREATE STATISTICS tab_stat ON id, num FROM tab
CREATE POLICY tab_pol ON tab USING (true)
CREATE FUNCTION fn(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1'
REVOKE EXECUTE ON FUNCTION fn(integer) FROM PUBLIC
CREATE PROCEDURE pr(integer) LANGUAGE sql AS 'SELECT 1'
REVOKE EXECUTE ON PROCEDURE pr(integer) FROM PUBLIC
CREATE AGGREGATE ag(integer) (SFUNC = int4pl, STYPE = integer)
CREATE FUNCTION trigfn() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'
REVOKE EXECUTE ON FUNCTION trigfn() FROM PUBLIC
CREATE TRIGGER tab_trig BEFORE UPDATE ON tab FOR EACH ROW EXECUTE FUNCTION trigfn()
CREATE RULE tab_rule AS ON DELETE TO parent DO ALSO NOTIFY chan
CREATE VIEW vw AS SELECT id, num FROM tab
CREATE MATERIALIZED VIEW mv AS SELECT id, num FROM tab
CREATE SEQUENCE sq
CREATE TYPE en AS ENUM ('a', 'b')
CREATE TYPE comp AS (a integer, num integer)
CREATE TYPE rng AS RANGE (SUBTYPE = int4)
CREATE DOMAIN dom AS integer CONSTRAINT dom_con CHECK (VALUE > 0)
REVOKE USAGE ON TYPE en, comp, dom FROM PUBLIC
CREATE COLLATION coll FROM "C"
CREATE CONVERSION conv FOR 'UTF8' TO 'LATIN1' FROM utf8_to_iso8859_1
CREATE OPERATOR === (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4eq)
CREATE OPERATOR FAMILY opf USING btree
CREATE OPERATOR CLASS opc FOR TYPE integer USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(integer, integer)
CREATE TEXT SEARCH CONFIGURATION tsc (COPY = simple)
CREATE TEXT SEARCH DICTIONARY tsd (TEMPLATE = simple)
CREATE TEXT SEARCH PARSER tsp (START = prsd_start, GETTOKEN = prsd_nexttoken, END = prsd_end, LEXTYPES = prsd_lextype)
CREATE TEXT SEARCH TEMPLATE tst (LEXIZE = dsimple_lexize)
CREATE CAST (en AS integer) WITH INOUT
CREATE ACCESS METHOD am TYPE INDEX HANDLER bthandler
CREATE FOREIGN DATA WRAPPER fdw
CREATE SERVER srv FOREIGN DATA WRAPPER fdw
CREATE FOREIGN TABLE ft (id integer, num integer) SERVER srv
CREATE USER MAPPING FOR victim SERVER srv
CREATE PUBLICATION pub
CREATE SUBSCRIPTION sub CONNECTION '' PUBLICATION pub WITH (connect = false)
CREATE FUNCTION evtfn() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'
CREATE EVENT TRIGGER evt ON sql_drop EXECUTE FUNCTION evtfn()
CREATE TRANSFORM FOR en LANGUAGE plpgsql (FROM SQL WITH FUNCTION textlike_support(internal))
SELECT lo_create(4711)
COMMENT ON TABLE tab IS 'hidden'
"""  # fmt: skip

#: The object of each kind, as commands name it.
OBJECTS = {
    "AGGREGATE": "ag", "COLLATION": "coll", "CONVERSION": "conv", "DATABASE": "reach", "DOMAIN": "dom", "EVENT TRIGGER": "evt", "EXTENSION": "plpgsql",
    "FOREIGN DATA WRAPPER": "fdw", "FOREIGN TABLE": "ft", "FUNCTION": "fn", "GROUP": "crew", "INDEX": "tab_idx", "LANGUAGE": "plpgsql",
    "MATERIALIZED VIEW": "mv", "OPERATOR": "===", "OPERATOR CLASS": "opc", "OPERATOR FAMILY": "opf", "POLICY": "tab_pol", "PROCEDURE": "pr",
    "PUBLICATION": "pub", "ROLE": "victim", "ROUTINE": "fn", "RULE": "tab_rule", "SCHEMA": "app", "SEQUENCE": "sq", "SERVER": "srv",
    "STATISTICS": "tab_stat", "SUBSCRIPTION": "sub", "TABLE": "tab", "TABLESPACE": "pg_default", "TEXT SEARCH CONFIGURATION": "tsc",
    "TEXT SEARCH DICTIONARY": "tsd", "TEXT SEARCH PARSER": "tsp", "TEXT SEARCH TEMPLATE": "tst", "TRIGGER": "tab_trig", "TYPE": "comp", "USER": "victim",
    "VIEW": "vw", "ACCESS METHOD": "am", "LARGE OBJECT": "4711",
}  # fmt: skip

#: What words in lower case stand for, in every command: per line a value and its words.
VALUES = {
    word: value
    for value, words in {
        "": "argmode argname arg_name comment",
        "integer": "argtype arg_type arg_data_type data_type type argument_type base_type column_type element left_type right_type like_type rettype op_type "
        "state_data_type mstate_data_type storage_type subtype alter_type",
        "tab": "table_name relation_name parent_table reftable source_table referenced_table_name target_table_name source_table_name object_name",
        "num": "column_name attribute_name refcolumn index_column_name column existing_column join_column conflict_column",
        "fresh": "new_name new_column_name new_attribute_name new_constraint_name new_table new_enum name_of_new alias target_alias source_alias output_name "
        "column_alias savepoint_name channel with_query_name window_name existing_window_name cycle_mark_col_name cycle_path_col_name "
        "search_seq_col_name join_using_alias transition_relation_name attribute multirange_type_name multirange parameter_name publication_parameter_name "
        "prepared_name statistics_name existing_window",
        "1": "integer count start value_of_number argument parameter column_number increment minvalue maxvalue cache restart seed numeric_literal "
        "strategy_number support_number execution_cost result_rows state_data_size mstate_data_size connlimit uid new_target precision default_expr "
        "initial_condition minitial_condition expression generation_expr output_expression index_expression sort_expression offset "
        "cycle_mark_value cycle_mark_default partition_bound_expr grouping_element opclass_parameter_value oid partition_value end",
        "true": "condition predicate using_expression check_expression join_condition index_predicate boolean search_condition allowconn istemplate "
        "preferred collatable with_check_expression",
        "victim": "role_name new_owner user_name old_role new_role target_role owner_name group_name owner",
        "app": "new_schema schema_name schema local_schema remote_schema",
        "pg_default": "tablespace_name new_tablespace",
        "reach": "database_name",
        "fn": "function_name routine_name join_proc res_proc call_handler inline_handler valfunction handler_function validator_function input_function "
        "output_function receive_function send_function analyze_function subscript_function type_modifier_input_function type_modifier_output_function "
        "canonical_function subtype_diff_function start_function gettoken_function end_function lextypes_function headline_function init_function "
        "lexize_function sfunc ffunc combinefunc serialfunc deserialfunc msfunc minvfunc mffunc support_function to_sql_function_name "
        "from_sql_function_name function",
        "pr": "procedure_name procedure", "ag": "aggregate_name", "===": "operator operator_name sort_operator com_op neg_op subtype_operator",
        "opc": "opclass subtype_operator_class", "opf": "family_name sort_family_name", "btree": "index_method method", "vw": "view_name",
        "tab_con": "constraint_name", "tab_idx": "index_name", "tab_trig": "trigger_name", "tab_rule": "rule_name rewrite_rule_name", "tab_pol": "policy_name",
        "sq": "sequence_name", "dom": "domain_name", "comp": "type_name", "en": "source_type", "srv": "server_name", "fdw": "fdw_name",
        "plpgsql": "lang_name extension_name language", "coll": "collation existing_collation", "pub": "publication_name", "sub": "subscription_name",
        "4711": "large_object_oid loid", "heap": "new_access_method access_method", "pglz": "compression_method", "tsd": "dictionary_name old_dictionary "
        "new_dictionary", "asciiword": "token_type", "tsp": "parser_name", "tsc": "source_config", "part1": "partition_name", "cur": "cursor_name",
        "work_mem": "configuration_parameter", "'x'": "string_literal label text payload snapshot_id transaction_id filename file_name filter_value "
        "new_enum_value new_version version collation_version category delimiter default storage alignment internallength conninfo connection_info "
        "null_string delimiter_character quote_character escape_character error_level lc_collate lc_ctype locale locale_provider provider encoding "
        "icu_locale strategy null_value", "'a'": "existing_enum_value neighbor_enum_value", "'UTF8'": "source_encoding dest_encoding encoding_name",
        "SELECT 1": "query statement select sub-SELECT sql_body", "NOTHING": "command", "ddl_command_start": "event", "tag": "filter_variable",
        "SELECT num FROM tab": "source_query", "integer_": "data_source", "fillfactor": "storage_parameter", "n_distinct": "attribute_option",
        "security_barrier": "view_option_name", "CREATE TABLE fresh (a integer)": "schema_element", "ndistinct": "statistics_kind", "csv": "format_name",
        "seq_page_cost": "tablespace_option", "'$$BEGIN END$$'": "code_", "opclass_option": "opclass_parameter", "publish": "publication_parameter",
        "slot_name": "subscription_parameter", "copy_data": "refresh_option publication_option", "lsn": "skip_option", "RECEIVE": "property",
        "simple": "template", "bernoulli": "sampling_method", "JOIN": "join_type", "INDEX": "access_method_type", "cost": "option", "PRECEDING": "frame",
        "VALUES (1, 'one', 1)": "values", "DELETE FROM tab": "delete", "INSERT INTO tab VALUES (3)": "insert", "UPDATE tab SET num = 1": "update",
        "public.tab": "from_item", "id integer": "column_definition", "PARTITION BY num": "window_definition", "SELECT 2": "with_query",
        "INCREMENT 2": "sequence_option sequence_options", "NOT NULL": "column_constraint", "CHECK (num > 0)": "table_constraint",
        "RESTRICT": "referential_action", "integer ": "target_type", "DEFAULTS": "view_option_value", 
        "UNIQUE": "constraint index_parameters", "num ": "exclude_element", "true ": "is", "1 ": "existing_value", "''": "arguments", "'DO'": "do_code",
        "$$BEGIN END$$": "code", "$fn$SELECT 1$fn$": "definition obj_file link_symbol", "10": "value",
    }.items()
    for word in words.split()
}  # fmt: skip

#: The same where a command means something else by a word.
OF_COMMANDS: dict[tuple[str, str], str] = {
    ("CREATE OPERATOR", "name"): "~~~~", ("CREATE TABLE", "table_name"): "fresh", ("CREATE TABLE AS", "table_name"): "fresh",
    ("CREATE FOREIGN TABLE", "table_name"): "fresh", ("CREATE MATERIALIZED VIEW", "table_name"): "fresh", ("SET", "value"): "'8MB'", ("SHOW", "name"): "work_mem", ("ALTER TYPE", "data_type"): "integer", ("EXECUTE", "name"): "prepared", ("CALL", "name"): "pr",
    ("PREPARE", "name"): "prepared", ("DEALLOCATE", "name"): "prepared", ("DECLARE", "name"): "cur", ("CLOSE", "name"): "cur", ("LOCK", "name"): "tab",
    ("TRUNCATE", "name"): "tab", ("REINDEX", "name"): "tab", ("REFRESH MATERIALIZED VIEW", "name"): "mv", ("SET CONSTRAINTS", "name"): "tab_con",
    ("CREATE DATABASE", "template"): "template0", ("ALTER INDEX", "table_name"): "part", ("CREATE TABLE", "parent_table"): "part",
    ("ALTER TABLE", "type_name"): "comp", ("CREATE TABLE", "type_name"): "comp", ("ALTER DOMAIN", "constraint_name"): "dom_con",
    ("LOAD", "filename"): "'plpgsql'", ("CREATE RULE", "event"): "INSERT", ("COMMENT", "object_name"): "tab", ("GRANT", "type_name"): "en",
    ("REVOKE", "type_name"): "en", ("ALTER SYSTEM", "value"): "'8MB'", ("COPY", "value"): "'x'", ("EXPLAIN", "statement"): "SELECT * FROM tab",
    ("CREATE VIEW", "query"): "SELECT 1 AS a", ("CREATE VIEW", "column_name"): "a", ("CREATE SCHEMA", "user_name"): "victim",
    ("ALTER MATERIALIZED VIEW", "index_name"): "mv_idx", ("CREATE MATERIALIZED VIEW", "query"): "SELECT * FROM tab", ("CREATE TABLE AS", "query"): "SELECT 1 AS num",
    ("CREATE MATERIALIZED VIEW", "column_name"): "a", ("DO", "lang_name"): "plpgsql", ("CREATE SEQUENCE", "table_name"): "tab", ("VALUES", "expression"): "1",
    ("CREATE FUNCTION", "sql_body"): "RETURN 1", ("CREATE PROCEDURE", "sql_body"): "BEGIN ATOMIC END", ("RESET", "configuration_parameter"): "work_mem",
}  # fmt: skip

#: They cannot be in a transaction block, or are about one.
OUTSIDE = re.compile(
    r"VACUUM|ALTER SYSTEM|(CREATE|DROP|ALTER) (DATABASE|TABLESPACE|SUBSCRIPTION)|REINDEX|CLUSTER|DISCARD|BEGIN|COMMIT|END|START|ROLLBACK|ABORT|CHECKPOINT|.* CONCURRENTLY"
)
#: Commands whose synopsis is another's.
SAME = {"TABLE": "SELECT", "WITH": "SELECT"}


def fill(command: str, missing: set[str]):
    verb, _, kind = command.partition(" ")

    def value(word: str) -> list[str]:
        if (command, word) in OF_COMMANDS:
            return [OF_COMMANDS[command, word]]
        if word == "name":
            if verb == "CREATE":
                return ["fresh"]
            return [OBJECTS.get(kind, "tab")]
        if word not in VALUES:
            missing.add(f"{command}: {word}")
            return [word]
        return [VALUES[word].strip()]

    return value


def made(help_text: str) -> tuple[dict[str, list[str]], set[str]]:
    """The statements of each command, and the words that nobody knows a value for."""
    found: dict[str, list[str]] = {}
    missing: set[str] = set()
    seen: set[str] = set()
    for command, forms, productions in synopsis.commands(help_text):
        own = found.setdefault(command, [])
        if command in SAME:
            continue
        for form in forms:
            for text in synopsis.variants(form, fill(command, missing), productions):
                if text not in seen:
                    seen.add(text)
                    own.append(text)
    return found, missing


def help_of(host: str, port: int, database: str) -> str:
    """What psql says of all commands."""
    done = subprocess.run(["psql", "-X", "-h", host, "-p", str(port), "-U", "postgres", "-d", database, "-c", "\\h *"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"psql: {done.stderr}")
    return done.stdout


class Nobody:
    """A session of the role without privileges, begun anew where a statement has ended it."""

    def __init__(self, host: str, port: int):
        self.where = (host, port)
        self.session = self.begin()

    def begin(self) -> pgwire.Connection:
        session = pgwire.Connection(*self.where, "nobody", DATABASE)
        session.query("SET statement_timeout = '20s'")
        return session

    def state_of(self, statement: str) -> str:
        """The SQLSTATE of a statement that is undone, 00000 for none."""
        block = not OUTSIDE.match(statement)
        if block:
            self.session.simple("BEGIN")
        states = [pgwire.fields_of(body)["C"] for kind, body in self.session.simple(statement) if kind == b"E"]
        self.session.simple("ROLLBACK")
        if statement.startswith("PREPARE TRANSACTION"):
            self.session.simple("ROLLBACK PREPARED 'x'")
        return states[0] if states else DONE


def set_up(admin: pgwire.Connection, complete: bool) -> list[str]:
    """Makes the objects; those that are refused as not implemented."""
    absent = []
    for line in filter(None, SETUP.splitlines()):
        states = [pgwire.fields_of(body) for kind, body in admin.simple(line) if kind == b"E"]
        if states and (complete or states[0]["C"] != NOT_HERE):
            raise SystemExit(f"{line}: {states[0]['C']} {states[0]['M']}")
        absent += [line] * bool(states)
    return absent


def record() -> int:
    admin = reference.connect()
    admin.query(f"CREATE DATABASE {DATABASE} TEMPLATE template0")
    set_up(pgwire.from_environment(DATABASE), True)
    host = os.environ["PGHOST"]
    found, missing = made(help_of(host, 5432, "postgres"))
    nobody, lines, malformed = Nobody(host, 5432), [], []
    for command, statements in found.items():
        states = [(nobody.state_of(s), s) for s in statements]
        well_formed = [(state, s) for state, s in states if state != "42601"]
        malformed += [s for state, s in states if state == "42601"]
        lines += [f"{state}\t{command}\t{s}" for state, s in well_formed]
        if not well_formed and command not in SAME:
            missing.add(f"{command}: no statement of it is well formed")
    if "--malformed" in sys.argv:
        print("\n".join(malformed))
    for what in sorted(missing):
        print(what)
    if missing:
        return 1
    TABLE.write_text("\n".join(lines) + "\n")
    print(f"tests/entry: {len(lines)} statements of {len(found)} commands, {len(malformed)} more are no SQL")
    return 0


def digest(data: str) -> dict[str, list[tuple]]:
    """All that a file has: the schema, and the rows of each table."""
    with contextlib.closing(sqlite3.connect(f"file:{data}/{DATABASE}.db?mode=ro", uri=True)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")]
        found = {name: sorted(db.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr) for name in tables}
        found["sqlite_schema"] = sorted(db.execute("SELECT type, name, sql FROM sqlite_schema").fetchall(), key=repr)
    return found


def main() -> int:
    if "--record" in sys.argv:
        return record()
    recorded = [line.split("\t", 2) for line in TABLE.read_text().splitlines()]
    known = dict(line.split("\t")[:2] for line in DIFFERENT.read_text().splitlines() if line and not line.startswith("#"))
    wrong, refused, used = [], 0, set()
    with tempfile.TemporaryDirectory(prefix="pgsqlite-grammar.") as data, server.Server("--data-dir", data) as s:
        pgwire.Connection(s.dir, s.port, "postgres", "postgres").query(f"CREATE DATABASE {DATABASE}")
        admin = pgwire.Connection(s.dir, s.port, "postgres", DATABASE)
        set_up(admin, False)
        if "15." in subprocess.run(["psql", "--version"], capture_output=True, text=True).stdout:
            # every statement that the grammar has is recorded, and the other way round
            found, missing = made(help_of(s.dir, s.port, DATABASE))
            wrong += [f"no value for a word (tests/entry/grammar.py): {m}" for m in sorted(missing)]
            wrong += [f"{command}: a command that is not recorded" for command in found.keys() - {c for _, c, _ in recorded} - SAME.keys()]
            all_made = {s for statements in found.values() for s in statements}
            wrong += [f"{s}: recorded, but not made any more: record anew" for _, _, s in recorded if s not in all_made]
        else:
            print("tests/entry: psql is of another release: whether its grammar is covered is not looked at")
        # the table of prepared transactions is made with the first of them
        for statement in ("BEGIN", "PREPARE TRANSACTION 'first'", "ROLLBACK PREPARED 'first'"):
            admin.query(statement)
        before = digest(data)
        nobody = Nobody(s.dir, s.port)
        for state, _, statement in recorded:
            try:
                got = nobody.state_of(statement)
            except pgwire.ServerGone as e:
                wrong.append(f"{statement}: the session is gone: {e}")
                nobody = Nobody(s.dir, s.port)
                continue
            refused += got == NOT_HERE != state
            if got in (state, NOT_HERE):
                continue
            if known.get(statement) == got:
                used.add(statement)
            else:
                wrong.append(f"{statement}: PostgreSQL {state}, pgsqlite {got}")
        wrong += [f"{statement}: in {DIFFERENT.name}, but no different any more" for statement in known.keys() - used]
        nobody.session.close()
        after = digest(data)
        for table in sorted(before.keys() | after.keys()):
            if before.get(table) != after.get(table):
                wrong.append(f"{table} has changed: {before.get(table)} {after.get(table)}")
    for line in wrong:
        print(line)
    print(f"tests/entry: {len(recorded)} statements of the grammar, {refused} not implemented, {len(used)} known differences, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
