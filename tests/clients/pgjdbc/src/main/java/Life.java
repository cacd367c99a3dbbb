// pgjdbc: prepared statements past the server-prepare threshold, batches, generated keys, metadata, errors, fetch size.
import java.math.BigDecimal;
import java.sql.*;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.*;

public class Life {
  static void same(Object got, Object want) {
    if (!Objects.equals(got, want)) throw new AssertionError("got " + got + ", want " + want);
  }

  public static void main(String[] args) throws Exception {
    Map<String, String> env = System.getenv();
    Properties p = new Properties();
    p.setProperty("user", env.get("PGUSER"));
    p.setProperty("socketFactory", "org.newsclub.net.unix.AFUNIXSocketFactory$FactoryArg");
    p.setProperty("socketFactoryArg", env.get("PGHOST") + "/.s.PGSQL." + env.get("PGPORT"));
    p.setProperty("sslmode", "disable");
    try (Connection c = DriverManager.getConnection("jdbc:postgresql://localhost/" + env.get("PGDATABASE"), p)) {
      Statement s = c.createStatement();
      s.execute("CREATE TABLE t (id serial PRIMARY KEY, a int NOT NULL, b varchar(20) UNIQUE, c numeric(8,2), d date, e timestamptz, f boolean, g bytea, h int[])");
      OffsetDateTime at = OffsetDateTime.parse("2024-01-02T03:04:05Z");
      try (PreparedStatement i = c.prepareStatement("INSERT INTO t (a,b,c,d,e,f,g,h) VALUES (?,?,?,?,?,?,?,?)", Statement.RETURN_GENERATED_KEYS)) {
        i.setInt(1, 1); i.setString(2, "it's"); i.setBigDecimal(3, new BigDecimal("1.50")); i.setObject(4, LocalDate.of(2024, 2, 29));
        i.setObject(5, at); i.setBoolean(6, true); i.setBytes(7, new byte[] {0, -1}); i.setArray(8, c.createArrayOf("int4", new Object[] {1, 2}));
        i.executeUpdate();
        ResultSet keys = i.getGeneratedKeys();
        keys.next();
        same(keys.getInt("id"), 1);
      }
      for (int round = 0; round < 10; round++) {
        try (PreparedStatement q = c.prepareStatement("SELECT * FROM t WHERE a = ? AND f = ?")) {
          q.setInt(1, 1); q.setBoolean(2, true);
          ResultSet r = q.executeQuery();
          r.next();
          same(r.getString("b"), "it's"); same(r.getBigDecimal("c"), new BigDecimal("1.50")); same(r.getObject("d", LocalDate.class), LocalDate.of(2024, 2, 29));
          same(r.getObject("e", OffsetDateTime.class).toInstant(), at.toInstant()); same(r.getBytes("g")[1], (byte) -1);
          same(Arrays.asList((Object[]) r.getArray("h").getArray()), List.of(1, 2));
        }
      }
      c.setAutoCommit(false);
      try (PreparedStatement i = c.prepareStatement("INSERT INTO t (a, b) VALUES (?, ?)")) {
        for (int n = 2; n <= 100; n++) { i.setInt(1, n); i.setString(2, "n" + n); i.addBatch(); }
        same(i.executeBatch().length, 99);
      }
      c.commit();
      s.setFetchSize(10);
      int rows = 0;
      for (ResultSet r = s.executeQuery("SELECT a FROM t ORDER BY a"); r.next(); ) same(r.getInt(1), ++rows);
      same(rows, 100);
      Savepoint sp = c.setSavepoint();
      try {
        s.executeUpdate("INSERT INTO t (a, b) VALUES (1, 'n2')");
        throw new AssertionError("no error");
      } catch (org.postgresql.util.PSQLException e) {
        same(e.getSQLState(), "23505");
        same(e.getServerErrorMessage().getConstraint(), "t_b_key");
      }
      c.rollback(sp);
      c.commit();
      DatabaseMetaData m = c.getMetaData();
      List<String> columns = new ArrayList<>();
      for (ResultSet r = m.getColumns(null, "public", "t", null); r.next(); ) columns.add(r.getString("COLUMN_NAME") + " " + r.getString("TYPE_NAME"));
      same(columns, List.of("id serial", "a int4", "b varchar", "c numeric", "d date", "e timestamptz", "f bool", "g bytea", "h _int4"));
      ResultSet pk = m.getPrimaryKeys(null, "public", "t");
      pk.next();
      same(pk.getString("COLUMN_NAME"), "id");
      c.commit();
    }
    System.out.println("ok");
  }
}
