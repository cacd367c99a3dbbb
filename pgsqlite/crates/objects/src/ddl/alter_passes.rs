//! The order in which the commands of one ALTER TABLE are carried out, whichever they are written in.

use super::column_definition::{is_attribute, may_have, written_constraints, Attributes};
use super::create_table::is_key;
use super::{Ddl, NodeEnum};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::{work, PgError, Result};
use std::borrow::Cow;

/// Commands that come later come in a later one of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pass {
    Drop,
    Type,
    DropAfterType,
    AddColumn,
    Expression,
    Check,
    ColumnAttribute,
    KeyOfIndex,
    Key,
    OtherConstraint,
    Rest,
}

impl Ddl<'_> {
    /// The commands of a statement in the order in which PostgreSQL carries them out: what takes something away, the types, columns,
    /// constraints, the rest. A column that USING of another one reads is dropped after that.
    ///
    /// Errors: 0A000 where USING reads a column of a table with children whose type the statement changes, too: it would see the new value.
    pub(super) fn in_passes<'c>(
        &self,
        relation: &Relation,
        commands: Vec<&'c ast::AlterTableCmd>,
    ) -> Result<Vec<&'c ast::AlterTableCmd>> {
        use ast::AlterTableType as T;
        // The columns that USING of another column reads.
        let mut read: Vec<i16> = Vec::new();
        for command in commands.iter().filter(|c| c.subtype() == T::AtAlterColumnType) {
            work::visit();
            let Some(NodeEnum::ColumnDef(def)) = command.def.as_ref().and_then(|d| d.node.as_ref()) else { continue };
            let Some(using) = &def.raw_default else { continue };
            let expr = self.using_expression(relation, using)?;
            let own = relation.column(&command.name).map(|c| c.attnum);
            let used = pgsqlite_sql::deparse::columns_used(&expr).into_iter();
            read.extend(
                used.filter_map(|i| relation.live_columns().nth(i)).map(|c| c.attnum).filter(|a| Some(*a) != own),
            );
        }
        let is_read = |c: &ast::AlterTableCmd| relation.column(&c.name).is_some_and(|c| read.contains(&c.attnum));
        if self.catalog.stands_for_several(relation)
            && commands.iter().any(|c| c.subtype() == T::AtAlterColumnType && is_read(c))
        {
            return Err(PgError::not_supported(
                "USING with a column whose type is changed by the same statement, on a table with children",
            ));
        }
        let pass = |c: &ast::AlterTableCmd| match c.subtype() {
            T::AtDropColumn if is_read(c) => Pass::DropAfterType,
            _ => pass_of(relation, c),
        };
        let mut ordered = commands;
        ordered.sort_by_key(|c| pass(c));
        Ok(ordered)
    }
}

fn pass_of(relation: &Relation, command: &ast::AlterTableCmd) -> Pass {
    use ast::AlterTableType as T;
    match command.subtype() {
        T::AtDropColumn | T::AtDropConstraint | T::AtDropNotNull | T::AtDropExpression | T::AtDropIdentity => {
            Pass::Drop
        }
        T::AtColumnDefault if command.def.is_none() => Pass::Drop,
        T::AtAlterColumnType => Pass::Type,
        T::AtAddColumn => Pass::AddColumn,
        T::AtSetExpression => Pass::Expression,
        T::AtSetNotNull => Pass::ColumnAttribute,
        T::AtColumnDefault | T::AtAddIdentity => Pass::OtherConstraint,
        T::AtAddConstraint => match command.def.as_ref().and_then(|d| d.node.as_ref()) {
            Some(NodeEnum::Constraint(c)) => match c.contype() {
                ast::ConstrType::ConstrForeign => Pass::OtherConstraint,
                ast::ConstrType::ConstrNotnull => Pass::ColumnAttribute,
                // (where there is none of these it is refused before any key is made)
                ast::ConstrType::ConstrExclusion if relation.is_partitioned() => Pass::Check,
                ast::ConstrType::ConstrExclusion => Pass::Key,
                _ if !c.indexname.is_empty() => Pass::KeyOfIndex,
                _ if is_key(c) => Pass::Key,
                _ => Pass::Check,
            },
            _ => Pass::Check,
        },
        // (SET GENERATED comes after the identity that it is about: it is one of these)
        _ => Pass::Rest,
    }
}

/// The commands with the constraints of columns that are added as commands of their own, as they may name columns that are added after theirs.
/// None where no column has one. A column that is there already (IF NOT EXISTS) keeps its constraints, which nobody looks at.
pub(super) fn constraints_apart(relation: &Relation, commands: &[&ast::AlterTableCmd]) -> Vec<ast::AlterTableCmd> {
    use ast::AlterTableType as T;
    let dropped = |name: &str| commands.iter().any(|c| c.subtype() == T::AtDropColumn && c.name == name);
    let mut added: Vec<&str> = Vec::new();
    let mut columns: Vec<Cow<ast::AlterTableCmd>> = Vec::with_capacity(commands.len());
    let mut constraints = Vec::new();
    for command in commands {
        work::visit();
        let definition = match command.def.as_ref().and_then(|d| d.node.as_ref()) {
            Some(NodeEnum::ColumnDef(def)) if command.subtype() == T::AtAddColumn => def,
            _ => {
                columns.push(Cow::Borrowed(command));
                continue;
            }
        };
        let name = definition.colname.as_str();
        let is_there = relation.column(name).is_some() && !dropped(name) || added.contains(&name);
        added.push(name);
        let own = if is_there { Vec::new() } else { constraints_of(definition) };
        if own.is_empty() {
            columns.push(Cow::Borrowed(command));
            continue;
        }
        let mut bare = definition.clone();
        bare.constraints
            .retain(|n| !matches!(&n.node, Some(NodeEnum::Constraint(c)) if is_of_table(c) || is_attribute(c)));
        let mut column = (*command).clone();
        column.def = Some(Box::new(ast::Node { node: Some(NodeEnum::ColumnDef(bare)) }));
        columns.push(Cow::Owned(column));
        constraints.extend(own.into_iter().map(|c| ast::AlterTableCmd {
            subtype: T::AtAddConstraint as i32,
            def: Some(Box::new(ast::Node { node: Some(NodeEnum::Constraint(Box::new(c))) })),
            name: String::new(),
            missing_ok: false,
            ..(*command).clone()
        }));
    }
    if constraints.is_empty() {
        return Vec::new();
    }
    columns.into_iter().map(Cow::into_owned).chain(constraints).collect()
}

/// The constraints of a column that could as well be written as the table's. None where something is wrong with how they are written: the
/// column's definition tells it.
fn constraints_of(definition: &ast::ColumnDef) -> Vec<ast::Constraint> {
    let constraints = written_constraints(definition);
    let mut out = Vec::new();
    for (i, c) in constraints.iter().enumerate() {
        work::visit();
        let Ok(attributes) = Attributes::after(&constraints[i + 1..]) else { return Vec::new() };
        let deferrable = is_key(c) || c.contype() == ast::ConstrType::ConstrForeign;
        let attributes_of = constraints[i + 1..].iter().take_while(|next| is_attribute(next));
        let misplaced = !is_attribute(c) && attributes_of.into_iter().any(|next| !may_have(c, next));
        if misplaced || i == 0 && is_attribute(c) {
            return Vec::new();
        }
        if !is_of_table(c) {
            continue;
        }
        let mut own = (*c).clone();
        let name = ast::String { sval: definition.colname.clone() };
        let columns = vec![ast::Node { node: Some(NodeEnum::String(name)) }];
        if deferrable {
            own.deferrable = attributes.deferrable;
            own.initdeferred = attributes.initially_deferred;
        }
        own.is_enforced = !attributes.not_enforced;
        match c.contype() {
            ast::ConstrType::ConstrForeign => own.fk_attrs = columns,
            _ if is_key(c) => own.keys = columns,
            _ => {}
        }
        out.push(own);
    }
    out
}

fn is_of_table(c: &ast::Constraint) -> bool {
    is_key(c) || matches!(c.contype(), ast::ConstrType::ConstrCheck | ast::ConstrType::ConstrForeign)
}
