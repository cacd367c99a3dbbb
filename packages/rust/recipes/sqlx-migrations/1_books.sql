CREATE TABLE books (id serial PRIMARY KEY, title text NOT NULL);
INSERT INTO books (title) VALUES ('first');
