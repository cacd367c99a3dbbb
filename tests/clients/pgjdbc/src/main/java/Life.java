// pgjdbc: every type both ways in text and binary, batches, generated keys, metadata, errors, fetch size, COPY, notifications, large objects, refcursors.
import java.io.ByteArrayOutputStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.sql.*;
import java.time.*;
import java.util.*;
import org.postgresql.PGConnection;
import org.postgresql.largeobject.LargeObject;
import org.postgresql.largeobject.LargeObjectManager;
import org.postgresql.util.PGInterval;
import org.postgresql.util.PGobject;
import org.postgresql.util.PSQLException;

public class Life {
  static void same(Object got, Object want) {
    boolean equal = got instanceof byte[] a && want instanceof byte[] b ? Arrays.equals(a, b) : got instanceof Object[] a && want instanceof Object[] b ? Arrays.deepEquals(a, b) : Objects.equals(got, want);
    if (!equal) throw new AssertionError("got " + show(got) + ", want " + show(want));
  }

  static String show(Object o) { return o instanceof Object[] a ? Arrays.deepToString(a) : o instanceof byte[] b ? Arrays.toString(b) : String.valueOf(o); }

  interface Action { void run() throws Exception; }

  static PSQLException fails(String state, Action action) throws Exception {
    try { action.run(); } catch (PSQLException e) { if (!e.getSQLState().equals(state)) throw e; return e; } catch (BatchUpdateException e) { return (PSQLException) e.getNextException(); }
    throw new AssertionError("no error " + state);
  }

  static Connection connect(String... more) throws SQLException {
    Map<String, String> env = System.getenv();
    Properties p = new Properties();
    p.setProperty("user", env.get("PGUSER"));
    p.setProperty("socketFactory", "org.newsclub.net.unix.AFUNIXSocketFactory$FactoryArg");
    p.setProperty("socketFactoryArg", env.get("PGHOST") + "/.s.PGSQL." + env.get("PGPORT"));
    p.setProperty("sslmode", "disable");
    for (int i = 0; i < more.length; i += 2) p.setProperty(more[i], more[i + 1]);
    return DriverManager.getConnection("jdbc:postgresql://localhost/" + env.get("PGDATABASE"), p);
  }

  static PGobject object(String type, String value) throws SQLException {
    PGobject o = new PGobject();
    o.setType(type);
    o.setValue(value);
    return o;
  }

  static void types(Connection c) throws Exception {
    Statement s = c.createStatement();
    s.execute("CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN positive AS int CHECK (VALUE > 0)");
    UUID id = UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
    OffsetDateTime at = OffsetDateTime.parse("2024-01-02T03:04:05.123456Z");
    Object[][] cases = { // type, value, class
      {"bool", true, Boolean.class}, {"int2", 32767, Integer.class}, {"int4", Integer.MIN_VALUE, Integer.class}, {"int8", Long.MAX_VALUE, Long.class}, {"float4", 1.5f, Float.class},
      {"float8", 5e-324, Double.class}, {"float8", Double.NaN, Double.class}, {"float8", Double.NEGATIVE_INFINITY, Double.class}, {"numeric", new BigDecimal("123456789012345678901234567890.0123456789"), BigDecimal.class},
      {"numeric", new BigDecimal("0.000"), BigDecimal.class}, {"numeric(8,2)", new BigDecimal("-999999.99"), BigDecimal.class}, {"text", "é'\\\"日本", String.class}, {"text", "", String.class}, {"varchar(5)", "abcde", String.class},
      {"char(5)", "ab   ", String.class}, {"name", "a name", String.class}, {"bytea", new byte[] {0, -1, 92}, byte[].class}, {"date", LocalDate.of(2024, 2, 29), LocalDate.class}, {"time", LocalTime.of(1, 2, 3, 4000), LocalTime.class},
      {"timetz", OffsetTime.of(1, 2, 3, 0, ZoneOffset.ofHours(5)), OffsetTime.class}, {"timestamp", LocalDateTime.of(2024, 1, 2, 3, 4, 5, 6000), LocalDateTime.class}, {"timestamptz", at, OffsetDateTime.class}, {"uuid", id, UUID.class},
    };
    // text at first, from the fifth execution on prepared on the server, with binary transfer
    for (int round = 0; round < 8; round++) {
      for (Object[] k : cases) {
        try (PreparedStatement p = c.prepareStatement("SELECT ?::" + k[0] + " AS v, NULL::" + k[0] + " AS n")) {
          p.setObject(1, k[1]);
          ResultSet r = p.executeQuery();
          r.next();
          same(k[2] == byte[].class ? r.getBytes("v") : r.getObject("v", (Class<?>) k[2]), k[1]);
          r.getObject("n");
          same(r.wasNull(), true);
        }
      }
      try (PreparedStatement p = c.prepareStatement("SELECT ?::json, ?::jsonb, ?::interval, ?::mood, ?::positive, ?::oid, ?::text[], ?::int[][], ?::numeric[], ?::timestamptz[], ?::bytea[], ?::bool[]")) {
        p.setObject(1, object("json", "{\"a\" : 1}")); p.setObject(2, object("jsonb", "{\"b\": [1, null], \"a\": 1.50}")); p.setObject(3, new PGInterval(1, 2, 3, 4, 5, 6.5)); p.setObject(4, object("mood", "happy")); p.setInt(5, 3); p.setLong(6, 4294967295L);
        p.setArray(7, c.createArrayOf("text", new Object[] {"a,b", "\"q\"", null, ""})); p.setArray(8, c.createArrayOf("int4", new Object[][] {{1, 2}, {3, null}})); p.setArray(9, c.createArrayOf("numeric", new Object[] {new BigDecimal("1.50"), null}));
        p.setArray(10, c.createArrayOf("timestamptz", new Object[] {"2024-01-02 03:04:05+00"})); p.setArray(11, c.createArrayOf("bytea", new byte[][] {{0, 1}, {}})); p.setArray(12, c.createArrayOf("bool", new Object[] {true, false}));
        ResultSet r = p.executeQuery();
        r.next();
        same(r.getString(1), "{\"a\" : 1}"); same(r.getString(2), "{\"a\": 1.50, \"b\": [1, null]}"); same(r.getObject(3), new PGInterval(1, 2, 3, 4, 5, 6.5)); same(r.getString(4), "happy"); same(r.getInt(5), 3); same(r.getLong(6), 4294967295L);
        same(r.getArray(7).getArray(), new String[] {"a,b", "\"q\"", null, ""}); same(r.getArray(8).getArray(), new Integer[][] {{1, 2}, {3, null}}); same(r.getArray(9).getArray(), new BigDecimal[] {new BigDecimal("1.50"), null});
        same(((Timestamp[]) r.getArray(10).getArray())[0].toInstant(), Instant.parse("2024-01-02T03:04:05Z")); same(r.getArray(11).getArray(), new byte[][] {{0, 1}, {}}); same(r.getArray(12).getArray(), new Boolean[] {true, false});
      }
    }
    fails("22003", () -> s.execute("SELECT 32768::int2")); fails("22P02", () -> s.execute("SELECT 'angry'::mood")); fails("23514", () -> s.execute("SELECT 0::positive")); fails("22008", () -> s.execute("SELECT '2024-02-30'::date"));
    fails("22P02", () -> { PreparedStatement p = c.prepareStatement("SELECT ?::int"); p.setString(1, "x"); p.executeQuery(); });
  }

  static void statements(Connection c) throws Exception {
    Statement s = c.createStatement();
    s.execute("CREATE TABLE t (id serial PRIMARY KEY, a int NOT NULL, b varchar(20) UNIQUE, c numeric(8,2) DEFAULT 7, d date, e timestamptz, f boolean, g bytea, h int[])");
    try (PreparedStatement i = c.prepareStatement("INSERT INTO t (a,b,f) VALUES (?,?,?)", Statement.RETURN_GENERATED_KEYS)) {
      i.setInt(1, 1); i.setString(2, "it's"); i.setBoolean(3, true);
      same(i.executeUpdate(), 1);
      ResultSet keys = i.getGeneratedKeys();
      keys.next();
      same(keys.getInt("id"), 1); same(keys.getBigDecimal("c"), new BigDecimal("7.00"));
    }
    try (PreparedStatement i = c.prepareStatement("INSERT INTO t (a, b) VALUES (?, ?)", new String[] {"id", "b"})) {
      for (int n = 2; n <= 4; n++) { i.setInt(1, n); i.setString(2, "k" + n); i.addBatch(); }
      same(Arrays.stream(i.executeBatch()).sum(), 3);
      ResultSet keys = i.getGeneratedKeys();
      for (int n = 2; n <= 4; n++) { keys.next(); same(keys.getInt(1), n); same(keys.getString(2), "k" + n); }
    }
    c.setAutoCommit(false);
    try (PreparedStatement i = c.prepareStatement("INSERT INTO t (a, b) VALUES (?, ?)")) {
      for (int n = 5; n <= 100; n++) { i.setInt(1, n); i.setString(2, "n" + n); i.addBatch(); }
      same(i.executeBatch().length, 96);
      i.setInt(1, 1); i.setString(2, "z1"); i.addBatch(); i.setInt(1, 2); i.setString(2, "n7"); i.addBatch(); i.setInt(1, 3); i.setString(2, "z3"); i.addBatch();
      c.commit();
      try { i.executeBatch(); throw new AssertionError("no error"); } catch (BatchUpdateException e) { same(e.getSQLState(), "23505"); same(((PSQLException) e.getNextException()).getServerErrorMessage().getDetail(), "Key (b)=(n7) already exists."); }
      c.rollback();
    }
    s.setFetchSize(10);
    int rows = 0;
    for (ResultSet r = s.executeQuery("SELECT a FROM t ORDER BY a"); r.next(); ) same(r.getInt(1), ++rows);
    same(rows, 100);
    Savepoint sp = c.setSavepoint("my savepoint");
    PSQLException e = fails("23505", () -> s.executeUpdate("INSERT INTO t (a, b) VALUES (1, 'n9')"));
    var m = e.getServerErrorMessage();
    same(List.of(m.getConstraint(), m.getTable(), m.getSchema(), m.getDetail(), m.getSeverity()), List.of("t_b_key", "t", "public", "Key (b)=(n9) already exists.", "ERROR"));
    fails("25P02", () -> s.executeQuery("SELECT 1"));
    c.rollback(sp);
    same(s.executeUpdate("DELETE FROM t WHERE a > 90"), 10);
    c.rollback();
    same(fails("42703", () -> s.executeQuery("SELECT nope FROM t")).getServerErrorMessage().getPosition(), 8);
    c.rollback();
    same(fails("23502", () -> s.executeUpdate("INSERT INTO t (a) VALUES (NULL)")).getServerErrorMessage().getColumn(), "a");
    c.rollback();
    // several results of one statement
    s.setFetchSize(0);
    same(s.execute("UPDATE t SET a = a WHERE a < 4; SELECT 1 AS x; SELECT 2 AS y"), false);
    same(s.getUpdateCount(), 3); same(s.getMoreResults(), true);
    ResultSet one = s.getResultSet();
    one.next();
    same(one.getInt("x"), 1); same(s.getMoreResults(), true); same(s.getMoreResults(), false); same(s.getUpdateCount(), -1);
    c.commit();
    // a result that can be changed, and read in any direction
    try (Statement u = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE); ResultSet r = u.executeQuery("SELECT id, a, b FROM t WHERE id <= 3 ORDER BY id")) {
      r.last(); same(r.getRow(), 3); r.first(); r.updateString("b", "changed"); r.updateRow(); r.moveToInsertRow(); r.updateInt("a", 500); r.updateString("b", "inserted"); r.insertRow(); r.absolute(2); r.deleteRow();
    }
    try (ResultSet r = s.executeQuery("SELECT string_agg(b, ',' ORDER BY id) FROM t WHERE id <= 3 OR a = 500")) { r.next(); same(r.getString(1), "changed,k3,inserted"); }
    c.rollback();
    for (int level : new int[] {Connection.TRANSACTION_SERIALIZABLE, Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_READ_COMMITTED}) { c.setTransactionIsolation(level); same(c.getTransactionIsolation(), level); }
    c.setReadOnly(true);
    fails("25006", () -> s.executeUpdate("DELETE FROM t"));
    c.rollback(); c.setReadOnly(false); c.setAutoCommit(true);
    // prepared on the server, then the table changes
    try (PreparedStatement p = c.prepareStatement("SELECT * FROM t WHERE id = 1")) {
      for (int n = 0; n < 7; n++) p.executeQuery().close();
      s.execute("ALTER TABLE t ADD COLUMN late text DEFAULT 'l'");
      ResultSet r = p.executeQuery();
      r.next();
      same(r.getString("late"), "l");
    }
    s.setQueryTimeout(1);
    fails("57014", () -> s.executeQuery("SELECT pg_sleep(20)"));
    s.setQueryTimeout(0);
    c.setSchema("pg_catalog"); same(c.getSchema(), "pg_catalog"); c.setSchema("public"); same(c.isValid(5), true);
    c.setClientInfo("ApplicationName", "life"); same(c.getClientInfo("ApplicationName"), "life");
    try (CallableStatement f = c.prepareCall("{ ? = call lower(?) }")) { f.registerOutParameter(1, Types.VARCHAR); f.setString(2, "ABC"); f.execute(); same(f.getString(1), "abc"); }
    try (PreparedStatement p = c.prepareStatement("SELECT {fn concat('a', 'b')}, {d '2024-01-02'}, {fn now()} IS NOT NULL, a FROM t WHERE b LIKE 'n!_%' {escape '!'} OR a = ANY (?) ORDER BY a")) {
      p.setArray(1, c.createArrayOf("int4", new Object[] {50, 51}));
      ResultSet r = p.executeQuery();
      r.next(); same(r.getString(1), "ab"); same(r.getDate(2), java.sql.Date.valueOf("2024-01-02")); same(r.getInt(4), 50);
    }
  }

  static void driver(Connection c) throws Exception {
    PGConnection pg = c.unwrap(PGConnection.class);
    same(pg.getCopyAPI().copyIn("COPY t (a, b) FROM STDIN WITH (FORMAT csv)", new StringReader("900,c1\n901,\"c,2\"\n")), 2L);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    same(pg.getCopyAPI().copyOut("COPY (SELECT a, b FROM t WHERE a >= 900 ORDER BY a) TO STDOUT", bytes), 2L);
    same(bytes.toString(StandardCharsets.UTF_8), "900\tc1\n901\tc,2\n");
    fails("22P02", () -> pg.getCopyAPI().copyIn("COPY t (a) FROM STDIN", new StringReader("x\n")));
    try (Connection other = connect(); Statement s = other.createStatement()) {
      s.execute("LISTEN news");
      c.createStatement().execute("NOTIFY news, 'hello'");
      var heard = other.unwrap(PGConnection.class).getNotifications(10_000);
      same(heard[0].getName() + heard[0].getParameter() + heard[0].getPID(), "newshello" + pg.getBackendPID());
    }
    try (Connection rewriting = connect("reWriteBatchedInserts", "true"); PreparedStatement p = rewriting.prepareStatement("INSERT INTO t (a, b) VALUES (?, ?)")) {
      for (int n = 0; n < 300; n++) { p.setInt(1, 2000 + n); p.setString(2, "r" + n); p.addBatch(); }
      same(p.executeBatch().length, 300);
    }
    try (Connection simple = connect("preferQueryMode", "simple"); PreparedStatement p = simple.prepareStatement("SELECT count(*), ?::int FROM t WHERE a >= ? AND b <> ?")) {
      p.setInt(1, -5); p.setInt(2, 2000); p.setString(3, "it's \\ é");
      ResultSet r = p.executeQuery();
      r.next(); same(r.getLong(1), 300L); same(r.getInt(2), -5);
    }
    try (Connection saving = connect("autosave", "always")) {
      saving.setAutoCommit(false);
      Statement s = saving.createStatement();
      s.executeUpdate("UPDATE t SET f = false WHERE a = 1");
      fails("22012", () -> s.executeQuery("SELECT 1/0"));
      ResultSet r = s.executeQuery("SELECT f FROM t WHERE a = 1");
      r.next(); same(r.getBoolean(1), false);
      saving.rollback();
    }
  }

  // large objects: the driver's own interface, and Blob, which Hibernate's @Lob uses
  static void largeObjects(Connection c) throws Exception {
    c.setAutoCommit(false);
    byte[] content = new byte[100_000];
    new Random(1).nextBytes(content);
    LargeObjectManager all = c.unwrap(PGConnection.class).getLargeObjectAPI();
    long number = all.createLO();
    try (LargeObject o = all.open(number, LargeObjectManager.READWRITE)) {
      o.write(content); same(o.tell64(), 100_000L);
      o.seek64(-10, LargeObject.SEEK_END); same(o.read(100), Arrays.copyOfRange(content, 99_990, 100_000));
      o.truncate64(50_000); same(o.size64(), 50_000L);
    }
    c.commit();
    try (LargeObject o = all.open(number, LargeObjectManager.READ); var in = o.getInputStream()) { same(in.readAllBytes(), Arrays.copyOf(content, 50_000)); }
    all.delete(number);
    try (Statement s = c.createStatement()) { s.execute("create table lobs (id int primary key, data oid)"); }
    try (PreparedStatement p = c.prepareStatement("insert into lobs values (1, ?)")) {
      p.setBlob(1, new java.io.ByteArrayInputStream(content)); same(p.executeUpdate(), 1);
    }
    c.commit();
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select data from lobs")) {
      same(r.next(), true); Blob b = r.getBlob(1);
      same(b.length(), 100_000L); same(b.getBytes(1, 100_000), content);
      same(b.setBytes(3, new byte[] {1, 2}), 2); same(b.getBytes(2, 3), new byte[] {content[1], 1, 2});
    }
    c.rollback();
    try (Statement s = c.createStatement()) { s.execute("select lo_unlink(data) from lobs"); s.execute("drop table lobs"); }
    c.commit();
    c.setAutoCommit(true);
  }

  // a function that gives a cursor, which the driver fetches from
  static void refcursors(Connection c) throws Exception {
    try (Statement s = c.createStatement()) {
      s.execute("create function several(n int) returns refcursor language plpgsql as $$declare c refcursor; begin open c for select i, 'n' || i from generate_series(1, n) i; return c; end$$");
    }
    c.setAutoCommit(false);
    for (int round = 1; round <= 2; round++) {
      try (CallableStatement call = c.prepareCall("{? = call several(?)}")) {
        call.registerOutParameter(1, Types.REF_CURSOR); call.setInt(2, 3); call.execute();
        try (ResultSet r = (ResultSet) call.getObject(1)) {
          for (int i = 1; i <= 3; i++) { same(r.next(), true); same(r.getInt(1), i); same(r.getString(2), "n" + i); }
          same(r.next(), false);
        }
      }
    }
    c.commit();
    c.setAutoCommit(true);
    try (Statement s = c.createStatement()) { s.execute("drop function several(int)"); }
  }

  public static void main(String[] args) throws Exception {
    try (Connection c = connect()) {
      types(c);
      statements(c);
      driver(c);
      largeObjects(c);
      refcursors(c);
    }
    try (Connection c = connect()) {
      String got = Metadata.of(c);
      Path file = Path.of("metadata.txt"); // recorded from PostgreSQL 15: RECORD=1 with CLIENT_TARGET=postgres
      if (System.getenv("RECORD") != null && "postgres".equals(System.getenv("CLIENT_TARGET"))) Files.writeString(file, got);
      String[] want = Files.readString(file).split("\n"), lines = got.split("\n");
      int different = 0;
      for (int i = 0; i < Math.max(want.length, lines.length); i++) {
        String w = i < want.length ? want[i] : "(nothing)", g = i < lines.length ? lines[i] : "(nothing)";
        if (!w.equals(g) && ++different <= 20) System.out.println("PostgreSQL: " + w + "\nhere:       " + g);
      }
      if (different > 0) throw new AssertionError(different + " lines of metadata differ");
    }
    System.out.println("ok");
  }
}
