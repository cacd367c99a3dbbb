//! Names that a schema has free, in PostgreSQL and in SQLite.

use super::Ddl;
use pgsqlite_metadata::naming::object_name;
use pgsqlite_sql::catalog::*;
use pgsqlite_types::work;
use pgsqlite_types::Oid;

impl Ddl<'_> {
    /// A constraint of this name exists in the schema, of a relation or of a domain.
    pub(super) fn constraint_name_used(&self, schema: Oid, name: &str) -> bool {
        let of_domain = |t: &UserType| match &t.kind {
            UserTypeKind::Domain { checks, not_null_constraint, .. } => {
                checks.iter().chain(not_null_constraint).any(|c| c.name == name)
            }
            _ => false,
        };
        self.catalog.relations.values().any(|r| r.schema == schema && r.constraints.iter().any(|c| c.name == name))
            || self.catalog.types.values().any(|t| t.schema == schema && of_domain(t))
    }

    /// `name1_name2_label[n]`: the first that no relation (and, for the index of a constraint, no constraint) has.
    pub(super) fn choose_relation_name(
        &self,
        schema: Oid,
        name1: &str,
        name2: &str,
        label: &str,
        constraint: bool,
        taken: &[String],
    ) -> String {
        let mut n = 0;
        loop {
            work::visit();
            let numbered = if n == 0 { label.to_string() } else { format!("{label}{n}") };
            let name = object_name(name1, name2, &numbered);
            if self.catalog.relation_in(schema, &name).is_none()
                && !(constraint && self.constraint_name_used(schema, &name))
                && !taken.contains(&name)
            {
                return name;
            }
            n += 1;
        }
    }

    /// The name of a CHECK or FOREIGN KEY constraint that got none.
    pub(super) fn choose_constraint_name(
        &self,
        schema: Oid,
        name1: &str,
        name2: &str,
        label: &str,
        taken: &[String],
    ) -> String {
        let mut n = 0;
        loop {
            work::visit();
            let numbered = if n == 0 { label.to_string() } else { format!("{label}{n}") };
            let name = object_name(name1, name2, &numbered);
            if !self.constraint_name_used(schema, &name) && !taken.contains(&name) {
                return name;
            }
            n += 1;
        }
    }

    /// The name a table or index gets in SQLite: bare in schema public, else `schema.name`. SQLite compares names without regard
    /// to case and keeps `sqlite_…` for itself, so a name that cannot be had is qualified or numbered.
    pub(super) fn choose_sqlite_name(&self, schema: Oid, name: &str) -> String {
        let reserved = |n: &str| {
            let lower = n.to_ascii_lowercase();
            lower.starts_with("sqlite_") || lower.starts_with("__pgsqlite_") || lower.starts_with("pragma_")
        };
        let qualified = format!("{}.{}", self.catalog.schema_name(schema), name);
        let wanted =
            if schema == self.catalog.public_schema() && !reserved(name) { name.to_string() } else { qualified };
        let taken = |n: &str| {
            self.catalog
                .relations
                .values()
                .any(|r| r.kind != RelationKind::System && r.sqlite_name.eq_ignore_ascii_case(n))
                || self.sqlite_object_exists(n)
        };
        let mut out = wanted.clone();
        let mut n = 1;
        while taken(&out) {
            work::visit();
            out = format!("{wanted}#{n}");
            n += 1;
        }
        out
    }
}
