package pgsqlite.junit;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(PgsqliteExtension.class)
class WithoutTemplateTest {
    @Test
    void theDatabaseIsEmpty(PgsqliteDatabase database) {
        assertThrows(PgsqliteException.class, () -> database.execute("SELECT * FROM books"));
        assertTrue(database.url().endsWith(database.name()), database.url());
    }
}
