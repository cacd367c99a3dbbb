"""What database tools ask on connecting and browsing gives what PostgreSQL 18 gives.

queries.sql holds statements that pgAdmin 4, DBeaver, DataGrip and Metabase send, in our own words: each has a heading
`--- tool: what it is for`. `:name` stands for the OID of the schema or table of that name. expected.txt is written by
`CLIENT_TARGET=postgres` with RECORD=1: for each statement its columns with their types, and its rows. What is each
server's own is normalised: OIDs of user objects, transaction ids. Rows come in the order of the statement's ORDER BY, and
sorted by their text where it has none. A heading that ends with [refused] marks what pgsqlite does not take yet: the mark is
exact, a statement with it that works fails the run. One that ends with [15] asks for what PostgreSQL 16 to 18 have named anew: its answer is that of 15.
"""

import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "lib"))
import pgwire  # noqa: E402

# Those from here on are given when a cluster is made.
FIRST_OWN_OID = 12000
XID = 28
# Types whose values are, or may be, OIDs: oid, int8, oidvector, _oid. (The largest int4 and int8 are limits of sequences.)
OIDS = {26, 20, 30, 1028}
LIMITS = {2**31 - 1, 2**63 - 1}

connection = pgwire.from_environment(os.environ["PGDATABASE"])


def messages(sql):
    return connection.simple(sql)


def error_of(answer):
    for kind, body in answer:
        if kind == b"E":
            fields = pgwire.fields_of(body)
            return f"ERROR {fields['C']}: {fields['M']}"
    return None


def own(value, kind):
    """The value without what is the server's own."""
    if value is None:
        return "NULL"
    text = value.decode()
    if kind == XID:
        return "#"
    if kind in OIDS or text.startswith("{"):
        return re.sub(r"\b\d{5,10}\b", lambda m: "#" if int(m[0]) >= FIRST_OWN_OID and int(m[0]) not in LIMITS else m[0], text)
    return text


def answer_to(sql):
    answer = messages(sql)
    error = error_of(answer)
    if error:
        return error
    columns, lines = [], []
    for kind, body in answer:
        if kind == b"T":
            columns = [(name, oid) for name, oid, _, _ in pgwire.row_description(body)]
            lines.append(" | ".join(f"{name}:{'user' if oid >= FIRST_OWN_OID else oid}" for name, oid in columns))
            rows = []
        elif kind == b"D":
            values = pgwire.data_row(body)
            rows.append(" | ".join(own(value, columns[i][1]) for i, value in enumerate(values)))
        elif kind == b"C":
            if columns:
                lines += rows if re.search(r"ORDER BY[^)]*$", sql, re.I) else sorted(rows)
            lines.append(body.rstrip(b"\0").decode())
            columns = []
    return "\n".join(lines)


schema = (HERE / "schema.sql").read_text()
assert error_of(messages(schema)) is None, error_of(messages(schema))
names = dict(connection.query("SELECT ':' || nspname, oid FROM pg_namespace WHERE nspname !~ '^pg_toast|^pg_temp'"))
names.update(connection.query("SELECT ':' || relname, oid FROM pg_class WHERE relnamespace = 'shop'::regnamespace AND relkind IN ('r', 'v')"))

expected_file = HERE / "expected.txt"
sections = [part.split("\n", 1) for part in re.split(r"^--- ", (HERE / "queries.sql").read_text(), flags=re.M)[1:]]
answers = []
for title, sql in sections:
    answers.append((title, answer_to(re.sub(r"(?<![\w:]):[a-z_]+", lambda m: names.get(m[0], m[0]), sql.strip()))))
if os.environ.get("RECORD"):
    assert os.environ["CLIENT_TARGET"] == "postgres"
    before = dict(part.rstrip("\n").split("\n", 1) for part in re.split(r"^--- ", expected_file.read_text(), flags=re.M)[1:])
    answers = [(title, before[title] if title.endswith("[15]") else text) for title, text in answers]
    failed = [title for title, text in answers if text.startswith("ERROR")]
    assert not failed, [answer for answer in answers if answer[0] in failed]
    expected_file.write_text("".join(f"--- {title}\n{text}\n" for title, text in answers))
    sys.exit(0)
expected = dict(part.rstrip("\n").split("\n", 1) for part in re.split(r"^--- ", expected_file.read_text(), flags=re.M)[1:])
assert list(expected) == [title for title, _ in answers], "expected.txt is of other queries: record it anew"
bad = 0
for title, text in answers:
    if title.endswith("[refused]") and os.environ["CLIENT_TARGET"] == "pgsqlite":
        if not text.startswith("ERROR 0A000"):
            bad += 1
            print(f"=== {title}\n  is taken now: remove the mark")
    elif text != expected[title]:
        bad += 1
        here, there = text.splitlines(), expected[title].splitlines()
        print(f"=== {title}")
        for line in there:
            if line not in here:
                print(f"  PostgreSQL: {line}")
        for line in here:
            if line not in there:
                print(f"  here:       {line}")
refused = sum(title.endswith("[refused]") for title, _ in answers)
print(f"{len(answers) - bad} of {len(answers)} statements give the same, or are among the {refused} that are refused")
sys.exit(1 if bad else 0)
