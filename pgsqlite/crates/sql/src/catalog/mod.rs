//! The database's objects as the analyzer sees them: an immutable snapshot, made by the engine from the file.
//!
//! The structs are also what is remembered in the file: each object is one row of `__pgsqlite_object`, its definition
//! as JSON (serde). Built-in objects are not here but in [`crate::builtins`]; [`Catalog`]'s look-ups see both.

pub mod acl_item;
mod collation;
mod column;
pub mod composite;
mod constraint;
pub mod domains;
mod index;
pub mod inheritance;
mod names_in_schemas;
mod relation;
mod role;
pub mod routine;
pub mod rule;
mod text_search;
mod types;

use crate::builtins::catalog::{self as builtin, Operator, Proc};
use crate::builtins::extensions as builtin_extensions;
use crate::operator::{MadeOperator, UserCast};
use acl_item::AclItem;
use collation::is_of_bytes;
pub use collation::*;
pub use column::*;
pub use constraint::*;
use foldhash::HashMap;
pub use index::*;
pub use inheritance::{
    Inheritance, Inherited, PartitionBound, PartitionKey, PartitionKeyColumn, PartitionStrategy, RangeDatum,
};
use names_in_schemas::NamesInSchemas;
pub use pgsqlite_types::oid::is_information_domain;
use pgsqlite_types::Oid;
pub use relation::*;
pub use role::*;
use routine::{Function, Routine, Trigger};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
pub use text_search::*;
pub use types::*;

/// Fixed OIDs of the schemas every database has.
pub const PG_CATALOG: Oid = 11;
/// Stands in [`STORED_PATH`] for the schemas of all extensions, whose operators are not qualified in texts that are stored. It is no schema's:
/// a session's path is another, even one of pg_catalog alone.
pub(crate) const EVERY_EXTENSION: Oid = Oid::MAX;
/// The search path of texts that are stored: everything but pg_catalog and the operators of extensions is qualified.
pub const STORED_PATH: &[Oid] = &[PG_CATALOG, EVERY_EXTENSION];
pub const PG_TOAST: Oid = 99;
pub const PUBLIC: Oid = 2200;
/// Allocated by initdb in PostgreSQL (not pinned), so any number below 16384 is right.
pub const INFORMATION_SCHEMA: Oid = 13000;

/// The schema of temporary tables, one per session; its objects live in SQLite's `temp` database.
pub const PG_TEMP: Oid = 13001;

/// The schemas of a search path in the order in which they are searched: pg_catalog comes first where the path does not name it (manual, 5.9.5).
pub fn searched(path: &[Oid]) -> impl Iterator<Item = Oid> + '_ {
    let implied = (!path.contains(&PG_CATALOG)).then_some(PG_CATALOG);
    implied.into_iter().chain(path.iter().copied())
}

/// As [`searched`], for functions and operators, which are never looked for in the temporary schema.
pub fn searched_for_calls(path: &[Oid]) -> impl Iterator<Item = Oid> + '_ {
    searched(path).filter(|schema| *schema != PG_TEMP)
}

/// OIDs of temporary objects start here: they are not remembered in the file.
pub const FIRST_TEMPORARY_OID: Oid = 3_000_000_000;
/// While a trigger runs: the tables of old and of new rows that its REFERENCING names.
pub const TRANSITION_TABLES: [Oid; 2] = [FIRST_TEMPORARY_OID - 2, FIRST_TEMPORARY_OID - 3];
/// The role that initdb makes.
pub const BOOTSTRAP_ROLE: Oid = 10;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    pub oid: Oid,
    pub name: String,
    pub owner: Oid,
    /// None: PostgreSQL's default privileges
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acl: Option<Vec<AclItem>>,
}

/// An extension that CREATE EXTENSION has made: one row of `pg_extension`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extension {
    pub oid: Oid,
    pub name: String,
    pub schema: Oid,
    pub owner: Oid,
    pub version: String,
}

/// A snapshot of all objects. Cheap to clone (Arcs); changed copies are made by DDL.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Changes with every change of the schema: part of the plan cache's key.
    pub epoch: u64,
    /// The database's name: the file's stem.
    pub database: String,
    /// The other name that sessions may know it by: `main`, where a server serves one file.
    pub database_alias: Option<String>,
    /// A table or view of the file may give its texts a collation of SQLite's (NOCASE, RTRIM), which comparisons must not take
    pub sqlite_collations: bool,
    pub properties: DatabaseProperties,
    pub schemas: BTreeMap<Oid, Arc<Schema>>,
    pub relations: BTreeMap<Oid, Arc<Relation>>,
    pub types: BTreeMap<Oid, Arc<UserType>>,
    pub roles: BTreeMap<Oid, Arc<Role>>,
    /// those that were made, by name
    pub extensions: BTreeMap<String, Arc<Extension>>,
    /// those of the user
    pub collations: BTreeMap<Oid, Arc<UserCollation>>,
    /// text search configurations and dictionaries of the user
    pub ts_configurations: BTreeMap<Oid, Arc<TsConfiguration>>,
    pub ts_dictionaries: BTreeMap<Oid, Arc<TsDictionary>>,
    /// functions and procedures of the user
    pub routines: BTreeMap<Oid, Arc<Routine>>,
    /// the functions that came with range types of the user
    pub range_constructors: BTreeMap<Oid, Arc<Proc>>,
    pub operators: BTreeMap<Oid, Arc<MadeOperator>>,
    /// by source and target
    pub casts: BTreeMap<(Oid, Oid), Arc<UserCast>>,
    /// (class OID, object OID, sub-id) → comment
    pub comments: BTreeMap<(Oid, Oid, i32), String>,
    /// tables that have a deferrable PRIMARY KEY or UNIQUE constraint
    deferrable_tables: BTreeSet<Oid>,
    /// relations with a column in another collation than those that order by bytes
    collated_tables: BTreeSet<Oid>,
    /// parent → its children, by OID
    pub(crate) children: HashMap<Oid, Vec<Oid>>,
    schema_names: HashMap<String, Oid>,
    relation_names: NamesInSchemas,
    type_names: NamesInSchemas,
    /// the array types over row types that are not named `_relation`
    array_names: NamesInSchemas,
    array_types: HashMap<Oid, Oid>,
    row_types: HashMap<Oid, Oid>,
    routine_names: HashMap<String, Vec<Oid>>,
}

impl Catalog {
    /// Whether a statement's database name means this one.
    pub fn is_database(&self, name: &str) -> bool {
        name == self.database || self.database_alias.as_deref() == Some(name)
    }
    /// The schema of a built-in function, operator or operator class. None: it is an extension's that nobody has made.
    pub fn schema_of_builtin(&self, oid: Oid) -> Option<Oid> {
        match builtin_extensions::of(oid) {
            Some(extension) => self.extensions.get(extension).map(|e| e.schema),
            None if builtin::proc_by_oid(oid).is_some_and(|p| p.schema() != "pg_catalog") => Some(INFORMATION_SCHEMA),
            None => Some(PG_CATALOG),
        }
    }

    /// The operators that a name alone may mean, each with its schema, in the order of the path: pg_catalog comes first unless the path has
    /// another place for it, and the temporary schema is left out. Of two with the same operands the first hides the other. A stored text finds
    /// those of extensions, wherever they are.
    pub fn operators_found(&self, search_path: &[Oid], name: &str) -> Vec<(&Operator, Oid)> {
        let builtins: Vec<(&Operator, Oid)> =
            builtin::operators_named(name).filter_map(|o| Some((o, self.schema_of_builtin(o.oid)?))).collect();
        let mut found: Vec<(&Operator, Oid)> = Vec::new();
        for schema in searched_for_calls(search_path) {
            found.extend(builtins.iter().filter(|(_, s)| *s == schema));
            found.extend(self.operators_made(schema, name).into_iter().map(|o| (o, schema)));
        }
        if search_path.contains(&EVERY_EXTENSION) {
            found.extend(builtins.iter().filter(|(_, s)| *s != PG_CATALOG));
        }
        found
    }

    /// The built-in operator that [`Catalog::operators_found`] has first among those with these operands, where users have made none.
    pub fn builtin_operator(
        &self,
        search_path: &[Oid],
        name: &str,
        left: Oid,
        right: Oid,
    ) -> Option<&'static Operator> {
        let same = || builtin::operators_named(name).filter(|o| (o.left, o.right) == (left, right));
        let is_in = |o: &Operator, schema| self.schema_of_builtin(o.oid) == Some(schema);
        let of_path = searched_for_calls(search_path).find_map(|schema| same().find(|o| is_in(o, schema)));
        of_path.or_else(|| {
            let everywhere = search_path.contains(&EVERY_EXTENSION);
            same().find(|o| everywhere && self.schema_of_builtin(o.oid).is_some_and(|schema| schema != PG_CATALOG))
        })
    }

    /// The user's operators of this name in a schema.
    pub fn operators_made(&self, schema: Oid, name: &str) -> Vec<&Operator> {
        let made =
            self.operators.values().filter(|made| made.definition.schema == schema && made.definition.name == name);
        made.map(|made| &made.row).collect()
    }

    /// The schema of an operator.
    pub fn schema_of_operator(&self, oid: Oid) -> Option<Oid> {
        match self.operators.get(&oid) {
            Some(made) => Some(made.definition.schema),
            None => builtin::operator_by_oid(oid).and_then(|o| self.schema_of_builtin(o.oid)),
        }
    }

    /// Adds or replaces (same OID) a function.
    pub fn add_function(&mut self, function: Function) {
        self.remove_function(function.oid);
        self.routine_names.entry(function.name.clone()).or_default().push(function.oid);
        let routine = Routine::new(function, |ty| self.element_type(ty));
        self.routines.insert(routine.function.oid, Arc::new(routine));
    }

    pub fn remove_function(&mut self, oid: Oid) {
        if let Some(old) = self.routines.remove(&oid) {
            if let Some(named) = self.routine_names.get_mut(&old.function.name) {
                named.retain(|&o| o != oid);
            }
        }
    }

    /// The user's functions of a name, in all schemas, by OID.
    pub fn routines_named(&self, name: &str) -> impl Iterator<Item = &Arc<Routine>> {
        self.routine_names.get(name).into_iter().flatten().filter_map(|oid| self.routines.get(oid))
    }

    /// The user's function of a schema with this name and these argument types (as `pg_proc.proargtypes` has them).
    pub fn routine_in(&self, schema: Oid, name: &str, types: &[Oid]) -> Option<&Arc<Routine>> {
        self.routines_named(name).find(|r| r.function.schema == schema && r.proc.args == types)
    }

    /// The functions of the session alone: of the temporary schema, or over temporary types.
    pub fn temporary_routines(&self) -> impl Iterator<Item = &Arc<Routine>> {
        self.routines.values().filter(|r| r.function.oid >= FIRST_TEMPORARY_OID)
    }

    pub fn function(&self, oid: Oid) -> Option<&Function> {
        self.routines.get(&oid).map(|r| &r.function)
    }

    /// The row of `pg_aggregate` of an aggregate, PostgreSQL's own or the user's.
    pub fn aggregate(&self, proc: Oid) -> Option<&builtin::Aggregate> {
        builtin::aggregate(proc).or_else(|| self.function(proc)?.aggregate.as_deref())
    }

    /// The row of `pg_operator` of an operator, PostgreSQL's own or the user's.
    pub fn operator(&self, oid: Oid) -> Option<&builtin::Operator> {
        builtin::operator_by_oid(oid).or_else(|| self.operators.get(&oid).map(|o| &o.row))
    }

    /// The row of `pg_proc` of a function, PostgreSQL's own or the user's.
    pub fn proc(&self, oid: Oid) -> Option<&Proc> {
        builtin::proc_by_oid(oid)
            .or_else(|| self.routines.get(&oid).map(|r| &r.proc))
            .or_else(|| self.range_constructors.get(&oid).map(|p| &**p))
    }

    /// The trigger with this OID and its table.
    pub fn trigger(&self, oid: Oid) -> Option<(&Arc<Relation>, &Trigger)> {
        self.relations.values().find_map(|r| r.triggers.iter().find(|t| t.oid == oid).map(|t| (r, t)))
    }

    pub fn add_schema(&mut self, schema: Schema) {
        self.schema_names.insert(schema.name.clone(), schema.oid);
        self.schemas.insert(schema.oid, Arc::new(schema));
    }

    /// Adds or replaces (same OID) a relation.
    pub fn add_relation(&mut self, relation: Relation) {
        self.remove_relation(relation.oid);
        self.relation_names.insert(relation.schema, relation.name.clone(), relation.oid);
        if relation.row_type != 0 {
            self.row_types.insert(relation.row_type, relation.oid);
        }
        if relation.array_type != 0 {
            self.array_types.insert(relation.array_type, relation.row_type);
            if let Some(name) = &relation.array_name {
                self.array_names.insert(relation.schema, name.clone(), relation.array_type);
            }
        }
        if relation.deferrable_keys().next().is_some() {
            self.deferrable_tables.insert(relation.oid);
        }
        if relation.columns.iter().any(|c| !is_of_bytes(c.collation)) {
            self.collated_tables.insert(relation.oid);
        }
        for &parent in relation.inheritance.parents.iter().filter(|_| !relation.inheritance.detaching) {
            let children = self.children.entry(parent).or_default();
            if let Err(at) = children.binary_search(&relation.oid) {
                children.insert(at, relation.oid);
            }
        }
        self.relations.insert(relation.oid, Arc::new(relation));
    }

    /// The tables that have a deferrable PRIMARY KEY, UNIQUE or EXCLUDE constraint.
    pub fn tables_with_deferrable_keys(&self) -> impl Iterator<Item = &Arc<Relation>> {
        self.deferrable_tables.iter().filter_map(|oid| self.relations.get(oid))
    }

    pub fn remove_relation(&mut self, oid: Oid) {
        if let Some(old) = self.relations.remove(&oid) {
            self.relation_names.remove(old.schema, &old.name);
            self.row_types.remove(&old.row_type);
            self.array_types.remove(&old.array_type);
            if let Some(name) = &old.array_name {
                self.array_names.remove(old.schema, name);
            }
            self.deferrable_tables.remove(&oid);
            self.collated_tables.remove(&oid);
            for parent in &old.inheritance.parents {
                if let Some(children) = self.children.get_mut(parent) {
                    children.retain(|c| *c != oid);
                    if children.is_empty() {
                        self.children.remove(parent);
                    }
                }
            }
        }
    }

    pub fn remove_schema(&mut self, oid: Oid) {
        if let Some(old) = self.schemas.remove(&oid) {
            self.schema_names.remove(&old.name);
        }
    }

    /// This snapshot without temporary objects: what other sessions may see.
    pub fn shared(&self) -> Catalog {
        let mut shared = self.clone();
        for relation in self.relations.values().filter(|r| r.temporary) {
            shared.remove_relation(relation.oid);
        }
        for routine in self.temporary_routines() {
            shared.remove_function(routine.function.oid);
        }
        shared
    }

    /// This snapshot with the temporary objects of another one (the session's own).
    pub fn with_temporary_of(&self, session: &Catalog) -> Catalog {
        let mut merged = self.clone();
        for relation in session.relations.values().filter(|r| r.temporary) {
            merged.add_relation((**relation).clone());
        }
        for routine in session.temporary_routines() {
            merged.add_function(routine.function.clone());
        }
        merged
    }

    pub fn schema_name(&self, oid: Oid) -> &str {
        self.schemas.get(&oid).map_or("", |s| s.name.as_str())
    }

    pub fn role_name(&self, oid: Oid) -> Option<&str> {
        self.roles.get(&oid).map(|r| r.name.as_str())
    }

    pub fn role_named(&self, name: &str) -> Option<&Arc<Role>> {
        self.roles.values().find(|r| r.name == name)
    }

    /// The constraint with this OID and its table.
    pub fn constraint(&self, oid: Oid) -> Option<(&Arc<Relation>, &Constraint)> {
        self.relations.values().find_map(|r| r.constraints.iter().find(|c| c.oid == oid).map(|c| (r, c)))
    }

    /// What the key WITHOUT OVERLAPS behind an index is called. None: the index is that of something else.
    pub fn temporal_key(&self, oid: Oid, index: &Index) -> Option<TemporalKey> {
        let table = self.relation(index.table)?;
        table.constraints.iter().find(|c| c.index == oid && c.has_index())?.temporal
    }

    /// The foreign keys of other (or the same) tables that reference `table`.
    pub fn referencing(&self, table: Oid) -> impl Iterator<Item = (&Arc<Relation>, &Constraint)> {
        self.relations.values().flat_map(move |r| {
            r.constraints
                .iter()
                .filter(
                    move |c| matches!(&c.kind, ConstraintKind::ForeignKey { references, .. } if *references == table),
                )
                .map(move |c| (r, c))
        })
    }

    /// The highest OID given to an object of the user, at least the one before the first.
    pub fn highest_oid(&self) -> Oid {
        let mut highest = pgsqlite_types::oid::FIRST_USER_OID - 1;
        let mut see = |oid: Oid| {
            if (pgsqlite_types::oid::FIRST_USER_OID..FIRST_TEMPORARY_OID).contains(&oid) {
                highest = highest.max(oid);
            }
        };
        self.schemas.keys().chain(self.roles.keys()).for_each(|&o| see(o));
        for r in self.relations.values() {
            [r.oid, r.row_type, r.array_type].into_iter().for_each(&mut see);
            r.constraints.iter().for_each(|c| see(c.oid));
            r.security.policies.iter().for_each(|p| see(p.oid));
            r.triggers.iter().for_each(|t| see(t.oid));
            r.statistics.iter().for_each(|s| see(s.oid));
        }
        self.routines.keys().for_each(|&o| see(o));
        self.collations.keys().for_each(|&o| see(o));
        self.ts_configurations.keys().chain(self.ts_dictionaries.keys()).for_each(|&o| see(o));
        self.operators.keys().for_each(|&o| see(o));
        self.casts.values().for_each(|c| see(c.oid));
        self.properties.default_acls.iter().for_each(|d| see(d.oid));
        for t in self.types.values() {
            [t.oid, t.array_oid].into_iter().for_each(&mut see);
            match &t.kind {
                UserTypeKind::Enum { labels, .. } => labels.iter().for_each(|l| see(l.1)),
                UserTypeKind::Domain { checks, not_null_constraint, .. } => {
                    checks.iter().chain(not_null_constraint).for_each(|c| see(c.oid))
                }
                UserTypeKind::Range(r) => {
                    r.range_constructors.iter().chain(&r.multirange_constructors).for_each(|&o| see(o));
                    see(r.cast);
                }
                UserTypeKind::Composite { .. } | UserTypeKind::Multirange { .. } => {}
            }
        }
        highest
    }

    /// The labels of enums that a transaction has added can be used from its COMMIT on.
    pub fn with_labels_committed(self: Arc<Self>) -> Arc<Self> {
        let fresh = |t: &UserType| matches!(&t.kind, UserTypeKind::Enum { added, .. } if !added.is_empty());
        if !self.types.values().any(|t| fresh(t)) {
            return self;
        }
        let mut catalog = Arc::unwrap_or_clone(self);
        for t in catalog.types.values_mut().filter(|t| fresh(t)) {
            if let UserTypeKind::Enum { added, .. } = &mut Arc::make_mut(t).kind {
                added.clear();
            }
        }
        Arc::new(catalog)
    }

    pub fn schema_oid(&self, name: &str) -> Option<Oid> {
        self.schema_names.get(name).copied()
    }

    /// The schema `public`. It has another OID than [`PUBLIC`] where it was dropped and made again.
    pub fn public_schema(&self) -> Oid {
        self.schema_oid("public").unwrap_or(PUBLIC)
    }

    pub fn relation(&self, oid: Oid) -> Option<&Arc<Relation>> {
        self.relations.get(&oid)
    }

    /// All extended statistics, with their tables.
    pub fn statistics(&self) -> impl Iterator<Item = (&Arc<Relation>, &StatisticsObject)> {
        self.relations.values().flat_map(|r| r.statistics.iter().map(move |s| (r, s)))
    }

    pub fn relation_in(&self, schema: Oid, name: &str) -> Option<&Arc<Relation>> {
        self.relations.get(&self.relation_names.get(schema, name)?)
    }

    /// The indexes of a table, by OID.
    pub fn indexes_of(&self, table: Oid) -> impl Iterator<Item = (&Arc<Relation>, &Index)> {
        self.relations.values().filter_map(move |r| match &r.kind {
            RelationKind::Index(index) if index.table == table => Some((r, index)),
            _ => None,
        })
    }
}
