//! The statements that are measured, on the tables that `engine` makes.

pub const STATEMENTS: &[(&str, &str)] = &[
    ("key select", "SELECT id, n, s FROM b WHERE id = $1"),
    ("range select", "SELECT id, n, s FROM b WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 20"),
    ("insert", "INSERT INTO b (id, n, s) VALUES ($1, $2, $3) RETURNING id"),
    ("update", "UPDATE b SET n = n + 1 WHERE id = $1"),
    (
        "join and group",
        "SELECT o.customer, count(*), sum(o.amount) FROM orders o JOIN b ON b.id = o.b WHERE o.placed >= $1 \
         GROUP BY o.customer HAVING sum(o.amount) > 100 ORDER BY 3 DESC LIMIT 10",
    ),
    (
        "CTE and window",
        "WITH recent AS (SELECT id, customer, amount, row_number() OVER (PARTITION BY customer ORDER BY placed DESC) AS r \
         FROM orders WHERE placed > now() - interval '30 days') SELECT b.s, recent.amount FROM recent JOIN b ON b.id = recent.id \
         WHERE r <= 3 AND b.n BETWEEN $1 AND $2",
    ),
];
