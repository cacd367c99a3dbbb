//! Aggregates and window functions.

use super::imp::{row, Imp, Row};
use Imp::{Inline, InlineAggregate, Native, NativeAggregate};

pub const ROWS: &[Row] = &[
    row("count() count(any)", InlineAggregate("count($1)")),
    row("sum(int2) sum(int4)", NativeAggregate { typed: false }),
    row("sum(int8) sum(numeric) sum(float4) sum(float8)", NativeAggregate { typed: false }),
    row("avg(int2) avg(int4) avg(int8) avg(numeric) avg(float4) avg(float8)", NativeAggregate { typed: false }),
    row(
        "min(int2) min(int4) min(int8) min(oid) min(float4) min(float8) min(text) min(bpchar) min(date) min(time) \
         min(timetz) min(timestamp) min(timestamptz) min(interval) min(tid) min(numeric) min(anyenum) min(anyarray)",
        InlineAggregate("min($1)"),
    ),
    row(
        "max(int2) max(int4) max(int8) max(oid) max(float4) max(float8) max(text) max(bpchar) max(date) max(time) \
         max(timetz) max(timestamp) max(timestamptz) max(interval) max(tid) max(numeric) max(anyenum) max(anyarray)",
        InlineAggregate("max($1)"),
    ),
    row("bool_and(bool) every(bool)", InlineAggregate("min($1)")),
    row("bool_or(bool)", InlineAggregate("max($1)")),
    row(
        "bit_and(int2) bit_and(int4) bit_and(int8) bit_or(int2) bit_or(int4) bit_or(int8) bit_xor(int2) bit_xor(int4) \
         bit_xor(int8)",
        NativeAggregate { typed: false },
    ),
    row(
        "stddev(int2) stddev(int4) stddev(int8) stddev(numeric) stddev(float4) stddev(float8) stddev_samp(int2) \
         stddev_samp(int4) stddev_samp(int8) stddev_samp(numeric) stddev_samp(float4) stddev_samp(float8) \
         stddev_pop(int2) stddev_pop(int4) stddev_pop(int8) stddev_pop(numeric) stddev_pop(float4) stddev_pop(float8) \
         variance(int2) variance(int4) variance(int8) variance(numeric) variance(float4) variance(float8) \
         var_samp(int2) var_samp(int4) var_samp(int8) var_samp(numeric) var_samp(float4) var_samp(float8) \
         var_pop(int2) var_pop(int4) var_pop(int8) var_pop(numeric) var_pop(float4) var_pop(float8)",
        NativeAggregate { typed: false },
    ),
    row(
        "corr(float8,float8) covar_pop(float8,float8) covar_samp(float8,float8) regr_avgx(float8,float8) \
         regr_avgy(float8,float8) regr_count(float8,float8) regr_intercept(float8,float8) regr_r2(float8,float8) \
         regr_slope(float8,float8) regr_sxx(float8,float8) regr_sxy(float8,float8) regr_syy(float8,float8)",
        NativeAggregate { typed: false },
    ),
    row("sum(interval) avg(interval)", NativeAggregate { typed: false }),
    row(
        "percentile_disc(float8,anyelement) percentile_disc(_float8,anyelement) percentile_cont(float8,float8) \
         percentile_cont(_float8,float8) percentile_cont(float8,interval) percentile_cont(_float8,interval) \
         mode(anyelement) rank(any) dense_rank(any) percent_rank(any) cume_dist(any)",
        NativeAggregate { typed: true },
    ),
    row("string_agg(text,text) string_agg(bytea,bytea)", NativeAggregate { typed: false }),
    row("array_agg(anynonarray)", NativeAggregate { typed: false }),
    row("array_agg(anyarray)", NativeAggregate { typed: false }),
    // what aggregates are made of
    row(
        "float8_accum float4_accum float8_combine float8_regr_accum float8_regr_combine float8_avg float8_var_pop \
         float8_var_samp float8_stddev_pop float8_stddev_samp int2_avg_accum int4_avg_accum int2_avg_accum_inv \
         int4_avg_accum_inv int4_avg_combine int8_avg int2int4_sum booland_statefunc boolor_statefunc int8inc int8inc_any \
         int8inc_float8_float8 int8dec int8dec_any",
        Native,
    ),
    row("int2_sum int4_sum", Imp::Sql("CASE WHEN $1 IS NULL THEN $2::int8 WHEN $2 IS NULL THEN $1 ELSE $1 + $2 END")),
    // of equal values that are not the same the second one is taken, of character(n) the first one (SQLite's max takes the first, its
    // min the last)
    row(
        "int2larger int4larger int8larger float4larger float8larger text_larger date_larger time_larger timetz_larger \
         timestamp_larger interval_larger numeric_larger oidlarger tidlarger enum_larger array_larger",
        Inline("max($2, $1)"),
    ),
    row(
        "int2smaller int4smaller int8smaller float4smaller float8smaller text_smaller date_smaller time_smaller \
         timetz_smaller timestamp_smaller interval_smaller numeric_smaller oidsmaller tidsmaller enum_smaller \
         array_smaller",
        Inline("min($1, $2)"),
    ),
    row("bpchar_larger", Inline("max($1, $2)")),
    row("bpchar_smaller", Inline("min($2, $1)")),
    row("row_number()", InlineAggregate("row_number()")),
    row("rank()", InlineAggregate("rank()")),
    row("dense_rank()", InlineAggregate("dense_rank()")),
    row("percent_rank()", InlineAggregate("percent_rank()")),
    row("cume_dist()", InlineAggregate("cume_dist()")),
    row("ntile(int4)", InlineAggregate("ntile($1)")),
    row("lag(anyelement)", InlineAggregate("lag($1)")),
    row("lag(anyelement,int4)", InlineAggregate("lag($1, $2)")),
    row("lag(anycompatible,int4,anycompatible)", InlineAggregate("lag($1, $2, $3)")),
    row("lead(anyelement)", InlineAggregate("lead($1)")),
    row("lead(anyelement,int4)", InlineAggregate("lead($1, $2)")),
    row("lead(anycompatible,int4,anycompatible)", InlineAggregate("lead($1, $2, $3)")),
    row("first_value(anyelement)", InlineAggregate("first_value($1)")),
    row("last_value(anyelement)", InlineAggregate("last_value($1)")),
    row("nth_value(anyelement,int4)", InlineAggregate("nth_value($1, $2)")),
];
