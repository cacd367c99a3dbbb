// Everything that DatabaseMetaData, ResultSetMetaData and ParameterMetaData tell of a schema, line by line.
import java.sql.*;
import java.util.*;

final class Metadata {
  private final StringBuilder out = new StringBuilder();

  private static final String SCHEMA = """
      CREATE SCHEMA shop;
      CREATE TYPE shop.state AS ENUM ('new', 'done');
      CREATE DOMAIN shop.code AS varchar(8) CHECK (VALUE <> '');
      CREATE TABLE shop.maker (id serial PRIMARY KEY, name text NOT NULL UNIQUE, code shop.code);
      COMMENT ON TABLE shop.maker IS 'who makes it';
      COMMENT ON COLUMN shop.maker.code IS 'short';
      CREATE TABLE shop."Odd thing" (a int, "B" int, maker int REFERENCES shop.maker ON DELETE CASCADE ON UPDATE SET NULL, PRIMARY KEY ("B", a));
      CREATE TABLE shop.wide (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, s smallint, f real, d double precision, n numeric, p numeric(10,3), b boolean NOT NULL DEFAULT true, t text DEFAULT 'x',
        v varchar(20), c char(3), k name, y bytea, da date, ti time, tz time with time zone, ts timestamp(3), tt timestamptz DEFAULT now(), i interval, u uuid, j json, jb jsonb,
        st shop.state, co shop.code, ai int[], at text[][], o oid, g int GENERATED ALWAYS AS (s * 2) STORED, oa int, ob int,
        FOREIGN KEY (oa, ob) REFERENCES shop."Odd thing" (a, "B") DEFERRABLE INITIALLY DEFERRED);
      CREATE INDEX wide_v ON shop.wide (v, d DESC);
      CREATE UNIQUE INDEX wide_low ON shop.wide (lower(t)) WHERE b;
      CREATE VIEW shop.some AS SELECT id, v, n FROM shop.wide WHERE b;
      CREATE SEQUENCE shop.numbers;
      """;

  private void rows(String title, ResultSet r, Collection<String> leave) throws SQLException {
    out.append("=== ").append(title).append('\n');
    ResultSetMetaData m = r.getMetaData();
    List<String> lines = new ArrayList<>();
    while (r.next()) {
      StringBuilder line = new StringBuilder();
      for (int i = 1; i <= m.getColumnCount(); i++) {
        if (leave.contains(m.getColumnLabel(i).toUpperCase())) continue;
        line.append(m.getColumnLabel(i)).append('=').append(r.getObject(i)).append(' ');
      }
      lines.add(line.toString().trim());
    }
    r.close();
    lines.forEach(l -> out.append(l).append('\n'));
  }

  private void rows(String title, ResultSet r) throws SQLException {
    // the database's name is the server's own
    rows(title, r, Set.of("TABLE_CAT", "PKTABLE_CAT", "FKTABLE_CAT", "TABLE_CATALOG", "TYPE_CAT", "FUNCTION_CAT", "PROCEDURE_CAT", "SPECIFIC_NAME", "SCOPE_CATALOG"));
  }

  static String of(Connection c) throws SQLException {
    Metadata m = new Metadata();
    m.collect(c);
    return m.out.toString();
  }

  private void collect(Connection c) throws SQLException {
    try (Statement s = c.createStatement()) { s.execute(SCHEMA); }
    DatabaseMetaData m = c.getMetaData();
    out.append(m.getDatabaseProductName()).append(' ').append(m.getDatabaseMajorVersion()).append(' ').append(m.getIdentifierQuoteString()).append(' ')
        .append(m.getMaxColumnNameLength()).append(' ').append(m.getDefaultTransactionIsolation()).append(' ').append(m.supportsSavepoints()).append('\n');
    rows("schemas", m.getSchemas());
    rows("table types", m.getTableTypes());
    for (String[] types : new String[][] {null, {"TABLE"}, {"VIEW"}, {"SEQUENCE"}, {"INDEX"}, {"TYPE"}}) rows("tables " + Arrays.toString(types), m.getTables(null, "shop", "%", types));
    rows("tables like", m.getTables(null, null, "m_ker", null));
    rows("system tables", m.getTables(null, "pg_catalog", "pg\\_cl%", new String[] {"SYSTEM TABLE"}));
    for (String table : List.of("maker", "Odd thing", "wide", "some")) {
      rows("columns " + table, m.getColumns(null, "shop", table, "%"));
      rows("primary key " + table, m.getPrimaryKeys(null, "shop", table));
      rows("imported " + table, m.getImportedKeys(null, "shop", table));
      rows("exported " + table, m.getExportedKeys(null, "shop", table));
      rows("indexes " + table, m.getIndexInfo(null, "shop", table, false, false), Set.of("TABLE_CAT", "CARDINALITY", "PAGES"));
      rows("unique " + table, m.getIndexInfo(null, "shop", table, true, true), Set.of("TABLE_CAT", "CARDINALITY", "PAGES"));
      rows("best row " + table, m.getBestRowIdentifier(null, "shop", table, DatabaseMetaData.bestRowSession, true));
      rows("version " + table, m.getVersionColumns(null, "shop", table));
      rows("privileges " + table, m.getTablePrivileges(null, "shop", table));
    }
    rows("column privileges", m.getColumnPrivileges(null, "shop", "maker", "%"));
    rows("cross", m.getCrossReference(null, "shop", "maker", null, "shop", "Odd thing"));
    rows("types of ours", m.getUDTs(null, "shop", "%", null));
    rows("functions", m.getFunctions(null, "pg_catalog", "lower"));
    rows("function columns", m.getFunctionColumns(null, "pg_catalog", "substr", "%"));
    rows("client info", m.getClientInfoProperties(), Set.of("MAX_LEN"));
    out.append("=== keywords\n").append(m.getSQLKeywords().length() > 100).append('\n');
    out.append("=== types\n");
    List<String> known = List.of("bool", "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar", "bpchar", "bytea", "date", "time", "timetz", "timestamp", "timestamptz", "interval", "uuid", "json", "jsonb", "oid", "name", "_int4", "_text", "state", "code", "serial", "bigserial");
    try (ResultSet r = m.getTypeInfo()) {
      Map<String, String> lines = new TreeMap<>();
      while (r.next()) if (known.contains(r.getString("TYPE_NAME"))) lines.put(r.getString("TYPE_NAME"), r.getInt("DATA_TYPE") + " " + r.getInt("PRECISION") + " " + r.getString("LITERAL_PREFIX") + " " + r.getInt("NULLABLE") + " " + r.getBoolean("AUTO_INCREMENT") + " " + r.getInt("MAXIMUM_SCALE"));
      lines.forEach((k, v) -> out.append(k).append(' ').append(v).append('\n'));
    }
    try (PreparedStatement p = c.prepareStatement("SELECT w.*, m.name AS made_by, w.n + ? AS more, count(*) OVER () FROM shop.wide w LEFT JOIN shop.maker m ON m.id = w.oa WHERE w.v = ? AND w.u = ? AND w.da > ? AND w.st = ?::shop.state AND w.ai = ?")) {
      out.append("=== result\n");
      ResultSetMetaData r = p.getMetaData();
      for (int i = 1; i <= r.getColumnCount(); i++)
        out.append(String.join(" ", r.getColumnLabel(i), r.getColumnName(i), r.getTableName(i), r.getSchemaName(i), r.getColumnTypeName(i), "" + r.getColumnType(i), r.getColumnClassName(i), "" + r.getPrecision(i), "" + r.getScale(i),
            "" + r.getColumnDisplaySize(i), "" + r.isNullable(i), "" + r.isAutoIncrement(i), "" + r.isSigned(i), "" + r.isCaseSensitive(i), "" + r.isSearchable(i), "" + r.isWritable(i))).append('\n');
      out.append("=== parameters\n");
      ParameterMetaData q = p.getParameterMetaData();
      for (int i = 1; i <= q.getParameterCount(); i++)
        out.append(String.join(" ", q.getParameterTypeName(i), "" + q.getParameterType(i), q.getParameterClassName(i), "" + q.isSigned(i), "" + q.getParameterMode(i))).append('\n');
    }
  }
}
