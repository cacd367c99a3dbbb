//! Which statements the log is told of before they run (`log_statement`): those that define something, those that change data, or all.

use crate::plans::Prepared;
use crate::session::Session;
use pgsqlite_natives::settings::Class;
use pgsqlite_sql::parse::{ast, NodeEnum};

impl Session {
    /// The class of a statement. PREPARE, EXECUTE and EXPLAIN ANALYZE are what they prepare or run.
    fn class(&self, node: &NodeEnum) -> Class {
        use NodeEnum as N;
        let inner = |query: &Option<Box<ast::Node>>| {
            query.as_ref().and_then(|q| q.node.as_ref()).map_or(Class::Other, |node| self.class(node))
        };
        match node {
            N::InsertStmt(_) | N::UpdateStmt(_) | N::DeleteStmt(_) | N::MergeStmt(_) | N::TruncateStmt(_) => {
                Class::Change
            }
            N::CopyStmt(copy) if copy.is_from => Class::Change,
            N::SelectStmt(select) if select.into_clause.is_some() => Class::Definition,
            N::PrepareStmt(prepare) => inner(&prepare.query),
            N::ExecuteStmt(execute) => {
                let prepared = self.statements.get(&execute.name).and_then(|s| s.prepared.as_ref());
                prepared.map_or(Class::Other, |prepared| self.class(&prepared.statement.node))
            }
            N::ExplainStmt(explain) => match crate::session::explain::runs(explain) {
                true => inner(&explain.query),
                false => Class::Other,
            },
            N::SelectStmt(_)
            | N::CopyStmt(_)
            | N::TransactionStmt(_)
            | N::DeclareCursorStmt(_)
            | N::ClosePortalStmt(_)
            | N::FetchStmt(_)
            | N::DeallocateStmt(_)
            | N::DoStmt(_)
            | N::NotifyStmt(_)
            | N::ListenStmt(_)
            | N::UnlistenStmt(_)
            | N::LoadStmt(_)
            | N::CallStmt(_)
            | N::VacuumStmt(_)
            | N::VariableSetStmt(_)
            | N::VariableShowStmt(_)
            | N::DiscardStmt(_)
            | N::LockStmt(_)
            | N::ConstraintsSetStmt(_)
            | N::CheckPointStmt(_)
            | N::ReindexStmt(_) => Class::Other,
            _ => Class::Definition,
        }
    }

    /// Tells the log of a query string, or (`portal`: its name) of a statement that is executed, if one of these statements is to be logged.
    pub(in crate::session) fn log_statements<'n>(
        &mut self,
        portal: Option<&str>,
        nodes: impl IntoIterator<Item = &'n NodeEnum>,
    ) {
        self.executor.context.observation.is_logged = false;
        let Some(least) = self.executor.context.gucs.often.log_statement else { return };
        if nodes.into_iter().any(|node| self.class(node) <= least) {
            let what = match portal {
                None => "statement".to_string(),
                Some("") => "execute <unnamed>".to_string(),
                Some(name) => format!("execute {name}"),
            };
            self.executor.context.observation.log_statement(&what, &self.executor.context.source);
        }
    }

    /// The same of the statement of a portal that is executed for the first time.
    pub(in crate::session) fn log_execution(&mut self, portal: &str, prepared: Option<&Prepared>) {
        if self.executor.context.gucs.often.log_statement.is_some() || self.executor.context.observation.is_logged {
            self.log_statements(Some(portal), prepared.map(|p| &p.statement.node));
        }
    }
}
