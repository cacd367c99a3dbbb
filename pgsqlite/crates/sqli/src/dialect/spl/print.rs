//! Bodies of routines as PL/pgSQL.
//!
//! ON EXCEPTION: in Informix what a block has done before the statement that failed stays done, where PL/pgSQL's EXCEPTION undoes its whole
//! block. So each statement that a handler watches over is a block of its own; its EXCEPTION clause remembers the error and leaves the
//! handler's block, behind which the handler's statements stand, or, for WITH RESUME, goes on behind the statement.

use super::errors::{caught, detail};
use super::routine::Signature;
use super::*;
use crate::dialect::ast::{Body, InsertSource, Item, Statement};
use crate::dialect::derived::QueryColumn;
use crate::dialect::print::{ident, Printer};
use crate::dialect::Parse;
use crate::errors::{Failure, RAISED};
use pgsqlite_types::work;

/// What the source of a routine has that gives one row of several values.
pub const ONE_ROW: &str = "-- one row";

/// Handlers with WITH RESUME are written once for each statement that they watch over: a text beyond this is refused.
const LONGEST: usize = 4 << 20;

/// A handler that watches over statements.
#[derive(Debug, Clone)]
struct Watching {
    handler: Handler,
    /// its number in its block
    number: usize,
    /// of the block that it belongs to
    label: usize,
    /// how many handlers watch over its own statements
    outside: usize,
    /// the loops around its block
    loops: usize,
}

/// What is known within a body.
pub struct Locals {
    /// variables, the innermost last
    variables: Vec<(String, Type)>,
    /// the loops around, with their labels
    loops: Vec<(LoopKind, usize)>,
    labels: usize,
    watching: Vec<Watching>,
    returns: Vec<Type>,
    is_table: bool,
    resumes: bool,
    /// the routine itself, which it may call
    pub own: Option<Signature>,
    /// correlation names of a trigger, and the rows that they mean
    pub rows: Vec<(String, &'static str)>,
    /// cursors of FOREACH, and their names in PL/pgSQL
    cursors: Vec<(String, String)>,
}

impl Locals {
    pub fn new(
        returns: Vec<Type>,
        is_table: bool,
        resumes: bool,
        own: Option<Signature>,
        variables: Vec<(String, Type)>,
    ) -> Locals {
        Locals {
            variables,
            loops: vec![],
            labels: 0,
            watching: vec![],
            returns,
            is_table,
            resumes,
            own,
            rows: vec![],
            cursors: vec![],
        }
    }

    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    pub fn variable(&self, name: &str) -> Option<Type> {
        self.variables.iter().rev().find(|(n, _)| n == name).map(|(_, ty)| *ty)
    }
}

/// The type of PostgreSQL's without a length: what functions take and give.
pub fn bare(ty: Type) -> String {
    let storage = ty.storage();
    match storage.split_once('(') {
        Some(("char", _)) => "bpchar".into(),
        Some((head, _)) => head.into(),
        None => storage,
    }
}

fn variable(name: &str) -> String {
    ident(&format!(":{name}"))
}

fn variables(names: &[String]) -> String {
    names.iter().map(|n| variable(n)).collect::<Vec<_>>().join(", ")
}

impl Printer<'_> {
    fn locals(&mut self) -> Parse<&mut Locals> {
        self.locals.as_mut().ok_or_else(|| Failure::internal("a statement of SPL outside a routine"))
    }

    /// The type of a variable. Errors: -667 if there is none.
    fn variable_type(&mut self, name: &str) -> Parse<Type> {
        self.locals()?.variable(name).ok_or_else(|| Failure::new(-667, 0, name))
    }

    /// What a routine does from its first statement to its end.
    pub(super) fn routine_body(&mut self, block: &Block) -> Parse<String> {
        let mut out = self.spl_block(block)?;
        let locals = self.locals()?;
        // its end without RETURN: it gives NULLs, or no more rows
        match (locals.returns.is_empty(), locals.is_table, locals.resumes) {
            (true, ..) | (_, _, true) => {}
            (_, false, _) => out += "RETURN NULL;\n",
            (_, true, false) => out += &format!("{ONE_ROW}\nRETURN NEXT;\n"),
        }
        Ok(out)
    }

    fn spl_block(&mut self, block: &Block) -> Parse<String> {
        let (known, watched) = {
            let locals = self.locals()?;
            (locals.variables.len(), locals.watching.len())
        };
        let mut declarations = String::new();
        for (names, ty) in &block.defines {
            work::visit();
            let ty = self.declared(ty)?;
            for name in names {
                work::visit();
                let locals = self.locals()?;
                if locals.variables[known..].iter().any(|(n, _)| n == name) {
                    return Err(Failure::text(format!("the variable {name} is defined twice")));
                }
                locals.variables.push((name.clone(), ty));
                declarations += &format!("{} {}; ", variable(name), ty.storage());
            }
        }
        let label = self.locals()?.label();
        let loops = self.locals()?.loops.len();
        let numbered = || block.handlers.iter().enumerate();
        // a handler for some errors comes before one for all: the last is asked first
        let general = numbered().filter(|(_, h)| h.codes.is_empty());
        for (number, handler) in general.chain(numbered().rev().filter(|(_, h)| !h.codes.is_empty())) {
            work::visit();
            let watching = Watching { handler: handler.clone(), number, label, outside: watched, loops };
            self.locals()?.watching.push(watching);
        }
        let body = self.steps(&block.body);
        self.locals()?.watching.truncate(watched);
        let body = body?;
        let mut behind = String::new();
        for (i, handler) in block.handlers.iter().enumerate().filter(|(_, h)| !h.resume) {
            work::visit();
            let statements = self.handled(handler)?;
            behind += &format!("IF \"(h{label})\" = {i} THEN\n{statements}END IF;\n");
        }
        self.locals()?.variables.truncate(known);
        if block.handlers.is_empty() {
            return Ok(match declarations.is_empty() {
                true => body,
                false => format!("DECLARE {declarations}\nBEGIN\n{body}END;\n"),
            });
        }
        Ok(format!(
            "DECLARE {declarations}\"(h{label})\" int;\nBEGIN\n<<\"(b{label})\">>\nBEGIN\n{body}END;\n{behind}END;\n"
        ))
    }

    /// What a handler does, behind the error's numbers.
    fn handled(&mut self, handler: &Handler) -> Parse<String> {
        let mut out = String::new();
        for (name, what) in handler.set.iter().zip(["(code)", "(isam)", "(text)"]) {
            work::visit();
            self.variable_type(name)?;
            out += &format!("{} := {};\n", variable(name), ident(what));
        }
        out += &self.spl_block(&handler.body)?;
        if out.is_empty() {
            out = "NULL;\n".into();
        }
        Ok(out)
    }

    fn steps(&mut self, steps: &[Step]) -> Parse<String> {
        let mut out = String::new();
        for step in steps {
            work::visit();
            let printed = self.step(&step.what);
            out += &printed.map_err(|failure| match failure.offset {
                0 => failure.at(step.at),
                _ => failure,
            })?;
            if out.len() > LONGEST {
                return Err(Failure::refused("a routine that is so long").at(step.at));
            }
        }
        Ok(if out.is_empty() { "NULL;\n".into() } else { out })
    }

    /// A statement that may fail, under the eyes of the handlers. `resume`: what comes next if one has WITH RESUME, instead of the
    /// statement behind.
    fn watched(&mut self, statement: String, resume: &str) -> Parse<String> {
        let watching = self.locals()?.watching.clone();
        if watching.is_empty() {
            return Ok(statement);
        }
        let mut dispatch = String::new();
        // the innermost first
        for Watching { handler, number, label, outside, loops } in watching.iter().rev() {
            work::visit();
            let condition = match handler.codes.is_empty() {
                true => "TRUE".to_string(),
                false => {
                    let codes: Vec<String> = handler.codes.iter().map(i32::to_string).collect();
                    format!("\"(code)\" IN ({})", codes.join(", "))
                }
            };
            let action = if handler.resume {
                // its statements are not its own to watch over
                let locals = self.locals()?;
                let inner = locals.watching.split_off(*outside);
                let inner_loops = locals.loops.split_off(*loops);
                let statements = self.handled(handler);
                let locals = self.locals()?;
                locals.watching.extend(inner);
                locals.loops.extend(inner_loops);
                format!("{}{resume}", statements?)
            } else {
                format!("\"(h{label})\" := {number}; EXIT \"(b{label})\";\n")
            };
            dispatch += if dispatch.is_empty() { "IF " } else { "ELSIF " };
            dispatch += &format!("{condition} THEN\n{action}");
        }
        let caught = caught();
        Ok(format!("BEGIN\n{statement}EXCEPTION WHEN OTHERS THEN\n{caught}\n{dispatch}ELSE RAISE;\nEND IF;\nEND;\n"))
    }

    fn is_watched(&mut self) -> Parse<bool> {
        Ok(!self.locals()?.watching.is_empty())
    }

    /// Statements within a loop, and its label.
    fn in_loop(&mut self, kind: LoopKind, steps: &[Step]) -> Parse<(usize, String)> {
        let locals = self.locals()?;
        let label = locals.label();
        locals.loops.push((kind, label));
        let body = self.steps(steps);
        self.locals()?.loops.pop();
        Ok((label, body?))
    }

    /// The innermost loop of a kind. Errors: syntax.
    fn loop_of(&mut self, kind: LoopKind) -> Parse<usize> {
        let loops = &self.locals()?.loops;
        let found = loops.iter().rev().find(|(k, _)| kind == LoopKind::Any || *k == kind);
        Ok(found.ok_or_else(|| Failure::new(-201, 0, ""))?.1)
    }

    pub(super) fn step(&mut self, what: &What) -> Parse<String> {
        self.asked_sequences.clear();
        match what {
            What::Nothing => Ok("NULL;\n".into()),
            What::Block(block) => self.spl_block(block),
            What::Let(targets, values) => {
                let statement = self.let_statement(targets, values)?;
                self.watched(statement, "")
            }
            What::Call(call, into) => {
                let statement = self.call_into(call, into)?;
                self.watched(statement, "")
            }
            What::Select(query) => {
                let into = self.into_of(query);
                if into.is_empty() {
                    return Err(Failure::refused("SELECT without INTO in a routine"));
                }
                let printed = self.query_into(query, &into)?;
                self.watched(one_row(&variables(&into), &into, &printed), "")
            }
            What::Sql(statement) => {
                let statement = self.sql(statement)?;
                self.watched(statement, "")
            }
            What::Raise(code, isam, text) => {
                let code = self.expr(code)?;
                let isam = isam.as_ref().map_or(Ok("0".into()), |e| self.expr(e))?;
                let text = text.as_ref().map_or(Ok("''".into()), |e| self.characters(e))?;
                let statement = format!(
                    "RAISE EXCEPTION USING ERRCODE = '{RAISED}', MESSAGE = coalesce(({text})::text, ''), DETAIL = {};\n",
                    detail(&code, &isam)
                );
                self.watched(statement, "")
            }
            What::Return(values, resume) => {
                let statement = self.return_statement(values, *resume)?;
                self.watched(statement, "")
            }
            What::If(branches, otherwise) => self.if_statement(branches, otherwise),
            What::While(condition, steps) => {
                let condition = self.expr(condition)?;
                let (label, body) = self.in_loop(LoopKind::While, steps)?;
                if !self.is_watched()? {
                    return Ok(format!("<<\"(l{label})\">>\nWHILE {condition} LOOP\n{body}END LOOP;\n"));
                }
                let evaluated =
                    self.watched(format!("\"(c)\" := {condition};\n"), &format!("EXIT \"(l{label})\";\n"))?;
                Ok(format!(
                    "DECLARE \"(c)\" boolean;\nBEGIN\n<<\"(l{label})\">>\nLOOP\n{evaluated}EXIT WHEN \"(c)\" IS NOT TRUE;\n{body}\
                     END LOOP;\nEND;\n"
                ))
            }
            What::Loop(steps) => {
                let (label, body) = self.in_loop(LoopKind::Loop, steps)?;
                Ok(format!("<<\"(l{label})\">>\nLOOP\n{body}END LOOP;\n"))
            }
            What::For(name, ranges, steps) => self.for_statement(name, ranges, steps),
            What::Foreach(cursor, query, steps) => {
                let into = self.into_of(query);
                if into.is_empty() {
                    return Err(Failure::refused("FOREACH without INTO"));
                }
                let printed = self.query_into(query, &into)?;
                self.foreach(cursor.as_deref(), &printed, &into, steps)
            }
            What::ForeachCall(call, into, steps) => {
                let Some(signature) = self.user_routine(&call.name, call.arguments.len()) else {
                    return Err(Failure::new(-674, 0, call.name.name.clone()));
                };
                let printed = self.rows_of(&signature, call, into)?;
                self.foreach(None, &printed, into, steps)
            }
            What::Exit(kind, condition) => {
                let label = self.loop_of(*kind)?;
                match condition {
                    None => Ok(format!("EXIT \"(l{label})\";\n")),
                    Some(condition) => {
                        let condition = self.expr(condition)?;
                        self.watched(format!("EXIT \"(l{label})\" WHEN {condition};\n"), "")
                    }
                }
            }
            What::Continue(kind) => Ok(format!("CONTINUE \"(l{})\";\n", self.loop_of(*kind)?)),
        }
    }

    fn let_statement(&mut self, targets: &[String], values: &[Expr]) -> Parse<String> {
        let mut types = Vec::new();
        for name in targets {
            work::visit();
            types.push(self.variable_type(name)?);
        }
        match (targets, values) {
            ([target], [value]) => Ok(format!("{} := {};\n", variable(target), self.assigned(value, Some(types[0]))?)),
            (targets, [Expr::Call { name, arguments, distinct: false }]) => {
                let call = Call {
                    name: Name { database: None, owner: None, name: name.clone() },
                    arguments: arguments.iter().map(|a| (None, a.clone())).collect(),
                };
                self.call_into(&call, targets)
            }
            (targets, [Expr::Query(query)]) => {
                let printed = self.query_into(query, targets)?;
                Ok(one_row(&variables(targets), targets, &printed))
            }
            // all values are taken before the first is given
            (targets, values) if targets.len() == values.len() => {
                let mut out = Vec::new();
                for (value, ty) in values.iter().zip(types) {
                    work::visit();
                    out.push(self.assigned(value, Some(ty))?);
                }
                Ok(format!("SELECT {} INTO {};\n", out.join(", "), variables(targets)))
            }
            _ => Err(Failure::new(-684, 0, "")),
        }
    }

    /// A query whose columns go into variables. Errors: -684 if there are not as many of them.
    fn query_into(&mut self, query: &Query, into: &[String]) -> Parse<String> {
        let mut types = Vec::new();
        for name in into {
            work::visit();
            types.push(self.variable_type(name)?);
        }
        let columns = self.query_columns(query)?;
        let columns =
            columns.ok_or_else(|| Failure::refused("a query whose columns are not known, INTO variables,"))?;
        if columns.len() != into.len() {
            let (n, m) = (columns.len(), into.len());
            return Err(Failure::text(format!("a query of {n} columns cannot give its rows to {m} variables")));
        }
        // what takes the values of these would round them
        let as_they_are = match &query.body {
            Body::Set(..) => true,
            Body::Select(select) => select.items.iter().any(|i| matches!(i, Item::Star(_))),
        };
        let rounds = |(ty, (_, known)): (&Type, &QueryColumn)| {
            ty.is_integer()
                && matches!(known, Some(Type::Decimal(..) | Type::Money(..) | Type::Float | Type::SmallFloat))
        };
        if as_they_are && types.iter().zip(&columns).any(rounds) {
            return Err(Failure::refused("* or UNION that gives a decimal number to an integer variable"));
        }
        self.partial_items = true;
        self.into_types = types;
        let printed = self.query(query);
        self.into_types.clear();
        printed
    }

    /// A query of the rows that a routine gives, for these variables.
    fn rows_of(&mut self, signature: &Signature, call: &Call, into: &[String]) -> Parse<String> {
        if signature.returns.len() != into.len() {
            return Err(Failure::new(-684, 0, signature.name.clone()));
        }
        let names: Vec<String> = (1..=into.len()).map(|i| format!("\"(f{i})\"")).collect();
        let mut items = Vec::new();
        for ((variable, name), (returned, _)) in into.iter().zip(&names).zip(&signature.returns) {
            work::visit();
            let converted = match self.variable_type(variable)? {
                ty if ty.is_integer() => crate::dialect::whole::cut(name, *returned),
                _ => None,
            };
            items.push(converted.unwrap_or_else(|| name.clone()));
        }
        let called = self.called(signature, &call.arguments)?;
        Ok(format!("SELECT {} FROM {called} AS \"(r)\"({})", items.join(", "), names.join(", ")))
    }

    fn call_into(&mut self, call: &Call, into: &[String]) -> Parse<String> {
        let Some(signature) = self.user_routine(&call.name, call.arguments.len()) else {
            // a function of the server's
            let (printed, shown) = self.execute(call)?;
            return match (shown, into) {
                (Some(shown), [target]) => {
                    let known = shown.first().and_then(|s| s.ty);
                    let value = match self.variable_type(target)? {
                        ty if ty.is_integer() => crate::dialect::whole::cut(&format!("({printed})"), known),
                        _ => None,
                    };
                    Ok(format!("{} := {};\n", variable(target), value.unwrap_or_else(|| format!("({printed})"))))
                }
                _ => Err(Failure::new(-684, 0, call.name.name.clone())),
            };
        };
        if signature.returns.is_empty() && into.is_empty() {
            return Ok(format!("PERFORM {};\n", self.called(&signature, &call.arguments)?));
        }
        if into.is_empty() {
            return Err(Failure::new(-684, 0, signature.name));
        }
        let printed = self.rows_of(&signature, call, into)?;
        Ok(one_row(&variables(into), into, &printed))
    }

    fn return_statement(&mut self, values: &[Expr], resume: bool) -> Parse<String> {
        let (returns, is_table) = {
            let locals = self.locals()?;
            (locals.returns.clone(), locals.is_table)
        };
        if returns.is_empty() {
            return match values {
                [] if !resume => Ok("RETURN;\n".into()),
                // it gives nothing
                _ => Err(Failure::new(-685, 0, "")),
            };
        }
        let name = |i: usize| format!("\"(v{})\"", i + 1);
        let mut out = String::new();
        match values {
            [] => (0..returns.len()).for_each(|i| out += &format!("{} := NULL;\n", name(i))),
            values if values.len() == returns.len() => {
                for (i, (value, ty)) in values.iter().zip(&returns).enumerate() {
                    work::visit();
                    out += &format!("{} := {};\n", name(i), self.assigned(value, Some(*ty))?);
                }
            }
            _ => return Err(Failure::new(-684, 0, "")),
        }
        if !is_table {
            return Ok(out + "RETURN \"(v1)\";\n");
        }
        for i in 0..returns.len() {
            work::visit();
            out += &format!("\"({})\" := {};\n", i + 1, name(i));
        }
        out += "RETURN NEXT;\n";
        if !resume {
            out += "RETURN;\n";
        }
        Ok(out)
    }

    fn if_statement(&mut self, branches: &[(Expr, Vec<Step>)], otherwise: &[Step]) -> Parse<String> {
        if !self.is_watched()? {
            let mut out = String::new();
            for (i, (condition, steps)) in branches.iter().enumerate() {
                work::visit();
                let word = if i == 0 { "IF" } else { "ELSIF" };
                out += &format!("{word} {} THEN\n{}", self.expr(condition)?, self.steps(steps)?);
            }
            if !otherwise.is_empty() {
                out += &format!("ELSE\n{}", self.steps(otherwise)?);
            }
            return Ok(out + "END IF;\n");
        }
        let label = self.locals()?.label();
        let mut out = String::new();
        for (condition, steps) in branches {
            work::visit();
            let condition = self.expr(condition)?;
            // what is resumed stands behind the whole statement
            out += &self.watched(format!("\"(c)\" := {condition};\n"), &format!("EXIT \"(s{label})\";\n"))?;
            out += &format!("IF \"(c)\" THEN\n{}ELSE\n", self.steps(steps)?);
        }
        out += &self.steps(otherwise)?;
        out += &"END IF;\n".repeat(branches.len());
        Ok(format!("<<\"(s{label})\">>\nDECLARE \"(c)\" boolean;\nBEGIN\n{out}END;\n"))
    }

    fn for_statement(&mut self, name: &str, ranges: &[Range], steps: &[Step]) -> Parse<String> {
        let ty = self.variable_type(name)?;
        let number = match ty {
            Type::SmallInt | Type::Integer | Type::BigInt | Type::Int8 => "bigint",
            Type::Decimal(..) | Type::Money(..) => "numeric",
            _ if ranges.iter().all(|r| r.to.is_none()) => "",
            _ => return Err(Failure::refused("FOR over a range with a variable that is no whole or decimal number")),
        };
        if let [Range { from, to: Some(to), step }] = ranges {
            let (from, to) = (self.bound(from, number)?, self.bound(to, number)?);
            let step = match step {
                Some(step) => self.bound(step, number)?,
                None => "CASE WHEN \"(from)\" <= \"(to)\" THEN 1 ELSE -1 END".into(),
            };
            let (label, body) = self.in_loop(LoopKind::For, steps)?;
            let bounds = format!("\"(from)\" := {from}; \"(to)\" := {to}; \"(step)\" := {step};\n");
            let bounds = self.watched(bounds, &format!("EXIT \"(s{label})\";\n"))?;
            return Ok(format!(
                "<<\"(s{label})\">>\nDECLARE \"(from)\" {number}; \"(to)\" {number}; \"(step)\" {number};\nBEGIN\n{bounds}<<\"(l{label})\">>\n\
                 FOR {} IN SELECT generate_series(\"(from)\", \"(to)\", \"(step)\") LOOP\n{body}END LOOP;\nEND;\n",
                variable(name)
            ));
        }
        if self.is_watched()? {
            return Err(Failure::refused("FOR … IN (…) where ON EXCEPTION watches"));
        }
        let mut parts = Vec::new();
        for (i, range) in ranges.iter().enumerate() {
            work::visit();
            let from = format!("({})::{}", self.assigned(&range.from, Some(ty))?, bare(ty));
            parts.push(match &range.to {
                None => format!("SELECT {i} AS p, 1::bigint AS o, {from} AS g"),
                Some(to) => {
                    let to = self.bound(to, number)?;
                    let step = match &range.step {
                        Some(step) => self.bound(step, number)?,
                        None => format!("CASE WHEN ({from}) <= ({to}) THEN 1 ELSE -1 END"),
                    };
                    format!(
                        "SELECT {i}, o, g::{} FROM generate_series(({from})::{number}, {to}, ({step})::{number}) WITH ORDINALITY \
                         AS \"(x)\"(g, o)",
                        bare(ty)
                    )
                }
            });
        }
        let (label, body) = self.in_loop(LoopKind::For, steps)?;
        Ok(format!(
            "<<\"(l{label})\">>\nFOR {} IN SELECT g FROM ({}) AS \"(f)\"(p, o, g) ORDER BY p, o LOOP\n{body}END LOOP;\n",
            variable(name),
            parts.join(" UNION ALL ")
        ))
    }

    /// A bound or step of FOR, as a number of that type.
    fn bound(&mut self, e: &Expr, number: &str) -> Parse<String> {
        let printed = if number == "bigint" { self.whole_for(e, Type::BigInt)? } else { self.expr(e)? };
        Ok(format!("({printed})::{number}"))
    }

    fn foreach(&mut self, cursor: Option<&str>, query: &str, into: &[String], steps: &[Step]) -> Parse<String> {
        if cursor.is_none() && !self.is_watched()? {
            let (label, body) = self.in_loop(LoopKind::Foreach, steps)?;
            return Ok(format!("<<\"(l{label})\">>\nFOR {} IN {query} LOOP\n{body}END LOOP;\n", variables(into)));
        }
        let name = format!("spl_cursor_{}", self.locals()?.label());
        self.locals()?.cursors.extend(cursor.map(|c| (c.to_string(), name.clone())));
        let inside = self.in_loop(LoopKind::Foreach, steps);
        if cursor.is_some() {
            self.locals()?.cursors.pop();
        }
        let (label, body) = inside?;
        let leave = format!("EXIT \"(s{label})\";\n");
        let open = self.watched(format!("OPEN {name};\n"), &leave)?;
        let fetch = self.watched(format!("FETCH {name} INTO {};\n", variables(into)), &leave)?;
        Ok(format!(
            "<<\"(s{label})\">>\nDECLARE {name} CURSOR FOR {query};\nBEGIN\n{open}<<\"(l{label})\">>\nLOOP\n{fetch}EXIT WHEN NOT FOUND;\n{body}\
             END LOOP;\nCLOSE {name};\nEND;\n"
        ))
    }

    /// What a statement with WHERE CURRENT OF names. Errors: -507 for a cursor that is not open there.
    pub fn current_of_foreach(&mut self, cursor: &str) -> Parse<String> {
        let found = self.locals()?.cursors.iter().rev().find(|(c, _)| c == cursor);
        Ok(found.ok_or_else(|| Failure::new(-507, 0, cursor))?.1.clone())
    }

    /// A statement that changes rows, and what DBINFO tells of it.
    fn sql(&mut self, statement: &Statement) -> Parse<String> {
        const COUNT: &str = ";\nGET DIAGNOSTICS \"(rows)\" = ROW_COUNT;\n";
        Ok(match statement {
            Statement::Insert { table, columns, source } => {
                let (sql, serial) = self.insert(table, columns, source)?;
                let Some(serial) = serial else { return Ok(sql + COUNT) };
                if matches!(source, InsertSource::Query(_)) {
                    if serial.given {
                        return Err(Failure::refused("INSERT … SELECT of a SERIAL's values in a routine"));
                    }
                    return Ok(sql + COUNT);
                }
                let mut out = format!("{sql} INTO \"(serial)\"{COUNT}");
                if serial.given {
                    // the sequence goes on behind a value that was given
                    let sequence = &serial.sequence;
                    out += &format!(
                        "PERFORM setval({}::regclass, \"(serial)\") FROM {sequence} WHERE last_value < \"(serial)\" \
                         OR NOT is_called AND last_value <= \"(serial)\";\n",
                        crate::dialect::print::literal(sequence)
                    );
                }
                out
            }
            Statement::Update { table, alias, set, condition, cursor } => {
                self.update(table, alias.as_deref(), set, condition.as_ref(), cursor.as_deref())? + COUNT
            }
            Statement::Delete { table, alias, condition, cursor } => {
                self.delete(table, alias.as_deref(), condition.as_ref(), cursor.as_deref())? + COUNT
            }
            Statement::Merge { table, alias, source, on, matched, unmatched } => {
                let actions = (matched.as_ref(), unmatched.as_ref());
                self.merge(table, alias.as_deref(), source, on, actions)? + COUNT
            }
            Statement::Truncate(table) => {
                self.existing(table)?;
                format!("TRUNCATE {};\n", self.table(table)?)
            }
            _ => return Err(Failure::refused("this statement in a routine")),
        })
    }
}

/// Statements that give the one row of a query to variables, or NULL if it has none. More rows are an error, as for a subquery.
fn one_row(targets: &str, names: &[String], query: &str) -> String {
    let nulls: String = names.iter().map(|n| format!("{} := NULL; ", variable(n))).collect();
    format!(
        "DECLARE \"(n)\" int := 0;\nBEGIN\nFOR {targets} IN {query} LOOP\n\"(n)\" := \"(n)\" + 1;\nIF \"(n)\" > 1 THEN\n\
         RAISE EXCEPTION USING ERRCODE = '21000', MESSAGE = 'more than one row returned by a subquery used as an expression';\nEND IF;\n\
         END LOOP;\nIF \"(n)\" = 0 THEN\n{nulls}\nEND IF;\nEND;\n"
    )
}
