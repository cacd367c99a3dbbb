-- Cities are a nation's name and a digit; amounts are counted in hundredths.
INSERT INTO ssb.customer SELECT c_custkey, c_name, rpad(left(n_name, 9), 9) || (c_custkey % 10), trim(n_name), trim(r_name),
  trim(c_mktsegment) FROM public.customer JOIN nation ON c_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey;
INSERT INTO ssb.supplier SELECT s_suppkey, s_name, rpad(left(n_name, 9), 9) || (s_suppkey % 10), trim(n_name), trim(r_name)
  FROM public.supplier JOIN nation ON s_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey;
INSERT INTO ssb.part SELECT p_partkey, p_name, 'MFGR#' || (p_partkey % 5 + 1), 'MFGR#' || (p_partkey % 5 + 1) || (p_partkey / 5 % 5 + 1),
  'MFGR#' || (p_partkey % 5 + 1) || (p_partkey / 5 % 5 + 1) || (p_partkey / 25 % 40 + 1), p_size, trim(p_container) FROM public.part;
INSERT INTO ssb.dates SELECT to_char(d, 'YYYYMMDD')::int, d, extract(year FROM d)::int, to_char(d, 'YYYYMM')::int,
  to_char(d, 'MonYYYY'), (extract(doy FROM d)::int - 1) / 7 + 1
  FROM (SELECT date '1992-01-01' + n AS d FROM generate_series(0, 2556) AS n) AS days;
INSERT INTO ssb.lineorder SELECT l_orderkey, l_linenumber, o_custkey, l_partkey, l_suppkey, to_char(o_orderdate, 'YYYYMMDD')::int,
  trim(o_orderpriority), l_quantity::int, (l_extendedprice * 100)::int, (l_discount * 100)::int,
  (l_extendedprice * (1 - l_discount) * 100)::int, (l_extendedprice / l_quantity * 60)::int, (l_tax * 100)::int, trim(l_shipmode)
  FROM lineitem JOIN orders ON l_orderkey = o_orderkey;
ALTER TABLE ssb.customer ADD PRIMARY KEY (c_custkey);
ALTER TABLE ssb.supplier ADD PRIMARY KEY (s_suppkey);
ALTER TABLE ssb.part ADD PRIMARY KEY (p_partkey);
ALTER TABLE ssb.dates ADD PRIMARY KEY (d_datekey);
ALTER TABLE ssb.lineorder ADD PRIMARY KEY (lo_orderkey, lo_linenumber);
CREATE INDEX lineorder_customer ON ssb.lineorder (lo_custkey);
CREATE INDEX lineorder_part ON ssb.lineorder (lo_partkey);
CREATE INDEX lineorder_supplier ON ssb.lineorder (lo_suppkey);
CREATE INDEX lineorder_date ON ssb.lineorder (lo_orderdate);
ANALYZE;
