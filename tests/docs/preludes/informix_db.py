"""What the examples of informix-db's documents take for granted: modules, a connection, a cursor and tables with some rows."""

import asyncio
import dataclasses
import os
from collections.abc import Callable, Sequence

import informix_db
from informix_db import Value, aio

WHERE = {"host": "localhost", "port": int(os.environ["SQLI_PORT"]), "user": "me", "password": "", "database": "stores", "server": "ol_prod"}
conn = informix_db.connect(**WHERE)
cur = conn.cursor()
for table in ("customer", "orders", "item", "account", "doc", "photo", "copies"):
    try:
        cur.execute(f"drop table {table}")
        conn.commit()
    except informix_db.Error:
        conn.rollback()
cur.execute("create table customer (customer_num integer, fname varchar(20), lname varchar(20))")
cur.execute("insert into customer values (101, 'Ada', 'Lovelace')")
cur.execute("create table orders (id integer, ship_date date)")
cur.execute("create table item (id integer, name varchar(20), price decimal(8,2))")
cur.executemany("insert into item values (?, ?, ?)", [(n, f"item {n}", n) for n in range(1, 21)])
cur.execute("create table account (id integer, balance decimal(8,2))")
cur.execute("insert into account values (1, 100)")
cur.execute("insert into account values (2, 0)")
cur.execute("create table doc (id integer, picture byte, story text)")
cur.execute("create table photo (id integer, data blob)")
cur.execute("create table copies (data blob)")
conn.commit()
rows = [(21, "pen", 1), (22, "ink", 2)]
sql = "select count(*) from item"
with open("big.bin", "wb") as made:
    made.write(b"x" * 100_000)


@dataclasses.dataclass
class Customer:
    customer_num: int
    fname: str
    lname: str
