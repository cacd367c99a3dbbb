//! pg_class, pg_attribute and what belongs to relations: defaults, indexes, constraints, sequences, comments.

use super::{character, int, numbers, strings, text, Rows};
use pgsqlite_metadata::naming::default_collation;
use pgsqlite_sql::catalog::domains::DomainCheck;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::routine::Event;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Datum, Oid};

pub(super) const CLASS: Oid = 1259;
pub(super) const CONSTRAINT: Oid = 2606;
pub(super) const ATTRDEF: Oid = 2604;
pub(super) const REWRITE: Oid = 2618;
pub(super) const NAMESPACE: Oid = 2615;
pub(super) const TYPE: Oid = 1247;
pub(super) const PROC: Oid = 1255;

/// Rows of pg_attrdef and pg_rewrite have OIDs in PostgreSQL; here they are the relation's with the column's number above, far
/// beyond the counter's reach.
pub(super) fn derived_oid(relation: Oid, attnum: i16) -> i64 {
    i64::from(composite::derived_oid(relation, attnum))
}

pub(super) fn namespaces(rows: &mut Rows, catalog: &Catalog) {
    for schema in catalog.schemas.values() {
        work::visit();
        if schema.oid == PG_TEMP && !catalog.relations.values().any(|r| r.temporary) {
            continue;
        }
        rows.push(&[
            ("oid", int(schema.oid)),
            ("nspname", text(&*schema.name)),
            ("nspowner", int(schema.owner)),
            ("nspacl", super::views::acl_array(catalog, &schema.acl)),
        ]);
    }
}

/// pg_init_privs: what everybody may do from the beginning, which pg_dump does not write down.
pub(super) fn initial_privileges(rows: &mut Rows, catalog: &Catalog) {
    let schemas = [
        (PG_CATALOG, ["postgres=UC/postgres", "=U/postgres"]),
        (PUBLIC, ["pg_database_owner=UC/pg_database_owner", "=U/pg_database_owner"]),
    ];
    for (schema, privileges) in schemas {
        work::visit();
        rows.push(&[
            ("objoid", int(schema)),
            ("classoid", int(NAMESPACE)),
            ("privtype", text("i")),
            ("initprivs", strings(privileges)),
        ]);
    }
    for proc in pgsqlite_sql::builtins::catalog::all_procs() {
        work::visit();
        let acl = pgsqlite_sql::acl::builtin_function_acl(catalog, proc.oid);
        if acl.is_some() {
            rows.push(&[
                ("objoid", int(proc.oid)),
                ("classoid", int(PROC)),
                ("privtype", text("i")),
                ("initprivs", super::views::acl_array(catalog, &acl)),
            ]);
        }
    }
}

/// `pg_class.relhastriggers`, without which psql and pg_dump do not ask for triggers and foreign keys at all. Foreign keys are triggers in
/// PostgreSQL. (There those that are not enforced have none, and psql and pg_dump of PostgreSQL 15 would not see them.)
pub(super) fn has_triggers(catalog: &Catalog, relation: &Relation) -> bool {
    !relation.triggers.is_empty()
        || relation.constraints.iter().any(|c| matches!(c.kind, ConstraintKind::ForeignKey { .. }))
        || catalog.referencing(relation.oid).next().is_some()
}

/// `pg_class.relkind`
pub(crate) fn kind(relation: &Relation) -> u8 {
    match &relation.kind {
        RelationKind::Table if relation.is_partitioned() => b'p',
        RelationKind::Table => b'r',
        RelationKind::View { .. } | RelationKind::ForeignView => b'v',
        RelationKind::MaterializedView { .. } => b'm',
        RelationKind::Index(_) => b'i',
        RelationKind::Sequence(_) => b'S',
        RelationKind::System => pgsqlite_sql::builtins::catalog::system_relations()
            .iter()
            .find(|r| r.oid == relation.oid)
            .map_or(b'r', |r| r.kind),
    }
}

fn method_oid(name: &str) -> Oid {
    pgsqlite_sql::builtins::catalog::access_methods().iter().find(|m| m.1 == name).map_or(0, |m| m.0)
}

pub(super) fn classes(rows: &mut Rows, catalog: &Catalog) {
    let mut indexed = std::collections::HashSet::new();
    let mut referenced = std::collections::HashSet::new();
    for relation in catalog.relations.values() {
        work::visit();
        if let RelationKind::Index(index) = &relation.kind {
            indexed.insert(index.table);
        }
        for c in &relation.constraints {
            work::visit();
            if let ConstraintKind::ForeignKey { references, .. } = c.kind {
                referenced.insert(references);
                referenced.insert(relation.oid);
            }
        }
    }
    for relation in catalog.relations.values() {
        work::visit();
        let mut kind = kind(relation);
        let is_index_of = |test: fn(&Relation) -> bool| match &relation.kind {
            RelationKind::Index(index) => catalog.relation(index.table).is_some_and(|t| test(t)),
            _ => false,
        };
        if is_index_of(Relation::is_partitioned) {
            kind = b'I';
        }
        let part = relation.is_partition() || kind_is_index(kind) && !relation.inheritance.parents.is_empty();
        let bound = match (&relation.inheritance.bound, relation.inheritance.parents.first()) {
            (Some(bound), Some(parent)) => catalog
                .relation(*parent)
                .and_then(|p| pgsqlite_sql::partition::bound_text(catalog, p, bound).ok())
                .map_or(Datum::Null, text),
            _ => Datum::Null,
        };
        let stored = matches!(kind, b'r' | b'm' | b'i' | b'S');
        let (method, columns) = match &relation.kind {
            RelationKind::Index(index) => {
                (method_oid(&index.method), (index.columns.len() + index.include.len()) as i64)
            }
            // (a column that only SQLite asks for has no number)
            _ => (
                if matches!(kind, b'r' | b'm') { 2 } else { 0 },
                relation.columns.iter().map(|c| i64::from(c.attnum)).max().unwrap_or(0),
            ),
        };
        let checks = relation.constraints.iter().filter(|c| c.is_check()).count();
        let options = match &relation.kind {
            RelationKind::View { options, .. } if !options.is_empty() => strings(options),
            _ if !relation.storage.parameters.is_empty() => strings(&relation.storage.parameters),
            _ => Datum::Null,
        };
        let tuples = relation.tuples.unwrap_or(match kind {
            b'i' => 0,
            b'S' => 1,
            _ => -1,
        });
        // an index is as lasting as its table
        let of = match &relation.kind {
            RelationKind::Index(index) => Some(index.table),
            _ => None,
        };
        let unlogged = of.and_then(|table| catalog.relation(table)).map_or(relation.unlogged, |t| t.unlogged);
        let persistence = match (relation.temporary, unlogged) {
            (true, _) => b't',
            (_, true) => b'u',
            _ => b'p',
        };
        rows.push(&[
            ("oid", int(relation.oid)),
            ("relname", text(&*relation.name)),
            ("relnamespace", int(relation.schema)),
            ("reltype", int(relation.row_type)),
            ("relowner", int(relation.owner)),
            ("relam", int(method)),
            ("relfilenode", int(if stored { relation.oid } else { 0 })),
            ("relpages", int(matches!(kind, b'i' | b'S') as i64)),
            ("reltuples", Datum::Real(tuples as f64)),
            ("relhasindex", (indexed.contains(&relation.oid)).into()),
            ("relpersistence", character(persistence)),
            ("reloftype", int(relation.inheritance.of_type)),
            ("relkind", character(kind)),
            // (numbers of transactions are not kept in rows: nothing gets old)
            (
                "relfrozenxid",
                if matches!(kind, b'r' | b'm' | b't') { super::cluster::recent_transaction() } else { int(0) },
            ),
            ("relminmxid", int(i64::from(matches!(kind, b'r' | b'm' | b't')))),
            ("relnatts", int(columns)),
            ("relchecks", int(checks as i64)),
            ("relhassubclass", catalog.has_children(relation.oid).into()),
            ("relispartition", part.into()),
            ("relpartbound", bound),
            ("relhasrules", (matches!(kind, b'v' | b'm') || !relation.rules.is_empty()).into()),
            ("relrowsecurity", relation.security.enabled.into()),
            ("relforcerowsecurity", relation.security.forced.into()),
            ("relhastriggers", (!relation.triggers.is_empty() || referenced.contains(&relation.oid)).into()),
            (
                "relispopulated",
                (!matches!(relation.kind, RelationKind::MaterializedView { populated: false, .. })).into(),
            ),
            (
                "relreplident",
                character(match relation.storage.replica_identity {
                    _ if !matches!(kind, b'r' | b'm' | b'p') || relation.kind == RelationKind::System => b'n',
                    ReplicaIdentity::Default => b'd',
                    ReplicaIdentity::Nothing => b'n',
                    ReplicaIdentity::Full => b'f',
                    ReplicaIdentity::Index(_) => b'i',
                }),
            ),
            ("reloptions", options),
            ("relacl", super::views::acl_array(catalog, &relation.acl)),
        ]);
    }
    composites(rows, catalog);
}

/// The OID of the pg_class row of a stand-alone composite type.
pub(super) fn composite_class(user_type: Oid) -> i64 {
    i64::from(composite::composite_class(user_type))
}

fn composites(rows: &mut Rows, catalog: &Catalog) {
    for t in catalog.types.values() {
        work::visit();
        let UserTypeKind::Composite { fields } = &t.kind else { continue };
        rows.push(&[
            ("oid", Datum::Int(composite_class(t.oid))),
            ("relname", text(&*t.name)),
            ("relnamespace", int(t.schema)),
            ("reltype", int(t.oid)),
            ("relowner", int(t.owner)),
            ("relpersistence", character(b'p')),
            ("relkind", character(b'c')),
            ("reltuples", Datum::Real(-1.0)),
            ("relnatts", int((fields.len() + t.dropped.len()) as i64)),
            ("relispopulated", true.into()),
            ("relreplident", character(b'n')),
        ]);
    }
}

/// (len, by value, align, storage) of a type.
fn physical(catalog: &Catalog, ty: Oid) -> (i16, bool, u8, u8) {
    match catalog.type_entry(catalog.base_type(ty)) {
        Some(TypeEntry::Builtin(t)) => (t.len, t.byval, t.align, t.storage),
        Some(TypeEntry::User(t)) if matches!(t.kind, UserTypeKind::Enum { .. }) => (4, true, b'i', b'p'),
        Some(TypeEntry::Row(_) | TypeEntry::User(_)) => (-1, false, b'd', b'x'),
        _ => (-1, false, b'i', b'x'),
    }
}

fn attribute(rows: &mut Rows, catalog: &Catalog, relation: i64, column: &Column) {
    let (len, by_value, align, storage) = physical(catalog, column.type_oid);
    let dimensions = i64::from(catalog.element_type(column.type_oid).is_some());
    rows.push(&[
        ("attacl", super::views::acl_array(catalog, &column.acl)),
        ("attrelid", Datum::Int(relation)),
        ("attname", text(&*column.name)),
        ("atttypid", int(if column.dropped { 0 } else { column.type_oid })),
        ("attstattarget", int(column.keeping.statistics.unwrap_or(-1))),
        ("attcompression", text(column.keeping.compression.map_or(String::new(), String::from))),
        (
            "attoptions",
            match column.keeping.options.is_empty() {
                true => Datum::Null,
                false => strings(&column.keeping.options),
            },
        ),
        ("attlen", int(len)),
        ("attnum", int(column.attnum)),
        ("attndims", int(dimensions)),
        ("attcacheoff", int(-1i64)),
        ("atttypmod", int(column.typmod)),
        ("attbyval", by_value.into()),
        ("attalign", character(align)),
        ("attstorage", character(column.keeping.storage.map_or(storage, |s| s as u8))),
        ("attnotnull", column.needs_value().into()),
        ("atthasdef", column.shown_default().is_some().into()),
        (
            "attidentity",
            text(match column.identity {
                Some(Identity::Always) => "a",
                Some(Identity::ByDefault) => "d",
                None => "",
            }),
        ),
        (
            "attgenerated",
            text(match (column.is_virtual, column.is_generated()) {
                (true, _) => "v",
                (_, true) => "s",
                _ => "",
            }),
        ),
        ("attisdropped", column.dropped.into()),
        ("attislocal", (!column.inherited.merely).into()),
        ("attinhcount", int(column.inherited.count)),
        ("attcollation", int(collation_of(catalog, column))),
    ]);
}

/// What an index's column has of its table's: how it is stored, not what is said about its statistics.
fn of_index(keeping: &ColumnKeeping) -> ColumnKeeping {
    ColumnKeeping { statistics: None, options: vec![], ..keeping.clone() }
}

fn collation_of(catalog: &Catalog, column: &Column) -> Oid {
    if column.collation != 0 {
        column.collation
    } else {
        default_collation(catalog, column.type_oid)
    }
}

/// The columns that every table has: attnum, name, type.
const SYSTEM_COLUMNS: [(i16, &str, Oid); 6] = [
    (-1, "ctid", oid::TID),
    (-2, "xmin", oid::XID),
    (-3, "cmin", oid::CID),
    (-4, "xmax", oid::XID),
    (-5, "cmax", oid::CID),
    (-6, "tableoid", oid::OID),
];

pub(super) fn attributes(rows: &mut Rows, catalog: &Catalog) {
    composite_attributes(rows, catalog);
    for relation in catalog.relations.values() {
        work::visit();
        if matches!(kind(relation), b'r' | b'p' | b'm' | b'S') {
            for (attnum, name, ty) in SYSTEM_COLUMNS {
                work::visit();
                let keeping = ColumnKeeping { statistics: Some(0), ..Default::default() };
                let column = Column::new(attnum, name.to_string(), ty, -1);
                attribute(rows, catalog, i64::from(relation.oid), &Column { not_null: true, keeping, ..column });
            }
        }
        for column in &relation.columns {
            work::visit();
            attribute(rows, catalog, i64::from(relation.oid), column);
        }
        let RelationKind::Index(index) = &relation.kind else { continue };
        let Some(table) = catalog.relation(index.table) else { continue };
        let mut attnum = 0i16;
        let names = pgsqlite_metadata::naming::index_column_names(table, index);
        for key in &index.columns {
            work::visit();
            attnum += 1;
            let column = match &key.key {
                KeyPart::Column(a) => match table.column_by_attnum(*a) {
                    Some(c) => Column {
                        attnum,
                        default: None,
                        generated: None,
                        identity: None,
                        not_null: false,
                        inherited: Inherited::default(),
                        collation: key.collation,
                        acl: None,
                        keeping: of_index(&c.keeping),
                        ..c.clone()
                    },
                    None => continue,
                },
                // The type of an expression is that of its operator class.
                KeyPart::Expression(_) => {
                    let name = names.get(attnum as usize - 1).cloned().unwrap_or_default();
                    let ty = pgsqlite_sql::builtins::catalog::operator_class_by_oid(key.opclass)
                        .map_or(oid::TEXT, |c| c.input);
                    Column { collation: key.collation, ..Column::new(attnum, name, ty, -1) }
                }
            };
            attribute(rows, catalog, i64::from(relation.oid), &column);
        }
        for &included in &index.include {
            work::visit();
            attnum += 1;
            if let Some(c) = table.column_by_attnum(included) {
                let column = Column {
                    attnum,
                    default: None,
                    generated: None,
                    identity: None,
                    not_null: false,
                    inherited: Inherited::default(),
                    acl: None,
                    keeping: of_index(&c.keeping),
                    ..c.clone()
                };
                attribute(rows, catalog, i64::from(relation.oid), &column);
            }
        }
    }
}

fn composite_attributes(rows: &mut Rows, catalog: &Catalog) {
    for t in catalog.types.values() {
        work::visit();
        let UserTypeKind::Composite { fields } = &t.kind else { continue };
        for ((name, ty, typmod), attnum) in fields.iter().zip(t.attribute_numbers()) {
            work::visit();
            attribute(rows, catalog, composite_class(t.oid), &Column::new(attnum, name.clone(), *ty, *typmod));
        }
        for (attnum, ty) in &t.dropped {
            work::visit();
            let name = format!("........pg.dropped.{attnum}........");
            let column = Column { dropped: true, ..Column::new(*attnum, name, *ty, -1) };
            attribute(rows, catalog, composite_class(t.oid), &column);
        }
    }
}

pub(super) fn defaults(rows: &mut Rows, catalog: &Catalog) {
    for relation in catalog.relations.values() {
        work::visit();
        for column in relation.live_columns() {
            work::visit();
            if let Some(text_of) = column.shown_default() {
                rows.push(&[
                    ("oid", Datum::Int(derived_oid(relation.oid, column.attnum))),
                    ("adrelid", int(relation.oid)),
                    ("adnum", int(column.attnum)),
                    ("adbin", text(&**text_of)),
                ]);
            }
        }
    }
}

/// Whether an index of a partitioned table has a part in each partition.
pub(crate) fn is_whole_index(catalog: &Catalog, relation: &Relation, index: &Index) -> bool {
    let partitions = catalog.partitions(index.table);
    partitions.iter().all(|p| {
        let mut own = catalog.indexes_of(p.oid);
        own.any(|(r, i)| r.inheritance.parents.contains(&relation.oid) && is_whole_index(catalog, r, i))
    })
}

fn kind_is_index(kind: u8) -> bool {
    matches!(kind, b'i' | b'I')
}

pub(super) fn inherits(rows: &mut Rows, catalog: &Catalog) {
    for relation in catalog.relations.values() {
        work::visit();
        for (parent, number) in relation.inheritance.parents.iter().zip(1i64..) {
            work::visit();
            rows.push(&[
                ("inhrelid", int(relation.oid)),
                ("inhparent", int(*parent)),
                ("inhseqno", int(number)),
                ("inhdetachpending", relation.inheritance.detaching.into()),
            ]);
        }
    }
}

/// A key as `pg_index` and `pg_partitioned_table` tell it: attnums, with 0 for each expression, and the expressions.
fn key_parts<'a>(parts: impl Iterator<Item = &'a KeyPart>) -> (Vec<i16>, Datum) {
    let mut expressions: Vec<&str> = Vec::new();
    let attnums = parts.map(|part| match part {
        KeyPart::Column(attnum) => *attnum,
        KeyPart::Expression(text) => {
            expressions.push(text);
            0
        }
    });
    let attnums = attnums.collect();
    (attnums, if expressions.is_empty() { Datum::Null } else { text(expressions.join(", ")) })
}

pub(super) fn partitioned_tables(rows: &mut Rows, catalog: &Catalog) {
    for relation in catalog.relations.values() {
        work::visit();
        let Some(key) = &relation.inheritance.key else { continue };
        let default = catalog
            .partitions(relation.oid)
            .into_iter()
            .find(|p| p.inheritance.bound == Some(PartitionBound::Default))
            .map_or(0, |p| p.oid);
        let (attnums, expressions) = key_parts(key.columns.iter().map(|c| &c.part));
        rows.push(&[
            ("partrelid", int(relation.oid)),
            ("partstrat", character(key.strategy.letter())),
            ("partnatts", int(key.columns.len() as i64)),
            ("partdefid", int(default)),
            ("partattrs", numbers(attnums)),
            ("partclass", numbers(key.columns.iter().map(|c| c.opclass))),
            ("partcollation", numbers(key.columns.iter().map(|c| c.collation))),
            ("partexprs", expressions),
        ]);
    }
}

pub(super) fn indexes(rows: &mut Rows, catalog: &Catalog) {
    for relation in catalog.relations.values() {
        work::visit();
        let RelationKind::Index(index) = &relation.kind else { continue };
        if index.is_named_only() {
            continue;
        }
        let (keys, expressions) = key_parts(index.columns.iter().map(|k| &k.key));
        let of_table = catalog.relation(index.table).map(|t| t.storage.clone()).unwrap_or_default();
        let temporal = catalog.temporal_key(relation.oid, index);
        rows.push(&[
            ("indexrelid", int(relation.oid)),
            ("indrelid", int(index.table)),
            ("indnatts", int((index.columns.len() + index.include.len()) as i64)),
            ("indnkeyatts", int(index.columns.len() as i64)),
            ("indisunique", (index.unique || temporal.is_some()).into()),
            ("indnullsnotdistinct", index.nulls_not_distinct.into()),
            ("indisprimary", (index.primary || temporal == Some(TemporalKey::Primary)).into()),
            ("indisexclusion", (!index.exclusion.is_empty()).into()),
            ("indimmediate", (!index.deferrable).into()),
            ("indisclustered", (of_table.clustered == relation.oid).into()),
            ("indisreplident", (of_table.replica_identity == ReplicaIdentity::Index(relation.oid)).into()),
            ("indisvalid", is_whole_index(catalog, relation, index).into()),
            ("indisready", true.into()),
            ("indislive", true.into()),
            ("indkey", numbers(keys.into_iter().chain(index.include.iter().copied()))),
            ("indcollation", numbers(index.columns.iter().map(|k| k.collation))),
            ("indclass", numbers(index.columns.iter().map(|k| k.opclass))),
            ("indoption", numbers(index.columns.iter().map(|k| u8::from(k.descending) | u8::from(k.nulls_first) << 1))),
            ("indexprs", expressions),
            ("indpred", index.predicate.clone().into()),
        ]);
    }
}

fn action(action: ForeignKeyAction) -> &'static str {
    match action {
        ForeignKeyAction::NoAction => "a",
        ForeignKeyAction::Restrict => "r",
        ForeignKeyAction::Cascade => "c",
        ForeignKeyAction::SetNull => "n",
        ForeignKeyAction::SetDefault => "d",
    }
}

pub(super) fn constraints(rows: &mut Rows, catalog: &Catalog) {
    for relation in catalog.relations.values() {
        work::visit();
        for c in &relation.constraints {
            work::visit();
            let mut row = vec![
                ("oid", int(c.oid)),
                ("conname", text(&*c.name)),
                ("connamespace", int(relation.schema)),
                ("condeferrable", c.deferrable.into()),
                ("condeferred", c.initially_deferred.into()),
                ("convalidated", (!c.not_valid).into()),
                ("conenforced", (!c.not_enforced).into()),
                ("conperiod", c.temporal.is_some().into()),
                ("conrelid", int(relation.oid)),
                ("conindid", int(c.index)),
                ("conislocal", (!c.inherited.merely).into()),
                ("coninhcount", int(c.inherited.count)),
                ("conparentid", int(c.inherited.parent)),
                (
                    "connoinherit",
                    match c.kind {
                        ConstraintKind::Check { no_inherit, .. } | ConstraintKind::NotNull { no_inherit } => no_inherit,
                        ConstraintKind::SqliteCheck { .. } => false,
                        ConstraintKind::ForeignKey { .. } => c.inherited.parent == 0 && !relation.is_partitioned(),
                        _ => c.inherited.parent == 0,
                    }
                    .into(),
                ),
                ("conkey", if c.columns.is_empty() { Datum::Null } else { numbers(&c.columns) }),
                ("confupdtype", text(" ")),
                ("confdeltype", text(" ")),
                ("confmatchtype", text(" ")),
            ];
            match &c.kind {
                ConstraintKind::PrimaryKey => row.push(("contype", text("p"))),
                ConstraintKind::Unique { .. } => row.push(("contype", text("u"))),
                ConstraintKind::NotNull { .. } => row.push(("contype", text("n"))),
                // (a key WITHOUT OVERLAPS, too: pg_dump and psql of PostgreSQL 15 take the words of an exclusion constraint, and would
                // make another key of it)
                ConstraintKind::Exclusion => {
                    row.push(("contype", text("x")));
                    if let Some(RelationKind::Index(index)) = catalog.relation(c.index).map(|r| &r.kind) {
                        row.push(("conexclop", numbers(&index.exclusion)));
                    }
                }
                ConstraintKind::SqliteCheck { text: expression } | ConstraintKind::Check { expression, .. } => {
                    row.push(("contype", text("c")));
                    row.push(("conbin", text(&**expression)));
                }
                ConstraintKind::ForeignKey {
                    references,
                    columns,
                    on_update,
                    on_delete,
                    match_full,
                    delete_columns,
                } => {
                    row.retain(|r| !r.0.starts_with("conf"));
                    row.extend([
                        ("contype", text("f")),
                        ("confrelid", int(*references)),
                        ("confkey", numbers(columns)),
                        ("confupdtype", text(action(*on_update))),
                        ("confdeltype", text(action(*on_delete))),
                        ("confmatchtype", text(if *match_full { "f" } else { "s" })),
                    ]);
                    if !delete_columns.is_empty() {
                        row.push(("confdelsetcols", numbers(delete_columns)));
                    }
                }
            }
            rows.push(&row);
        }
        for trigger in relation.triggers.iter().filter(|t| t.constraint != 0) {
            work::visit();
            rows.push(&[
                ("oid", int(trigger.constraint)),
                ("conname", text(&*trigger.name)),
                ("connamespace", int(relation.schema)),
                ("contype", text("t")),
                ("condeferrable", trigger.deferrable.into()),
                ("condeferred", trigger.initially_deferred.into()),
                ("convalidated", true.into()),
                ("conenforced", true.into()),
                ("conrelid", int(relation.oid)),
                ("conislocal", true.into()),
                ("connoinherit", true.into()),
                ("confupdtype", text(" ")),
                ("confdeltype", text(" ")),
                ("confmatchtype", text(" ")),
            ]);
        }
    }
    for DomainCheck { domain, schema, check, .. } in catalog.domain_checks() {
        work::visit();
        rows.push(&[
            ("oid", int(check.oid)),
            ("conname", text(&*check.name)),
            ("connamespace", int(schema)),
            ("contype", text(if check.forbids_null() { "n" } else { "c" })),
            ("convalidated", (!check.not_valid).into()),
            ("conenforced", true.into()),
            ("contypid", int(domain)),
            ("confupdtype", text(" ")),
            ("confdeltype", text(" ")),
            ("confmatchtype", text(" ")),
            ("conislocal", true.into()),
            ("conbin", if check.forbids_null() { Datum::Null } else { text(&*check.expression) }),
        ]);
    }
}

pub(super) fn sequences(rows: &mut Rows, catalog: &Catalog) {
    for relation in catalog.relations.values() {
        work::visit();
        if let RelationKind::Sequence(s) = &relation.kind {
            rows.push(&[
                ("seqrelid", int(relation.oid)),
                ("seqtypid", int(s.type_oid)),
                ("seqstart", int(s.start)),
                ("seqincrement", int(s.increment)),
                ("seqmax", int(s.max)),
                ("seqmin", int(s.min)),
                ("seqcache", int(s.cache)),
                ("seqcycle", s.cycle.into()),
            ]);
        }
    }
}

/// Databases and roles are shared objects: their comments are in pg_shdescription.
const SHARED: [Oid; 3] = [1262, 1260, 1213];

pub(super) fn descriptions(rows: &mut Rows, catalog: &Catalog) {
    for &(class, object, description) in pgsqlite_sql::builtins::catalog::descriptions() {
        work::visit();
        if catalog.comments.contains_key(&(class, object, 0)) {
            continue;
        }
        rows.push(&[
            ("objoid", int(object)),
            ("classoid", int(class)),
            ("objsubid", int(0)),
            ("description", text(description)),
        ]);
    }
    for (&(class, object, sub), comment) in
        catalog.comments.iter().filter(|c| !SHARED.contains(&c.0 .0) && !c.1.is_empty())
    {
        work::visit();
        rows.push(&[
            ("objoid", int(object)),
            ("classoid", int(class)),
            ("objsubid", int(sub)),
            ("description", text(&**comment)),
        ]);
    }
}

pub(super) fn shared_descriptions(rows: &mut Rows, catalog: &Catalog) {
    for (&(class, object, _), comment) in catalog.comments.iter().filter(|c| SHARED.contains(&c.0 .0)) {
        work::visit();
        rows.push(&[("objoid", int(object)), ("classoid", int(class)), ("description", text(&**comment))]);
    }
}

pub(super) fn rewrites(rows: &mut Rows, catalog: &Catalog) {
    for relation in catalog.relations.values().filter(|r| matches!(kind(r), b'v' | b'm')) {
        work::visit();
        rows.push(&[
            ("oid", Datum::Int(derived_oid(relation.oid, 0))),
            ("rulename", text("_RETURN")),
            ("ev_class", int(relation.oid)),
            ("ev_type", text("1")),
            ("ev_enabled", text("O")),
            ("is_instead", true.into()),
        ]);
    }
    for relation in catalog.relations.values() {
        work::visit();
        for rule in &relation.rules {
            work::visit();
            let event = match rule.event {
                Event::Update => "2",
                Event::Insert => "3",
                _ => "4",
            };
            rows.push(&[
                ("oid", int(rule.oid)),
                ("rulename", text(&*rule.name)),
                ("ev_class", int(relation.oid)),
                ("ev_type", text(event)),
                ("ev_enabled", character(rule.enabled)),
                ("is_instead", rule.instead.into()),
            ]);
        }
    }
}

/// The OID of the rule that a view is.
pub(crate) fn view_rule(view: Oid) -> Oid {
    derived_oid(view, 0) as Oid
}

pub(super) fn policies(rows: &mut Rows, catalog: &Catalog) {
    for relation in catalog.relations.values() {
        work::visit();
        for policy in &relation.security.policies {
            work::visit();
            let command = match policy.command {
                PolicyCommand::All => b'*',
                PolicyCommand::Select => b'r',
                PolicyCommand::Insert => b'a',
                PolicyCommand::Update => b'w',
                PolicyCommand::Delete => b'd',
            };
            rows.push(&[
                ("oid", int(policy.oid)),
                ("polname", text(&*policy.name)),
                ("polrelid", int(relation.oid)),
                ("polcmd", character(command)),
                ("polpermissive", policy.permissive.into()),
                ("polroles", numbers(policy.roles.iter())),
                ("polqual", policy.using.clone().into()),
                ("polwithcheck", policy.check.clone().into()),
            ]);
        }
    }
}

/// pg_statistic_ext
pub(super) fn extended_statistics(rows: &mut Rows, catalog: &Catalog) {
    for (table, object) in catalog.statistics() {
        work::visit();
        rows.push(&[
            ("oid", int(object.oid)),
            ("stxrelid", int(table.oid)),
            ("stxname", text(object.name.as_str())),
            ("stxnamespace", int(object.schema)),
            ("stxowner", int(object.owner)),
            ("stxstattarget", int(object.target.unwrap_or(-1))),
            ("stxkeys", numbers(&object.columns)),
            ("stxkind", strings(object.kinds.chars().map(String::from))),
            ("stxexprs", if object.expressions.is_empty() { Datum::Null } else { text(object.expressions.join(", ")) }),
        ]);
    }
}

pub(super) fn default_acls(rows: &mut Rows, catalog: &Catalog) {
    for entry in &catalog.properties.default_acls {
        work::visit();
        rows.push(&[
            ("oid", int(entry.oid)),
            ("defaclrole", int(entry.role)),
            ("defaclnamespace", int(entry.schema)),
            ("defaclobjtype", text(entry.object.to_string())),
            ("defaclacl", super::views::acl_array(catalog, &Some(entry.acl.clone()))),
        ]);
    }
}

/// The view whose `_RETURN` rule has this OID.
pub(crate) fn ruled(catalog: &Catalog, rule: Oid) -> Option<&Relation> {
    let mut views = catalog.relations.values().filter(|r| matches!(kind(r), b'v' | b'm'));
    views.find(|r| derived_oid(r.oid, 0) == i64::from(rule)).map(|r| &**r)
}
