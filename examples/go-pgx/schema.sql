CREATE TABLE IF NOT EXISTS authors (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE
);

CREATE TABLE IF NOT EXISTS books (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    title text NOT NULL,
    author_id bigint NOT NULL REFERENCES authors ON DELETE CASCADE,
    tags text[] NOT NULL DEFAULT '{}',
    added timestamptz NOT NULL DEFAULT now(),
    UNIQUE (title, author_id)
);
