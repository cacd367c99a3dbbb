CREATE SCHEMA shop;
COMMENT ON SCHEMA shop IS 'what is sold';
CREATE TYPE shop.state AS ENUM ('new', 'paid', 'sent');
CREATE DOMAIN shop.code AS varchar(8) DEFAULT 'none' CONSTRAINT code_shape CHECK (VALUE <> '');
CREATE TYPE shop.address AS (street text, zip varchar(10));
CREATE TABLE shop.maker (id serial PRIMARY KEY, name varchar(40) NOT NULL, code shop.code, UNIQUE (name));
COMMENT ON TABLE shop.maker IS 'who makes it';
COMMENT ON COLUMN shop.maker.code IS 'short';
CREATE TABLE shop.item (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  maker_id integer NOT NULL REFERENCES shop.maker ON DELETE CASCADE,
  sku char(8) COLLATE "C" NOT NULL,
  price numeric(8,2) DEFAULT 0 CONSTRAINT price_ok CHECK (price >= 0),
  double numeric GENERATED ALWAYS AS (price * 2) STORED,
  tags text[] DEFAULT '{}',
  data jsonb,
  st shop.state DEFAULT 'new',
  made timestamptz DEFAULT now(),
  "Odd Name" double precision,
  CONSTRAINT item_sku UNIQUE (sku, st)
);
CREATE INDEX item_lower ON shop.item (lower(sku::text) DESC, price) WHERE price > 10;
CREATE INDEX item_inc ON shop.item (made) INCLUDE (st);
CREATE TABLE shop.line (item_id bigint, no smallint, qty integer NOT NULL, PRIMARY KEY (item_id, no),
  FOREIGN KEY (item_id) REFERENCES shop.item (id) ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED);
CREATE VIEW shop.cheap AS SELECT i.id, i.sku, m.name FROM shop.item i JOIN shop.maker m ON m.id = i.maker_id WHERE i.price < 5;
COMMENT ON VIEW shop.cheap IS 'bargains';
CREATE MATERIALIZED VIEW shop.totals AS SELECT item_id, sum(qty) AS qty FROM shop.line GROUP BY item_id;
CREATE SEQUENCE shop.tickets AS integer START WITH 100 INCREMENT BY 5 MAXVALUE 900 CYCLE;
CREATE FUNCTION shop.twice(n integer, OUT result integer) LANGUAGE sql IMMUTABLE STRICT AS 'SELECT n * 2';
COMMENT ON FUNCTION shop.twice(integer) IS 'two times';
INSERT INTO shop.maker (name) VALUES ('Ann'), ('Bob');
