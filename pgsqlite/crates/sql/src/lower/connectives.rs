//! AND and OR, whose later operands PostgreSQL computes only where the earlier ones do not decide: they may fail, or be noticed
//! (`a = 0 OR 10 / a > 1`, `id > 3 AND audit(id)`).
//!
//! SQLite stops early only where a condition decides where it goes on: in WHERE, ON, HAVING, FILTER and CASE WHEN, and in the AND, OR and NOT
//! directly below these ([`Lowerer::condition`]). Where AND or OR is a value (in a target list, as an argument, in a CHECK, in an expression of
//! PL/pgSQL) it computes both sides; there an operand that has to wait for the earlier ones is put into a CASE.

use super::conditions::cannot_fail;
use super::evaluation_order::{after, is_folded};
use super::expr::chain;
use super::Lowerer;
use crate::typed::{Expr, ExprKind};
use crate::volatility;
use pgsqlite_types::{Datum, Result};

/// The operator as SQLite writes it, the value that decides it, and the value that changes nothing.
pub(super) struct Connective {
    operator: &'static str,
    decided: char,
    neutral: char,
}

pub(super) const AND: Connective = Connective { operator: " AND ", decided: '0', neutral: '1' };
pub(super) const OR: Connective = Connective { operator: " OR ", decided: '1', neutral: '0' };

/// What a text has that SQLite finds a sub-query in.
const SUB_QUERY: &str = "SELECT ";

impl Lowerer<'_> {
    /// The text of an expression that decides where SQLite goes on.
    pub(super) fn condition(&mut self, condition: &Expr) -> Result<String> {
        self.decides = true;
        self.expr(condition)
    }

    /// AND or OR of one operand or more. `decides`: it is a [`Lowerer::condition`], or directly below one.
    pub(super) fn connected(&mut self, operands: &[Expr], with: &Connective, decides: bool) -> Result<String> {
        // a constant that decides is all that PostgreSQL's planner leaves, but for what it computes before it comes to that
        let decided =
            |e: &Expr| matches!(&e.kind, ExprKind::Const(value) if *value == Datum::from(with.decided == '1'));
        if let Some(at) = operands.iter().position(decided).filter(|at| *at > 0 || operands.len() > 1) {
            let before: Vec<Expr> = operands[..at].iter().filter(|e| is_folded(e)).cloned().collect();
            return Ok(after(&self.exprs(&before)?, with.decided.to_string()));
        }
        let mut texts = Vec::with_capacity(operands.len());
        for operand in operands {
            self.decides = decides;
            texts.push(self.expr(operand)?);
        }
        if !operands.iter().skip(1).any(waits) {
            return Ok(chain(&texts, with.operator));
        }
        if decides {
            // SQLite computes an operand without a sub-query before one that has one
            let asks = |text: &String| text.contains(SUB_QUERY);
            if let Some(asked) = texts.iter().position(asks) {
                for (operand, text) in operands.iter().zip(&mut texts).skip(asked + 1) {
                    if waits(operand) && !asks(text) {
                        *text = format!("({text} AND (SELECT 1))");
                    }
                }
            }
            return Ok(chain(&texts, with.operator));
        }
        Ok(stopping(operands, &texts, with))
    }
}

/// Whether an operand is not to be computed where those before it decide.
pub(super) fn waits(operand: &Expr) -> bool {
    !cannot_fail(operand) || !volatility::is_repeatable(operand)
}

/// The value of AND or OR, which computes no operand that [`waits`] where those before it decide, and none twice that shows it.
fn stopping(operands: &[Expr], texts: &[String], with: &Connective) -> String {
    /// SQLite refuses deep trees.
    const SHORT: usize = 100;
    if operands.len() > SHORT {
        let half = operands.len() / 2;
        let (left, right) =
            (stopping(&operands[..half], &texts[..half], with), stopping(&operands[half..], &texts[half..], with));
        return followed(left, &operands[..half], &right, with);
    }
    let mut at = 1 + operands.iter().skip(1).take_while(|e| !waits(e)).count();
    let mut text = chain(&texts[..at], with.operator);
    while at < operands.len() {
        let plain = operands[at..].iter().take_while(|e| !waits(e)).count();
        if plain > 0 {
            text = format!("({text}{}{})", with.operator, chain(&texts[at..at + plain], with.operator));
            at += plain;
        } else {
            text = followed(text, &operands[..at], &texts[at], with);
            at += 1;
        }
    }
    text
}

/// `next` behind `text`, which is that of the operands `before` it. One of the two is written twice: what is cheap, or else `next`, of which one
/// place or the other is computed.
fn followed(text: String, before: &[Expr], next: &str, with: &Connective) -> String {
    /// So much longer is what is cheaper not to write twice.
    const LONG: usize = 4;
    let Connective { operator, decided, neutral } = with;
    let twice = match before.iter().any(waits) {
        false => text.len() <= LONG * next.len(),
        true => LONG * text.len() < next.len() && before.iter().all(volatility::is_repeatable),
    };
    match twice {
        true => format!("(CASE WHEN {text} IS {decided} THEN {decided} ELSE ({text}{operator}{next}) END)"),
        false => format!(
            "(CASE {text} WHEN {decided} THEN {decided} WHEN {neutral} THEN {next} ELSE nullif({next}, {neutral}) END)"
        ),
    }
}
