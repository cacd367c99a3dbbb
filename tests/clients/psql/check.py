"""The commands of psql 15 print what they print on PostgreSQL 18.

The expected file beside this one is written by `CLIENT_TARGET=postgres` with RECORD=1; only the owner's and the database's
name are normalised, and the storage size, which is the server's own. What psql 15 cannot ask PostgreSQL 18 keeps what it printed on 15.
"""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
COMMANDS = [r"\d", r"\d customers", r"\d orders", r"\d vips", r"\d tickets", r"\dt", r"\dt audit.*", r"\di", r"\dv", r"\ds", r"\dn", r"\df",
            r"\dT", r"\dT+ state", r"\du", r"\d nosuch", r"\d+ orders", r"\d+ vips", r"\dt+", r"\l",
            "SELECT * FROM customers ORDER BY id", r"\x \\ SELECT name, email FROM customers ORDER BY id",
            r"\d items", r"\d+ items", r"\d scratch", r"\d+ customers", r"\d totals", r"\d+ totals", r"\d big_orders", r"\d+ big_orders",
            r"\d audit.*", r"\d+ audit.recent", r"\d address", r"\d+ address", r"\d items_lower", r"\d items_partial", r"\d+ items_inc",
            r"\d items_pkey", r"\d audit.serial", r"\d+ audit.serial", r"\d items_big_seq", r"\d customers_id_seq", r"\d+ \"Items Odd\"",
            r"\d+", r"\dt+ audit.*", r"\di+", r"\di items*", r"\dv+", r"\dv *.recent", r"\dm", r"\dm+", r"\ds+", r"\ds audit.*", r"\dE",
            r"\dn+", r"\dT+", r"\dT address", r"\dD", r"\dD+", r"\dD+ code", r"\du+", r"\dg", r"\du manager", r"\dp", r"\z orders",
            r"\dp audit.*", r"\ddp", r"\drds", r"\dx plpgsql", r"\db", r"\dL", r"\des", r"\dew", r"\det", r"\dRp", r"\dRs", r"\dP", r"\dX",
            r"\dy", r"\dd", r"\dO", r"\dc", r"\dC address", r"\do && text", r"\do+ &&", r"\da sum", r"\daS bit_or", r"\dAc btree integer",
            r"\df abs", r"\dfS lower", r"\df+ now", r"\dfS+ upper", r"\dTS int4", r"\dtS pg_class", r"\dvS pg_tables", r"\dconfig work_mem",
            r"\dA", r"\dl", r"\sv vips", r"\sv big_orders", r"\dt nosuch", r"\dn aud*", r"\dnS", r"\d customers;", r"\dti", r"\dtv",
            r"\d *.log", r"\dt *.*entries", r"\encoding"]  # fmt: skip

# They name columns that have another name since PostgreSQL 17.
OF_15 = [r"\l", r"\dO"]


def psql(*args):
    done = subprocess.run(["psql", "-X", "-v", "ON_ERROR_STOP=1", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=dict(os.environ, PGTZ="UTC", LC_ALL="C.UTF-8"))  # fmt: skip
    return done.returncode, done.stdout


code, out = psql("-q", "-f", str(HERE / "schema.sql"))
assert code == 0, out
bad = 0
expected_file = HERE / "expected.txt"
answers = []
for command in COMMANDS:
    if "\\\\" in command:
        first, second = command.split(" \\\\ ")
        _, out = psql("-c", first, "-c", second)
    else:
        _, out = psql("-c", command)
    if command == r"\l":  # the databases differ: what must be the same is the heading
        out = "\n".join(out.splitlines()[:2]) + "\n"
    out = re.sub(r"\b\d+ (bytes|kB)\b", "N bytes", out)
    out = re.sub(r"[ \t]+", " ", re.sub(r"-+", "-", out))  # widths follow the normalised values
    answers.append(f"=== {command}\n{out.rstrip()}\n")
expected = expected_file.read_text().split("\n=== ")
if os.environ.get("RECORD"):
    assert os.environ["CLIENT_TARGET"] == "postgres"
    kept = {command: "=== " + want.removeprefix("=== ").rstrip() + "\n" for command, want in zip(COMMANDS, expected)}
    expected_file.write_text("\n".join(kept[command] if command in OF_15 else answer for command, answer in zip(COMMANDS, answers)))
    sys.exit(0)
for got, want in zip(answers, expected):
    if got.removeprefix("=== ").rstrip() != want.removeprefix("=== ").rstrip():
        bad += 1
        print(f"--- PostgreSQL\n{want}\n--- here\n{got}")
print(f"{len(COMMANDS) - bad} of {len(COMMANDS)} commands print the same")
sys.exit(1 if bad else 0)
