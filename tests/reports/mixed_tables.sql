-- The tables of the second set: events with documents and tags, people in a tree, articles, a graph, readings of sensors. `:rows` is the
-- number of events. Their values follow from their numbers, so that each server makes the same rows.
CREATE SCHEMA mixed;
CREATE FUNCTION mixed.any(n bigint, salt bigint, most integer) RETURNS integer IMMUTABLE LANGUAGE sql
  RETURN (n * salt % 4294967296 / 4096 % most)::integer;
CREATE TABLE mixed.people (id integer PRIMARY KEY, name text NOT NULL, manager integer, city text NOT NULL, born date NOT NULL);
CREATE TABLE mixed.events (id bigint PRIMARY KEY, person integer NOT NULL, kind text NOT NULL, at timestamp NOT NULL,
  amount numeric(10,2) NOT NULL, doc jsonb NOT NULL, tags text[] NOT NULL);
CREATE TABLE mixed.articles (id integer PRIMARY KEY, person integer NOT NULL, title text NOT NULL, body text NOT NULL);
CREATE TABLE mixed.edges (a integer NOT NULL, b integer NOT NULL, weight integer NOT NULL);
CREATE TABLE mixed.readings (sensor integer NOT NULL, at timestamp NOT NULL, value numeric(8,3) NOT NULL, PRIMARY KEY (sensor, at));
INSERT INTO mixed.people SELECT n, 'person ' || n, CASE WHEN n > 1 THEN n / 3 + 1 END,
  (ARRAY['Oslo', 'Lyon', 'Porto', 'Graz', 'Turin', 'Gent', 'Malmö', 'Košice'])[mixed.any(n, 2654435761, 8) + 1],
  date '1940-01-01' + mixed.any(n, 2246822519, 24000) FROM generate_series(1, :rows / 50) AS n;
INSERT INTO mixed.events SELECT n, mixed.any(n, 3266489917, :rows / 50) + 1,
  (ARRAY['view', 'view', 'view', 'view', 'click', 'click', 'cart', 'buy', 'return', 'login'])[mixed.any(n, 668265263, 10) + 1],
  timestamp '2024-01-01' + n * interval '31 seconds' + mixed.any(n, 374761393, 300) * interval '1 minute', mixed.any(n, 2654435761, 100000) / 100.0,
  jsonb_build_object('source', (ARRAY['web', 'app', 'mail', 'shop'])[mixed.any(n, 2246822519, 4) + 1], 'price', mixed.any(n, 3266489917, 5000) / 10.0,
    'geo', jsonb_build_object('country', (ARRAY['FR', 'DE', 'IT', 'NO', 'PT', 'AT', 'BE', 'SE'])[mixed.any(n, 1597334677, 8) + 1],
      'zip', mixed.any(n, 1812433253, 90000) + 10000),
    'items', jsonb_build_array(jsonb_build_object('sku', 'sku-' || mixed.any(n, 1103515245, 500), 'qty', mixed.any(n, 1664525, 7) + 1),
      jsonb_build_object('sku', 'sku-' || mixed.any(n, 22695477, 700), 'qty', mixed.any(n, 134775813, 3) + 1)), 'vip', n % 11 = 0),
  ARRAY['t' || mixed.any(n, 214013, 20), 't' || mixed.any(n, 69069, 50), CASE WHEN mixed.any(n, 16843009, 5) = 0 THEN 'sale' ELSE 'full' END]
  FROM generate_series(1, :rows) AS n;
INSERT INTO mixed.articles SELECT n, mixed.any(n, 3266489917, :rows / 50) + 1, 'Report number ' || n,
  (SELECT string_agg((ARRAY['storm', 'harbour', 'ships', 'sailing', 'winter', 'markets', 'prices', 'rising', 'quietly', 'garden', 'bridges', 'river',
    'engine', 'running', 'old', 'stories', 'children', 'music', 'light', 'mountain', 'snow', 'villages', 'trading', 'letters', 'kings',
    'painted', 'walls', 'museum', 'nights', 'trains', 'sea', 'wind'])[mixed.any(n, 2654435761 + 40506 * k * k, 32) + 1], ' ' ORDER BY k)
    FROM generate_series(1, 20) AS k)
  FROM generate_series(1, :rows / 20) AS n;
INSERT INTO mixed.edges SELECT mixed.any(n, 2654435761, :rows / 25) + 1, mixed.any(n, 2246822519, :rows / 25) + 1, n % 10 + 1
  FROM generate_series(1, :rows / 20) AS n;
INSERT INTO mixed.readings SELECT n % 100, timestamp '2024-03-01' + (n / 100) * interval '1 minute', mixed.any(n, 2654435761, 50000) / 1000.0
  FROM generate_series(1, :rows) AS n;
CREATE INDEX people_manager ON mixed.people (manager);
CREATE INDEX events_person ON mixed.events (person, at);
CREATE INDEX events_at ON mixed.events (at);
CREATE INDEX events_doc ON mixed.events USING gin (doc jsonb_path_ops);
CREATE INDEX events_tags ON mixed.events USING gin (tags);
CREATE INDEX articles_body ON mixed.articles USING gin (to_tsvector('english', body));
CREATE INDEX articles_person ON mixed.articles (person);
CREATE INDEX edges_a ON mixed.edges (a);
ANALYZE;
