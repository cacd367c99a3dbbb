// Flyway: migrate, a migration that fails, repair, validate, repeatable ones, one outside a transaction, clean.
import java.nio.file.*;
import java.sql.*;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.*;

public class Life {
    static Path folder;
    static String url;

    static void write(String name, String text) throws Exception {
        Files.writeString(folder.resolve(name), text);
    }

    static Flyway flyway() {
        return Flyway.configure().dataSource(url, "postgres", "unused").schemas("public", "extra")
            .locations("filesystem:" + folder).cleanDisabled(false).mixed(true)
            // an index is made concurrently: no transaction may wait beside it
            .configuration(java.util.Map.of("flyway.postgresql.transactional.lock", "false")).load();
    }

    static void info() {
        for (MigrationInfo i : flyway().info().all())
            System.out.println(i.getVersion() + " " + i.getDescription() + " " + i.getType() + " " + i.getState() + " " + i.getChecksum());
    }

    static void ask(String query) throws Exception {
        try (Connection c = DriverManager.getConnection(url, "postgres", "unused"); ResultSet r = c.createStatement().executeQuery(query)) {
            while (r.next()) System.out.println(r.getString(1));
        }
    }

    public static void main(String[] args) throws Exception {
        folder = Files.createDirectory(Path.of(System.getenv("APP_SCRATCH"), "sql"));
        url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        write("V1__tables.sql", """
            CREATE TYPE mood AS ENUM ('ok', 'bad');
            CREATE DOMAIN extra.mail AS text CHECK (VALUE LIKE '%@%');
            CREATE TABLE person (id serial PRIMARY KEY, name text NOT NULL CHECK (name NOT IN ('', '-')), mood mood, mail extra.mail);
            CREATE TABLE extra.pet (id uuid DEFAULT gen_random_uuid() PRIMARY KEY, owner int REFERENCES person ON DELETE CASCADE);
            CREATE SEQUENCE extra.numbers;
            CREATE FUNCTION twice(int, text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 2 * $1; END; $$;
            CREATE FUNCTION extra.none() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END; $$;
            CREATE PROCEDURE extra.proc(a int, OUT b int) LANGUAGE plpgsql AS $$ BEGIN b := a; END; $$;
            CREATE AGGREGATE extra.total(int) (sfunc = int4pl, stype = int, initcond = '0');
            INSERT INTO person (name, mood) VALUES ('ann', 'ok'), ('bob; --', 'bad');
            """);
        write("V2__index.sql", "CREATE INDEX CONCURRENTLY person_mood ON person (mood) WHERE mood IN ('ok', 'bad');");
        write("V2.1__copy.sql", "COPY person (name, mood) FROM STDIN;\ncarl\tok\ndora\t\\N\n\\.\n");
        write("R__views.sql", "CREATE OR REPLACE VIEW names AS SELECT name FROM person WHERE name NOT IN ('x', 'y');");
        write("R__counts.sql", "DROP MATERIALIZED VIEW IF EXISTS counts; CREATE MATERIALIZED VIEW counts AS SELECT mood, count(*) FROM person GROUP BY mood;");
        System.out.println("migrated: " + flyway().migrate().migrationsExecuted);
        info();
        ask("SELECT name FROM names ORDER BY 1");
        write("R__views.sql", "CREATE OR REPLACE VIEW names AS SELECT name, mood FROM person;");
        write("V3__fails.sql", "CREATE TABLE half (id int);\nINSERT INTO half VALUES (1 / 0);");
        try {
            flyway().migrate();
        } catch (FlywayException e) {
            System.out.println(e.getMessage().replaceAll(folder + "/", "").replaceAll("\\(/.*?\\)", ""));
        }
        info();
        ask("SELECT to_regclass('half')::text");
        write("V3__fails.sql", "CREATE TABLE whole (id int);");
        System.out.println("repaired: " + flyway().repair().repairActions);
        System.out.println("migrated: " + flyway().migrate().migrationsExecuted);
        System.out.println("valid: " + flyway().validateWithResult().validationSuccessful);
        write("V2__index.sql", "SELECT 1;");
        var result = flyway().validateWithResult();
        System.out.println("valid: " + result.validationSuccessful + " " + result.invalidMigrations.get(0).errorDetails.errorCode);
        ask("SELECT concat_ws(' ', installed_rank, version, description, type, script, checksum, success) FROM flyway_schema_history ORDER BY installed_rank");
        System.out.println("cleaned: " + flyway().clean().schemasCleaned);
        ask("SELECT relname FROM pg_class WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'extra')) ORDER BY 1");
        ask("SELECT proname FROM pg_proc WHERE pronamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'extra')) ORDER BY 1");
        ask("SELECT typname FROM pg_type WHERE typnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'extra')) ORDER BY 1");
    }
}
