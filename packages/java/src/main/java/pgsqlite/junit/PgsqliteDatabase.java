package pgsqlite.junit;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** A database of the JVM's server: where it is, and statements without a driver. */
public final class PgsqliteDatabase implements AutoCloseable {
    private final PgsqliteServer server;
    private final String name;
    /** The session that keeps a copy; null for a database that stays until the server ends. */
    private final Session held;

    PgsqliteDatabase(PgsqliteServer server, String name, Session held) {
        this.server = server;
        this.name = name;
        this.held = held;
    }

    public String name() {
        return name;
    }

    public String host() {
        return "127.0.0.1";
    }

    public int port() {
        return server.port();
    }

    public String user() {
        return PgsqliteServer.USER;
    }

    /** Returns the URL for {@code DriverManager} and for connection pools. The user is in it, and there is no password. */
    public String jdbcUrl() {
        return "jdbc:postgresql://" + host() + ":" + port() + "/" + encoded() + "?user=" + user();
    }

    /** Returns the URL for clients that are not of JDBC: R2DBC's is {@code "r2dbc:" + url()}. */
    public String url() {
        return "postgresql://" + user() + "@" + host() + ":" + port() + "/" + encoded();
    }

    private String encoded() {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** Runs statements in a session of their own. Throws {@link PgsqliteException} with the server's message. */
    public void execute(String statements) {
        try (Session session = new Session(server.port(), List.of("user", user(), "database", name))) {
            session.execute(statements);
        }
    }

    /** Ends a copy, once its last session has ended. */
    @Override
    public void close() {
        if (held != null) {
            held.close();
        }
    }
}
