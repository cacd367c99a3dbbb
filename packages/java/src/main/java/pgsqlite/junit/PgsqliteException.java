package pgsqlite.junit;

/** Tells what the server, its program or the operating system reports. */
public final class PgsqliteException extends RuntimeException {
    private static final long serialVersionUID = 1;

    PgsqliteException(String message) {
        super(message);
    }

    PgsqliteException(String message, Throwable cause) {
        super(message, cause);
    }
}
