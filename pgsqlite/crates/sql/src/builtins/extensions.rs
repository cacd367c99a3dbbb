//! Extensions whose functions and operators are here natively: uuid-ossp, pgcrypto, pg_trgm, unaccent.
//!
//! Their signatures are data like PostgreSQL's own (`extension_proc.tsv`, `extension_operator.tsv`,
//! `extension_opclass.tsv`), with fixed OIDs; they are seen once
//! CREATE EXTENSION has made the extension, in its schema ([`crate::catalog::Catalog::schema_of_builtin`]).

use super::imp::{row, Imp, Row};
use pgsqlite_types::Oid;
use std::collections::HashMap;
use std::sync::OnceLock;
use Imp::Native;

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
];

/// The extension that a function, operator or operator class belongs to. None: it is always there.
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
        procs.chain(operators).chain(classes).filter_map(member).collect()
    });
    members.get(&oid).copied()
}
