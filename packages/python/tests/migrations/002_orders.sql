CREATE TABLE orders (id serial PRIMARY KEY, book int NOT NULL REFERENCES books, at timestamptz NOT NULL DEFAULT now());
