//! Expressions of SQL/JSON, printed.

use super::{quote_identifier, Printer};
use crate::sql_json::{
    Behavior, Evaluation, Format, ItemKind, Operation, SqlJson, Table, TableColumn, TableRows, Wrapper,
};
use crate::typed::*;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result};

/// Spaces by which what is within JSON_TABLE stands further in.
const STEP: i32 = 4;

/// The expression of SQL/JSON that was converted to what RETURNING says.
pub(super) fn converted(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::SqlJson { .. } => Some(expr),
        ExprKind::Cast { arg, form: CastForm::Implicit | CastForm::Syntax, .. } => converted(arg),
        _ => None,
    }
}

impl<'a> Printer<'a> {
    pub(super) fn sql_json(&mut self, form: &SqlJson, args: &[Expr], whole: &Expr) -> Result<()> {
        match form {
            SqlJson::Object { absent, unique, formats, returning } => {
                self.out.push_str("JSON_OBJECT(");
                for (i, (pair, format)) in args.chunks(2).zip(formats).enumerate() {
                    self.out.push_str(if i > 0 { ", " } else { "" });
                    self.expr(&pair[0], false)?;
                    self.out.push_str(" : ");
                    self.formatted(&pair[1], *format)?;
                }
                self.constructor_options(true, *absent, *unique, Some(*returning));
                self.out.push(')');
            }
            SqlJson::Array { absent, formats, returning } => {
                self.out.push_str("JSON_ARRAY(");
                for (i, (value, format)) in args.iter().zip(formats).enumerate() {
                    self.out.push_str(if i > 0 { ", " } else { "" });
                    self.formatted(value, *format)?;
                }
                self.constructor_options(false, *absent, false, Some(*returning));
                self.out.push(')');
            }
            SqlJson::Aggregate { object, absent, unique, returning } => {
                let (call, window) = match args {
                    [Expr { kind: ExprKind::Aggregate(call), .. }] => (call, None),
                    [Expr { kind: ExprKind::Window { call, window }, .. }] => (call, Some(*window)),
                    _ => return Err(PgError::internal("a JSON aggregate without its call")),
                };
                self.out.push_str(if *object { "JSON_OBJECTAGG(" } else { "JSON_ARRAYAGG(" });
                for (i, arg) in call.args.iter().enumerate() {
                    self.out.push_str(if i > 0 { " : " } else { "" });
                    match &arg.kind {
                        ExprKind::SqlJson { form, args } if i + 1 == call.args.len() => match (&**form, &args[..]) {
                            (SqlJson::Parse { unique: false, format }, [raw]) if *format != Format::Default => {
                                self.formatted(raw, *format)?
                            }
                            _ => self.expr(arg, false)?,
                        },
                        _ => self.expr(arg, false)?,
                    }
                }
                if !call.order_by.is_empty() {
                    self.out.push_str(" ORDER BY ");
                    self.sort_keys(&call.order_by, false)?;
                }
                self.constructor_options(*object, *absent, *unique, Some(*returning));
                self.out.push(')');
                self.call_tail(call, window)?;
            }
            SqlJson::Parse { unique, format } => {
                self.out.push_str("JSON(");
                self.formatted(&args[0], *format)?;
                self.constructor_options(true, false, *unique, None);
                self.out.push(')');
            }
            SqlJson::Scalar => {
                self.out.push_str("JSON_SCALAR(");
                self.expr(&args[0], false)?;
                self.out.push(')');
            }
            SqlJson::Serialize { format, returning } => {
                self.out.push_str("JSON_SERIALIZE(");
                self.formatted(&args[0], *format)?;
                self.constructor_options(true, false, false, Some(*returning));
                self.out.push(')');
            }
            SqlJson::Is { kind, unique } => {
                self.full('(');
                self.operand(&args[0], true, whole)?;
                self.out.push_str(match kind {
                    ItemKind::Value => " IS JSON",
                    ItemKind::Object => " IS JSON OBJECT",
                    ItemKind::Array => " IS JSON ARRAY",
                    ItemKind::Scalar => " IS JSON SCALAR",
                });
                self.out.push_str(if *unique { " WITH UNIQUE KEYS" } else { "" });
                self.full(')');
            }
            SqlJson::Path(call) => {
                let evaluation = &call.evaluation;
                self.out.push_str(evaluation.operation.name());
                self.out.push('(');
                self.formatted(&args[0], call.format)?;
                self.out.push_str(", ");
                self.path(&args[1])?;
                for (i, (name, value)) in call.passing.names.iter().zip(&args[2..]).enumerate() {
                    self.out.push_str(if i > 0 { ", " } else { " PASSING " });
                    self.expr(value, false)?;
                    self.out.push_str(&format!(" AS {}", quote_identifier(name)));
                }
                if evaluation.operation != Operation::Exists {
                    let name = self.names.type_name(evaluation.ty, evaluation.typmod);
                    self.out.push_str(&format!(" RETURNING {name}"));
                }
                self.evaluation_options(evaluation, args)?;
                self.out.push(')');
            }
            SqlJson::Table(table) => self.json_table(table, args)?,
        }
        Ok(())
    }

    fn path(&mut self, path: &Expr) -> Result<()> {
        match &path.kind {
            ExprKind::Const(value @ Datum::Text(_)) => self.constant(value, path, super::expr::Label::Never),
            _ => self.expr(path, false),
        }
    }

    /// A value and its FORMAT.
    fn formatted(&mut self, value: &Expr, format: Format) -> Result<()> {
        self.expr(value, false)?;
        self.out.push_str(match format {
            Format::Default => "",
            Format::Json => " FORMAT JSON",
            Format::JsonUtf8 => " FORMAT JSON ENCODING UTF8",
        });
        Ok(())
    }

    /// `object`: NULLs are kept by default.
    fn constructor_options(&mut self, object: bool, absent: bool, unique: bool, returning: Option<(Oid, i32)>) {
        match (object, absent) {
            (true, true) => self.out.push_str(" ABSENT ON NULL"),
            (false, false) => self.out.push_str(" NULL ON NULL"),
            _ => {}
        }
        if unique {
            self.out.push_str(" WITH UNIQUE KEYS");
        }
        if let Some((ty, typmod)) = returning {
            self.out.push_str(&format!(" RETURNING {}", self.names.type_name(ty, typmod)));
        }
    }

    fn evaluation_options(&mut self, evaluation: &Evaluation, args: &[Expr]) -> Result<()> {
        if evaluation.operation == Operation::Query {
            self.out.push_str(match evaluation.wrapper {
                Wrapper::Without => " WITHOUT WRAPPER",
                Wrapper::Conditional => " WITH CONDITIONAL WRAPPER",
                Wrapper::Unconditional => " WITH UNCONDITIONAL WRAPPER",
            });
            self.out.push_str(if evaluation.omit_quotes { " OMIT QUOTES" } else { " KEEP QUOTES" });
        }
        let default = match evaluation.operation {
            Operation::Exists => Behavior::False,
            _ => Behavior::Null,
        };
        for (behavior, clause, default) in
            [(evaluation.on_empty, "EMPTY", Behavior::Null), (evaluation.on_error, "ERROR", default)]
        {
            if behavior == default {
                continue;
            }
            self.out.push_str(&format!(" {}", behavior.words()));
            if let Behavior::Default(argument) = behavior {
                self.out.push(' ');
                let value = args.get(argument).ok_or_else(|| PgError::internal("a DEFAULT without its value"))?;
                self.expr(value, false)?;
            }
            self.out.push_str(&format!(" ON {clause}"));
        }
        Ok(())
    }

    fn json_table(&mut self, table: &Table, args: &[Expr]) -> Result<()> {
        self.out.push_str("JSON_TABLE(");
        self.indent += STEP;
        self.keyword("", 0, 0, 0);
        self.formatted(&args[0], table.format)?;
        self.out.push_str(", ");
        self.path_and_name(&table.rows);
        if !table.passing.names.is_empty() {
            self.out.push(' ');
            self.keyword("PASSING ", 0, 0, 0);
            self.indent += STEP;
            for (i, (name, value)) in table.passing.names.iter().zip(&args[1..]).enumerate() {
                self.out.push_str(if i > 0 { ", " } else { "" });
                self.keyword("", 0, 0, 0);
                self.expr(value, false)?;
                self.out.push_str(&format!(" AS {}", quote_identifier(name)));
            }
            self.indent -= STEP;
        }
        self.table_columns(&table.rows, args)?;
        if table.raises {
            self.out.push_str(" ERROR ON ERROR");
        }
        self.indent -= STEP;
        self.keyword(")", 0, 0, 0);
        Ok(())
    }

    fn path_and_name(&mut self, rows: &TableRows) {
        self.out.push_str(&super::quote_constant(&rows.path));
        self.out.push_str(&format!(" AS {}", quote_identifier(&rows.name)));
    }

    fn table_columns(&mut self, rows: &TableRows, args: &[Expr]) -> Result<()> {
        self.out.push(' ');
        self.keyword("COLUMNS (", 0, 0, 0);
        self.indent += STEP;
        for (i, column) in rows.columns.iter().enumerate() {
            self.out.push_str(if i > 0 { ", " } else { "" });
            match column {
                TableColumn::Ordinality(name, _) => {
                    self.keyword("", 0, 0, 0);
                    self.out.push_str(&format!("{} FOR ORDINALITY", quote_identifier(name)));
                }
                TableColumn::Value { name, path, evaluation, format, .. } => {
                    self.keyword("", 0, 0, 0);
                    let ty = self.names.type_name(evaluation.ty, evaluation.typmod);
                    self.out.push_str(&format!("{} {ty}", quote_identifier(name)));
                    let is_string = *format != Format::Default || self.is_text(evaluation.ty);
                    self.out.push_str(match evaluation.operation {
                        Operation::Exists => " EXISTS",
                        Operation::Query if is_string => " FORMAT JSON",
                        _ => "",
                    });
                    self.out.push_str(&format!(" PATH {}", super::quote_constant(path)));
                    self.evaluation_options(evaluation, args)?;
                }
                TableColumn::Nested(rows) => {
                    self.out.push(' ');
                    self.keyword("NESTED PATH ", 0, 0, 0);
                    self.path_and_name(rows);
                    self.table_columns(rows, args)?;
                }
            }
        }
        self.indent -= STEP;
        self.keyword(")", 0, 0, 0);
        Ok(())
    }

    fn is_text(&self, ty: Oid) -> bool {
        let base = self.names.catalog.base_type(ty);
        pgsqlite_types::catalog::by_oid(base).is_some_and(|t| t.category == b'S') || base == oid::UNKNOWN
    }
}
