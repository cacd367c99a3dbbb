-- What only later releases than 15 have: pgsqlite dumps and restores it.
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE idle (a int CONSTRAINT idle_check CHECK (a > 0) NOT ENFORCED, up int CONSTRAINT idle_key REFERENCES parent DEFERRABLE NOT ENFORCED);
INSERT INTO idle VALUES (-1, 77);
CREATE TABLE computed (a int, b int GENERATED ALWAYS AS (a * 2) VIRTUAL NOT NULL, c text DEFAULT 'x', CHECK (b > 0));
INSERT INTO computed VALUES (1), (2);
-- (a dump has neither the names nor NO INHERIT and NOT VALID)
CREATE TABLE there (a int CONSTRAINT a_there NOT NULL, b int, CONSTRAINT b_there NOT NULL b NO INHERIT);
CREATE TABLE there_too (c int) INHERITS (there);
ALTER TABLE there_too ADD CONSTRAINT later NOT NULL c NOT VALID;
INSERT INTO there_too VALUES (1, 2, 3);
CREATE TABLE stays (id int4range, during daterange, room text, PRIMARY KEY (id, during WITHOUT OVERLAPS));
INSERT INTO stays VALUES ('[1,2)', '[2024-01-01,2024-02-01)', 'a');
