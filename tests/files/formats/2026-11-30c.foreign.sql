-- What another program has made in the file before pgsqlite opens it.
CREATE TABLE artist (artistid INTEGER PRIMARY KEY AUTOINCREMENT, name NVARCHAR(120) NOT NULL DEFAULT 'x' CHECK (length(name) > 0));
CREATE TABLE album (albumid INTEGER PRIMARY KEY, title TEXT DEFAULT (lower('T')), artistid INTEGER REFERENCES artist ON DELETE CASCADE, long INTEGER GENERATED ALWAYS AS (length(title)) STORED);
CREATE TABLE codes (code TEXT PRIMARY KEY, n REAL) WITHOUT ROWID;
CREATE INDEX album_artist ON album (artistid);
CREATE INDEX album_expression ON album (lower(title)) WHERE albumid > 1;
CREATE VIEW albums AS SELECT title, name FROM album JOIN artist USING (artistid);
INSERT INTO artist (name) VALUES ('A'), ('B');
INSERT INTO album (title, artistid) VALUES ('one', 1), ('three', 2);
INSERT INTO codes VALUES ('c', 1.5);
