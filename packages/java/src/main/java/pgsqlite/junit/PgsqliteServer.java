package pgsqlite.junit;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** The server of this JVM. It listens on the loopback interface, and ends with the JVM: its standard input is closed then. */
public final class PgsqliteServer {
    static final String USER = "postgres";

    private static PgsqliteServer shared;

    private final AtomicInteger numbers = new AtomicInteger();
    private final Process process;
    private final int port;

    private PgsqliteServer(Process process, int port) {
        this.process = process;
        this.port = port;
    }

    /** Returns the server of the JVM, which the first call starts. Throws {@link PgsqliteException} if that fails. */
    public static synchronized PgsqliteServer shared() {
        if (shared == null || !shared.process.isAlive()) {
            shared = start();
        }
        return shared;
    }

    /** Returns the program: that of the property {@code pgsqlite.program}, of PGSQLITE_BIN, or of the PATH. */
    private static String program() {
        String named = System.getProperty("pgsqlite.program", System.getenv("PGSQLITE_BIN"));
        return named == null || named.isEmpty() ? "pgsqlite" : named;
    }

    private static PgsqliteServer start() {
        try {
            Path folder = Files.createTempDirectory("pgsqlite-junit-");
            Path databases = Files.createDirectory(folder.resolve("databases"));
            Path log = folder.resolve("log");
            int port;
            try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                port = free.getLocalPort();
            }
            ProcessBuilder builder =
                    new ProcessBuilder(
                            program(), "--data-dir", databases.toString(), "--socket-dir", folder.toString(), "--host", "127.0.0.1", "--port",
                            Integer.toString(port), "--auth", "trust", "--superuser", USER, "--stop-with-input");
            builder.environment().keySet().removeIf(variable -> variable.startsWith("PGSQLITE_"));
            builder.redirectError(log.toFile());
            Process process;
            try {
                process = builder.start();
            } catch (IOException e) {
                remove(folder);
                throw new PgsqliteException("cannot start " + program() + ": put pgsqlite on the PATH, or name it in PGSQLITE_BIN", e);
            }
            Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(process, folder), "pgsqlite"));
            // (the first line comes when it listens)
            BufferedReader said = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            if (said.readLine() == null) {
                process.waitFor();
                throw new PgsqliteException("pgsqlite did not start: " + Files.readString(log).strip());
            }
            return new PgsqliteServer(process, port);
        } catch (IOException e) {
            throw new PgsqliteException("pgsqlite did not start", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new PgsqliteException("interrupted while pgsqlite starts", e);
        }
    }

    private static void stop(Process process, Path folder) {
        try {
            process.getOutputStream().close();
            process.waitFor();
            remove(folder);
        } catch (IOException e) {
            System.err.println("pgsqlite: " + folder + " stays: " + e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void remove(Path folder) throws IOException {
        List<Path> found;
        try (Stream<Path> paths = Files.walk(folder)) {
            found = paths.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path path : found) {
            Files.deleteIfExists(path);
        }
    }

    int port() {
        return port;
    }

    /** Makes a database that stays until the server ends. */
    PgsqliteDatabase createTemplate() {
        String name = "template_" + numbers.incrementAndGet();
        try (Session session = new Session(port, List.of("user", USER, "database", "postgres"))) {
            session.execute("CREATE DATABASE " + name);
        }
        return new PgsqliteDatabase(this, name, null);
    }

    /** Returns a private copy of a database, in memory. It is gone when it is closed and its last session has ended. */
    public PgsqliteDatabase copyOf(PgsqliteDatabase original) {
        return copyOf(original.name());
    }

    /** Returns a private database without tables, in memory. */
    public PgsqliteDatabase emptyDatabase() {
        return copyOf("postgres");
    }

    private PgsqliteDatabase copyOf(String original) {
        String name = "test_" + numbers.incrementAndGet();
        Session held = new Session(port, List.of("user", USER, "database", name, "pgsqlite.clone", original));
        return new PgsqliteDatabase(this, name, held);
    }
}
