-- What only later releases than 15 have: pgsqlite dumps and restores it.
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE idle (a int CONSTRAINT idle_check CHECK (a > 0) NOT ENFORCED, up int CONSTRAINT idle_key REFERENCES parent DEFERRABLE NOT ENFORCED);
INSERT INTO idle VALUES (-1, 77);
CREATE TABLE computed (a int, b int GENERATED ALWAYS AS (a * 2) VIRTUAL NOT NULL, c text DEFAULT 'x', CHECK (b > 0));
INSERT INTO computed VALUES (1), (2);
