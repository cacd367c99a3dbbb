package pgsqlite.junit;

import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives each test a database of its own: a parameter of type {@link PgsqliteDatabase}, which is a copy of a template.
 *
 * <p>{@code @ExtendWith(PgsqliteExtension.class)} gives empty databases; {@link #template} says what fills the template.
 */
public final class PgsqliteExtension implements ParameterResolver, AfterEachCallback {
    /** Fills an empty database, once. */
    @FunctionalInterface
    public interface Migration {
        void apply(PgsqliteDatabase empty) throws Exception;
    }

    private final Migration migration;
    private PgsqliteDatabase template;
    private Exception failure;

    public PgsqliteExtension() {
        this(null);
    }

    private PgsqliteExtension(Migration migration) {
        this.migration = migration;
    }

    /** Returns an extension whose databases are copies of one that {@code migration} fills when the first is needed. */
    public static PgsqliteExtension template(Migration migration) {
        return new PgsqliteExtension(migration);
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == PgsqliteDatabase.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        if (context.getTestMethod().isEmpty()) {
            throw new ParameterResolutionException("a PgsqliteDatabase belongs to one test: take it in the test, or in @BeforeEach and @AfterEach");
        }
        return context.getStore(namespace(context)).getOrComputeIfAbsent(PgsqliteDatabase.class, key -> copy(), PgsqliteDatabase.class);
    }

    @Override
    public void afterEach(ExtensionContext context) {
        PgsqliteDatabase database = context.getStore(namespace(context)).remove(PgsqliteDatabase.class, PgsqliteDatabase.class);
        if (database != null) {
            database.close();
        }
    }

    /** The test's own part of JUnit's store, for this extension alone. */
    private Namespace namespace(ExtensionContext context) {
        return Namespace.create(this, context.getUniqueId());
    }

    private PgsqliteDatabase copy() {
        PgsqliteServer server = PgsqliteServer.shared();
        return migration == null ? server.emptyDatabase() : server.copyOf(migrated(server));
    }

    /** A migration that has failed is not tried again: every test reports it. */
    private synchronized PgsqliteDatabase migrated(PgsqliteServer server) {
        if (template == null && failure == null) {
            PgsqliteDatabase made = server.createTemplate();
            try {
                migration.apply(made);
                template = made;
            } catch (Exception e) {
                failure = e;
            }
        }
        if (failure != null) {
            throw new ParameterResolutionException("the template's migration has failed: " + failure.getMessage(), failure);
        }
        return template;
    }
}
