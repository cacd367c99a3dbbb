CREATE TABLE books (id serial PRIMARY KEY, title text NOT NULL UNIQUE, price numeric(8, 2));
INSERT INTO books (title, price) VALUES ('first', 9.90);
