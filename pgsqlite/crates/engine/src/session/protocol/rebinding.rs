//! Values that are read again: what was analyzed before a wait is checked after it.
//!
//! A statement is planned, and its values are read, before it waits for the writer slot or a lock. If the catalog has changed when the wait is
//! over, the plan is made anew ([`Session::begin_plan`]); values of types that the catalog defines (enums, domains, composite types, arrays and
//! ranges of those) are read anew from what the client gave, so that a label or a constraint that is no more is refused.

use crate::plans::Prepared;
use crate::session::execution::planning;
use crate::session::execution::portal::Portal;
use crate::session::{Format, Session};
use pgsqlite_sql::parse::ast;
use pgsqlite_types::Result;
use std::sync::Arc;

/// Where a portal's values come from.
#[derive(Default)]
pub(in crate::session) enum Given {
    /// nothing that the catalog may change
    #[default]
    Nothing,
    /// a query string, whose columns nobody has been told yet
    Script,
    /// Bind
    Bound { portal: String, formats: Box<[Format]>, values: Box<[Option<Box<[u8]>>]> },
    /// EXECUTE
    Arguments(Box<ast::ExecuteStmt>),
}

/// Whether parameters are of types that the catalog defines.
pub(in crate::session) fn has_types_of_catalog(prepared: &Prepared) -> bool {
    prepared.parameters.iter().any(|ty| pgsqlite_types::catalog::by_oid(*ty).is_none())
}

impl Session {
    /// The plan of a portal's statement in the catalog of now, with the portal's values.
    pub(in crate::session) fn plan_anew(
        &mut self,
        portal: &mut Portal,
        prepared: &Arc<Prepared>,
    ) -> Result<Arc<Prepared>> {
        if matches!(portal.given, Given::Script) {
            let mut raw = prepared.statement.clone();
            if !portal.parameters.is_empty() {
                // its literals are parameters: they are read where they stand
                let text = self.executor.context.source.clone();
                let statements = self.executor.context.parse_text(&text)?;
                raw = statements.first().cloned().ok_or_else(|| pgsqlite_types::PgError::internal("an empty text"))?;
            }
            let (new, _) = self.plan(&raw, &[])?;
            portal.parameters = Box::default();
            portal.formats = vec![Format::Text; new.columns.as_ref().map_or(0, |c| c.len())];
            return Ok(new);
        }
        let (new, _) = self.plan(&prepared.statement, &prepared.parameters)?;
        if !planning::same_result(&new.columns, &prepared.columns) || new.parameters != prepared.parameters {
            return Err(planning::result_type_changed());
        }
        let values = match &portal.given {
            Given::Bound { portal, formats, values } => {
                let values: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
                Some(self.executor.context.read_parameters(portal, Some(&new), formats, &values)?)
            }
            Given::Arguments(execute) => {
                let execute = execute.clone();
                Some(self.executor.execute_arguments(&execute, &new)?)
            }
            Given::Nothing | Given::Script => None,
        };
        if let Some(values) = values {
            portal.parameters = values.into();
        }
        Ok(new)
    }
}
