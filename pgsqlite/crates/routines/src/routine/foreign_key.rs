//! Managed foreign keys (`pgsqlite_sql::foreign_key`): what PostgreSQL's RI triggers do after each row.
//!
//! A new key must be in the referenced table; a key that goes from there is checked for, or its action is carried out: a DELETE or
//! UPDATE of the referencing table, planned as PostgreSQL plans it, in the same [`super::after`] level.

use super::after::{self, Pending};
use super::firing::Changed;
use super::plpgsql::Using;
use super::statement::{printed_value, Planned};
use super::trigger;
use super::Host;
use pgsqlite_sql::acl::{self, KeyQuery};
use pgsqlite_sql::analyze::variables::{Precedence, Variable, Variables};
use pgsqlite_sql::catalog::{Catalog, Constraint, ConstraintKind, ForeignKeyAction, Relation};
use pgsqlite_sql::deparse::quote_identifier;
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::routine::Event;
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
use std::rc::Rc;
use std::sync::Arc;

/// A column of a key: in the referencing and in the referenced table.
struct Pair {
    child: String,
    parent: String,
    /// of the referencing column
    child_type: Oid,
    parent_type: Oid,
    /// ` COLLATE …` of the referenced column, if that takes several texts for equal and the other column has another one
    collate: String,
}

/// A foreign key as seen from a table whose rows change.
pub(super) struct Key {
    constraint: Constraint,
    /// the referencing table, or its partition that has the row
    child: Arc<Relation>,
    /// the referenced table, as the constraint names it
    parent: Arc<Relation>,
    pairs: Vec<Pair>,
    /// the row belongs to the referenced table
    is_action: bool,
    /// positions of the key in the rows of the table that changes
    positions: Vec<usize>,
    /// what messages call the referenced table and the constraint, where a partition of it has the row
    named: (String, String),
}

/// A key that is looked at when its constraint is due.
pub struct PendingKey {
    pub constraint: Oid,
    key: Rc<Key>,
    values: Vec<Datum>,
}

impl PendingKey {
    /// The table whose row it was.
    pub(super) fn table(&self) -> Oid {
        if self.key.is_action {
            self.key.parent.oid
        } else {
            self.key.child.oid
        }
    }
}

fn pairs(catalog: &Catalog, child: &Relation, parent: &Relation, constraint: &Constraint) -> Result<Vec<Pair>> {
    let ConstraintKind::ForeignKey { columns, .. } = &constraint.kind else {
        return Err(PgError::internal("not a foreign key"));
    };
    let gone = || PgError::internal("a foreign key on a column that is gone");
    let pair = |(own, other): (&i16, &i16)| {
        let own = child.column_by_attnum(*own).ok_or_else(gone)?;
        let other = parent.column_by_attnum(*other).ok_or_else(gone)?;
        Ok(Pair {
            child: own.name.clone(),
            parent: other.name.clone(),
            child_type: own.type_oid,
            parent_type: other.type_oid,
            collate: match catalog.collation(other.collation) {
                Some(c) if own.collation != other.collation && !c.deterministic => {
                    let schema = quote_identifier(catalog.schema_name(c.schema));
                    format!(" COLLATE {schema}.{}", quote_identifier(c.name))
                }
                _ => String::new(),
            },
        })
    };
    constraint.columns.iter().zip(columns).map(pair).collect()
}

fn position(relation: &Relation, name: &str) -> Result<usize> {
    let at = relation.live_columns().position(|c| c.name == name);
    at.ok_or_else(|| PgError::internal("a foreign key on a column that is gone"))
}

/// The keys that an event of a table's rows has to do with: first those that reference it.
pub(super) fn keys(catalog: &Catalog, relation: &Relation, event: Event) -> Result<Vec<Key>> {
    let mut out = Vec::new();
    if matches!(event, Event::Update | Event::Delete) {
        for (child, constraint, named) in catalog.managed_references(relation) {
            out.push(Key::action(catalog, &child, constraint, &named, relation)?);
        }
    }
    if matches!(event, Event::Insert | Event::Update) {
        let child = Arc::new(relation.clone());
        for constraint in relation.managed_keys() {
            let ConstraintKind::ForeignKey { references, .. } = constraint.kind else { continue };
            let parent = catalog.relation(references).cloned();
            let parent = parent.ok_or_else(|| PgError::internal("a foreign key to a table that is gone"))?;
            let pairs = pairs(catalog, &child, &parent, constraint)?;
            let positions = pairs.iter().map(|p| position(&child, &p.child)).collect::<Result<_>>()?;
            let named = (parent.name.clone(), constraint.name.clone());
            let (constraint, child) = (constraint.clone(), child.clone());
            out.push(Key { constraint, child, parent, pairs, is_action: false, positions, named });
        }
    }
    Ok(out)
}

/// A partition's row has gone to another partition: what the foreign keys to the tables that have both of them make of it. Errors: 0A000 if
/// one references a table that the row has left and that is itself a partition.
pub(super) fn keys_of_move(catalog: &Catalog, root: &Relation, from: &Relation) -> Result<Vec<Key>> {
    let mut out = Vec::new();
    for (child, constraint, named) in catalog.managed_references(from) {
        if named.oid == from.oid {
            continue;
        }
        if named.oid != root.oid && !catalog.ancestors(root.oid).contains(&named.oid) {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot move tuple across partitions when a non-root ancestor of the source partition is directly referenced in a foreign key",
            )
            .detail(format!(
                "A foreign key points to ancestor \"{}\" but not the root ancestor \"{}\".",
                named.name, root.name
            ))
            .hint(format!("Consider defining the foreign key on table \"{}\".", root.name)));
        }
        out.push(Key::action(catalog, &child, constraint, &named, root)?);
    }
    Ok(out)
}

impl Key {
    fn action(
        catalog: &Catalog,
        child: &Arc<Relation>,
        constraint: Constraint,
        named: &Arc<Relation>,
        relation: &Relation,
    ) -> Result<Key> {
        let pairs = pairs(catalog, child, named, &constraint)?;
        let positions = pairs.iter().map(|p| position(relation, &p.parent)).collect::<Result<_>>()?;
        // the constraint of the partition has a name of its own
        let of_partition = child.constraints.iter().find(|c| {
            matches!(c.kind, ConstraintKind::ForeignKey { references, .. } if references == relation.oid)
                && child.is_part_of_key(c)
        });
        let name = of_partition.map_or(&constraint.name, |c| &c.name).clone();
        Ok(Key {
            constraint,
            child: child.clone(),
            parent: named.clone(),
            pairs,
            is_action: true,
            positions,
            named: (relation.name.clone(), name),
        })
    }

    /// Whether it is the action of a key that names the table itself (and not one that this is a partition of).
    pub fn names(&self, table: Oid) -> bool {
        self.is_action && self.parent.oid == table
    }

    fn action_of(&self, event: Event) -> Result<(ForeignKeyAction, &[i16], bool)> {
        match &self.constraint.kind {
            ConstraintKind::ForeignKey { on_delete, delete_columns, match_full, .. } if event == Event::Delete => {
                Ok((*on_delete, delete_columns, *match_full))
            }
            ConstraintKind::ForeignKey { on_update, match_full, .. } => Ok((*on_update, &[], *match_full)),
            _ => Err(PgError::internal("not a foreign key")),
        }
    }

    fn values(&self, row: Option<&Vec<Datum>>) -> Option<Vec<Datum>> {
        row.map(|r| self.positions.iter().map(|&at| r[at].clone()).collect())
    }
}

/// Does for a row what the key demands.
/// `action`: the foreign key whose action has changed the row. If that is this one, and a trigger has put the key back, it is looked at
/// although it is the same as before.
pub(super) fn fire(host: Host, key: &Rc<Key>, event: Event, row: &Changed, action: Option<Oid>) -> Result<()> {
    let (old, new) = (key.values(row.old.as_ref()), key.values(row.new.as_ref()));
    match key.is_action {
        true => act(host, key, event, old, new),
        false => check_new(host, key, event, old.filter(|_| action != Some(key.constraint.oid)), new),
    }
}

/// A row of the referencing table: its key must be there.
fn check_new(host: Host, key: &Rc<Key>, event: Event, old: Option<Vec<Datum>>, new: Option<Vec<Datum>>) -> Result<()> {
    let Some(values) = new else { return Ok(()) };
    let nulls = values.iter().filter(|v| v.is_null()).count();
    let (_, _, match_full) = key.action_of(event)?;
    if nulls > 0 {
        if !match_full || nulls == values.len() || old.as_ref() == Some(&values) {
            return Ok(());
        }
        return Err(key.violated(host).detail("MATCH FULL does not allow mixing of null and nonnull key values."));
    }
    if old.as_ref() == Some(&values) {
        return Ok(());
    }
    let due = host.routines().is_deferred(&key.constraint);
    let pending = PendingKey { constraint: key.constraint.oid, key: key.clone(), values };
    match due {
        true => after::defer(host, Pending::Key(pending))?,
        false => check_pending(host, &pending)?,
    }
    Ok(())
}

/// Looks at a key: 23503 if it is in the referencing table and not in the referenced one.
pub fn check_pending(host: Host, pending: &PendingKey) -> Result<()> {
    let (key, values) = (&*pending.key, &pending.values);
    key.check_may_look(host, &key.parent, !key.is_action)?;
    if key.is_action {
        key.check_may_look(host, &key.child, false)?;
    }
    if key.is_referenced_row(host, values)? || !key.has_referencing_row(host, values)? {
        return Ok(());
    }
    match key.is_action {
        true => Err(key.still_referenced(host, values, false)?),
        false => Err(key.not_present(host, values)?),
    }
}

/// A row of the referenced table has gone or changed.
fn act(host: Host, key: &Rc<Key>, event: Event, old: Option<Vec<Datum>>, new: Option<Vec<Datum>>) -> Result<()> {
    let Some(values) = old else { return Ok(()) };
    // (a key that is equal, and looks different, is another one: it is to be the same in both tables)
    if values.iter().any(Datum::is_null) || new.as_ref() == Some(&values) {
        return Ok(());
    }
    let (action, columns, _) = key.action_of(event)?;
    let child = key.table(host, &key.child);
    let matches = |from: usize| -> String {
        let one = |(i, p): (usize, &Pair)| format!("${} = {}{}", from + i, quote_identifier(&p.child), p.collate);
        key.pairs.iter().enumerate().map(one).collect::<Vec<_>>().join(" AND ")
    };
    let types: Vec<Oid> = key.pairs.iter().map(|p| p.parent_type).collect();
    match (action, event) {
        (ForeignKeyAction::NoAction, _) => {
            let pending = PendingKey { constraint: key.constraint.oid, key: key.clone(), values };
            match host.routines().is_deferred(&key.constraint) {
                true => after::defer(host, Pending::Key(pending))?,
                false => check_pending(host, &pending)?,
            }
            Ok(())
        }
        (ForeignKeyAction::Restrict, _) => {
            key.check_may_look(host, &key.child, false)?;
            match key.has_referencing_row(host, &values)? {
                true => Err(key.still_referenced(host, &values, true)?),
                false => Ok(()),
            }
        }
        (ForeignKeyAction::Cascade, Event::Delete) => {
            run(host, key, 'd', &format!("DELETE FROM {child} WHERE {}", matches(1)), types, &values)
        }
        (ForeignKeyAction::Cascade, _) => {
            let mut parameters = new.unwrap_or_default();
            parameters.extend(values);
            let set = |(i, p): (usize, &Pair)| format!("{} = ${}", quote_identifier(&p.child), i + 1);
            let set: Vec<String> = key.pairs.iter().enumerate().map(set).collect();
            let text = format!("UPDATE {child} SET {} WHERE {}", set.join(", "), matches(key.pairs.len() + 1));
            let both = [types.clone(), types].concat();
            run(host, key, 'u', &text, both, &parameters)
        }
        (ForeignKeyAction::SetNull | ForeignKeyAction::SetDefault, _) => {
            let word = if action == ForeignKeyAction::SetNull { "NULL" } else { "DEFAULT" };
            let attnums = if columns.is_empty() { &key.constraint.columns[..] } else { columns };
            let names = attnums.iter().filter_map(|a| key.child.column_by_attnum(*a));
            let set: Vec<String> = names.map(|c| format!("{} = {word}", quote_identifier(&c.name))).collect();
            let text = format!("UPDATE {child} SET {} WHERE {}", set.join(", "), matches(1));
            run(host, key, if event == Event::Delete { 'n' } else { 'm' }, &text, types, &values)?;
            // a default may be the key that has gone
            let default = action == ForeignKeyAction::SetDefault;
            if default && !key.is_referenced_row(host, &values)? && key.has_referencing_row(host, &values)? {
                return Err(key.still_referenced(host, &values, false)?);
            }
            Ok(())
        }
    }
}

/// Runs the statement of an action: as the owner of the table that it changes, and one level deeper, as inside a trigger.
fn run(host: Host, key: &Key, kind: char, text: &str, types: Vec<Oid>, parameters: &[Datum]) -> Result<()> {
    key.check_may_act(host, kind, parameters.len() - key.pairs.len())?;
    let planned = planned(host, (key.constraint.oid, key.child.oid, kind), text, types)?;
    let depth = &host.routines().trigger_depth;
    let triggers = depth.replace(depth.get() + 1);
    let result = host.cell.as_role(key.child.owner, || {
        after::acting(host, key.constraint.oid, || trigger::run_inside_level(host, &planned, parameters))
    });
    depth.set(triggers);
    result
}

fn planned(host: Host, id: (Oid, Oid, char), text: &str, types: Vec<Oid>) -> Result<Rc<Planned>> {
    let found = host.routines().keys.borrow().get(&id).cloned();
    if let Some(found) = found.filter(|p| p.holds(host)) {
        return Ok(found);
    }
    let statements = pgsqlite_sql::parse::parse(text)?;
    let node = &statements.first().ok_or_else(|| PgError::internal("a foreign key's statement"))?.node;
    let made = Rc::new(Planned::for_key(host, node, &Values(Using { types: &types }), types.clone())?);
    host.routines().keys.borrow_mut().insert(id, made.clone());
    Ok(made)
}

/// The values of a key: they are compared as the columns are that they are compared with.
struct Values<'v>(Using<'v>);

impl Variables for Values<'_> {
    fn find(&self, names: &[&str]) -> Result<Option<(Variable, usize)>> {
        self.0.find(names)
    }
    fn parameter(&self, n: usize) -> Result<Option<Variable>> {
        self.0.parameter(n)
    }
    fn fields(&self, names: &[&str]) -> Result<Option<Vec<(String, Variable)>>> {
        self.0.fields(names)
    }
    fn may_be_collated(&self) -> bool {
        false
    }
    fn precedence(&self) -> Precedence {
        self.0.precedence()
    }
}

/// What stands in front of a table's name in a query of its own rows.
fn only(table: &Relation) -> &'static str {
    if table.is_partitioned() {
        ""
    } else {
        "ONLY "
    }
}

/// An error of a query that the owner of a table may not run: where a schema is refused, at the table's name.
fn refused(mut error: PgError, text: String, place: usize) -> PgError {
    match error.message().starts_with("permission denied for schema") {
        true => {
            let fields = error.fields_mut();
            fields.location = Some(place);
            fields.internal_query = Some(text);
            error
        }
        false => super::add_context(error, format!("SQL statement \"{text}\"")),
    }
}

impl Key {
    /// A table as statements name it: its own rows, or those of its partitions.
    fn table(&self, host: Host, table: &Relation) -> String {
        let catalog = host.catalog();
        let only = only(table);
        let schema = if table.temporary { "pg_temp" } else { catalog.schema_name(table.schema) };
        format!("{only}{}.{}", quote_identifier(schema), quote_identifier(&table.name))
    }

    /// Errors: 42501 if the owner of the table may not query it. The query that the error tells is the one that PostgreSQL runs.
    /// `of_new_key`: the key of a referencing row is looked for, whose columns stand on the right.
    fn check_may_look(&self, host: Host, table: &Arc<Relation>, of_new_key: bool) -> Result<()> {
        let is_parent = Arc::ptr_eq(table, &self.parent);
        let columns = self.attnums(table, is_parent);
        acl::check_key_query(&host.catalog(), table, KeyQuery::Look, &columns).map_err(|error| {
            let condition = |(i, p): (usize, &Pair)| {
                let column = quoted(if is_parent { &p.parent } else { &p.child });
                match is_parent || of_new_key {
                    true => format!("{column} OPERATOR(pg_catalog.=) ${}", i + 1),
                    false => format!("${} OPERATOR(pg_catalog.=) {column}", i + 1),
                }
            };
            let conditions: Vec<String> = self.pairs.iter().enumerate().map(condition).collect();
            let (front, name) = ("SELECT 1 FROM ", self.quoted_table(host, table));
            let text = format!("{front}{name} x WHERE {} FOR KEY SHARE OF x", conditions.join(" AND "));
            refused(error, text, front.len() + only(table).len())
        })
    }

    /// As [`Key::check_may_look`], of the statement of an action. `before`: the number of values that it sets.
    fn check_may_act(&self, host: Host, kind: char, before: usize) -> Result<()> {
        let query = if kind == 'd' { KeyQuery::Delete } else { KeyQuery::Update };
        let columns = self.attnums(&self.child, false);
        acl::check_key_query(&host.catalog(), &self.child, query, &columns).map_err(|error| {
            let name = self.quoted_table(host, &self.child);
            let condition =
                |(i, p): (usize, &Pair)| format!("${} OPERATOR(pg_catalog.=) {}", before + i + 1, quoted(&p.child));
            let conditions: Vec<String> = self.pairs.iter().enumerate().map(condition).collect();
            let (front, set) = match kind {
                'd' => ("DELETE FROM ", String::new()),
                _ => {
                    let value = |i: usize| if before > 0 { format!("${}", i + 1) } else { "NULL".into() };
                    let set = |(i, p): (usize, &Pair)| format!("{} = {}", quoted(&p.child), value(i));
                    let set: Vec<String> = self.pairs.iter().enumerate().map(set).collect();
                    ("UPDATE ", format!(" SET {}", set.join(", ")))
                }
            };
            let text = format!("{front}{name}{set} WHERE {}", conditions.join(" AND "));
            refused(error, text, front.len() + only(&self.child).len())
        })
    }

    /// The columns of the key in a table.
    fn attnums(&self, table: &Relation, is_parent: bool) -> Vec<i16> {
        let column = |p: &Pair| table.column(if is_parent { &p.parent } else { &p.child }).map(|c| c.attnum);
        self.pairs.iter().filter_map(column).collect()
    }

    /// A table as PostgreSQL's queries name it.
    fn quoted_table(&self, host: Host, table: &Relation) -> String {
        format!("{}{}.{}", only(table), quoted(host.catalog().schema_name(table.schema)), quoted(&table.name))
    }

    fn any_row(
        &self,
        host: Host,
        id: char,
        table: &Relation,
        conditions: Vec<String>,
        values: &[Datum],
    ) -> Result<bool> {
        let text = format!("SELECT 1 FROM {} x WHERE {} LIMIT 1", self.table(host, table), conditions.join(" AND "));
        let type_of = |p: &Pair| if self.is_action { p.parent_type } else { p.child_type };
        let types = self.pairs.iter().map(type_of).collect();
        let planned = planned(host, (self.constraint.oid, table.oid, id), &text, types)?;
        Ok(!planned.rows(host, values)?.is_empty())
    }

    /// Whether the referenced table has a row with these values.
    fn is_referenced_row(&self, host: Host, values: &[Datum]) -> Result<bool> {
        let condition = |(i, p): (usize, &Pair)| format!("x.{} = ${}", quote_identifier(&p.parent), i + 1);
        let conditions = self.pairs.iter().enumerate().map(condition).collect();
        self.any_row(host, if self.is_action { 'P' } else { 'p' }, &self.parent, conditions, values)
    }

    fn has_referencing_row(&self, host: Host, values: &[Datum]) -> Result<bool> {
        let condition = |(i, p): (usize, &Pair)| format!("${} = x.{}{}", i + 1, quote_identifier(&p.child), p.collate);
        let conditions = self.pairs.iter().enumerate().map(condition).collect();
        self.any_row(host, if self.is_action { 'C' } else { 'c' }, &self.child, conditions, values)
    }

    fn violated(&self, host: Host) -> PgError {
        PgError::new(
            SqlState::FOREIGN_KEY_VIOLATION,
            format!(
                "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                self.child.name, self.constraint.name
            ),
        )
        .schema(host.catalog().schema_name(self.child.schema))
        .table(self.child.name.clone())
        .constraint(self.constraint.name.clone())
    }

    fn shown(&self, host: Host, values: &[Datum], of_child: bool) -> Result<String> {
        let (mut shown, mut names, mut attnums) = (Vec::new(), Vec::new(), Vec::new());
        let table = if of_child { &self.child } else { &self.parent };
        for p in &self.pairs {
            attnums.extend(table.column(if of_child { &p.child } else { &p.parent }).map(|c| c.attnum));
        }
        if !acl::may_see(&host.catalog(), host.cell.state().user_oid, table, &attnums) {
            return Ok("Key".to_string());
        }
        for (p, value) in self.pairs.iter().zip(values) {
            shown.push(printed_value(host, if of_child { p.child_type } else { p.parent_type }, value)?);
            names.push(if of_child { p.child.as_str() } else { p.parent.as_str() });
        }
        Ok(format!("Key ({})=({})", names.join(", "), shown.join(", ")))
    }

    fn not_present(&self, host: Host, values: &[Datum]) -> Result<PgError> {
        let shown = self.shown(host, values, true)?;
        Ok(self.violated(host).detail(format!("{shown} is not present in table \"{}\".", self.parent.name)))
    }

    fn still_referenced(&self, host: Host, values: &[Datum], restricts: bool) -> Result<PgError> {
        let (table, constraint) = &self.named;
        let shown = self.shown(host, values, false)?;
        let catalog = host.catalog();
        let child = (catalog.schema_name(self.child.schema), &*self.child.name);
        Ok(crate::diagnose::still_referenced(child, constraint, &shown, table, restricts))
    }
}
