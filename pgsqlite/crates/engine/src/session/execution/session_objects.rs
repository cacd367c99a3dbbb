//! What only the session knows and its catalogs show: prepared statements, cursors.

use crate::session::Session;
use pgsqlite_natives::udf::session_cell::{CursorRow, PreparedRow, SessionObjects};
use pgsqlite_sql::builtins::catalog::{system_relations, SystemRelation};
use pgsqlite_sql::parse::NodeEnum;
use pgsqlite_sql::plan::Named;
use pgsqlite_types::{Oid, Result};
use std::sync::LazyLock;

/// The relations of pg_catalog that show it.
const RELATIONS: [&str; 2] = ["pg_cursors", "pg_prepared_statements"];

/// Whether a plan reads one of them.
pub(in crate::session) fn shown_by(named: &Named) -> bool {
    static OIDS: LazyLock<Vec<Oid>> = LazyLock::new(|| {
        let shows = |r: &&SystemRelation| r.schema == "pg_catalog" && RELATIONS.contains(&r.name);
        system_relations().iter().filter(shows).map(|r| r.oid).collect()
    });
    named.read.iter().any(|relation| OIDS.contains(relation))
}

impl Session {
    /// Tells the connection what the session has, before a statement that reads it.
    pub(in crate::session) fn show_session(&mut self) -> Result<()> {
        let prepared = self
            .statements
            .iter()
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, s)| PreparedRow {
                name: name.clone(),
                statement: s.text.to_string(),
                prepared: s.created,
                parameters: s.prepared.as_ref().map_or(vec![], |p| p.parameters.clone()),
                from_sql: s.from_sql,
                executions: s.executions,
            })
            .collect();
        let cursors = self
            .executor
            .portals
            .iter()
            .filter_map(|(name, p)| {
                // portals of the protocol are cursors, too; those whose names begin with a zero byte are ours
                if name.starts_with('\0') {
                    return None;
                }
                let row = match &p.cursor {
                    Some(c) => CursorRow {
                        name: name.clone(),
                        statement: c.statement.clone(),
                        holdable: c.hold,
                        binary: c.binary,
                        scrollable: c.scroll != Some(false),
                        created: c.created,
                    },
                    None => {
                        let statement = &p.prepared.as_ref()?.statement;
                        // PostgreSQL shows portals that can be fetched from
                        if !matches!(statement.node, NodeEnum::SelectStmt(_)) {
                            return None;
                        }
                        CursorRow {
                            name: name.clone(),
                            statement: statement.text.to_string(),
                            holdable: false,
                            binary: p.formats.first() == Some(&crate::session::Format::Binary),
                            scrollable: false,
                            created: self.executor.context.statement_timestamp,
                        }
                    }
                };
                Some(row)
            })
            .collect();
        self.executor.connection()?.cell.update(|state| state.objects = SessionObjects { prepared, cursors });
        Ok(())
    }
}
