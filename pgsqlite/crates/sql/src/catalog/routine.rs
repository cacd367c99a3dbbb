//! Functions, procedures and triggers of the user as the catalog has them.
//!
//! A function's definition is one row of `__pgsqlite_object`; a trigger is part of its table's. What overload resolution
//! asks of a function is a row of `pg_proc` ([`Proc`]), the same as for PostgreSQL's own: [`Routine`] keeps both.

use super::acl_item::AclItem;
use crate::builtins::catalog::{Aggregate, Proc};
use crate::builtins::word::Word;
use crate::catalog::{RangeDefinition, UserType, UserTypeKind};
use pgsqlite_types::{oid, Oid};
use serde::{Deserialize, Serialize};

/// How a parameter is passed: a letter of `pg_proc.proargmodes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    In,
    Out,
    InOut,
    Variadic,
    Table,
}

impl Mode {
    pub fn letter(self) -> u8 {
        match self {
            Mode::In => b'i',
            Mode::Out => b'o',
            Mode::InOut => b'b',
            Mode::Variadic => b'v',
            Mode::Table => b't',
        }
    }
    /// A call gives it a value.
    pub fn is_input(self) -> bool {
        matches!(self, Mode::In | Mode::InOut | Mode::Variadic)
    }
    /// It is part of the result.
    pub fn is_output(self) -> bool {
        matches!(self, Mode::Out | Mode::InOut | Mode::Table)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Argument {
    /// empty: it has none
    pub name: String,
    pub mode: Mode,
    pub type_oid: Oid,
    /// PostgreSQL SQL text of DEFAULT
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    Sql,
    PlPgSql,
    /// another name for one of PostgreSQL's own functions, given by its C symbol; aggregates
    Internal,
}

impl Language {
    pub fn name(self) -> &'static str {
        match self {
            Language::Sql => "sql",
            Language::PlPgSql => "plpgsql",
            Language::Internal => "internal",
        }
    }
    /// The OID of its row in `pg_language`.
    pub fn oid(self) -> Oid {
        match self {
            Language::Sql => 14,
            Language::PlPgSql => 13_563,
            Language::Internal => 12,
        }
    }
}

/// A function or procedure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Function {
    pub oid: Oid,
    pub schema: Oid,
    pub name: String,
    pub owner: Oid,
    pub procedure: bool,
    pub language: Language,
    pub arguments: Vec<Argument>,
    /// the type of the result (or of one row); `void` where there is none
    pub returns: Oid,
    pub returns_set: bool,
    /// `i`, `s` or `v`
    pub volatility: u8,
    #[serde(default)]
    pub strict: bool,
    #[serde(default)]
    pub security_definer: bool,
    #[serde(default)]
    pub leakproof: bool,
    /// `u`, `r` or `s`
    pub parallel: u8,
    pub cost: f64,
    pub rows: f64,
    /// SET clauses: (setting, value)
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// the body: the text of AS; of a body in the SQL standard's way the text from RETURN or BEGIN ATOMIC on
    pub source: String,
    /// the body is written in the SQL standard's way
    #[serde(default)]
    pub standard: bool,
    /// the names in such a body are qualified; false in files of early versions, whose bodies are read along the caller's path
    #[serde(default)]
    pub qualified: bool,
    /// None: PostgreSQL's default privileges
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acl: Option<Vec<AclItem>>,
    /// of an aggregate: how it computes
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<Box<Aggregate>>,
    /// a window function
    #[serde(default)]
    pub window: bool,
}

impl Function {
    /// `pg_proc.prokind`
    pub fn kind(&self) -> u8 {
        match (self.procedure, &self.aggregate, self.window) {
            (true, ..) => b'p',
            (_, Some(_), _) => b'a',
            (_, None, true) => b'w',
            _ => b'f',
        }
    }

    /// PostgreSQL's function that one in language internal is another name of: of its symbol, arguments and result.
    pub fn internal(&self) -> Option<&'static Proc> {
        let same = |p: &&Proc| {
            p.src == Some(self.source.as_str()) && p.args == self.input_types() && p.retset == self.returns_set
        };
        (self.language == Language::Internal && self.aggregate.is_none())
            .then(|| crate::builtins::catalog::all_procs().iter().find(same))
            .flatten()
    }

    /// The types of the arguments that a call gives.
    pub fn input_types(&self) -> Vec<Oid> {
        self.inputs().map(|a| a.type_oid).collect()
    }

    pub fn inputs(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|a| a.mode.is_input())
    }

    pub fn outputs(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|a| a.mode.is_output())
    }

    /// It takes and gives what triggers do.
    pub fn is_trigger(&self) -> bool {
        self.returns == oid::TRIGGER
    }

    /// It is made for event triggers.
    pub fn is_event_trigger(&self) -> bool {
        self.returns == oid::EVENT_TRIGGER
    }
}

/// A function with what calls of it are resolved by.
#[derive(Debug, Clone)]
pub struct Routine {
    pub function: Function,
    pub proc: Proc,
}

impl Routine {
    /// `element_type`: of the type of a VARIADIC parameter.
    pub fn new(function: Function, element_type: impl Fn(Oid) -> Option<Oid>) -> Routine {
        let variadic = function.arguments.iter().find(|a| a.mode == Mode::Variadic);
        let variadic = variadic.map_or(0, |a| match a.type_oid {
            oid::ANYARRAY => oid::ANYELEMENT,
            oid::ANYCOMPATIBLEARRAY => oid::ANYCOMPATIBLE,
            oid::ANY => oid::ANY,
            array => element_type(array).unwrap_or(0),
        });
        let defaults: Vec<Word> = function.inputs().filter_map(|a| a.default.as_deref()).map(Word::made).collect();
        let special = function.arguments.iter().any(|a| a.mode != Mode::In);
        let named = function.arguments.iter().any(|a| !a.name.is_empty());
        let proc = Proc {
            oid: function.oid,
            name: Word::made(&function.name),
            // CALL gives an argument for each parameter
            args: if function.procedure {
                function.arguments.iter().map(|a| a.type_oid).collect()
            } else {
                function.input_types()
            },
            ret: function.returns,
            kind: function.kind(),
            retset: function.returns_set,
            strict: function.strict,
            volatility: function.volatility,
            variadic,
            default_count: defaults.len(),
            defaults,
            all_args: special.then(|| function.arguments.iter().map(|a| a.type_oid).collect()),
            arg_modes: special.then(|| function.arguments.iter().map(|a| a.mode.letter()).collect()),
            arg_names: named.then(|| function.arguments.iter().map(|a| Word::made(&a.name)).collect()),
            src: None,
            leakproof: function.leakproof,
        };
        Routine { function, proc }
    }
}

/// The functions that come with a range type: its constructors and those of its multirange type.
pub fn range_constructors(range: &UserType) -> Vec<Proc> {
    let UserTypeKind::Range(definition) = &range.kind else { return Vec::new() };
    let RangeDefinition { subtype, multirange, .. } = *definition;
    // arguments, result, C symbol, VARIADIC's element type
    let shapes = [
        (vec![subtype, subtype], range.oid, "range_constructor2", 0),
        (vec![subtype, subtype, oid::TEXT], range.oid, "range_constructor3", 0),
        (vec![], multirange, "multirange_constructor0", 0),
        (vec![range.oid], multirange, "multirange_constructor1", 0),
        (vec![range.array_oid], multirange, "multirange_constructor2", range.oid),
    ];
    let made = definition.constructors().zip(shapes).map(|((oid, name), (args, ret, symbol, variadic))| Proc {
        oid,
        name: Word::made(name),
        all_args: (variadic != 0).then(|| args.clone()),
        arg_modes: (variadic != 0).then(|| vec![b'v']),
        args,
        ret,
        kind: b'f',
        retset: false,
        strict: ret == multirange,
        volatility: b'i',
        variadic,
        default_count: 0,
        defaults: Vec::new(),
        arg_names: None,
        src: Some(symbol),
        leakproof: false,
    });
    made.collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timing {
    Before,
    After,
    InsteadOf,
}

/// What fires a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Event {
    Insert,
    Update,
    Delete,
    Truncate,
}

impl Event {
    pub fn word(self) -> &'static str {
        match self {
            Event::Insert => "INSERT",
            Event::Update => "UPDATE",
            Event::Delete => "DELETE",
            Event::Truncate => "TRUNCATE",
        }
    }
}

/// A trigger of a table or view: one row of `pg_trigger`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    pub oid: Oid,
    pub name: String,
    pub function: Oid,
    pub timing: Timing,
    pub events: Vec<Event>,
    /// FOR EACH ROW
    pub row: bool,
    /// attnums of UPDATE OF
    #[serde(default)]
    pub columns: Vec<i16>,
    /// PostgreSQL SQL text of WHEN, over `old` and `new`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    #[serde(default)]
    pub arguments: Vec<String>,
    /// REFERENCING OLD TABLE AS, NEW TABLE AS
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_table: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_table: Option<String>,
    /// `pg_trigger.tgenabled`: `O`, `D`, `R` or `A`
    pub enabled: u8,
    /// CREATE CONSTRAINT TRIGGER: (OID of its constraint)
    #[serde(default)]
    pub constraint: Oid,
    /// of a constraint trigger: it may wait for the end of the transaction
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferrable: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub initially_deferred: bool,
    /// the trigger of the partitioned table that it belongs to; 0: none
    #[serde(default)]
    pub parent: Oid,
}

impl Trigger {
    /// It fires in an ordinary session.
    pub fn is_on(&self) -> bool {
        matches!(self.enabled, b'O' | b'A')
    }
}
