// IBM's JDBC driver over SQLI: every type both ways, batches, generated keys, BYTE and TEXT, BLOB and CLOB, sequences, scroll cursors, insert cursors, savepoints, holdable
// cursors, transactions, pools, metadata, errors, cancel and query timeout, code sets. Values behind a wide one show whether its width is right.
// The life is run twice on the same file: first without TLS, then with every connection over TLS, on the tables made anew. Each part is timed and named in the output.
// Only cancel and query timeout are not run over TLS: the driver sends an urgent byte for them, which Java's TLS sockets cannot, so that Statement.cancel fails in the driver.
import com.informix.jdbc.IfmxStatement;
import java.math.BigDecimal;
import java.nio.file.*;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.sql.*;
import java.util.*;
import javax.net.ssl.SSLException;
import javax.transaction.xa.*;

public class Life {
  static void same(Object got, Object want) {
    boolean equal = got instanceof BigDecimal a && want instanceof BigDecimal b ? a.compareTo(b) == 0
        : got instanceof byte[] a && want instanceof byte[] b ? Arrays.equals(a, b) : got instanceof int[] a && want instanceof int[] b ? Arrays.equals(a, b) : Objects.equals(got, want);
    if (!equal) throw new AssertionError("got " + show(got) + ", want " + show(want));
  }

  static String show(Object o) { return o instanceof byte[] b ? Arrays.toString(b) : o instanceof int[] b ? Arrays.toString(b) : String.valueOf(o); }

  interface Action { void run() throws Exception; }

  static SQLException fails(int code, Action action) throws Exception {
    try { action.run(); } catch (SQLException e) { if (e.getErrorCode() != code) throw e; return e; }
    throw new AssertionError("no error " + code);
  }

  // what every connection is asked for beside its own options: nothing, or TLS
  static String[] transport = {};

  static Connection connect(String... more) throws SQLException {
    Map<String, String> env = System.getenv();
    StringBuilder url = new StringBuilder("jdbc:informix-sqli://localhost:" + env.get("SQLI_PORT") + "/stores:INFORMIXSERVER=pgsqlite");
    for (String[] options : new String[][] {transport, more}) for (int i = 0; i < options.length; i += 2) url.append(';').append(options[i]).append('=').append(options[i + 1]);
    return DriverManager.getConnection(url.toString(), "informix", "in4mix");
  }

  static void run(Connection c, String... statements) throws SQLException { try (Statement s = c.createStatement()) { for (String sql : statements) s.execute(sql); } }

  static Object one(Connection c, String sql) throws SQLException {
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) { return r.next() ? r.getObject(1) : "no row"; }
  }

  interface Look { void at(ResultSet r) throws SQLException; }

  // binds a value and a NULL into a column of a type, and looks at what comes back; what stands behind shows whether the width is right
  static void stored(Connection c, Object type, Object value, int nullType, Look look) throws SQLException {
    run(c, "create table v (id serial, x " + type + ", behind integer)");
    try (PreparedStatement p = c.prepareStatement("insert into v (x, behind) values (?, ?)")) {
      p.setObject(1, value); p.setInt(2, 77); same(p.executeUpdate(), 1);
      p.setNull(1, nullType); p.setInt(2, 78); same(p.executeUpdate(), 1);
    }
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select x, behind from v order by id")) {
      same(r.next(), true); look.at(r); same(r.getInt(2), 77);
      same(r.next(), true); same(r.getObject(1), null); same(r.wasNull(), true); same(r.getInt(2), 78); same(r.next(), false);
    }
    run(c, "drop table v");
  }

  static void types(Connection c) throws Exception {
    Object[][] cases = { // type, value to bind, value to get
      {"smallint", (short) -2, (short) -2}, {"smallint", (short) 32767, (short) 32767}, {"integer", -5, -5}, {"integer", Integer.MAX_VALUE, Integer.MAX_VALUE},
      {"int8", -123456789012L, -123456789012L}, {"bigint", 1L << 40, 1L << 40}, {"bigint", Long.MAX_VALUE, Long.MAX_VALUE},
      {"float", 1.5, 1.5}, {"float", -2.5e-300, -2.5e-300}, {"smallfloat", -2.25f, -2.25f},
      {"decimal(10,2)", new BigDecimal("-1234.56"), new BigDecimal("-1234.56")}, {"decimal(8,4)", new BigDecimal("123.45"), new BigDecimal("123.45")},
      {"decimal(5,0)", new BigDecimal("100"), new BigDecimal("100")}, {"decimal(3,3)", new BigDecimal("-0.001"), new BigDecimal("-0.001")},
      {"decimal(16)", new BigDecimal("0.001"), new BigDecimal("0.001")}, {"decimal(32)", new BigDecimal("1e30"), new BigDecimal("1e30")}, {"decimal(8,4)", new BigDecimal("0"), new BigDecimal("0")},
      {"money(12,2)", new BigDecimal("99.95"), new BigDecimal("99.95")}, {"char(6)", "abc", "abc   "}, {"nchar(5)", "nch", "nch  "}, {"varchar(20)", "vc é", "vc é"}, {"varchar(20)", "", ""},
      {"nvarchar(20)", "nv", "nv"}, {"lvarchar(500)", "lvar", "lvar"}, {"lvarchar", "x".repeat(2000), "x".repeat(2000)}, {"boolean", true, true}, {"boolean", false, false},
      {"date", java.sql.Date.valueOf("1899-12-30"), java.sql.Date.valueOf("1899-12-30")}, {"date", java.sql.Date.valueOf("2026-01-02"), java.sql.Date.valueOf("2026-01-02")},
      {"datetime year to second", Timestamp.valueOf("2026-06-20 12:34:56"), Timestamp.valueOf("2026-06-20 12:34:56")},
      {"datetime year to fraction(5)", Timestamp.valueOf("2026-01-02 03:04:05.12345"), Timestamp.valueOf("2026-01-02 03:04:05.12345")},
      {"datetime year to fraction(3)", Timestamp.valueOf("2026-11-21 00:00:00.123"), Timestamp.valueOf("2026-11-21 00:00:00.123")},
      {"datetime hour to second", Time.valueOf("00:04:05"), Time.valueOf("00:04:05")}, {"datetime hour to minute", Time.valueOf("23:59:00"), Time.valueOf("23:59:00")},
      {"interval day(3) to second", "3 04:05:06", "  3 04:05:06"}, {"interval minute to second", "05:06", "5:06"}, {"interval year(4) to month", "2-06", "   2-06"},
    };
    for (Object[] k : cases) {
      try {
        boolean text = k[2] instanceof String && !k[0].toString().contains("char");
        stored(c, k[0], k[1], Types.VARCHAR, r -> same(text ? r.getString(1).trim() : r.getObject(1), text ? k[2].toString().trim() : k[2]));
      } catch (SQLException | AssertionError e) { throw new AssertionError(k[0] + " " + k[1], e); }
    }
  }

  // java.sql has no types for them: they are written as literals and read as strings
  static void partialDatetimes(Connection c) throws Exception {
    for (String[] k : new String[][] {{"month to day", "05-06"}, {"day to minute", "05 23:59"}, {"minute to second", "04:05"}, {"second to second", "59"}}) {
      run(c, "create table v (x datetime " + k[0] + ", behind integer)", "insert into v values ('" + k[1] + "', 77)", "insert into v values (null, 78)");
      try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select x, behind from v order by behind")) {
        same(r.next(), true); same(r.getString(1).trim(), k[1]); same(r.getInt(2), 77); same(r.getMetaData().getColumnTypeName(1), "datetime " + k[0]);
        same(r.next(), true); same(r.getString(1), null); same(r.getInt(2), 78);
      } catch (SQLException | AssertionError e) { throw new AssertionError(k[0], e); }
      run(c, "drop table v");
    }
  }

  // a value that a routine returns comes as a result: the driver counts no parameter for the first mark
  static void calls(Connection c) throws Exception {
    run(c, "create function twice(n integer) returning integer; return n * 2; end function");
    for (String text : new String[] {"{? = call twice(?)}", "{call twice(?)}", "execute function twice(?)"}) {
      try (CallableStatement s = c.prepareCall(text)) {
        s.setInt(1, 21);
        try (ResultSet r = s.executeQuery()) { same(r.next(), true); same(r.getInt(1), 42); same(r.next(), false); }
      }
    }
    try (CallableStatement s = c.prepareCall("{? = call abs(?)}")) {
      s.setInt(1, -3);
      try (ResultSet r = s.executeQuery()) { same(r.next(), true); same(r.getInt(1), 3); }
    }
    run(c, "drop function twice");
  }

  static void statements(Connection c) throws Exception {
    run(c, "create table item (id serial primary key, name varchar(40) not null, price decimal(10,2) default 0, made datetime year to second)",
        "create unique index item_name on item (name)");
    // generated keys; 0 asks for the next one
    try (PreparedStatement p = c.prepareStatement("insert into item (id, name) values (0, ?)", Statement.RETURN_GENERATED_KEYS)) {
      for (int i = 1; i <= 3; i++) { p.setString(1, "n" + i); same(p.executeUpdate(), 1); same(((IfmxStatement) p).getSerial(), i); }
    }
    try (Statement s = c.createStatement()) {
      s.executeUpdate("insert into item (name) values ('n4')", Statement.RETURN_GENERATED_KEYS);
      same(((IfmxStatement) s).getSerial(), 4);
    }
    same(one(c, "select dbinfo('sqlca.sqlerrd1') from systables where tabid = 1"), 4L);
    // a given number moves the sequence
    run(c, "insert into item (id, name) values (10, 'n10')", "insert into item (name) values ('n11')");
    same(one(c, "select max(id) from item"), 11);
    // batches
    try (PreparedStatement p = c.prepareStatement("insert into item (name, price) values (?, ?)")) {
      for (int i = 100; i < 200; i++) { p.setString(1, "b" + i); p.setBigDecimal(2, new BigDecimal(i).movePointLeft(2)); p.addBatch(); }
      int[] counts = p.executeBatch(); same(counts.length, 100); same(Arrays.stream(counts).sum(), 100);
    }
    try (Statement s = c.createStatement()) {
      s.addBatch("update item set price = 5 where name = 'n1'"); s.addBatch("delete from item where name = 'n2'"); s.addBatch("update item set price = 1 where name = 'nobody'");
      same(s.executeBatch(), new int[] {1, 1, 0});
    }
    // a result that takes several fetches, and two at once
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select id, name, price from item order by id");
         Statement s2 = c.createStatement(); ResultSet r2 = s2.executeQuery("select name from item order by id desc")) {
      int n = 0;
      while (r.next()) { n++; same(r2.next(), true); if (n == 50) run(c, "update item set made = current where name = 'n3'"); }
      same(n, 105); same(r2.next(), false);
    }
    // the dialect
    same(one(c, "select first 1 name from item where name matches 'b1[0-4]?' order by id"), "b100");
    same(one(c, "select skip 1 first 1 name from item where name like 'b%' order by id"), "b101");
    same(one(c, "select 7 / 2 from systables where tabid = 1"), new BigDecimal("3.5"));
    same(one(c, "select mdy(2,29,2024) + 1 from systables where tabid = 1"), java.sql.Date.valueOf("2024-03-01"));
    same(one(c, "select nvl(a.name, 'x') from item a, outer item b where a.id = b.id and b.name = 'none' and a.name = 'n1'").toString().isEmpty(), false);
    run(c, "select name, price from item where price > 1 into temp costly with no log");
    same(one(c, "select count(*) from costly"), new BigDecimal("100"));
    try (PreparedStatement p = c.prepareStatement("select count(*) from item where made > ? - 1 units day and name in (?, ?)")) {
      p.setTimestamp(1, new Timestamp(System.currentTimeMillis())); p.setString(2, "n3"); p.setString(3, "n1");
      try (ResultSet r = p.executeQuery()) { same(r.next(), true); same(r.getInt(1), 1); }
    }
  }

  static List<Object> keys(Statement s) throws SQLException {
    List<Object> out = new ArrayList<>();
    try (ResultSet r = s.getGeneratedKeys()) {
      int n = r.getMetaData().getColumnCount();
      while (r.next()) for (int i = 1; i <= n; i++) out.add(r.getObject(i));
    }
    return out;
  }

  static void generatedKeys(Connection c) throws Exception {
    run(c, "create table k (id serial primary key, n varchar(20), d decimal(5,2) default 1.5)", "create table big (id bigserial, n varchar(20))", "create table plain (n varchar(20))");
    try (PreparedStatement p = c.prepareStatement("insert into k (n) values (?)", Statement.RETURN_GENERATED_KEYS)) {
      for (int i = 1; i <= 2; i++) { p.setString(1, "a"); p.executeUpdate(); same(keys(p), List.of(i)); }
      for (int i = 0; i < 3; i++) { p.setString(1, "b"); p.addBatch(); }
      p.executeBatch(); same(keys(p), List.of(3, 4, 5));
    }
    try (Statement s = c.createStatement()) {
      s.executeUpdate("insert into k (n) values ('c')", Statement.RETURN_GENERATED_KEYS);
      try (ResultSet r = s.getGeneratedKeys()) { same(r.next(), true); same(r.getInt("id"), 6); }
      s.executeUpdate("insert into k (n) select first 2 n from k", Statement.RETURN_GENERATED_KEYS); same(keys(s), List.of(7, 8));
      s.executeUpdate("insert into k (n) values ('d')", new String[] {"id", "d"}); same(keys(s), List.of(9, new BigDecimal("1.50")));
      s.executeUpdate("insert into plain values ('x')", Statement.RETURN_GENERATED_KEYS); same(keys(s), List.of());
      s.executeUpdate("update k set n = 'e'", Statement.RETURN_GENERATED_KEYS); same(keys(s), List.of());
      fails(-217, () -> s.executeUpdate("insert into k (n) values ('f')", new String[] {"nosuch"}));
    }
    try (PreparedStatement p = c.prepareStatement("insert into k (n) values (?)", new int[] {2, 1})) { p.setString(1, "g"); p.executeUpdate(); same(keys(p), List.of("g", 10)); }
    try (PreparedStatement p = c.prepareStatement("insert into big (n) values (?)", Statement.RETURN_GENERATED_KEYS)) { p.setString(1, "a"); p.executeUpdate(); same(keys(p), List.of(1L)); }
    run(c, "drop table k", "drop table big", "drop table plain");
  }

  static void largeObjects() throws Exception {
    byte[] large = new byte[100_000];
    new Random(1).nextBytes(large);
    String text = "xy".repeat(3000); // a stream of characters comes in the code set of the Java platform
    byte[][] bytes = {{1, 2, 3, 0, -1}, large, {}, null};
    String[] texts = {"héllo", text, "", null};
    // values in memory, in a temporary file, and the smaller ones in memory
    for (String cache : new String[] {"-1", "0", "4096"}) {
      try (Connection c = connect("LOBCACHE", cache)) {
        run(c, "create table lob (id integer, b byte, t text, behind integer)");
        try (PreparedStatement p = c.prepareStatement("insert into lob values (?, ?, ?, ?)")) {
          for (int i = 0; i < bytes.length; i++) {
            p.setInt(1, i); p.setInt(4, 77 + i);
            if (i == 1) { p.setBinaryStream(2, new java.io.ByteArrayInputStream(large), large.length); p.setCharacterStream(3, new java.io.StringReader(text), text.length()); }
            else { p.setBytes(2, bytes[i]); p.setString(3, texts[i]); }
            same(p.executeUpdate(), 1);
          }
        }
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select b, t, behind from lob order by id")) {
          for (int i = 0; i < bytes.length; i++) { same(r.next(), true); same(r.getBytes(1), bytes[i]); same(r.getString(2), texts[i]); same(r.getInt(3), 77 + i); }
          same(r.next(), false);
        }
        run(c, "drop table lob");
      }
    }
  }

  // the driver gets locators, and reads and writes what they stand for by fast path calls and LODATA
  static void smartLargeObjects() throws Exception {
    // it reads CLOBs in the code set of the Java platform
    try (Connection c = connect("CLIENT_LOCALE", "en_US.utf8", "DB_LOCALE", "en_US.utf8")) { smartLargeObjects(c); }
  }

  static void smartLargeObjects(Connection c) throws Exception {
    byte[] large = new byte[100_001];
    new Random(2).nextBytes(large);
    String text = "hello ".repeat(10_000);
    run(c, "create table smart (id integer, b blob, c clob, behind integer)");
    try (PreparedStatement p = c.prepareStatement("insert into smart values (?, ?, ?, ?)")) {
      p.setInt(1, 1); p.setBytes(2, new byte[] {1, 2, 3, 0, -1}); p.setString(3, "héllo"); p.setInt(4, 71); same(p.executeUpdate(), 1);
      p.setInt(1, 2); p.setBinaryStream(2, new java.io.ByteArrayInputStream(large), large.length); p.setCharacterStream(3, new java.io.StringReader("xy".repeat(30_000)), 60_000); p.setInt(4, 72); same(p.executeUpdate(), 1);
      p.setInt(1, 3); p.setNull(2, Types.BLOB); p.setNull(3, Types.CLOB); p.setInt(4, 73); same(p.executeUpdate(), 1);
      // the driver takes 0 for the first byte here
      Blob b = c.createBlob(); same(b.setBytes(0, large), large.length); b.truncate(50_000);
      Clob d = c.createClob(); d.setString(0, text); same(d.length(), 60_000L);
      p.setInt(1, 4); p.setBlob(2, b); p.setClob(3, d); p.setInt(4, 74); same(p.executeUpdate(), 1);
      // the same objects again, then what is in the row stays as it is
      p.setInt(1, 5); same(p.executeUpdate(), 1);
      fails(-746, () -> b.setBytes(0, new byte[] {9}));
      p.setInt(1, 6); p.setBytes(2, new byte[0]); p.setString(3, ""); p.setInt(4, 76); p.addBatch();
      p.setInt(1, 7); p.setBytes(2, new byte[] {7}); p.setString(3, "seven"); p.setInt(4, 77); p.addBatch();
      same(Arrays.stream(p.executeBatch()).sum(), 2);
    }
    byte[] half = Arrays.copyOf(large, 50_000);
    byte[][] bytes = {{1, 2, 3, 0, -1}, large, null, half, half, {}, {7}};
    String[] texts = {"héllo", "xy".repeat(30_000), null, text, text, "", "seven"};
    List<Blob> kept = new ArrayList<>();
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select b, c, behind from smart order by id")) {
      same(r.getMetaData().getColumnType(1), Types.BLOB); same(r.getMetaData().getColumnType(2), Types.CLOB);
      for (int i = 0; i < bytes.length; i++) {
        same(r.next(), true); same(r.getBytes(1), bytes[i]); same(r.getString(2), texts[i]); same(r.getInt(3), i == 4 ? 74 : 71 + i);
        Blob b = r.getBlob(1); Clob d = r.getClob(2);
        same(b == null, bytes[i] == null); same(d == null, texts[i] == null);
        kept.add(b);
        if (b == null) continue;
        same(b.length(), (long) bytes[i].length); same(d.length(), (long) texts[i].getBytes("UTF-8").length);
        if (i == 1 || i == 3) { same(b.getBytes(3, 2), Arrays.copyOfRange(bytes[i], 2, 4)); same(d.getSubString(2, 3), texts[i].substring(1, 4)); }
        try (var in = b.getBinaryStream()) { same(in.readAllBytes(), bytes[i]); }
      }
      same(r.next(), false);
    }
    // after their cursor is closed, too
    same(kept.get(1).getBytes(1, large.length), large);
    // what is written into an object of a row is in the row
    same(kept.get(0).setBytes(1, new byte[] {9}), 1); same(kept.get(0).getBytes(1, 9), new byte[] {1, 9, 3, 0, -1});
    byte[][] steps = {{1, 8, 8, 0, -1}, {1, 8, 8, 0, -1, 0, 7}, {1, 8}, {1, 6}};
    for (int i = 0; i < steps.length; i++) {
      try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select b, c from smart where id = 1")) {
        same(r.next(), true); Blob b = r.getBlob(1); Clob d = r.getClob(2);
        if (i == 0) same(b.setBytes(1, new byte[] {8, 8}), 2); else if (i == 1) same(b.setBytes(6, new byte[] {7}), 1); else if (i == 2) { b.truncate(2); d.truncate(3); }
        else { try (var out = b.setBinaryStream(1)) { out.write(6); } same(d.setString(3, "llö!"), 5); try (var w = d.setCharacterStream(0)) { w.write("J"); } }
      }
      try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select b, c from smart where id = 1")) { same(r.next(), true); same(r.getBytes(1), steps[i]); same(r.getString(2), i < 2 ? "héllo" : i == 2 ? "hé" : "Jéllö!"); }
    }
    c.setAutoCommit(false);
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select b from smart where id = 1")) {
      same(r.next(), true); Blob b = r.getBlob(1); b.setBytes(0, new byte[] {5, 5, 5}); same(b.getBytes(1, 9), new byte[] {5, 5, 5}); c.rollback();
    }
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select b from smart where id = 1")) { same(r.next(), true); same(r.getBytes(1), new byte[] {1, 6}); }
    c.commit(); c.setAutoCommit(true);
    // not of every result is it known which row an object is of; nor into one that has changed
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select distinct id, b from smart where id = 1")) { same(r.next(), true); Blob b = r.getBlob(2); fails(-746, () -> b.setBytes(1, new byte[] {9})); }
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select b from smart where id = 1")) {
      same(r.next(), true); Blob b = r.getBlob(1); run(c, "update smart set behind = 70 where id = 1"); fails(-746, () -> b.setBytes(1, new byte[] {9}));
    }
    try (PreparedStatement p = c.prepareStatement("update smart set b = ? where id = 1")) { p.setBlob(1, kept.get(6)); same(p.executeUpdate(), 1); }
    same(one(c, "select count(*) from smart where b is null and c is null"), new BigDecimal("1"));
    run(c, "insert into smart select id + 100, b, c, behind from smart where id = 1");
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select b from smart where id = 101")) { same(r.next(), true); same(r.getBytes(1), new byte[] {7}); }
    fails(-9634, () -> run(c, "insert into smart (id, b) values (9, 'text')"));
    same(names(c.getMetaData().getColumns(null, null, "smart", "%"), "TYPE_NAME"), List.of("int", "blob", "clob", "int"));
    // streams over the values of a row
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select b, c from smart where id = 2")) {
      same(r.next(), true);
      try (var in = r.getBinaryStream(1)) { same(in.readAllBytes(), large); }
      try (var in = r.getAsciiStream(2)) { same(new String(in.readAllBytes(), "ISO-8859-1"), "xy".repeat(30_000)); }
    }
    // of another session's locators nothing is known
    try (Connection other = connect(); PreparedStatement p = other.prepareStatement("insert into smart (id, b) values (10, ?)")) {
      p.setBlob(1, kept.get(1)); fails(-746, p::executeUpdate);
    }
    run(c, "drop table smart");
  }

  // what the driver is given for a row, which it does not make itself
  record Row(String getSQLTypeName, Object... fields) implements Struct {
    public Object[] getAttributes() { return fields; }
    public Object[] getAttributes(Map<String, Class<?>> types) { return fields; }
  }

  // rows as lists of their fields, sets in the order of their elements
  static Object plain(Object o) throws SQLException {
    if (o instanceof Struct s) { List<Object> out = new ArrayList<>(); for (Object x : s.getAttributes()) out.add(plain(x)); return out; }
    if (o instanceof Collection<?> c) { List<Object> out = new ArrayList<>(); for (Object x : o instanceof Set<?> s ? new TreeSet<>(s) : c) out.add(plain(x)); return out; }
    return o;
  }

  static List<Object> fields(Object... o) { return Arrays.asList(o); }

  static void namedRows(Connection c) throws Exception {
    run(c, "create row type place (street varchar(9), zip integer)", "create row type person (name varchar(9), home place)", "create table people (id integer, p person, w place)",
        "insert into people values (1, row('Ann', row('High', 7)::place)::person, null)");
    try (PreparedStatement p = c.prepareStatement("insert into people values (2, null, ?)")) { p.setObject(1, new Row("place", "x", 5)); same(p.executeUpdate(), 1); }
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select p, w, p.home.zip from people order by id")) {
      same(r.next(), true); same(plain(r.getObject(1)), fields("Ann", fields("High", 7))); same(r.getObject(2), null); same(r.getInt(3), 7);
      same(r.next(), true); same(r.getObject(1), null); same(plain(r.getObject(2)), fields("x        ", 5));
      ResultSetMetaData m = r.getMetaData(); same(m.getColumnType(1), Types.STRUCT); same(m.getColumnTypeName(1), "person");
    }
    run(c, "drop table people", "drop row type person restrict", "drop row type place restrict");
  }

  record Branch(int getFormatId, byte[] getGlobalTransactionId, byte[] getBranchQualifier) implements Xid {
    static Branch of(String global, String branch) { return new Branch(4660, global.getBytes(), branch.getBytes()); }
  }

  static String name(Xid x) { return x.getFormatId() + " " + new String(x.getGlobalTransactionId()) + " " + new String(x.getBranchQualifier()); }

  // an XA call that ends with a code
  static void code(int code, Action action) throws Exception {
    try { action.run(); } catch (XAException e) { same(e.errorCode, code); return; }
    throw new AssertionError("no XA error " + code);
  }

  static javax.sql.XAConnection xa() throws Exception {
    com.informix.jdbcx.IfxXADataSource source = new com.informix.jdbcx.IfxXADataSource();
    source.setIfxIFXHOST("127.0.0.1"); source.setPortNumber(Integer.parseInt(System.getenv("SQLI_PORT"))); source.setUser("informix"); source.setPassword("in4mix"); source.setDatabaseName("stores"); source.setServerName("x");
    return source.getXAConnection();
  }

  static List<String> prepared(XAResource r) throws Exception {
    List<String> names = new ArrayList<>();
    Xid[] found = r.recover(XAResource.TMSTARTRSCAN | XAResource.TMENDRSCAN);
    if (found != null) for (Xid x : found) names.add(name(x));
    return names;
  }

  static void distributedTransactions(Connection look) throws Exception {
    run(look, "create table accounts (id integer primary key, amount integer)", "insert into accounts values (1, 100)");
    String count = "select count(*) from accounts";
    javax.sql.XAConnection xa = xa(), other = xa();
    XAResource r = xa.getXAResource(), o = other.getXAResource();
    Connection c = xa.getConnection();
    Branch b = Branch.of("pay", "one"), b2 = Branch.of("pay", "two");
    // in two phases: nothing is seen before the second
    r.start(b, XAResource.TMNOFLAGS);
    run(c, "insert into accounts values (2, 50)");
    code(XAException.XAER_PROTO, () -> r.prepare(b));
    code(XAException.XAER_DUPID, () -> r.start(b, XAResource.TMNOFLAGS));
    code(XAException.XAER_PROTO, () -> r.start(b2, XAResource.TMNOFLAGS));
    for (String sql : List.of("commit work", "rollback work", "begin work")) fails(-701, () -> run(c, sql));
    r.end(b, XAResource.TMSUCCESS);
    code(XAException.XAER_PROTO, () -> r.commit(b, false));
    code(XAException.XAER_NOTA, () -> o.prepare(b));
    // what runs here would be of the branch, and nobody wants it there
    same(fails(-746, () -> run(c, "insert into accounts values (9, 9)")).getMessage().startsWith("a statement between the end of an XA branch"), true);
    code(XAException.XAER_RMERR, () -> r.start(b2, XAResource.TMNOFLAGS));
    same(r.prepare(b), XAResource.XA_OK);
    same(prepared(o), List.of(name(b))); same(one(look, count), new BigDecimal(1));
    code(XAException.XAER_DUPID, () -> o.start(b, XAResource.TMNOFLAGS));
    code(XAException.XAER_NOTA, () -> r.commit(b, true));
    // the connection is free for another one, and may end between the phases
    r.start(b2, XAResource.TMNOFLAGS); run(c, "insert into accounts values (3, 1)"); r.end(b2, XAResource.TMSUCCESS); r.commit(b2, true);
    same(one(look, count), new BigDecimal(2));
    xa.close();
    o.commit(b, false);
    same(one(look, count), new BigDecimal(3)); same(prepared(o), List.of()); code(XAException.XAER_NOTA, () -> o.commit(b, false)); code(XAException.XAER_NOTA, () -> o.rollback(b)); code(XAException.XAER_NOTA, () -> o.forget(b));
    // rolled back before and behind prepare
    Connection d = other.getConnection();
    for (boolean twice : new boolean[] {false, true}) {
      o.start(b, XAResource.TMNOFLAGS); run(d, "delete from accounts"); o.end(b, XAResource.TMSUCCESS);
      if (twice) o.prepare(b);
      o.rollback(b); same(one(look, count), new BigDecimal(3));
    }
    // suspended, resumed, joined; marked as failed
    o.start(b, XAResource.TMNOFLAGS); run(d, "insert into accounts values (4, 0)"); o.end(b, XAResource.TMSUSPEND);
    fails(-746, () -> run(d, "insert into accounts values (9, 9)"));
    o.start(b, XAResource.TMRESUME); run(d, "insert into accounts values (5, 0)"); o.end(b, XAResource.TMSUCCESS);
    o.start(b, XAResource.TMJOIN); run(d, "insert into accounts values (6, 0)"); o.end(b, XAResource.TMSUCCESS);
    same(o.prepare(b), XAResource.XA_OK); o.commit(b, false); same(one(look, count), new BigDecimal(6));
    o.start(b, XAResource.TMNOFLAGS); run(d, "delete from accounts"); o.end(b, XAResource.TMFAIL); code(XAException.XAER_RMERR, () -> o.prepare(b)); code(XAException.XAER_NOTA, () -> o.rollback(b)); same(one(look, count), new BigDecimal(6));
    // a failed statement undoes itself; what cannot be prepared is rolled back, and the connection goes on
    o.start(b, XAResource.TMNOFLAGS); run(d, "insert into accounts values (7, 0)"); fails(-268, () -> run(d, "insert into accounts values (1, 0)")); o.end(b, XAResource.TMSUCCESS); o.prepare(b); o.commit(b, false);
    same(one(look, count), new BigDecimal(7));
    o.start(b, XAResource.TMNOFLAGS); run(d, "insert into accounts values (8, 0)", "create table other (a integer)"); o.end(b, XAResource.TMSUCCESS); code(XAException.XAER_RMERR, () -> o.prepare(b));
    same(one(look, count), new BigDecimal(7)); fails(-206, () -> run(look, "drop table other"));
    // by more than a client asks for at once, and with parts of every length
    byte[] longest = new byte[64]; Arrays.fill(longest, (byte) 200);
    Set<String> names = new TreeSet<>();
    for (int i = 0; i < 12; i++) {
      Branch many = i == 0 ? new Branch(Integer.MIN_VALUE, longest, longest) : i == 1 ? Branch.of("g", "") : Branch.of("many" + i, "b");
      o.start(many, XAResource.TMNOFLAGS); run(d, "update accounts set amount = amount + 1 where id = " + (i % 7 + 1) + " and id > 7"); o.end(many, XAResource.TMSUCCESS); same(o.prepare(many), XAResource.XA_OK); names.add(name(many));
    }
    same(new TreeSet<>(prepared(o)), names);
    for (Xid x : o.recover(XAResource.TMSTARTRSCAN | XAResource.TMENDRSCAN)) o.rollback(x);
    same(prepared(o), List.of());
    // a branch that is not prepared ends with its connection
    o.start(b, XAResource.TMNOFLAGS); run(d, "delete from accounts"); other.close();
    same(one(look, count), new BigDecimal(7));
    run(look, "drop table accounts");
  }

  static void collections(Connection c) throws Exception {
    String ab = "row(a integer, b varchar(10))", nested = "row(l list(integer not null), k row(x integer), m varchar(10))";
    String many = "row(l lvarchar, b boolean, t date, s smallint, i int8, g bigint, f float, sf smallfloat, e integer)";
    Object[][] cases = { // type, value to bind, value to get
      {"set(integer not null)", new HashSet<>(List.of(3, 1)), fields(1, 3)}, {"set(integer not null)", "set{2,2}", fields(2)}, {"set(integer not null)", new HashSet<>(), fields()},
      {"set(integer not null)", new ArrayList<>(List.of(1, 1)), fields(1)}, {"multiset(varchar(10) not null)", new ArrayList<>(List.of("a", "a")), null},
      {"list(varchar(20) not null)", new ArrayList<>(List.of("a", "", "it's é")), fields("a", "", "it's é")}, {"list(varchar(20) not null)", new ArrayList<>(), fields()},
      {"list(lvarchar not null)", new ArrayList<>(List.of("abc", "")), fields("abc", "")}, {"list(char(5) not null)", new ArrayList<>(List.of("abc")), fields("abc  ")},
      {"list(decimal(10,2) not null)", new ArrayList<>(List.of(new BigDecimal("1.50"), new BigDecimal("-2"))), fields(new BigDecimal("1.50"), new BigDecimal("-2.00"))},
      {"list(money(8,2) not null)", new ArrayList<>(List.of(new BigDecimal("1.50"))), fields(new BigDecimal("1.50"))}, {"list(date not null)", new ArrayList<>(List.of(java.sql.Date.valueOf("2026-01-02"))), null},
      {"list(bigint not null)", new ArrayList<>(List.of(1L << 40, -1L)), null}, {"list(int8 not null)", new ArrayList<>(List.of(1L << 40)), null}, {"list(smallint not null)", new ArrayList<>(List.of((short) 5)), null},
      {"list(float not null)", new ArrayList<>(List.of(1.5)), null}, {"list(smallfloat not null)", new ArrayList<>(List.of(1.5f)), null}, {"list(boolean not null)", new ArrayList<>(List.of(true, false)), null},
      // the driver cannot bind timestamps in a collection, but reads them
      {"list(datetime year to second not null)", "list{'2026-01-02 03:04:05'}", fields(Timestamp.valueOf("2026-01-02 03:04:05"))}, {"list(datetime hour to second not null)", "list{'03:04:05'}", fields(Time.valueOf("03:04:05"))},
      // it pads a VARCHAR in a row with blanks
      {ab, new Row(ab, 1, "x"), fields(1, "x         ")}, {ab, new Row(ab, null, null), fields(null, null)}, {ab, "row(1,'x')", fields(1, "x")}, {"row(a integer)", new Row("row(a integer)", 7), fields(7)},
      {nested, new Row(nested, new ArrayList<>(List.of(1, 2)), new Row("row(x integer)", 5), "q"), fields(fields(1, 2), fields(5), "q         ")}, {nested, new Row(nested, null, null, null), fields(null, null, null)},
      {nested, "row(list{}, row(null), '')", fields(fields(), fields((Object) null), "")},
      {many, new Row(many, "lv", true, java.sql.Date.valueOf("2026-01-02"), (short) 3, 1L << 40, 1L << 41, 1.5, 2.5f, 9), fields("lv", true, java.sql.Date.valueOf("2026-01-02"), (short) 3, 1L << 40, 1L << 41, 1.5, 2.5f, 9)},
      {many, new Row(many, null, null, null, null, null, null, null, null, 9), fields(null, null, null, null, null, null, null, null, 9)},
      {"list(" + ab + " not null)", new ArrayList<>(List.of(new Row(ab, 1, "x"), new Row(ab, 2, "yy"), new Row(ab, 3, "z"))), fields(fields(1, "x         "), fields(2, "yy        "), fields(3, "z         "))},
      {"list(set(integer not null) not null)", "list{set{2,1,2},set{}}", fields(fields(1, 2), fields())}, {"multiset(list(varchar(5) not null) not null)", "multiset{list{'b','a'},list{}}", fields(fields("b", "a"), fields())},
      {"list(row(a integer, l set(integer not null)) not null)", "list{row(1,set{2,1,2}),row(2,null),row(3,set{})}", fields(fields(1, fields(1, 2)), fields(2, null), fields(3, fields()))},
    };
    for (Object[] k : cases) {
      try {
        stored(c, k[0], k[1], Types.OTHER, r -> same(plain(r.getObject(1)), k[2] == null ? k[1] : k[2]));
      } catch (SQLException | AssertionError e) { throw new AssertionError(k[0] + " " + k[1], e); }
    }
    run(c, "create table coll (s set(integer not null), l list(varchar(9) not null), r " + nested + ")", "insert into coll values (set{2,1}, list{'a','b'}, row(list{1},row(5),'x'))");
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select s, l, r, r.m from coll")) {
      same(r.next(), true); same(r.getArray(1).getArray() instanceof int[] n ? Arrays.stream(n).sorted().toArray() : null, new int[] {1, 2});
      same(r.getArray(1).getBaseTypeName().trim(), "int"); same(Arrays.asList((Object[]) r.getArray(2).getArray()), fields("a", "b"));
      same(((Struct) r.getObject(3)).getSQLTypeName().replaceAll("\\s+", " ").trim(), "row ( l list ( int not null) , k row ( x int ) , m varchar(10) )"); same(r.getString(4), "x");
      ResultSetMetaData m = r.getMetaData(); same(m.getColumnTypeName(1), "set(integer not null)"); same(m.getColumnType(3), Types.STRUCT);
      // an array that was read can be bound
      try (PreparedStatement p = c.prepareStatement("insert into coll (l) values (?)")) { p.setArray(1, r.getArray(2)); same(p.executeUpdate(), 1); }
    }
    same(one(c, "select count(*) from coll where l = list{'a','b'}"), new BigDecimal("2"));
    try (PreparedStatement p = c.prepareStatement("select count(*) from coll where s = ? and ? in s")) {
      p.setObject(1, new HashSet<>(List.of(1, 2))); p.setInt(2, 2);
      try (ResultSet r = p.executeQuery()) { same(r.next(), true); same(r.getInt(1), 1); }
    }
    same(names(c.getMetaData().getColumns(null, null, "coll", "%"), "TYPE_NAME"), List.of("set", "list", "row"));
    run(c, "drop table coll");
  }

  static void sequences(Connection c) throws Exception {
    run(c, "create sequence numbers increment by 2 start with 10", "create table seq (n bigint)");
    same(one(c, "select numbers.nextval from systables where tabid = 1"), 10L);
    run(c, "insert into seq values (numbers.nextval)");
    same(one(c, "select n from seq"), 12L); same(one(c, "select informix.numbers.currval from systables where tabid = 1"), 12L);
    run(c, "alter sequence numbers increment by -1 minvalue 1 restart with 3", "update seq set n = numbers.nextval");
    same(one(c, "select n from seq"), 3L); same(one(c, "select numbers.nextval from systables where tabid = 1"), 2L);
    fails(-746, () -> run(c, "select numbers.nextval, numbers.nextval from systables"));
    run(c, "rename sequence numbers to figures", "create sequence down increment by -5 maxvalue 20 cycle minvalue 11");
    for (long n : new long[] {20, 15, 20}) same(one(c, "select down.nextval from systables where tabid = 1"), n);
    same(one(c, "select tabtype from systables where tabname = 'figures'").toString().trim(), "Q");
    same(one(c, "select inc_val from syssequences s, systables t where s.tabid = t.tabid and t.tabname = 'down'"), -5L);
    fails(-310, () -> run(c, "create sequence down"));
    run(c, "drop sequence figures", "drop sequence down", "drop table seq");
    fails(-206, () -> run(c, "drop sequence down"));
  }

  static void cursors(Connection c) throws Exception {
    try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY); ResultSet r = s.executeQuery("select id, name from item where name like 'b%' order by id")) {
      same(r.last(), true); same(r.getRow(), 100); same(r.getString(2), "b199"); same(r.first(), true); same(r.getString(2), "b100");
      same(r.absolute(50), true); same(r.getString(2), "b149"); same(r.previous(), true); same(r.getString(2), "b148"); same(r.relative(3), true); same(r.getString(2), "b151");
      same(r.absolute(101), false); same(r.isAfterLast(), true); same(r.previous(), true); same(r.getString(2), "b199");
    }
    c.setAutoCommit(false);
    try (Statement s = c.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY, ResultSet.HOLD_CURSORS_OVER_COMMIT);
         ResultSet r = s.executeQuery("select name from item order by id")) {
      same(r.next(), true);
      run(c, "update item set price = price + 1 where name = 'n1'");
      c.commit();
      int n = 1;
      while (r.next()) n++;
      same(n, 105);
    }
    c.commit();
    c.setAutoCommit(true);
  }

  static void transactions(Connection c) throws Exception {
    c.setAutoCommit(false);
    run(c, "insert into item (name) values ('t1')");
    c.rollback();
    same(one(c, "select count(*) from item where name = 't1'"), new BigDecimal("0"));
    run(c, "insert into item (name) values ('t1')");
    Savepoint first = c.setSavepoint("sp1");
    run(c, "insert into item (name) values ('t2')");
    c.rollback(first);
    run(c, "insert into item (name) values ('t3')");
    Savepoint second = c.setSavepoint("sp2");
    c.releaseSavepoint(second);
    // a failed statement does not end the transaction
    fails(-268, () -> run(c, "insert into item (name) values ('t1')"));
    fails(-206, () -> run(c, "select * from nosuch"));
    c.commit();
    same(one(c, "select count(*) from item where name in ('t1', 't2', 't3')"), new BigDecimal("2"));
    c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
    same(one(c, "select count(*) from item where name = 't1'"), new BigDecimal("1"));
    c.commit();
    c.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
    c.setAutoCommit(true);
  }

  static void insertCursor() throws Exception {
    try (Connection c = connect("IFX_USEPUT", "1", "OPTOFC", "0")) {
      run(c, "create table put (n integer, t varchar(20), d decimal(10,2))");
      c.setAutoCommit(false);
      try (PreparedStatement p = c.prepareStatement("insert into put values (?, ?, ?)")) {
        for (int i = 0; i < 50; i++) { p.setInt(1, i); p.setString(2, "row " + i); p.setBigDecimal(3, new BigDecimal(i)); p.addBatch(); }
        same(p.executeBatch().length, 50);
      }
      c.commit();
      same(one(c, "select sum(n) from put"), 1225L);
      same(one(c, "select t from put where d = 49"), "row 49");
      c.setAutoCommit(true);
      run(c, "drop table put");
    }
  }

  static void pooling() throws Exception {
    // what a pool asks of a connection before it lends it
    try (Connection c = connect()) {
      same(c.isValid(5), true);
      same(one(c, "select count(*) from systables where tabid = 1"), new BigDecimal("1"));
      same(c.isValid(0), true);
    }
    // statements that go with their cursors
    try (Connection c = connect("IFX_AUTOFREE", "1")) {
      for (int i = 0; i < 20; i++) {
        try (PreparedStatement p = c.prepareStatement("select " + i + " from systables where tabid = 1"); ResultSet r = p.executeQuery()) { same(r.next(), true); same(r.getInt(1), i); }
      }
    }
  }

  static void errors(Connection c) throws Exception {
    same(fails(-206, () -> run(c, "select * from nosuch")).getMessage().contains("nosuch"), true);
    same(fails(-217, () -> run(c, "select nosuch from item")).getMessage().contains("nosuch"), true);
    fails(-201, () -> run(c, "selec 1"));
    fails(-310, () -> run(c, "create table item (a int)"));
    fails(-391, () -> run(c, "insert into item (price) values (1)"));
    fails(-268, () -> run(c, "insert into item (name) values ('n1')"));
    fails(-1202, () -> run(c, "select 1 / (id - id) from item"));
    fails(-1213, () -> run(c, "select name::integer from item"));
    fails(-674, () -> run(c, "execute procedure nosuch(1)"));
    for (String refused : new String[] {"unload to 'x' select * from item", "create opaque type p (internallength = 8)", "select * from other:item"}) {
      same(fails(-746, () -> run(c, refused)).getMessage().contains("not supported"), true);
    }
    run(c, "create table parent (id integer primary key constraint pk_parent)", "create table child (id integer, parent integer references parent constraint fk_child)");
    same(fails(-691, () -> run(c, "insert into child values (1, 1)")).getMessage().contains("fk_child"), true);
    run(c, "insert into parent values (1)", "insert into child values (1, 1)");
    same(fails(-692, () -> run(c, "delete from parent")).getMessage().contains("fk_child"), true);
  }

  static void metadata(Connection c) throws Exception {
    DatabaseMetaData m = c.getMetaData();
    same(m.getDatabaseProductName(), "IBM Informix Dynamic Server");
    same(names(m.getTables(null, null, "%e%", new String[] {"TABLE"}), "TABLE_NAME").contains("item"), true);
    same(names(m.getTables(c.getCatalog(), c.getSchema(), "item", new String[] {"TABLE"}), "TABLE_NAME"), List.of("item"));
    same(names(m.getColumns(null, null, "item", "%"), "COLUMN_NAME"), List.of("id", "name", "price", "made"));
    same(names(m.getColumns(null, null, "item", "%"), "TYPE_NAME"), List.of("serial", "varchar", "decimal", "datetime year to second"));
    same(names(m.getColumns(null, null, "item", "%"), "NULLABLE"), List.of("0", "0", "1", "1"));
    same(names(m.getPrimaryKeys(null, null, "item"), "COLUMN_NAME"), List.of("id"));
    same(names(m.getIndexInfo(null, null, "item", false, false), "INDEX_NAME").contains("item_name"), true);
    same(names(m.getImportedKeys(null, null, "child"), "PKTABLE_NAME"), List.of("parent"));
    same(names(m.getExportedKeys(null, null, "parent"), "FKTABLE_NAME"), List.of("child"));
    same(names(m.getCatalogs(), "TABLE_CAT"), List.of("stores"));
    same(names(m.getSchemas(), "TABLE_SCHEM").contains("informix"), true);
    same(names(m.getTypeInfo(), "TYPE_NAME").isEmpty(), false);
    same(names(m.getProcedures(null, null, "%"), "PROCEDURE_NAME"), List.of());
    try (PreparedStatement p = c.prepareStatement("select id, name, price, made from item")) {
      ResultSetMetaData r = p.getMetaData();
      same(r.getColumnCount(), 4); same(r.getPrecision(3), 10); same(r.getScale(3), 2); same(r.getColumnTypeName(4), "datetime year to second"); same(r.isAutoIncrement(1), true);
    }
  }

  static List<String> names(ResultSet r, String column) throws SQLException {
    List<String> out = new ArrayList<>();
    while (r.next()) out.add(r.getString(column).trim());
    r.close();
    return out;
  }

  // over TLS the driver's cancel fails, and a statement that was to be cancelled would run on
  static void cancelling(Connection c) throws Exception {
    run(c, "create table many (n integer)", "insert into many values (1)");
    for (int i = 0; i < 11; i++) run(c, "insert into many select n from many");
    String slow = "select count(*) from many a, many b, many d where a.n + b.n + d.n = 4";
    try (Statement s = c.createStatement()) {
      Thread t = new Thread(() -> { try { Thread.sleep(500); s.cancel(); } catch (Exception e) { throw new RuntimeException(e); } });
      t.start();
      fails(-213, () -> s.executeQuery(slow));
      t.join();
    }
    same(one(c, "select count(*) from item where name = 'n1'"), new BigDecimal("1"));
    try (Statement s = c.createStatement()) {
      s.setQueryTimeout(1);
      try { s.executeQuery(slow); throw new AssertionError("no timeout"); } catch (SQLException e) { same(e.getErrorCode() == -213 || e instanceof SQLTimeoutException, true); }
    }
    same(one(c, "select count(*) from item where name = 'n1'"), new BigDecimal("1"));
    run(c, "drop table many");
  }

  // the options of a connection over TLS that trusts what is in the file
  static String[] encrypted(Path trusted) { return new String[] {"SSLCONNECTION", "true", "SSL_TRUSTSTORE", trusted.toString(), "SSL_TRUSTSTORE_PASSWORD", "changeit"}; }

  static Path trustStore() throws Exception {
    KeyStore store = KeyStore.getInstance("JKS");
    store.load(null, null);
    try (var in = Files.newInputStream(Path.of(System.getenv("SQLI_CERTIFICATE")))) { store.setCertificateEntry("server", CertificateFactory.getInstance("X.509").generateCertificate(in)); }
    Path file = Files.createTempFile("trust", ".jks");
    try (var out = Files.newOutputStream(file)) { store.store(out, "changeit".toCharArray()); }
    return file;
  }

  static void codesets() throws Exception {
    try (Connection c = connect("CLIENT_LOCALE", "en_US.utf8", "DB_LOCALE", "en_US.utf8")) {
      run(c, "create table texts (t varchar(40), u lvarchar(100))");
      try (PreparedStatement p = c.prepareStatement("insert into texts values (?, 'ä€日')")) { p.setString(1, "é日本"); p.executeUpdate(); }
      same(one(c, "select t from texts where u = 'ä€日'"), "é日本");
    }
    // what 8859-1 does not have is an error, not a question mark
    try (Connection c = connect()) { fails(-23103, () -> one(c, "select t from texts")); }
  }

  static void part(String name, Action action) throws Exception {
    long start = System.nanoTime();
    String over = transport.length > 0 ? " over TLS" : "";
    try { action.run(); } catch (Exception | AssertionError e) { throw new AssertionError(name + over, e); }
    System.out.printf("%s%s: %d ms%n", name, over, (System.nanoTime() - start) / 1_000_000);
  }

  static void life() throws Exception {
    try (Connection c = connect()) {
      part("types", () -> types(c));
      part("partial datetimes", () -> partialDatetimes(c));
      part("statements and batches", () -> statements(c));
      part("calls of routines", () -> calls(c));
      part("generated keys", () -> generatedKeys(c));
      part("BLOB and CLOB", () -> smartLargeObjects());
      part("collections and rows", () -> collections(c));
      part("named row types", () -> namedRows(c));
      part("sequences", () -> sequences(c));
      part("scroll and holdable cursors", () -> cursors(c));
      part("transactions and savepoints", () -> transactions(c));
      part("insert cursors", () -> insertCursor());
      part("errors", () -> errors(c));
      part("metadata", () -> metadata(c));
      if (transport.length == 0) part("cancel and query timeout", () -> cancelling(c)); else System.out.println("cancel and query timeout over TLS: not run, the driver cannot");
    }
    part("BYTE and TEXT", () -> largeObjects());
    part("pools", () -> pooling());
    part("distributed transactions", () -> { try (Connection c = connect()) { distributedTransactions(c); } });
    part("code sets", () -> codesets());
    // what the parts share, so that a second life begins as the first
    try (Connection c = connect()) { run(c, "drop table child", "drop table parent", "drop table item", "drop table texts"); same(names(c.getMetaData().getTables(null, null, "%", new String[] {"TABLE"}), "TABLE_NAME"), List.of()); }
  }

  public static void main(String[] args) throws Exception {
    life();
    // the authorities that Java knows have not signed the server's certificate: that this fails shows that the driver does speak TLS
    transport = encrypted(Path.of(System.getProperty("java.home"), "lib", "security", "cacerts"));
    try (Connection c = connect()) { throw new AssertionError("a certificate of nobody was trusted"); } catch (SQLException e) {
      boolean refused = false;
      for (Throwable t = e; t != null; t = t.getCause()) refused |= t instanceof SSLException;
      if (!refused) throw e;
    }
    Path store = trustStore();
    try { transport = encrypted(store); life(); } finally { Files.delete(store); }
    System.out.println("ok");
  }
}
