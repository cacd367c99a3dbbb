//! The relation that ALTER names: its owner alone changes it, and it must be of the kind that the statement says.

use super::Ddl;
use pgsqlite_sql::catalog::{Relation, RelationKind};
use pgsqlite_sql::parse::ast::{self, ObjectType};
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::Arc;

/// What ALTER does to the relation, as far as its kind matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// one of ALTER TABLE's commands
    Command,
    Rename,
    SetSchema,
}

impl Ddl<'_> {
    /// The relation that ALTER names; None: it does not exist, and IF EXISTS is written (a notice reports that).
    /// Errors: 42P01; 42501 (another's); 42809 (of another kind).
    pub(super) fn altered_relation(
        &mut self,
        name: &ast::RangeVar,
        kind: ObjectType,
        change: Change,
        missing_ok: bool,
    ) -> Result<Option<Arc<Relation>>> {
        let Some(relation) = self.find_opt(name)? else {
            self.check_no_composite(name)?;
            if !missing_ok {
                return Err(self.no_relation(name));
            }
            let message = format!("relation \"{}\" does not exist, skipping", name.relname);
            self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            return Ok(None);
        };
        self.check_not_system(&relation)?;
        self.check_owner(&relation)?;
        check_kind(&relation, kind, change)?;
        Ok(Some(relation))
    }

    /// 42809: the name is a composite type's, which ALTER TYPE changes.
    fn check_no_composite(&self, name: &ast::RangeVar) -> Result<()> {
        let schemas = match name.schemaname.as_str() {
            "" => self.environment.search_path.to_vec(),
            schema => self.catalog.schema_oid(schema).into_iter().collect(),
        };
        if !schemas.into_iter().any(|schema| self.catalog.composite_class_in(schema, &name.relname).is_some()) {
            return Ok(());
        }
        let message = format!("\"{}\" is a composite type", name.relname);
        Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, message).hint("Use ALTER TYPE instead."))
    }
}

/// 42809: ALTER SEQUENCE, VIEW and MATERIALIZED VIEW change nothing else, and ALTER INDEX renames only what is no index. (ALTER TABLE takes
/// any relation; which of its commands fit is decided by each command.)
fn check_kind(relation: &Relation, kind: ObjectType, change: Change) -> Result<()> {
    let fits = |of_kind: bool, a_kind: &str| match of_kind {
        true => Ok(()),
        false => Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is not {a_kind}", relation.name))),
    };
    let is_index = matches!(relation.kind, RelationKind::Index(_));
    match kind {
        ObjectType::ObjectSequence => fits(matches!(relation.kind, RelationKind::Sequence(_)), "a sequence"),
        ObjectType::ObjectView => {
            fits(matches!(relation.kind, RelationKind::View { .. } | RelationKind::ForeignView), "a view")
        }
        ObjectType::ObjectMatview => {
            fits(matches!(relation.kind, RelationKind::MaterializedView { .. }), "a materialized view")
        }
        ObjectType::ObjectIndex if change != Change::Rename => fits(is_index, "an index"),
        _ if change == Change::SetSchema && is_index => Err(PgError::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("cannot change schema of index \"{}\"", relation.name),
        )
        .hint("Change the schema of the table instead.")),
        _ => Ok(()),
    }
}
