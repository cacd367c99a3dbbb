MODEL (name shop.items, kind SEED (path '../seeds/items.csv'), columns (id int, name text, price numeric(8, 2), day date), grain id);
