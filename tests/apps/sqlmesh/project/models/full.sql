MODEL (name shop.totals, kind FULL, audits (not_null(columns := (n, total))));
SELECT count(*)::bigint AS n, sum(price)::numeric(10, 2) AS total FROM shop.dear;
