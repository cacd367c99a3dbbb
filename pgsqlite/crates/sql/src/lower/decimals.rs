//! Arithmetic of numerics as one native call.
//!
//! A numeric is stored as text. An expression of several operators would be read and printed at each of them, so `a * (1 - b)` becomes
//! `pg_decimal('abc-*', a, 1, b)`: the program is in postfix notation, a letter is an operand. An aggregate of an expression
//! takes the program itself.

use super::{support, Lowerer};
use crate::builtins::catalog as builtin;
use crate::typed::{Aggregate, CastMethod, Expr, ExprKind};
use pgsqlite_types::{oid, Oid, Result};

/// Most operands of one program: each is a letter.
const MOST_OPERANDS: usize = 26;

/// The sign of an operator's function in a program.
fn operator(proc: Oid) -> Option<char> {
    Some(match builtin::proc_by_oid(proc)?.src? {
        "numeric_add" => '+',
        "numeric_sub" => '-',
        "numeric_mul" => '*',
        "numeric_div" => '/',
        "numeric_uminus" => '~',
        _ => return None,
    })
}

/// What an integer is before it became a numeric: operands may be integers.
fn integer(e: &Expr) -> Option<&Expr> {
    match &e.kind {
        ExprKind::Cast { arg, method: CastMethod::Function(proc), .. } => {
            let source = builtin::proc_by_oid(*proc)?.src?;
            matches!(source, "int2_numeric" | "int4_numeric" | "int8_numeric").then_some(&**arg)
        }
        _ => None,
    }
}

/// A program and its operands.
#[derive(Default)]
struct Program<'e> {
    text: String,
    operands: Vec<&'e Expr>,
    operators: usize,
}

impl<'e> Program<'e> {
    fn of(proc: Oid, args: &'e [Expr]) -> Option<Program<'e>> {
        let mut program = Program::default();
        program.call(operator(proc)?, args).then_some(program)
    }

    fn call(&mut self, sign: char, args: &'e [Expr]) -> bool {
        let fits = args.iter().all(|arg| self.expression(arg));
        self.text.push(sign);
        self.operators += 1;
        fits
    }

    /// Appends an expression. False: there are too many operands.
    fn expression(&mut self, e: &'e Expr) -> bool {
        let called = match &e.kind {
            ExprKind::Op { op, args } => operator(op.proc).map(|sign| (sign, args)),
            ExprKind::Func { proc, args, .. } => operator(*proc).map(|sign| (sign, args)),
            _ => None,
        };
        if let Some((sign, args)) = called {
            return self.call(sign, args);
        }
        let operand = integer(e).unwrap_or(e);
        let known = self.operands.iter().position(|o| matches!(o.kind, ExprKind::Var(_)) && *o == operand);
        let at = known.unwrap_or(self.operands.len());
        if at == MOST_OPERANDS {
            return false;
        }
        if known.is_none() {
            self.operands.push(operand);
        }
        self.text.push((b'a' + at as u8) as char);
        true
    }
}

impl Lowerer<'_> {
    /// The text of a call of one of these operators with others below it; None: it is another function, or stands alone.
    pub(super) fn decimal(&mut self, proc: Oid, args: &[Expr]) -> Result<Option<String>> {
        match Program::of(proc, args) {
            Some(program) if program.operators > 1 => {
                Ok(Some(format!("{}({})", support::DECIMAL, self.program(&program)?.join(", "))))
            }
            _ => Ok(None),
        }
    }

    /// The text of `sum` and `avg` of such an expression.
    pub(super) fn decimal_aggregate(&mut self, proc: Oid, call: &Aggregate) -> Result<Option<String>> {
        let called = self.decimal_aggregate_call(proc, call)?;
        Ok(called.map(|(name, args)| format!("{name}({})", args.join(", "))))
    }

    /// The function and the arguments of `sum` and `avg` of such an expression.
    pub(super) fn decimal_aggregate_call(
        &mut self,
        proc: Oid,
        call: &Aggregate,
    ) -> Result<Option<(&'static str, Vec<String>)>> {
        let (Some(of), [arg]) = (builtin::proc_by_oid(proc), &call.args[..]) else { return Ok(None) };
        let name = match (of.name.as_str(), &of.args[..]) {
            ("sum", [oid::NUMERIC]) => support::DECIMAL_SUM,
            ("avg", [oid::NUMERIC]) => support::DECIMAL_AVERAGE,
            _ => return Ok(None),
        };
        if call.distinct || !call.order_by.is_empty() {
            return Ok(None);
        }
        let called = match &arg.kind {
            ExprKind::Op { op, args } => Program::of(op.proc, args),
            _ => None,
        };
        Ok(match called {
            Some(program) => Some((name, self.program(&program)?)),
            None => None,
        })
    }

    fn program(&mut self, program: &Program) -> Result<Vec<String>> {
        let mut texts = vec![super::quote_text(&program.text)];
        for operand in &program.operands {
            texts.push(self.expr(operand)?);
        }
        Ok(texts)
    }
}
