"""SPL on pgsqlite's SQLI listener: routines and triggers as PL/pgSQL."""

import datetime as dt
from decimal import Decimal

import pytest

import informix_db
from conftest import CREDENTIALS, pgsqlite


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spl")
    with pgsqlite(folder, "--database", str(folder / "spl.db")) as port:
        yield port


@pytest.fixture
def conn(port):
    """A connection whose routines, triggers and tables go with the test."""
    with informix_db.connect("127.0.0.1", port, **CREDENTIALS, autocommit=True) as connection:
        yield connection
        for (name,) in rows(connection, "select trigname from systriggers"):
            run(connection, f"drop trigger {name}")
        for (name,) in rows(connection, "select procname from sysprocedures"):
            run(connection, f"drop routine {name}")
        for (name,) in rows(connection, "select tabname from systables where tabid > 100 and tabtype = 'T'"):
            run(connection, f"drop table {name}")


def run(conn, *statements):
    for statement in statements:
        conn.cursor().execute(statement)


def rows(conn, sql, *parameters):
    return conn.cursor().execute(sql, parameters).fetchall()


def refused(conn, sql, *parameters):
    with pytest.raises(informix_db.Error) as raised:
        conn.cursor().execute(sql, parameters).fetchall()
    return raised.value


def test_a_function_gives_values_to_clients_and_expressions(conn):
    run(
        conn,
        "create function plus(a integer, b integer default 4) returning integer as total; return a + b; end function;",
    )
    cursor = conn.cursor()
    cursor.execute("execute function plus(?, ?)", (1, 2))
    assert (cursor.description[0][0], cursor.fetchall()) == ("total", [(3,)])
    assert rows(conn, "execute function plus(1)") == [(5,)]
    assert rows(conn, "execute function plus(b = 10, a = 1)") == [(11,)]
    assert rows(conn, "call plus(2, 2)") == [(4,)]
    assert rows(conn, "select plus(tabid, 1) * 2 from systables where tabid = 1") == [(4,)]
    assert refused(conn, "execute function plus()").sqlcode == -674
    assert refused(conn, "execute function plus(1, 2, 3)").sqlcode == -674
    assert (
        refused(conn, "create function plus(x integer, y integer) returning integer; return 1; end function").sqlcode
        == -673
    )
    # what the server has itself
    assert rows(conn, "execute function abs(?)", -3) == [(3,)]


def test_types_of_parameters_and_results(conn):
    run(
        conn,
        "create function all_of(c char(5), v varchar(5), d date, m datetime hour to minute, x money(8,2), n"
        " nchar(3), l lvarchar(300))"
        " returning char(5), varchar(5), date, datetime hour to minute, money(8,2), nchar(3), lvarchar(300),"
        " boolean, interval hour to minute;"
        " define i interval hour to minute; define b boolean;"
        " let i = interval (10:30) hour to minute; let b = 't';"
        " return c, v, d + 1, m, x * 2, n, c || '!', b, i; end function",
    )
    cursor = conn.cursor()
    cursor.execute("execute function all_of('ab', 'cd', ?, '11:45', 2.5, 'xy', '')", (dt.date(2026, 1, 2),))
    assert cursor.fetchall() == [
        (
            "ab",
            "cd",
            dt.date(2026, 1, 3),
            dt.time(11, 45),
            Decimal("5.00"),
            "xy",
            "ab   !",
            True,
            dt.timedelta(hours=10, minutes=30),
        )
    ]
    # a value that is too long is not cut
    assert refused(conn, "execute function all_of('ab', 'too long', today, '1:1', 1, 'x', '')").sqlcode == -1279


def test_rows_with_resume(conn):
    run(
        conn,
        "create table item (id serial, name varchar(20))",
        "insert into item values (0, 'a')",
        "insert into item values (0, 'b')",
        "create procedure names(least int) returning int, varchar(20); define i like item.id; define n like"
        " item.name;"
        " foreach select id, name into i, n from item where id >= least order by id desc"
        "   return i, n with resume; end foreach; end procedure",
        "create function doubled() returning int; define i int; define n varchar(20);"
        " foreach execute procedure names(1) into i, n return i * 2 with resume; end foreach; end function",
    )
    assert rows(conn, "execute procedure names(1)") == [(2, "b"), (1, "a")]
    assert rows(conn, "execute procedure names(3)") == []
    assert rows(conn, "execute function doubled()") == [(4,), (2,)]
    # one value is wanted
    assert refused(conn, "select doubled() from item").sqlcode == -284


def test_control_flow(conn):
    run(
        conn,
        "create function flow() returning int, int, int; define i, s, t, u int; let s, t, u = 0, 0, 0;"
        " for i = 1 to 10 step 3 let s = s + i; end for;"
        " for i in (1, 5 to 7, 20) if i = 6 then continue for; end if; let t = t + i; end for"
        " for i = 3 to 1 let t = t + 100; end for;"
        " while s > 0 let s = s - 1; if s = 10 then exit while; elif s = 15 then let t = t + 1000; else let t ="
        " t; end if; end while;"
        " loop let u = u + 1; for i = 1 to 9 if u > 3 then exit loop; end if; exit for; end for; end loop;"
        " return s, t, u; end function",
        "create function fact(n int) returning bigint; if n <= 1 then return 1; end if; return n * fact(n - 1);"
        " end function",
        "create function swap(a int, b int) returning int, int; let a, b = b, a; return a, b; end function",
        "create function chained() returning int; define x, y int; call swap(3, 4) returning x, y; execute"
        " function swap(x, y) into y, x;"
        " let x, y = swap(x, y); return x * 10 + y; end function",
    )
    # EXIT without a label leaves the innermost loop of its kind
    assert rows(conn, "execute function flow()") == [(10, 1333, 4)]
    assert rows(conn, "execute function fact(10)") == [(3628800,)]
    assert rows(conn, "execute function chained()") == [(34,)]


def test_queries_into_variables(conn):
    run(
        conn,
        "create table v (id int, name char(4))",
        "insert into v values (1, 'x')",
        "insert into v values (2, 'y')",
        # a name that is a variable is not the column
        "create function of_name(id int) returning char(4); define n char(4);"
        " select name into n from v where v.id = id; return n; end function",
        "create function too_many() returning int; define n int; select id into n from v; return n; end function",
        "create function untold() returning int; end function",
    )
    assert rows(conn, "execute function of_name(2)") == [("y",)]
    assert rows(conn, "execute function of_name(9)") == [(None,)]
    assert refused(conn, "execute function too_many()").sqlcode == -284
    assert rows(conn, "execute function untold()") == [(None,)]
    wrong = "create function f() returning int; define a, b int; select id into a, b from v; return a; end function"
    assert "2 variables" in str(refused(conn, wrong))


def test_changes_and_what_they_tell(conn):
    run(
        conn,
        "create table t (id serial primary key, n int)",
        "create procedure add(given int, m int) define made, touched int;"
        " insert into t values (given, m); let made = dbinfo('sqlca.sqlerrd1');"
        " update t set n = n + 1 where t.id <= made; let touched = dbinfo('sqlca.sqlerrd2');"
        " if touched > 2 then raise exception -746, 0, 'touched ' || touched; end if; end procedure",
    )
    cursor = conn.cursor()
    cursor.execute("execute procedure add(0, 10)")
    assert cursor.description is None
    run(conn, "execute procedure add(7, 20)")
    # the sequence goes on behind a value that was given, and all of a failed call is undone
    error = refused(conn, "execute procedure add(0, 30)")
    assert (error.sqlcode, "touched 3" in str(error)) == (-746, True)
    assert rows(conn, "select id, n from t order by id") == [(1, 12), (7, 21)]
    run(conn, "insert into t values (0, 1)")
    assert rows(conn, "select max(id) > 7 from t") == [(True,)]


def test_a_failed_call_within_a_transaction_undoes_itself_alone(conn):
    run(
        conn,
        "create table t (n int)",
        "create procedure add(m int) insert into t values (m); if m < 0 then raise exception -100, -5, 'no'; end"
        " if; end procedure",
        "begin work",
        "execute procedure add(1)",
    )
    error = refused(conn, "execute procedure add(-1)")
    assert (error.sqlcode, error.isamcode) == (-100, -5)
    run(conn, "execute procedure add(2)", "commit work")
    assert rows(conn, "select n from t order by n") == [(1,), (2,)]


def test_update_where_current_of_foreach(conn):
    run(
        conn,
        "create table t (id int, n int)",
        *(f"insert into t values ({i}, {i})" for i in range(5)),
        "create procedure halve() define i int;"
        " foreach c for select id into i from t"
        "   if mod(i, 2) = 0 then delete from t where current of c; else update t set n = n * 10 where current"
        " of c; end if;"
        " end foreach; end procedure",
        "execute procedure halve()",
    )
    assert rows(conn, "select id, n from t order by id") == [(1, 10), (3, 30)]
    bad = "create procedure p() update t set n = 1 where current of nowhere; end procedure"
    assert refused(conn, bad).sqlcode == -507


def test_on_exception_keeps_what_was_done_before(conn):
    run(
        conn,
        "create table t (id int primary key, what varchar(20))",
        "insert into t values (1, 'old')",
        "create function safe(n int) returning int, int, varchar(40); define code, isam int; define told varchar(40);"
        " let code, isam, told = 0, 0, '';"
        " begin on exception in (-268, -391) set code, isam, told insert into t values (n + 100, 'handled'); end"
        " exception"
        "   insert into t values (n + 10, 'before'); insert into t values (n, 'x'); insert into t values (n +"
        " 20, 'behind');"
        " end return code, isam, told; end function",
    )
    assert rows(conn, "execute function safe(1)") == [(-268, -100, "t_pkey")]
    assert rows(conn, "select id, what from t order by id") == [(1, "old"), (11, "before"), (101, "handled")]
    assert rows(conn, "execute function safe(2)") == [(0, 0, "")]
    # an error that no handler is for
    run(conn, "drop table t")
    assert refused(conn, "execute function safe(3)").sqlcode == -206


def test_on_exception_with_resume_and_nested_blocks(conn):
    run(
        conn,
        # each 100 is an error that was handled
        "create function count_errors(n int) returning int; define r, e int; let r = 0;"
        " begin on exception set e let r = r + 100; end exception with resume;"
        "   if 1 / n > 0 then let r = r + 1; else let r = r + 2; end if;"
        "   while 5 / n > r let r = r + 10; end while;"
        "   foreach select tabid / n into e from systables where tabid = 1 let r = r + 1000; end foreach;"
        "   for e = 1 to 3 / n let r = r + 10000; end for;"
        "   raise exception -746, 0, 'own'; let r = r + 7;"
        " end return r; end function",
        "create function outer_one() returning int; define r int;"
        " on exception in (-1202) return 77; end exception"
        " let r = 0; begin on exception in (-206) let r = 5; end exception; let r = 1 / 0; return 1; end return"
        " 2; end function",
        "create function again() returning int; define r int;"
        " on exception return 5; end exception"
        " begin on exception in (-1202) raise exception -100; end exception let r = 1 / 0; end return r; end"
        " function",
    )
    assert rows(conn, "execute function count_errors(1)") == [(31118,)]
    assert rows(conn, "execute function count_errors(0)") == [(507,)]
    assert rows(conn, "execute function outer_one()") == [(77,)]
    assert rows(conn, "execute function again()") == [(5,)]


def test_triggers(conn):
    run(
        conn,
        "create table item (id serial, name varchar(10), price decimal(8,2))",
        "create table noted (what varchar(40), n decimal(8,2))",
        "create procedure note(w varchar(40), n decimal(8,2)) insert into noted values (w, n); end procedure",
        "create function twice(p decimal(8,2)) returning decimal(8,2); return p * 2; end function",
        "create trigger raised update of price on item referencing old as o new as n"
        " before (insert into noted values ('before', 0))"
        " for each row when (n.price > o.price) (execute procedure note('raised ' || n.name, n.price), insert"
        " into noted values ('from', o.price))"
        " after (execute procedure note('after', 0))",
        "create trigger made insert on item referencing new as n for each row (execute function twice(n.price)"
        " into price)",
        "insert into item values (0, 'a', 1.5)",
    )
    assert rows(conn, "select price from item") == [(Decimal("3.00"),)]
    run(conn, "update item set name = 'b'", "update item set price = 2", "update item set price = 4")
    told = [("before", 0), ("after", 0), ("before", 0), ("raised b", 4), ("from", 2), ("after", 0)]
    assert rows(conn, "select what, n from noted") == told
    assert rows(conn, "select trigname, event from systriggers order by 1") == [("made", "I"), ("raised", "U")]
    assert "already exists" in str(
        refused(conn, "create trigger made delete on item after (execute procedure note('x', 0))")
    )
    run(conn, "drop trigger made", "drop trigger raised", "delete from noted", "update item set price = 9")
    assert rows(conn, "select count(*) from noted") == [(0,)]
    run(
        conn,
        "create trigger made delete on item referencing old as o for each row (insert into noted values (o.name,"
        " o.id))",
    )
    # what is left of a trigger whose table is gone is in nobody's way
    run(conn, "drop table item", "create table item (id int)")
    run(
        conn,
        "create trigger made insert on item referencing new as n for each row (insert into noted values ('new', n.id))",
    )
    run(conn, "insert into item values (8)")
    assert rows(conn, "select what, n from noted") == [("new", 8)]


def test_the_texts_are_kept(conn):
    text = "create procedure said() -- it's $spl$ here\n  define i int;\n  let i = 1;\nend procedure"
    run(conn, text)
    assert rows(conn, "select procname, isproc, numargs from sysprocedures") == [("said", "t", 0)]
    assert rows(conn, "select data from sysprocbody") == [(text,)]
    run(
        conn,
        "create procedure if not exists said() end procedure",
        "drop procedure if exists said",
        "drop procedure if exists said",
    )
    assert refused(conn, "drop procedure said").sqlcode == -674


@pytest.mark.parametrize(
    ("body", "code", "named"),
    [
        ("let x = 1;", -667, "x"),
        ("define x int; let x = y;", -667, "y"),
        ("define global x int default 1;", -746, "DEFINE GLOBAL"),
        ("system 'ls';", -746, "SYSTEM"),
        ("trace on;", -746, "TRACE"),
        ("commit work;", -746, "COMMIT"),
        ("begin work;", -746, "BEGIN WORK"),
        ("create table z (n int);", -746, "CREATE"),
        ("execute immediate 'x';", -746, "EXECUTE IMMEDIATE"),
        ("select tabid from systables;", -746, "SELECT without INTO"),
        ("select tabid from systables into temp z;", -746, "INTO TEMP"),
        ("call nowhere();", -674, "nowhere"),
        ("exit while;", -201, ""),
        ("return 1;", -685, ""),
        ("if 1 = 1 then let x = 1;", -201, ""),
        ("let x = ;", -201, ""),
        ("define x set(int not null);", -746, "SET"),
        ("insert into nosuch values (1);", -206, "nosuch"),
    ],
)
def test_refused_with_its_place(conn, body, code, named):
    error = refused(conn, f"create procedure p() {body} end procedure")
    assert error.sqlcode == code
    assert named.lower() in str(error).lower()
    assert error.offset >= len("create procedure p() ")


def test_parameters_of_clients_are_no_part_of_a_routine(conn):
    assert "parameter" in str(refused(conn, "create function f() returning int; return ?; end function", 1))
