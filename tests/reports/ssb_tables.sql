-- The tables of the Star Schema Benchmark (O'Neil, O'Neil, Chen: "The Star Schema Benchmark", revision 3), filled from those of TPC-H.
CREATE SCHEMA ssb;
CREATE TABLE ssb.customer (c_custkey integer NOT NULL, c_name varchar(25) NOT NULL, c_city varchar(10) NOT NULL,
  c_nation varchar(15) NOT NULL, c_region varchar(12) NOT NULL, c_mktsegment varchar(10) NOT NULL);
CREATE TABLE ssb.supplier (s_suppkey integer NOT NULL, s_name varchar(25) NOT NULL, s_city varchar(10) NOT NULL,
  s_nation varchar(15) NOT NULL, s_region varchar(12) NOT NULL);
CREATE TABLE ssb.part (p_partkey integer NOT NULL, p_name varchar(55) NOT NULL, p_mfgr varchar(6) NOT NULL,
  p_category varchar(7) NOT NULL, p_brand1 varchar(9) NOT NULL, p_size integer NOT NULL, p_container varchar(10) NOT NULL);
CREATE TABLE ssb.dates (d_datekey integer NOT NULL, d_date date NOT NULL, d_year integer NOT NULL, d_yearmonthnum integer NOT NULL,
  d_yearmonth varchar(7) NOT NULL, d_weeknuminyear integer NOT NULL);
CREATE TABLE ssb.lineorder (lo_orderkey integer NOT NULL, lo_linenumber integer NOT NULL, lo_custkey integer NOT NULL,
  lo_partkey integer NOT NULL, lo_suppkey integer NOT NULL, lo_orderdate integer NOT NULL, lo_orderpriority varchar(15) NOT NULL,
  lo_quantity integer NOT NULL, lo_extendedprice integer NOT NULL, lo_discount integer NOT NULL, lo_revenue integer NOT NULL,
  lo_supplycost integer NOT NULL, lo_tax integer NOT NULL, lo_shipmode varchar(10) NOT NULL);
