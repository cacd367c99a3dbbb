//! Functions of dates, times and intervals.

use super::imp::{row, Imp, Row};
use Imp::{Inline, Native, Sql};

pub const ROWS: &[Row] = &[
    row(
        "date_pli date_mii date_mi date_pl_interval date_mi_interval datetime_timestamp datetimetz_timestamptz \
         time_pl_interval time_mi_interval time_mi_time timetz_pl_interval timetz_mi_interval timestamp_pl_interval \
         timestamp_mi_interval timestamp_mi timestamptz_pl_interval timestamptz_mi_interval interval_um interval_pl \
         interval_mi interval_mul mul_d_interval interval_div interval_justify_hours interval_justify_days \
         interval_justify_interval timestamp_age timestamptz_age",
        Native,
    ),
    row("overlaps_timestamp overlaps_time overlaps_timetz", Native),
    row("overlaps(timestamptz,interval,timestamptz,interval) overlaps(timestamp,interval,timestamp,interval) overlaps(time,interval,time,interval)", Sql("overlaps($1, $1 + $2, $3, $3 + $4)")),
    row("overlaps(timestamptz,timestamptz,timestamptz,interval) overlaps(timestamp,timestamp,timestamp,interval) overlaps(time,time,time,interval)", Sql("overlaps($1, $2, $3, $3 + $4)")),
    row("overlaps(timestamptz,interval,timestamptz,timestamptz) overlaps(timestamp,interval,timestamp,timestamp) overlaps(time,interval,time,time)", Sql("overlaps($1, $1 + $2, $3, $4)")),
    row("age(timestamp)", Sql("age(current_date::timestamp, $1)")),
    row("age(timestamptz)", Sql("age(current_date::timestamptz, $1)")),
    row("integer_pl_date(int4,date)", Sql("$2 + $1")),
    row("interval_pl_date(interval,date)", Sql("$2 + $1")),
    row("interval_pl_time(interval,time)", Sql("$2 + $1")),
    row("interval_pl_timestamp(interval,timestamp)", Sql("$2 + $1")),
    row("interval_pl_timestamptz(interval,timestamptz)", Sql("$2 + $1")),
    row("interval_pl_timetz(interval,timetz)", Sql("$2 + $1")),
    row("timedate_pl(time,date)", Sql("$2 + $1")),
    row("timetzdate_pl(timetz,date)", Sql("$2 + $1")),
    row("timestamptz(date,time)", Sql("($1 + $2)::timestamptz")),
    row(
        "now statement_timestamp clock_timestamp timeofday timestamp_part timestamptz_part time_part timetz_part \
         interval_part date_part(text,date) extract_timestamp extract_timestamptz extract_date extract_time \
         extract_timetz extract_interval timestamp_trunc timestamptz_trunc timestamptz_trunc_zone interval_trunc \
         timestamp_bin timestamptz_bin make_date make_time make_timestamp make_timestamptz \
         make_timestamptz_at_timezone make_interval float8_timestamptz timestamp_zone timestamptz_zone timestamp_izone \
         timestamptz_izone timetz_zone timetz_izone date_timestamp date_timestamptz timestamp_date timestamptz_date \
         timestamp_time timestamptz_time timestamptz_timetz timestamp_timestamptz timestamptz_timestamp time_interval \
         interval_time timetz_time time_timetz time_scale timetz_scale timestamp_scale timestamptz_scale \
         interval_scale",
        Native,
    ),
    row("date_finite timestamp_finite", Inline("$1 NOT IN ('infinity', '-infinity')")),
    row("interval_finite", Inline("$1 IS NOT NULL OR NULL")),
    // (lowering writes them as comparisons of stored texts: lower/moments.rs)
    row(
        "date_eq_timestamp date_ne_timestamp date_lt_timestamp date_le_timestamp date_gt_timestamp date_ge_timestamp \
         timestamp_eq_date timestamp_ne_date timestamp_lt_date timestamp_le_date timestamp_gt_date timestamp_ge_date \
         date_eq_timestamptz date_ne_timestamptz date_lt_timestamptz date_le_timestamptz date_gt_timestamptz \
         date_ge_timestamptz timestamptz_eq_date timestamptz_ne_date timestamptz_lt_date timestamptz_le_date \
         timestamptz_gt_date timestamptz_ge_date timestamp_eq_timestamptz timestamp_ne_timestamptz \
         timestamp_lt_timestamptz timestamp_le_timestamptz timestamp_gt_timestamptz timestamp_ge_timestamptz \
         timestamptz_eq_timestamp timestamptz_ne_timestamp timestamptz_lt_timestamp timestamptz_le_timestamp \
         timestamptz_gt_timestamp timestamptz_ge_timestamp",
        Imp::Special,
    ),
];
