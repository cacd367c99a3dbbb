//! The texts of query strings and Parse messages become statements: from the cache of parsed texts, or by the parser.

use crate::session::context::SessionContext;
use crate::session::execution;
use crate::session::execution::running::while_requests_count;
use crate::session::protocol;
use pgsqlite_sql::escapes::Strings;
use pgsqlite_sql::parse::{NodeEnum, RawStatement};
use pgsqlite_types::error::Severity;
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::Arc;

impl SessionContext {
    /// The statements of a query string: from the cache of parsed strings, or parsed now.
    pub(in crate::session) fn parse_text(&mut self, text: &str) -> Result<Arc<[Arc<RawStatement>]>> {
        if text.contains('\\') || !self.gucs.typed.standard_conforming_strings {
            let strings = self.strings();
            if !strings.are_standard_in(text) {
                return self.parse_escaped(text, strings);
            }
        }
        if let Some(found) = self.engine.plans.parsed(text) {
            return Ok(found);
        }
        let begins =
            if text.len() > crate::plans::LONGEST { execution::work::Begins::Apart } else { self.begins_here() };
        let cancel = self.cancel.clone();
        let parse = || match text.len() {
            0..=protocol::long_texts::LONG => pgsqlite_sql::parse::parse(text),
            _ => protocol::long_texts::read(text, pgsqlite_sql::parse::parse),
        };
        let parsed = while_requests_count(self, |_| cancel.work(begins, None, parse))?;
        let statements: Arc<[_]> = parsed.into_iter().map(Arc::new).collect();
        self.engine.plans.put_parsed(text, &statements);
        Ok(statements)
    }

    /// How the client writes string constants.
    pub(in crate::session) fn strings(&self) -> Strings {
        // in these a backslash may be the second byte of a character
        const UNSAFE: [&str; 7] = ["SJIS", "BIG5", "GBK", "UHC", "GB18030", "JOHAB", "SHIFT_JIS_2004"];
        let backslash_quote = match self.gucs.get("backslash_quote").as_deref() {
            Some("off") => false,
            Some("safe_encoding") => !UNSAFE.contains(&self.gucs.client_encoding.name()),
            _ => true,
        };
        let standard = self.gucs.typed.standard_conforming_strings;
        Strings { standard, backslash_quote, warns: self.gucs.is_on("escape_string_warning") }
    }

    /// The statements of a query string in which backslashes escape otherwise than the standard has it. Their texts are not looked at
    /// any more after that: refuses those of which parts are stored as they are written.
    pub(in crate::session) fn parse_escaped(
        &mut self,
        text: &str,
        strings: Strings,
    ) -> Result<Arc<[Arc<RawStatement>]>> {
        let cancel = self.cancel.clone();
        let parse = || match text.len() {
            0..=protocol::long_texts::LONG => pgsqlite_sql::escapes::parse(text, strings),
            _ => protocol::long_texts::read(text, move |text| pgsqlite_sql::escapes::parse(text, strings)),
        };
        let (statements, warnings) =
            while_requests_count(self, |_| cancel.work(execution::work::Begins::Apart, None, parse))?;
        let by_tree = |node: &NodeEnum| {
            pgsqlite_sql::parse::is_optimizable(node)
                || matches!(
                    node,
                    NodeEnum::ExplainStmt(_)
                        | NodeEnum::PrepareStmt(_)
                        | NodeEnum::ExecuteStmt(_)
                        | NodeEnum::DeclareCursorStmt(_)
                        | NodeEnum::CopyStmt(_)
                        | NodeEnum::VariableSetStmt(_)
                        | NodeEnum::TransactionStmt(_)
                        | NodeEnum::CommentStmt(_)
                        | NodeEnum::NotifyStmt(_)
                )
        };
        let depends = |s: &RawStatement| !strings.standard && pgsqlite_sql::escapes::depends(&s.text);
        let wrong = |s: &&RawStatement| depends(s) && !by_tree(&s.node);
        if let Some(statement) = statements.iter().find(wrong) {
            let name = pgsqlite_sql::command::name(&statement.node);
            let refused =
                format!("{name} with a backslash in a string constant while standard_conforming_strings is off");
            return Err(PgError::not_supported(refused).at(statement.offset as i32));
        }
        self.notices.extend(warnings);
        Ok(statements.into_iter().map(Arc::new).collect())
    }

    /// Tells of the identifiers that the parser cuts.
    pub(in crate::session) fn tell_truncated(&mut self, text: &str) -> Result<()> {
        if !self.gucs.typed.standard_conforming_strings && text.contains('\\') {
            return Ok(());
        }
        let truncated = match text.len() {
            0..=protocol::long_texts::LONG => pgsqlite_sql::parse::truncated_identifiers(text),
            _ => {
                let cancel = self.cancel.clone();
                let find =
                    || protocol::long_texts::read(text, |text| Ok(pgsqlite_sql::parse::truncated_identifiers(text)));
                while_requests_count(self, |_| cancel.work(execution::work::Begins::Apart, None, find))?
            }
        };
        for (written, cut) in truncated {
            let message = format!("identifier \"{written}\" will be truncated to \"{cut}\"");
            self.notices.push(PgError::new(SqlState::NAME_TOO_LONG, message).severity(Severity::Notice));
        }
        Ok(())
    }
}
