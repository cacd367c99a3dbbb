MODEL (name shop.by_key, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id));
SELECT id, name, price * 2 AS twice FROM shop.items;
