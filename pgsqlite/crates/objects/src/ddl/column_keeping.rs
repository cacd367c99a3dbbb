//! What is said about how a column is kept: SET STATISTICS, SET STORAGE, SET COMPRESSION, SET (n_distinct …). SQLite keeps values in
//! one way and plans by itself, so it is checked and remembered for the catalogs and for dumps, and changes nothing else.

use super::storage_parameters::Parameters;
use super::{Ddl, NodeEnum};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::error::Severity;
use pgsqlite_types::{Oid, PgError, Result, SqlState};

/// The highest statistics target.
const HIGHEST: i32 = 10_000;

fn invalid(message: String) -> PgError {
    PgError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn refused(message: String) -> PgError {
    PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// The word after SET STORAGE or SET COMPRESSION.
fn word(command: &ast::AlterTableCmd) -> &str {
    match command.def.as_ref().and_then(|d| d.node.as_ref()) {
        Some(NodeEnum::String(s)) => &s.sval,
        _ => "",
    }
}

impl Ddl<'_> {
    /// A statistics target as written. None: -1, the server's own. Errors: 22023.
    pub(super) fn statistics_target(&mut self, target: i32) -> Result<Option<i32>> {
        if target < -1 {
            return Err(invalid(format!("statistics target {target} is too low")));
        }
        if target > HIGHEST {
            let warning =
                PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("lowering statistics target to {HIGHEST}"));
            self.notices.push(warning.severity(Severity::Warning));
        }
        Ok((target >= 0).then_some(target.min(HIGHEST)))
    }

    /// How the values of a type are stored if nothing is said: `p`lain, e`x`tended …
    fn type_storage(&self, ty: Oid) -> u8 {
        pgsqlite_types::catalog::by_oid(self.catalog.base_type(ty)).map_or(b'x', |t| t.storage)
    }

    /// How a column's values are stored, as SET STORAGE says it.
    pub(super) fn storage_word(&self, column: &Column) -> &'static str {
        match column.keeping.storage.unwrap_or(self.type_storage(column.type_oid) as char) {
            'p' => "PLAIN",
            'e' => "EXTERNAL",
            'm' => "MAIN",
            _ => "EXTENDED",
        }
    }

    /// The column of a table, or of an index by its number.
    fn kept_column(&self, relation: &Relation, command: &ast::AlterTableCmd) -> Result<usize> {
        let undefined = |message: String| PgError::new(SqlState::UNDEFINED_COLUMN, message);
        if command.name.is_empty() {
            let number = command.num;
            let found = relation.columns.iter().position(|c| i32::from(c.attnum) == number && !c.dropped);
            return found.ok_or_else(|| {
                undefined(format!("column number {number} of relation \"{}\" does not exist", relation.name))
            });
        }
        relation.columns.iter().position(|c| !c.dropped && c.name == command.name).ok_or_else(|| {
            undefined(format!("column \"{}\" of relation \"{}\" does not exist", command.name, relation.name))
        })
    }

    /// SET STATISTICS n
    pub(super) fn set_column_statistics(&mut self, mut relation: Relation, command: &ast::AlterTableCmd) -> Result<()> {
        if command.name.is_empty() && !matches!(relation.kind, RelationKind::Index(_)) {
            return Err(refused("cannot refer to non-index column by number".into()));
        }
        let Some(NodeEnum::Integer(n)) = command.def.as_ref().and_then(|d| d.node.as_ref()) else {
            return Err(PgError::internal("SET STATISTICS without a number"));
        };
        let target = self.statistics_target(n.ival)?;
        if let RelationKind::Index(_) = relation.kind {
            return Err(PgError::not_supported("SET STATISTICS of an index's column"));
        }
        let at = self.kept_column(&relation, command)?;
        relation.columns[at].keeping.statistics = target;
        self.put_relation(relation)
    }

    /// SET STORAGE word
    pub(super) fn set_column_storage(&mut self, mut relation: Relation, command: &ast::AlterTableCmd) -> Result<()> {
        let storage = match word(command).to_ascii_lowercase().as_str() {
            "plain" => 'p',
            "external" => 'e',
            "extended" => 'x',
            "main" => 'm',
            _ => return Err(invalid(format!("invalid storage type \"{}\"", word(command)))),
        };
        let at = self.kept_column(&relation, command)?;
        let ty = relation.columns[at].type_oid;
        let own = self.type_storage(ty);
        if storage != 'p' && own == b'p' {
            return Err(refused(format!("column data type {} can only have storage PLAIN", self.display_type(ty))));
        }
        relation.columns[at].keeping.storage = (own != storage as u8).then_some(storage);
        self.put_relation(relation)
    }

    /// SET COMPRESSION word
    pub(super) fn set_column_compression(
        &mut self,
        mut relation: Relation,
        command: &ast::AlterTableCmd,
    ) -> Result<()> {
        let at = self.kept_column(&relation, command)?;
        let compression = self.compression(word(command), relation.columns[at].type_oid)?;
        relation.columns[at].keeping.compression = compression;
        self.put_relation(relation)
    }

    /// A compression method as written. None: the server's own. Errors: 22023, 0A000.
    pub(super) fn compression(&self, method: &str, ty: Oid) -> Result<Option<char>> {
        if matches!(method, "" | "default") {
            return Ok(None);
        }
        if self.type_storage(ty) == b'p' {
            return Err(refused(format!("column data type {} does not support compression", self.display_type(ty))));
        }
        match method {
            "pglz" => Ok(Some('p')),
            "lz4" => Ok(Some('l')),
            _ => Err(invalid(format!("invalid compression method \"{method}\""))),
        }
    }

    /// SET (…) and RESET (…)
    pub(super) fn set_column_options(
        &mut self,
        mut relation: Relation,
        command: &ast::AlterTableCmd,
        reset: bool,
    ) -> Result<()> {
        let Some(NodeEnum::List(list)) = command.def.as_ref().and_then(|d| d.node.as_ref()) else {
            return Err(PgError::internal("options that are none"));
        };
        let at = self.kept_column(&relation, command)?;
        let options = Parameters::of_column().read(&relation.columns[at].keeping.options, &list.items, reset)?;
        relation.columns[at].keeping.options = options;
        self.put_relation(relation)
    }

    /// SET ACCESS METHOD, of which there is one for tables.
    pub(super) fn check_table_method(&self, method: &str) -> Result<()> {
        let found = pgsqlite_sql::builtins::catalog::access_methods().iter().find(|m| m.1 == method);
        match found {
            None => Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("access method \"{method}\" does not exist"))),
            Some(m) if m.3 != b't' => Err(PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("access method \"{method}\" is not of type TABLE"),
            )),
            Some(_) => Ok(()),
        }
    }
}
