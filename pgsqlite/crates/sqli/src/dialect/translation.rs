//! What a statement's translation needs and gives.

use super::ast::{ClientFile, *};
use crate::values::codeset::CodeSet;
use crate::values::dates::DateForm;
use crate::values::money::MoneyForm;
use crate::values::types::Type;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::Oid;
use std::sync::Arc;

/// What a translation depends on.
#[derive(Clone)]
pub struct Environment {
    pub catalog: Arc<Catalog>,
    /// the name that the client opened the database by
    pub database: String,
    pub user: String,
    pub codeset: CodeSet,
    /// text in double quotes is a name
    pub delimident: bool,
    pub keys: Keys,
    /// rows are to say which ones of their tables they are, where they show large objects or a cursor is to change them
    pub row_numbers: bool,
    /// how the client writes dates
    pub dates: DateForm,
    /// and amounts of money
    pub money: MoneyForm,
    /// the databases of the server
    pub databases: Vec<String>,
}

/// Columns of the rows of an INSERT that the client wants back.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Keys {
    #[default]
    None,
    /// the SERIAL column, if the table has one
    Serial,
    /// counted from 1
    Numbers(Vec<i16>),
    Names(Vec<String>),
}

/// What a parameter of the translated statement gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Source {
    /// the client's n-th
    Client(usize),
    /// the serial value that the session's last INSERT made
    LastSerial,
    /// rows that the last statement touched
    RowCount,
    /// the n-th of the client's files that the statement names
    ClientFile(usize),
    /// the row of the cursor of WHERE CURRENT OF
    CurrentRow,
}

/// An INSERT into a table with a SERIAL column: that is the first column that the statement returns.
#[derive(Debug, Clone, PartialEq)]
pub struct SerialInsert {
    /// the column's sequence, as regclass reads it
    pub sequence: String,
    /// the value may have come from the client, so that the sequence may have to follow it
    pub given: bool,
    /// the client's parameter that is the value
    pub parameter: Option<usize>,
}

/// How the session runs it.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// one statement that gives rows
    Query,
    /// one statement that changes rows
    Change {
        serial: Option<SerialInsert>,
        is_insert: bool,
    },
    /// statements run one after the other, all or none
    Utility(Vec<String>),
    Transaction(Transaction),
    Session(Action),
}

/// What is known of a result's column beside what PostgreSQL says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shown {
    /// all columns of a table or of all tables: their number is not known here
    pub is_star: bool,
    pub ty: Option<Type>,
    /// LOTOFILE: the file of the client that gets the content
    pub to_file: Option<String>,
}

/// A statement ready for the engine.
#[derive(Debug, Clone)]
pub struct Translation {
    /// the one table whose row, behind the columns of the client, each row of a FOR UPDATE cursor names
    pub updates: Option<Oid>,
    /// WHERE CURRENT OF: the cursor, and the table that is changed
    pub current_of: Option<(String, Oid)>,
    /// a query FOR UPDATE
    pub for_update: bool,
    /// the number that DESCRIBE tells clients
    pub statement_type: i16,
    pub kind: Kind,
    pub sql: String,
    pub parameters: Vec<Source>,
    /// the client's parameters: the Informix type of what takes each, where known
    pub targets: Vec<Option<Type>>,
    /// which of them go into an integer type, whatever number the client gives
    pub cut: Vec<bool>,
    pub shown: Vec<Shown>,
    /// tables whose large objects the result shows: for each, two columns behind those of the client say which row it is
    pub numbered: Vec<Oid>,
    /// an INSERT's columns, for insert cursors and descriptions
    pub insert_columns: Vec<(String, Option<Type>)>,
    /// what is inserted is one `?` per column, in their order
    pub plain_insert: bool,
    pub client_files: Vec<ClientFile>,
}

impl Translation {
    /// Of a statement that the engine has no part in.
    pub fn of_action(action: Action) -> Translation {
        let statement_type = number_of(&action);
        Translation {
            updates: None,
            current_of: None,
            for_update: false,
            statement_type,
            kind: Kind::Session(action),
            sql: String::new(),
            parameters: vec![],
            targets: vec![],
            cut: vec![],
            shown: vec![],
            numbered: vec![],
            insert_columns: vec![],
            plain_insert: false,
            client_files: vec![],
        }
    }
}

/// The number of EXECUTE PROCEDURE, which gives rows or not.
pub const EXECUTE_PROCEDURE: i16 = 56;

/// The number that DESCRIBE tells clients.
pub(super) fn number_of(action: &Action) -> i16 {
    match action {
        Action::OpenDatabase { .. } => 1,
        Action::CreateDatabase { .. } => 12,
        Action::DropDatabase { .. } => 13,
        Action::CloseDatabase => 31,
        Action::LockWait(_) => 47,
        Action::Nothing => 0,
    }
}
