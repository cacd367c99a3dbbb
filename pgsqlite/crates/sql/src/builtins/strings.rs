//! Functions of strings and byte strings, pattern matching.

use super::imp::{row, Imp, Row};
use Imp::{Inline, Native, NativeSet, NativeTyped, Sql};

pub const ROWS: &[Row] = &[
    row("textcat", Inline("$1 || $2")),
    row("anytextcat(anynonarray,text)", Sql("$1::text || $2")),
    row("textanycat(text,anynonarray)", Sql("$1 || $2::text")),
    row("textlen", Inline("length($1)")),
    row("bpcharlen", Inline("length(rtrim($1, ' '))")),
    row("byteaoctetlen", Inline("length($1)")),
    row("textoctetlen", Inline("octet_length($1)")),
    row("bpcharoctetlen", Inline("octet_length($1)")),
    row("bit_length(text)", Sql("octet_length($1) * 8")),
    row("bit_length(bytea)", Sql("octet_length($1) * 8")),
    row("name_text text_name bpchar_name name_bpchar", Native),
    row("char_text", Inline("$1")),
    row("booltext", Inline("(CASE $1 WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)")),
    row(
        "rtrim1 ltrim1 btrim1 rtrim ltrim btrim text_substr text_substr_no_len text_left text_right textpos upper lower \
         initcap replace_text translate lpad rpad repeat text_reverse split_part text_starts_with textoverlay \
         textoverlay_no_len ascii chr to_hex32 to_hex64 quote_ident quote_literal quote_nullable md5_text md5_bytea \
         sha224_bytea sha256_bytea sha384_bytea sha512_bytea binary_encode binary_decode pg_convert_to pg_convert_from pg_convert length_in_encoding pg_encoding_max_length_sql unicode_normalize_func unicode_is_normalized parse_ident chartoi4 i4tochar text_char char_bpchar bytealike byteanlike \
         unistr lpad(text,int4) rpad(text,int4)",
        Native,
    ),
    row(
        "hashint2 hashint4 hashoid hashint2extended hashint4extended hashoidextended hashint8 hashint8extended hashtext hashname \
         hashtextextended hashnameextended hashbpchar hashbpcharextended hashfloat4 hashfloat8 hashfloat4extended \
         hashfloat8extended uuid_hash uuid_hash_extended time_hash time_hash_extended timestamp_hash timestamp_hash_extended",
        Native,
    ),
    row("quote_literal(anyelement)", Sql("quote_literal($1::text)")),
    row("quote_nullable(anyelement)", Sql("quote_nullable($1::text)")),
    row("text_concat text_concat_ws text_format text_format_nv", NativeTyped),
    row("text_to_array text_to_array_null", Native),
    row("text_to_table text_to_table_null", NativeSet { typed: false }),
    row("array_to_text array_to_text_null", NativeTyped),
    row(
        "byteacat bytea_substr bytea_substr_no_len byteapos byteaoverlay byteaoverlay_no_len byteaGetByte byteaSetByte \
         byteaGetBit byteaSetBit byteatrim bytealtrim byteartrim bytea_bit_count",
        Native,
    ),
    row(
        "textlike textnlike namelike namenlike texticlike texticnlike nameiclike nameicnlike like_escape \
         similar_to_escape_1 similar_to_escape_2 similar_escape textregexeq textregexne texticregexeq texticregexne \
         nameregexeq nameregexne nameicregexeq nameicregexne",
        Native,
    ),
    row(
        "textregexsubstr textregexreplace textregexreplace_noopt textregexreplace_extended \
         textregexreplace_extended_no_flags textregexreplace_extended_no_n regexp_match regexp_match_no_flags \
         regexp_like regexp_like_no_flags regexp_count regexp_count_no_start regexp_count_no_flags regexp_substr \
         regexp_substr_no_start regexp_substr_no_n regexp_substr_no_flags regexp_substr_no_subexpr regexp_instr \
         regexp_instr_no_start regexp_instr_no_n regexp_instr_no_endoption regexp_instr_no_flags \
         regexp_instr_no_subexpr regexp_split_to_array regexp_split_to_array_no_flags",
        Native,
    ),
    row("substring(text,text,text)", Sql("substring($1, similar_to_escape($2, $3))")),
    row(
        "regexp_matches regexp_matches_no_flags regexp_split_to_table regexp_split_to_table_no_flags",
        NativeSet { typed: false },
    ),
];
