//! Functions of bit strings, which are stored as texts of `0` and `1`.

use super::imp::{row, Imp, Row};
use Imp::{Inline, Native, NativeAggregate, Sql};

pub const ROWS: &[Row] = &[
    row("biteq", Inline("$1 = $2")),
    row("bitne", Inline("$1 <> $2")),
    row("bitlt", Inline("$1 < $2")),
    row("bitle", Inline("$1 <= $2")),
    row("bitgt", Inline("$1 > $2")),
    row("bitge", Inline("$1 >= $2")),
    row("bitlength", Inline("length($1)")),
    row("bitoctetlength", Inline("((length($1) + 7) / 8)")),
    row("bit_length(bit)", Sql("length($1)")),
    row(
        "bit varbit bit_and bit_or bitxor bitnot bitshiftleft bitshiftright bitcat bitsubstr bitsubstr_no_len \
         bitoverlay bitoverlay_no_len bitposition bitgetbit bitsetbit bit_bit_count bitfromint4 bitfromint8 bittoint4 \
         bittoint8 bitcmp",
        Native,
    ),
    row("bit_and(bit) bit_or(bit) bit_xor(bit)", NativeAggregate { typed: false }),
];
