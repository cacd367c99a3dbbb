//! Extensions whose types, functions and operators are here natively: uuid-ossp, pgcrypto, pg_trgm, unaccent, citext, hstore,
//! intarray, btree_gist, vector.
//!
//! Their signatures are data like PostgreSQL's own (`extension_proc.tsv`, `extension_operator.tsv`,
//! `extension_opclass.tsv` …), with fixed OIDs; they are seen once
//! CREATE EXTENSION has made the extension, in its schema ([`crate::catalog::Catalog::schema_of_builtin`]).

use super::imp::{row, Imp, Row};
use foldhash::HashMap;
use pgsqlite_types::Oid;
use std::sync::OnceLock;
use Imp::{Inline, InlineAggregate, Native, NativeAggregate, NativeSet, NativeTyped, Sql};

pub const ROWS: &[Row] = &[
    row(
        "uuid_generate_v1 uuid_generate_v1mc uuid_generate_v3 uuid_generate_v4 uuid_generate_v5 uuid_nil uuid_ns_dns uuid_ns_url \
         uuid_ns_oid uuid_ns_x500",
        Native,
    ),
    row("pg_digest pg_hmac pg_random_bytes pg_random_uuid pg_gen_salt pg_gen_salt_rounds pg_crypt", Native),
    row(
        "similarity similarity_op similarity_dist word_similarity word_similarity_op word_similarity_commutator_op \
         word_similarity_dist_op word_similarity_dist_commutator_op strict_word_similarity strict_word_similarity_op \
         strict_word_similarity_commutator_op strict_word_similarity_dist_op strict_word_similarity_dist_commutator_op \
         show_trgm show_limit set_limit",
        Native,
    ),
    row("unaccent_dict", Native),
    // citext compares under its collation
    row("citext_eq", Inline("$1 = $2")),
    row("citext_ne", Inline("$1 <> $2")),
    row("citext_lt citext_pattern_lt", Inline("$1 < $2")),
    row("citext_le citext_pattern_le", Inline("$1 <= $2")),
    row("citext_gt citext_pattern_gt", Inline("$1 > $2")),
    row("citext_ge citext_pattern_ge", Inline("$1 >= $2")),
    row("citext_cmp citext_pattern_cmp", Native),
    row("citext_larger", Inline("CASE WHEN $1 > $2 THEN $1 WHEN $1 <= $2 THEN $2 END")),
    row("citext_smaller", Inline("CASE WHEN $1 < $2 THEN $1 WHEN $1 >= $2 THEN $2 END")),
    row("min(citext)", InlineAggregate("min($1)")),
    row("max(citext)", InlineAggregate("max($1)")),
    row("regexp_match(citext,citext)", Sql("regexp_match($1::text, $2::text, 'i')")),
    row("regexp_match(citext,citext,text)", Sql(MATCH)),
    row("regexp_replace(citext,citext,text)", Sql("regexp_replace($1::text, $2::text, $3, 'i')")),
    row("regexp_replace(citext,citext,text,text)", Sql(REPLACE)),
    row("regexp_split_to_array(citext,citext)", Sql("regexp_split_to_array($1::text, $2::text, 'i')")),
    row("regexp_split_to_array(citext,citext,text)", Sql(SPLIT)),
    row(
        "regexp_matches(citext,citext) regexp_matches(citext,citext,text) regexp_split_to_table(citext,citext) \
         regexp_split_to_table(citext,citext,text)",
        NativeSet { typed: false },
    ),
    row("strpos(citext,citext)", Sql("strpos(lower($1::text), lower($2::text))")),
    row(
        "replace(citext,citext,citext)",
        Sql("regexp_replace($1::text, regexp_replace($2::text, '([^a-zA-Z_0-9])', E'\\\\\\\\\\\\1', 'g'), $3::text, 'gi')"),
    ),
    row(
        "split_part(citext,citext,int4)",
        Sql("(regexp_split_to_array($1::text, regexp_replace($2::text, '([^a-zA-Z_0-9])', E'\\\\\\\\\\\\1', 'g'), 'i'))[$3]"),
    ),
    row("translate(citext,citext,text)", Sql("translate(translate($1::text, lower($2::text), $3), upper($2::text), $3)")),
    row("hstore_eq", Inline("$1 = $2")),
    row("hstore_ne", Inline("$1 <> $2")),
    row("hstore_lt", Inline("$1 < $2")),
    row("hstore_le", Inline("$1 <= $2")),
    row("hstore_gt", Inline("$1 > $2")),
    row("hstore_ge", Inline("$1 >= $2")),
    row(
        "hstore_akeys hstore_avals hstore_defined hstore_delete hstore_delete_array hstore_delete_hstore hstore_exists \
         hstore_exists_all hstore_exists_any hstore_fetchval hstore_concat hstore_contained hstore_contains hstore_cmp \
         hstore_from_array hstore_from_arrays hstore_from_text hstore_to_array hstore_to_matrix hstore_to_json \
         hstore_to_json_loose hstore_to_jsonb hstore_to_jsonb_loose hstore_slice_to_hstore hstore_slice_to_array \
         hstore_version_diag",
        Native,
    ),
    row("hstore_each hstore_skeys hstore_svals", NativeSet { typed: false }),
    row("hstore_from_record hstore_populate_record", NativeTyped),
    row(
        "_int_contained _int_contains _int_different _int_inter _int_overlap _int_same _int_union boolop rboolop icount idx \
         intarray_del_elem intarray_push_array intarray_push_elem intset intset_subtract intset_union_elem sort sort_asc \
         sort_desc subarray uniq",
        Native,
    ),
    // (stored values compare as bytes)
    row("vector_eq halfvec_eq sparsevec_eq", Inline("$1 = $2")),
    row("vector_ne halfvec_ne sparsevec_ne", Inline("$1 <> $2")),
    row("vector_lt halfvec_lt sparsevec_lt", Inline("$1 < $2")),
    row("vector_le halfvec_le sparsevec_le", Inline("$1 <= $2")),
    row("vector_gt halfvec_gt sparsevec_gt", Inline("$1 > $2")),
    row("vector_ge halfvec_ge sparsevec_ge", Inline("$1 >= $2")),
    row(
        "l2_distance vector_l2_squared_distance inner_product vector_negative_inner_product cosine_distance l1_distance \
         vector_spherical_distance halfvec_l2_distance halfvec_l2_squared_distance halfvec_inner_product \
         halfvec_negative_inner_product halfvec_cosine_distance halfvec_l1_distance halfvec_spherical_distance \
         sparsevec_l2_distance sparsevec_l2_squared_distance sparsevec_inner_product sparsevec_negative_inner_product \
         sparsevec_cosine_distance sparsevec_l1_distance hamming_distance jaccard_distance",
        Native,
    ),
    row(
        "vector_dims halfvec_vector_dims vector_norm halfvec_l2_norm sparsevec_l2_norm l2_normalize halfvec_l2_normalize \
         sparsevec_l2_normalize binary_quantize halfvec_binary_quantize subvector halfvec_subvector vector_add vector_sub \
         vector_mul vector_concat halfvec_add halfvec_sub halfvec_mul halfvec_concat vector_cmp halfvec_cmp sparsevec_cmp",
        Native,
    ),
    row(
        "vector halfvec sparsevec array_to_vector array_to_halfvec array_to_sparsevec vector_to_float4 halfvec_to_float4 \
         vector_to_halfvec vector_to_sparsevec halfvec_to_vector halfvec_to_sparsevec sparsevec_to_vector sparsevec_to_halfvec",
        Native,
    ),
    row("vector_accum halfvec_accum vector_combine vector_avg halfvec_avg", Native),
    row("avg(vector) avg(halfvec) sum(vector) sum(halfvec)", NativeAggregate { typed: false }),
    row("int2_dist int4_dist int8_dist float4_dist float8_dist date_dist", Sql("abs($1 - $2)")),
    row("cash_dist time_dist interval_dist", Sql("greatest($1 - $2, $2 - $1)")),
];

const MATCH: &str = "regexp_match($1::text, $2::text, CASE WHEN strpos($3, 'c') = 0 THEN $3 || 'i' ELSE $3 END)";
const REPLACE: &str =
    "regexp_replace($1::text, $2::text, $3, CASE WHEN strpos($4, 'c') = 0 THEN $4 || 'i' ELSE $4 END)";
const SPLIT: &str =
    "regexp_split_to_array($1::text, $2::text, CASE WHEN strpos($3, 'c') = 0 THEN $3 || 'i' ELSE $3 END)";

/// The extension that a function, operator, operator class or access method belongs to. None: it is always there.
pub fn of(oid: Oid) -> Option<&'static str> {
    static MEMBERS: OnceLock<HashMap<Oid, &'static str>> = OnceLock::new();
    let members = MEMBERS.get_or_init(|| {
        let procs = include_str!("../../data/extension_proc.tsv").lines().skip(1);
        let operators = include_str!("../../data/extension_operator.tsv").lines().skip(1);
        let member = |line: &'static str| {
            let (rest, extension) = line.rsplit_once('\t')?;
            let oid = rest.split('\t').next()?.parse().ok()?;
            (extension != "\\N").then_some((oid, extension))
        };
        let classes = include_str!("../../data/extension_opclass.tsv").lines().skip(1);
        let families = include_str!("../../data/extension_opfamily.tsv").lines().skip(1);
        let methods = include_str!("../../data/extension_am.tsv").lines().skip(1);
        procs.chain(operators).chain(classes).chain(families).chain(methods).filter_map(member).collect()
    });
    members.get(&oid).copied()
}
