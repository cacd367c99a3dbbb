//! Functions of money, which is stored as a number of cents.

use super::imp::{row, Imp, Row};
use Imp::{Inline, InlineAggregate, Native, NativeAggregate};

pub const ROWS: &[Row] = &[
    row("cash_eq", Inline("$1 = $2")),
    row("cash_ne", Inline("$1 <> $2")),
    row("cash_lt", Inline("$1 < $2")),
    row("cash_le", Inline("$1 <= $2")),
    row("cash_gt", Inline("$1 > $2")),
    row("cash_ge", Inline("$1 >= $2")),
    row("cashlarger", Inline("max($1, $2)")),
    row("cashsmaller", Inline("min($1, $2)")),
    row("min(money)", InlineAggregate("min($1)")),
    row("max(money)", InlineAggregate("max($1)")),
    row("sum(money)", NativeAggregate { typed: false }),
    row(
        "cash_cmp cash_pl cash_mi cash_mul_flt4 cash_mul_flt8 flt4_mul_cash flt8_mul_cash cash_mul_int2 cash_mul_int4 \
         cash_mul_int8 int2_mul_cash int4_mul_cash int8_mul_cash cash_div_flt4 cash_div_flt8 cash_div_int2 \
         cash_div_int4 cash_div_int8 cash_div_cash cash_words int4_cash int8_cash numeric_cash cash_numeric",
        Native,
    ),
];
