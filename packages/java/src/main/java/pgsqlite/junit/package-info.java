/** A PostgreSQL database for each test, by the program {@code pgsqlite}. */
package pgsqlite.junit;
