//! Comparison of all types, arithmetic, mathematics, casts between numbers.

use super::imp::{row, Imp, Row};
use Imp::{Inline, Native};

pub const ROWS: &[Row] = &[
    // Values whose storage forms compare as PostgreSQL compares them (under the collation that lowering adds).
    row(
        "int2eq int4eq int8eq int24eq int28eq int42eq int48eq int82eq int84eq oideq xideq cideq booleq chareq nameeq \
         texteq nameeqtext texteqname bpchareq byteaeq date_eq time_eq timetz_eq timestamp_eq \
         interval_eq tideq uuid_eq numeric_eq float4eq float8eq float48eq float84eq enum_eq jsonb_eq array_eq record_eq \
         range_eq multirange_eq",
        Inline("$1 = $2"),
    ),
    row(
        "int2ne int4ne int8ne int24ne int28ne int42ne int48ne int82ne int84ne oidne xidneq boolne charne namene textne \
         textnename namenetext bpcharne byteane date_ne time_ne timetz_ne timestamp_ne interval_ne tidne uuid_ne numeric_ne float4ne \
         float8ne float48ne float84ne enum_ne jsonb_ne array_ne record_ne \
         range_ne multirange_ne",
        Inline("$1 <> $2"),
    ),
    row(
        "int2lt int4lt int8lt int24lt int28lt int42lt int48lt int82lt int84lt oidlt boollt charlt namelt text_lt \
         namelttext textltname bpcharlt bytealt date_lt time_lt timetz_lt timestamp_lt interval_lt tidlt uuid_lt numeric_lt \
         float4lt float8lt float48lt float84lt enum_lt jsonb_lt array_lt record_lt \
         range_lt multirange_lt text_pattern_lt bpchar_pattern_lt",
        Inline("$1 < $2"),
    ),
    row(
        "int2le int4le int8le int24le int28le int42le int48le int82le int84le oidle boolle charle namele text_le \
         nameletext textlename bpcharle byteale date_le time_le timetz_le timestamp_le interval_le tidle uuid_le numeric_le \
         float4le float8le float48le float84le enum_le jsonb_le array_le record_le \
         range_le multirange_le text_pattern_le bpchar_pattern_le",
        Inline("$1 <= $2"),
    ),
    row(
        "int2gt int4gt int8gt int24gt int28gt int42gt int48gt int82gt int84gt oidgt boolgt chargt namegt text_gt \
         namegttext textgtname bpchargt byteagt date_gt time_gt timetz_gt timestamp_gt interval_gt tidgt uuid_gt numeric_gt \
         float4gt float8gt float48gt float84gt enum_gt jsonb_gt array_gt record_gt \
         range_gt multirange_gt text_pattern_gt bpchar_pattern_gt",
        Inline("$1 > $2"),
    ),
    row(
        "int2ge int4ge int8ge int24ge int28ge int42ge int48ge int82ge int84ge oidge boolge charge namege text_ge \
         namegetext textgename bpcharge byteage date_ge time_ge timetz_ge timestamp_ge interval_ge tidge uuid_ge numeric_ge \
         float4ge float8ge float48ge float84ge enum_ge jsonb_ge array_ge record_ge \
         range_ge multirange_ge text_pattern_ge bpchar_pattern_ge",
        Inline("$1 >= $2"),
    ),
    // Arithmetic that raises 22003 and 22012.
    row(
        "int2pl int4pl int8pl int24pl int28pl int42pl int48pl int82pl int84pl int2mi int4mi int8mi int24mi int28mi \
         int42mi int48mi int82mi int84mi int2mul int4mul int8mul int24mul int28mul int42mul int48mul int82mul int84mul \
         int2div int4div int8div int24div int28div int42div int48div int82div int84div int2mod int4mod int8mod int2um \
         int4um int8um int2abs int4abs int8abs int4gcd int8gcd int4lcm int8lcm int2shl int2shr int4shl int4shr int8shl \
         int8shr int2xor int4xor int8xor",
        Native,
    ),
    row("int2up int4up int8up float4up float8up numeric_uplus", Inline("$1")),
    row("int2and int4and int8and", Inline("$1 & $2")),
    row("int2or int4or int8or", Inline("$1 | $2")),
    row("int2not int4not int8not", Inline("~$1")),
    row(
        "float4pl float8pl float48pl float84pl float4mi float8mi float48mi float84mi float4mul float8mul float48mul \
         float84mul float4div float8div float48div float84div float4um float8um float4abs float8abs dceil dfloor dround \
         dtrunc dsign dsqrt dcbrt dpow dexp dlog1 dlog10 dsin dcos dtan dcot dasin dacos datan datan2 dsind dcosd dtand \
         dcotd dasind dacosd datand datan2d dsinh dcosh dtanh dasinh dacosh datanh dpi degrees radians drandom setseed \
         width_bucket_float8",
        Native,
    ),
    row(
        "numeric_add numeric_sub numeric_mul numeric_div numeric_mod numeric_div_trunc numeric_uminus numeric_abs \
         numeric_sign numeric_ceil numeric_floor numeric_round numeric_trunc numeric_sqrt numeric_exp numeric_ln \
         numeric_log numeric_power numeric_fac numeric_gcd numeric_lcm numeric_scale numeric_min_scale \
         numeric_trim_scale numeric_inc width_bucket_numeric round(numeric) trunc(numeric) log(numeric) log10(numeric) numeric",
        Native,
    ),
    // Casts.
    row("i2toi4 int28 int48 oidtoi8 bool_int4", Inline("$1")),
    row("int4_bool", Inline("$1 <> 0")),
    row("i2tod i4tod i8tod i2tof", Inline("CAST($1 AS REAL)")),
    row("ftod", Inline("$1")),
    row(
        "i4toi2 int82 int84 i8tooid i4tof i8tof dtoi2 dtoi4 dtoi8 ftoi2 ftoi4 ftoi8 dtof int2_numeric int4_numeric \
         int8_numeric float4_numeric float8_numeric numeric_int2 numeric_int4 numeric_int8 numeric_float4 \
         numeric_float8",
        Native,
    ),
];
