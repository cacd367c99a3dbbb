CREATE TABLE customers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    city text NOT NULL,
    since date NOT NULL DEFAULT current_date
);
CREATE TABLE books (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    title text NOT NULL UNIQUE,
    author text NOT NULL,
    price numeric(8, 2) NOT NULL CHECK (price > 0),
    tags text[] NOT NULL DEFAULT '{}',
    details jsonb NOT NULL DEFAULT '{}'
);
CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer bigint NOT NULL REFERENCES customers ON DELETE CASCADE,
    book bigint NOT NULL REFERENCES books,
    amount int NOT NULL CHECK (amount > 0),
    at timestamptz NOT NULL
);
CREATE INDEX orders_customer ON orders (customer);
CREATE INDEX orders_book ON orders (book);
INSERT INTO customers (name, city, since) VALUES
    ('Ada', 'London', '2024-01-10'), ('Grace', 'New York', '2024-03-02'), ('Linus', 'Helsinki', '2024-05-21'),
    ('Margaret', 'Boston', '2025-02-14'), ('Edsger', 'Rotterdam', '2025-06-30');
INSERT INTO books (title, author, price, tags, details) VALUES
    ('A Map of Small Places', 'R. Alder', 12.50, '{travel,maps}', '{"pages": 212, "paper": true}'),
    ('The Patient Gardener', 'M. Okafor', 18.00, '{garden}', '{"pages": 340, "paper": true}'),
    ('Nine Bridges', 'T. Lindqvist', 9.90, '{novel}', '{"pages": 288}'),
    ('Orbits and Tides', 'S. Moreau', 24.00, '{space,science}', '{"pages": 410, "paper": true}'),
    ('Bread in Winter', 'K. Tanaka', 15.75, '{cooking}', '{"pages": 176}'),
    ('The Second Moon', 'S. Moreau', 11.20, '{space,novel}', '{"pages": 322}');
INSERT INTO orders (customer, book, amount, at)
    SELECT 1 + n % 5, 1 + (n * 7 + n / 5) % 6, 1 + n % 3, timestamptz '2025-07-01 09:00+00' + n * interval '5 hours'
    FROM generate_series(0, 199) AS n;
CREATE VIEW bestsellers AS
    SELECT b.title, b.author, sum(o.amount) AS sold, sum(o.amount * b.price) AS earned
    FROM books b JOIN orders o ON o.book = b.id
    GROUP BY b.id, b.title, b.author
    ORDER BY sold DESC, b.title;
CREATE FUNCTION spent(customer_id bigint) RETURNS numeric LANGUAGE sql STABLE
    AS 'SELECT coalesce(sum(o.amount * b.price), 0) FROM orders o JOIN books b ON b.id = o.book WHERE o.customer = customer_id';
COMMENT ON TABLE orders IS 'One row for each book that a customer has ordered';
