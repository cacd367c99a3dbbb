//! Collations.

use super::types::{TypeEntry, UserTypeKind};
use super::{Catalog, PG_CATALOG};
use crate::builtins::catalog as builtin;
use pgsqlite_types::Oid;
use serde::{Deserialize, Serialize};

/// A collation that CREATE COLLATION has made: one row of `pg_collation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserCollation {
    pub oid: Oid,
    pub schema: Oid,
    pub name: String,
    pub owner: Oid,
    pub deterministic: bool,
    /// the locale of ICU; None: the provider is libc, and texts are ordered by their bytes
    pub locale: Option<String>,
    /// libc's names
    pub collate: Option<String>,
    pub ctype: Option<String>,
    pub version: Option<String>,
    /// it is bound to no encoding
    #[serde(default)]
    pub any_encoding: bool,
}

/// What a collation is, wherever it is defined.
#[derive(Debug, Clone, Copy)]
pub struct CollationEntry<'a> {
    pub schema: Oid,
    pub name: &'a str,
    pub deterministic: bool,
    /// the locale of ICU; None: texts are ordered by their bytes
    pub locale: Option<&'a str>,
}

/// The collation of an expression for which none can be told: what depends on it is refused.
pub const NO_COLLATION: Oid = Oid::MAX;

/// `default`, which orders as the database: by bytes.
pub const DEFAULT_COLLATION: Oid = 100;

/// Whether a collation orders by bytes in every database: none, `default`, `C`, `POSIX`.
pub(super) fn is_of_bytes(collation: Oid) -> bool {
    matches!(collation, 0 | DEFAULT_COLLATION | 950 | 951 | NO_COLLATION)
}

impl Catalog {
    /// A collation by OID.
    pub fn collation(&self, oid: Oid) -> Option<CollationEntry<'_>> {
        if let Some(c) = self.collations.get(&oid) {
            return Some(CollationEntry {
                schema: c.schema,
                name: &c.name,
                deterministic: c.deterministic,
                locale: c.locale.as_deref(),
            });
        }
        let c = builtin::collation_by_oid(oid)?;
        Some(CollationEntry { schema: PG_CATALOG, name: c.name, deterministic: true, locale: c.locale })
    }

    /// A collation by schema and name.
    pub fn collation_in(&self, schema: Oid, name: &str) -> Option<Oid> {
        if schema == PG_CATALOG {
            return builtin::collation_named(name).map(|c| c.oid);
        }
        self.collations.values().find(|c| c.schema == schema && c.name == name).map(|c| c.oid)
    }

    /// The locale by which a collation orders texts, and whether it is deterministic; None: they are in the order of bytes.
    fn locale_of_collation(&self, oid: Oid) -> Option<(&str, bool)> {
        if is_of_bytes(oid) {
            return None;
        }
        let c = self.collation(oid)?;
        c.locale.map(|locale| (locale, c.deterministic))
    }

    /// Whether texts in a collation are in another order than that of their bytes.
    pub fn is_of_language(&self, collation: Oid) -> bool {
        self.locale_of_collation(collation).is_some()
    }

    /// SQLite's name for the order of a collation; None: the order of bytes.
    pub fn sqlite_collation(&self, oid: Oid) -> Option<String> {
        self.locale_of_collation(oid)
            .map(|(locale, deterministic)| pgsqlite_types::collation::sqlite_name(locale, deterministic))
    }

    /// Whether any column is in the order of a language.
    pub fn has_languages(&self) -> bool {
        let relations = self.collated_tables.iter().filter_map(|oid| self.relations.get(oid));
        relations.flat_map(|r| &r.columns).any(|c| self.is_of_language(c.collation))
    }

    /// Whether SQLite would compare some column by anything but its bytes, unless it is told to.
    pub fn has_collated_columns(&self) -> bool {
        self.sqlite_collations || self.has_languages()
    }

    /// The collation that values of a type have by themselves; 0: the type has none.
    pub fn type_collation(&self, ty: Oid) -> Oid {
        match self.type_entry(ty) {
            Some(TypeEntry::Builtin(t)) if t.kind == b'd' => self.type_collation(t.base_type),
            Some(TypeEntry::Builtin(t)) => t.collation,
            Some(TypeEntry::ArrayOf(element)) => self.type_collation(element),
            Some(TypeEntry::User(t)) => match &t.kind {
                UserTypeKind::Domain { collation, base, .. } => match collation {
                    0 => self.type_collation(*base),
                    own => *own,
                },
                _ => 0,
            },
            _ => 0,
        }
    }
}
