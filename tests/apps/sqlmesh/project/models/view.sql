MODEL (name shop.dear, kind VIEW);
SELECT id, name, price FROM shop.items WHERE price >= 1 AND name NOT IN ('plum');
