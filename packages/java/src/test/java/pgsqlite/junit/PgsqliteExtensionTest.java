package pgsqlite.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests run in parallel (junit-platform.properties), each on a copy. */
class PgsqliteExtensionTest {
    private static final AtomicInteger MIGRATIONS = new AtomicInteger();

    @RegisterExtension
    static final PgsqliteExtension pgsqlite =
            PgsqliteExtension.template(
                    empty -> {
                        MIGRATIONS.incrementAndGet();
                        empty.execute("CREATE TABLE books (id serial PRIMARY KEY, title text NOT NULL); INSERT INTO books (title) VALUES ('first')");
                    });

    static long count(PgsqliteDatabase database) throws SQLException {
        try (Connection connection = DriverManager.getConnection(database.jdbcUrl());
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT count(*) FROM books")) {
            rows.next();
            return rows.getLong(1);
        }
    }

    @BeforeEach
    void another(PgsqliteDatabase database) {
        database.execute("INSERT INTO books (title) VALUES ('second')");
    }

    @AfterEach
    void theSameDatabase(PgsqliteDatabase database) throws SQLException {
        assertEquals(3, count(database));
    }

    @AfterAll
    static void migratedOnce() {
        assertEquals(1, MIGRATIONS.get());
    }

    @RepeatedTest(16)
    void eachTestIsAlone(PgsqliteDatabase database) throws SQLException {
        assertEquals(2, count(database));
        try (Connection connection = DriverManager.getConnection(database.jdbcUrl());
                Statement statement = connection.createStatement()) {
            assertEquals(1, statement.executeUpdate("INSERT INTO books (title) VALUES ('third')"));
        }
    }

    @Test
    void errorsHaveTheServersWords(PgsqliteDatabase database) {
        PgsqliteException error = assertThrows(PgsqliteException.class, () -> database.execute("SELECT * FROM missing"));
        assertTrue(error.getMessage().startsWith("42P01: relation \"missing\""), error.getMessage());
        database.execute("INSERT INTO books (title) VALUES ('third')");
    }

    @Test
    void aCopyIsGoneWhenItIsClosed(PgsqliteDatabase database) throws Exception {
        PgsqliteDatabase empty = PgsqliteServer.shared().emptyDatabase();
        empty.execute("CREATE TABLE t (i int)");
        empty.close();
        assertThrows(PgsqliteException.class, () -> gone(empty));
        database.execute("INSERT INTO books (title) VALUES ('third')");
    }

    /** Waits until the server has seen that the last session is gone. */
    private static void gone(PgsqliteDatabase closed) throws InterruptedException {
        for (int tries = 0; tries < 500; tries++) {
            closed.execute("SELECT 1");
            Thread.sleep(20);
        }
    }
}
