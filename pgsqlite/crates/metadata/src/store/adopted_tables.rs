//! Relations of the file that are not stored in `__pgsqlite_object`: tables, indexes and views that another program made, read
//! from `sqlite_schema` and the table-valued pragmas; and stored ones that another program changed.

use super::adopted_indexes::{self, Key};
use super::sequence_relation::row_numbers;
use super::{declarations, declared, sqlite_error};
use crate::naming;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::lower::NULLS_INDEX;
use pgsqlite_storage::checkpoints::is_litestreams;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, Result};
use rusqlite::{Connection, OptionalExtension};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// One column as `PRAGMA table_xinfo` tells it.
struct Info {
    name: String,
    declared: String,
    not_null: bool,
    default: Option<String>,
    /// position in the primary key, from 1; 0: not part of it
    key: i64,
    /// 0 ordinary, 1 hidden column of a virtual table, 2 VIRTUAL, 3 STORED generated
    hidden: i64,
}

fn columns(conn: &Connection, table: &str) -> Result<Vec<Info>> {
    let mut statement = conn
        .prepare_cached(
            "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?1, 'main') ORDER BY cid",
        )
        .map_err(sqlite_error)?;
    let rows = statement
        .query_map([table], |r| {
            Ok(Info {
                name: r.get(0)?,
                declared: r.get::<_, Option<String>>(1)?.unwrap_or_default(),
                not_null: r.get(2)?,
                default: r.get(3)?,
                key: r.get(4)?,
                hidden: r.get(5)?,
            })
        })
        .map_err(sqlite_error)?;
    rows.collect::<rusqlite::Result<_>>().map_err(sqlite_error)
}

/// Puts the stored relations that are still there and the file's other relations into the catalog.
pub fn reconcile(
    conn: &Connection,
    catalog: &mut Catalog,
    mut stored: BTreeMap<Oid, Relation>,
    next_oid: &mut Oid,
) -> Result<()> {
    let mut tables: Vec<String> = Vec::new();
    let mut views: Vec<String> = Vec::new();
    let mut index_names: HashSet<String> = HashSet::new();
    let mut without_rowid: HashSet<String> = HashSet::new();
    {
        let mut statement = conn
            .prepare("SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main' ORDER BY name")
            .map_err(sqlite_error)?;
        let mut rows = statement.query([]).map_err(sqlite_error)?;
        while let Some(row) = rows.next().map_err(sqlite_error)? {
            work::visit();
            let name: String = row.get(0).map_err(sqlite_error)?;
            let kind: String = row.get(1).map_err(sqlite_error)?;
            if name.starts_with("sqlite_") || name.starts_with("__pgsqlite_") {
                continue;
            }
            // (a table that was made here is one of its user's)
            if is_litestreams(conn, &name)? && !stored.values().any(|r| r.sqlite_name == name) {
                continue;
            }
            match kind.as_str() {
                "table" => {
                    if row.get::<_, i64>(2).map_err(sqlite_error)? != 0 {
                        without_rowid.insert(name.clone());
                    }
                    tables.push(name);
                }
                "view" => views.push(name),
                // A virtual table (FTS5, R-Tree …) can be read; what else it is for is not PostgreSQL's.
                "virtual" => views.push(name),
                // Their shadow tables belong to modules of SQLite.
                _ => {}
            }
        }
        let mut statement =
            conn.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'index'").map_err(sqlite_error)?;
        let rows = statement.query_map([], |r| r.get(0)).map_err(sqlite_error)?;
        for name in rows {
            work::visit();
            index_names.insert(name.map_err(sqlite_error)?);
        }
    }

    catalog.sqlite_collations = conn
        .query_row("SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE upper(sql) GLOB '*COLLATE*')", [], |r| {
            r.get(0)
        })
        .map_err(sqlite_error)?;

    // What is stored and still there.
    let table_names: HashSet<&str> = tables.iter().map(String::as_str).collect();
    let view_names: HashSet<&str> = views.iter().map(String::as_str).collect();
    stored.retain(|_, r| match &r.kind {
        RelationKind::Table | RelationKind::MaterializedView { .. } => table_names.contains(r.sqlite_name.as_str()),
        RelationKind::ForeignView => view_names.contains(r.sqlite_name.as_str()),
        // An index without a name in SQLite is the rowid's; that of a WITHOUT ROWID table's key is the table itself.
        // One of an EXCLUDE constraint says what the constraint's queries compare; SQLite has it only where a key is compared by `=`.
        RelationKind::Index(index) => {
            !index.exclusion.is_empty()
                || r.sqlite_name.is_empty()
                || r.sqlite_name.starts_with("sqlite_autoindex_")
                || index_names.contains(&r.sqlite_name)
        }
        _ => true,
    });
    let gone: Vec<Oid> = stored
        .values()
        .filter(|r| matches!(&r.kind, RelationKind::Index(i) if !stored.contains_key(&i.table)))
        .map(|r| r.oid)
        .collect();
    for oid in gone {
        work::visit();
        stored.remove(&oid);
    }
    let orphans: Vec<Oid> = stored
        .values()
        .filter(|r| {
            matches!(&r.kind, RelationKind::Sequence(s) if s.owned_by.is_some_and(|(table, _)| !stored.contains_key(&table)))
        })
        .map(|r| r.oid)
        .collect();
    for oid in orphans {
        work::visit();
        stored.remove(&oid);
    }
    let mut known: HashSet<String> = HashSet::new();
    let mut known_indexes: HashSet<String> = HashSet::new();
    for (_, mut relation) in stored {
        work::visit();
        match relation.kind {
            RelationKind::Table | RelationKind::MaterializedView { .. } => {
                known.insert(relation.sqlite_name.clone());
                follow_changes(conn, &mut relation)?;
            }
            RelationKind::ForeignView => {
                known.insert(relation.sqlite_name.clone());
            }
            RelationKind::Index(_) => {
                known_indexes.insert(relation.sqlite_name.clone());
            }
            _ => {}
        }
        catalog.add_relation(relation);
    }

    // (the numbers of rows that have none any more)
    let numberless = |r: &Relation| match &r.kind {
        RelationKind::Sequence(Sequence { row_numbers: Some(_), owned_by: Some((table, attnum)), .. }) => {
            catalog.relation(*table).is_none_or(|t| t.rowid_column != Some(*attnum))
        }
        _ => false,
    };
    let numberless: Vec<Oid> = catalog.relations.values().filter(|r| numberless(r)).map(|r| r.oid).collect();
    for sequence in numberless {
        work::visit();
        catalog.remove_relation(sequence);
    }

    // What is not stored.
    let mut fresh: Vec<Oid> = Vec::new();
    for name in tables.iter().filter(|n| !known.contains(*n)) {
        work::visit();
        fresh.push(add_table(conn, catalog, name, without_rowid.contains(name), next_oid)?);
    }
    for &table in &fresh {
        work::visit();
        add_foreign_keys(conn, catalog, table, next_oid)?;
    }
    follow_foreign_keys(conn, catalog)?;
    let all: Vec<Oid> =
        catalog.relations.values().filter(|r| r.is_stored() && !fresh.contains(&r.oid)).map(|r| r.oid).collect();
    for table in all {
        work::visit();
        add_indexes(conn, catalog, table, &mut known_indexes, false, next_oid)?;
    }
    for name in views.iter().filter(|n| !known.contains(*n)) {
        work::visit();
        add_view(conn, catalog, name, next_oid)?;
    }
    // (last, so that they take no name of an object of the file)
    let numbered = |r: &&Arc<Relation>| {
        let column = r.rowid_column.and_then(|a| r.column_by_attnum(a));
        r.origin == Origin::Foreign && column.is_some_and(|c| c.sqlite_default && c.identity.is_none() && !c.dropped)
    };
    let numbered: Vec<Oid> = catalog.relations.values().filter(numbered).map(|r| r.oid).collect();
    for table in numbered {
        work::visit();
        add_row_numbers(conn, catalog, table, next_oid)?;
    }
    Ok(())
}

/// Makes the INTEGER PRIMARY KEY of a table, which numbers rows by itself, an identity column.
fn add_row_numbers(conn: &Connection, catalog: &mut Catalog, table: Oid, next_oid: &mut Oid) -> Result<()> {
    let mut relation = (**catalog.relation(table).expect("the caller lists the catalog's tables")).clone();
    let Some(attnum) = relation.rowid_column else { return Ok(()) };
    let numbers = match declarations::read(&table_text(conn, &relation.sqlite_name)?).autoincrement {
        true => RowNumbers::Autoincrement,
        false => RowNumbers::Highest,
    };
    let oid = take(next_oid);
    let column = &mut relation.columns[attnum as usize - 1];
    column.identity = Some(Identity::ByDefault);
    column.sequence = oid;
    let mut sequence = row_numbers(numbers, (table, attnum));
    sequence.oid = oid;
    sequence.name = free_name(catalog, relation.schema, &naming::object_name(&relation.name, &column.name, "seq"));
    sequence.schema = relation.schema;
    sequence.owner = relation.owner;
    catalog.add_relation(sequence);
    catalog.add_relation(relation);
    Ok(())
}

/// The CREATE TABLE of a table; empty where there is none.
fn table_text(conn: &Connection, sqlite_name: &str) -> Result<String> {
    let mut statement = conn
        .prepare_cached("SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?1")
        .map_err(sqlite_error)?;
    let text: Option<Option<String>> =
        statement.query_row([sqlite_name], |r| r.get(0)).optional().map_err(sqlite_error)?;
    Ok(text.flatten().unwrap_or_default())
}

pub(super) fn take(next_oid: &mut Oid) -> Oid {
    *next_oid += 1;
    *next_oid - 1
}

/// A name that no relation of the schema has yet.
fn free_name(catalog: &Catalog, schema: Oid, wanted: &str) -> String {
    let mut name = wanted.to_string();
    let mut n = 1;
    while catalog.relation_in(schema, &name).is_some() {
        work::visit();
        name = format!("{wanted}_{n}");
        n += 1;
    }
    name
}

/// Columns that another program added to, renamed in or dropped from a stored table.
fn follow_changes(conn: &Connection, relation: &mut Relation) -> Result<()> {
    let mut actual = columns(conn, &relation.sqlite_name)?;
    // (the column of a table that has none)
    actual.retain(|c| c.name != pgsqlite_sql::lower::NO_COLUMN);
    // (a table of the same name that another program has made anew)
    let is_key = |c: &&Info| c.key == 1 && c.declared.eq_ignore_ascii_case("integer");
    let key = actual.iter().find(is_key).filter(|_| actual.iter().filter(|c| c.key > 0).count() == 1);
    let keyed = relation.rowid_column.and_then(|a| relation.column_by_attnum(a)).map(|c| &c.name);
    if keyed.is_some() && keyed != key.map(|c| &c.name) {
        relation.rowid_column = None;
    }
    if actual.iter().map(|c| &c.name).eq(relation.stored_columns().map(|c| &c.name)) {
        return Ok(());
    }
    for column in relation.columns.iter_mut().filter(|c| !c.dropped && !c.is_virtual) {
        work::visit();
        if !actual.iter().any(|a| a.name == column.name) {
            column.dropped = true;
        }
    }
    for info in &actual {
        work::visit();
        if relation.column(&info.name).is_none() {
            let attnum = relation.columns.len() as i16 + 1;
            relation.columns.push(column_of(info, attnum));
        }
    }
    let dropped: Vec<i16> = relation.columns.iter().filter(|c| c.dropped).map(|c| c.attnum).collect();
    relation.constraints.retain(|c| !c.columns.iter().any(|a| dropped.contains(a)));
    if relation.rowid_column.is_some_and(|a| dropped.contains(&a)) {
        relation.rowid_column = None;
    }
    Ok(())
}

fn column_of(info: &Info, attnum: i16) -> Column {
    let declared = declared::parse(&info.declared);
    let default = info.default.as_deref().and_then(|d| literal_default(d, declared.type_oid));
    Column {
        not_null: info.not_null,
        storage: declared.storage,
        sqlite_default: info.hidden != 0
            || info.default.as_deref().is_some_and(|d| default.is_none() && !d.eq_ignore_ascii_case("null")),
        sqlite_text: info.default.clone().filter(|d| default.is_none() && !d.eq_ignore_ascii_case("null")),
        sqlite_generated: info.hidden > 1,
        inherited: Default::default(),
        default,
        ..Column::new(attnum, info.name.clone(), declared.type_oid, declared.typmod)
    }
}

/// A default that means the same in PostgreSQL: a number, a string, a truth value, bytes. Everything else stays SQLite's to compute.
fn literal_default(sqlite: &str, ty: Oid) -> Option<String> {
    let text = sqlite.trim();
    let number = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || c == '.')
        && number.matches('.').count() <= 1;
    match ty {
        oid::INT2 | oid::INT8 if is_number && !number.contains('.') => Some(text.to_string()),
        oid::FLOAT8 | oid::NUMERIC if is_number => Some(text.to_string()),
        oid::BOOL => match text.to_ascii_lowercase().as_str() {
            "1" | "true" => Some("true".into()),
            "0" | "false" => Some("false".into()),
            _ => None,
        },
        oid::TEXT | oid::VARCHAR if text.len() >= 2 && text.starts_with('\'') && text.ends_with('\'') => {
            // A literal has its inner quotes doubled; anything else would be an expression such as 'a' || 'b'.
            let inner = &text[1..text.len() - 1];
            (!inner.replace("''", "").contains('\''))
                .then(|| format!("{text}::{}", if ty == oid::TEXT { "text" } else { "character varying" }))
        }
        // SQLite's literal of bytes; in PostgreSQL it would be a bit string
        oid::BYTEA => {
            let hex = text.strip_prefix(['x', 'X'])?.strip_prefix('\'')?.strip_suffix('\'')?;
            let bytes = hex::decode(hex).ok()?;
            Some(format!("'\\x{}'::bytea", hex::encode(bytes)))
        }
        _ => None,
    }
}

/// A CHECK of a CREATE TABLE.
struct Check {
    name: Option<String>,
    column: Option<String>,
    text: String,
}

/// Tells the columns what the table's text says of them; gives its CHECKs.
fn declare(conn: &Connection, relation: &mut Relation) -> Result<Vec<Check>> {
    let found = declarations::read(&table_text(conn, &relation.sqlite_name)?);
    for column in relation.columns.iter_mut().filter(|c| c.sqlite_generated) {
        work::visit();
        let of = found.generated.iter().find(|(name, _)| name.eq_ignore_ascii_case(&column.name));
        column.sqlite_text = of.map(|(_, expression)| expression.clone());
    }
    Ok(found.checks.into_iter().map(|(name, column, text)| Check { name, column, text }).collect())
}

fn add_table(
    conn: &Connection,
    catalog: &mut Catalog,
    sqlite_name: &str,
    without_rowid: bool,
    next_oid: &mut Oid,
) -> Result<Oid> {
    let infos = columns(conn, sqlite_name)?;
    let oid = take(next_oid);
    let mut relation = Relation {
        oid,
        schema: catalog.public_schema(),
        name: free_name(catalog, catalog.public_schema(), sqlite_name),
        sqlite_name: sqlite_name.to_string(),
        row_type: take(next_oid),
        array_type: take(next_oid),
        columns: infos.iter().zip(1i16..).map(|(info, attnum)| column_of(info, attnum)).collect(),
        without_rowid,
        origin: Origin::Foreign,
        ..Relation::new(RelationKind::Table)
    };
    for check in declare(conn, &mut relation)? {
        work::visit();
        let column = check.column.as_deref().and_then(|c| relation.column(c));
        let columns: Vec<i16> = column.map(|c| c.attnum).into_iter().collect();
        let wanted = check
            .name
            .unwrap_or_else(|| naming::object_name(&relation.name, column.map_or("", |c| c.name.as_str()), "check"));
        let taken = |name: &str| relation.constraints.iter().any(|c| c.name == name);
        let mut name = wanted.clone();
        for n in 1.. {
            work::visit();
            if !taken(&name) {
                break;
            }
            name = format!("{wanted}{n}");
        }
        relation.constraints.push(Constraint {
            oid: take(next_oid),
            name,
            kind: ConstraintKind::SqliteCheck { text: check.text },
            columns,
            index: 0,
            deferrable: false,
            initially_deferred: false,
            not_valid: false,
            inherited: Inherited::default(),
            managed: false,
            not_enforced: false,
            temporal: None,
        });
    }
    let mut key: Vec<(i64, i16)> =
        infos.iter().zip(1i16..).filter(|(i, _)| i.key > 0).map(|(i, attnum)| (i.key, attnum)).collect();
    key.sort_unstable();
    if let [(_, attnum)] = key[..] {
        let info = &infos[attnum as usize - 1];
        // (an INTEGER PRIMARY KEY DESC has an index like any other key, and is not the rowid)
        let indexed = "SELECT EXISTS (SELECT 1 FROM pragma_index_list(?1, 'main') WHERE origin = 'pk')";
        let is_rowid = !without_rowid
            && info.declared.eq_ignore_ascii_case("integer")
            && !conn.query_row(indexed, [sqlite_name], |r| r.get::<_, bool>(0)).map_err(sqlite_error)?;
        if is_rowid {
            relation.rowid_column = Some(attnum);
            let column = &mut relation.columns[attnum as usize - 1];
            column.not_null = true;
            column.sqlite_default = true;
        }
    }
    catalog.add_relation(relation.clone());
    let mut known = HashSet::new();
    if relation.rowid_column.is_some() {
        let name = free_name(catalog, relation.schema, &naming::object_name(&relation.name, "", "pkey"));
        let columns: Vec<i16> = key.iter().map(|k| k.1).collect();
        add_constraint_index(catalog, oid, name, "", &columns, true, next_oid);
    }
    add_indexes(conn, catalog, oid, &mut known, true, next_oid)?;
    Ok(oid)
}

/// PRIMARY KEY or UNIQUE with the index behind it.
fn add_constraint_index(
    catalog: &mut Catalog,
    table: Oid,
    name: String,
    sqlite_name: &str,
    columns: &[i16],
    primary: bool,
    next_oid: &mut Oid,
) {
    let index = add_index(catalog, table, name.clone(), sqlite_name, columns, &[], true, primary, next_oid);
    let mut relation = (**catalog.relation(table).expect("the table was added before")).clone();
    relation.constraints.push(Constraint {
        oid: take(next_oid),
        name,
        kind: if primary { ConstraintKind::PrimaryKey } else { ConstraintKind::Unique { nulls_not_distinct: false } },
        columns: columns.to_vec(),
        index,
        deferrable: false,
        initially_deferred: false,
        not_valid: false,
        inherited: Inherited::default(),
        managed: false,
        not_enforced: false,
        temporal: None,
    });
    catalog.add_relation(relation);
}

#[allow(clippy::too_many_arguments)]
fn add_index(
    catalog: &mut Catalog,
    table: Oid,
    name: String,
    sqlite_name: &str,
    columns: &[i16],
    descending: &[bool],
    unique: bool,
    primary: bool,
    next_oid: &mut Oid,
) -> Oid {
    let oid = take(next_oid);
    let relation = catalog.relation(table).expect("the table was added before");
    let keys = columns
        .iter()
        .enumerate()
        .map(|(i, &attnum)| {
            let descending = descending.get(i).copied().unwrap_or(false);
            let ty = relation.column_by_attnum(attnum).map_or(0, |c| c.type_oid);
            IndexColumn {
                key: KeyPart::Column(attnum),
                descending,
                nulls_first: descending,
                collation: naming::default_collation(catalog, ty),
                opclass: naming::default_opclass(catalog, ty, "btree").unwrap_or(0),
                opclass_explicit: false,
            }
        })
        .collect();
    let index = naming::index_relation(
        oid,
        relation.schema,
        name,
        sqlite_name.to_string(),
        relation.owner,
        Index { unique, primary, columns: keys, ..plain_index(table) },
    );
    catalog.add_relation(index);
    oid
}

/// An index without columns.
fn plain_index(table: Oid) -> Index {
    Index {
        table,
        unique: false,
        primary: false,
        nulls_not_distinct: false,
        exclusion: vec![],
        deferrable: false,
        inverted: false,
        of_sqlite: false,
        method: "btree".into(),
        columns: Vec::new(),
        include: Vec::new(),
        predicate: None,
    }
}

/// The indexes of a table that the catalog does not know, and those whose words SQLite alone carries out. `constraints`: of a table just read, so
/// that UNIQUE and PRIMARY KEY become constraints.
fn add_indexes(
    conn: &Connection,
    catalog: &mut Catalog,
    table: Oid,
    known: &mut HashSet<String>,
    constraints: bool,
    next_oid: &mut Oid,
) -> Result<()> {
    let relation = catalog.relation(table).expect("the caller lists the catalog's tables").clone();
    let mut list: Vec<(i64, String, bool, String, bool)> = {
        let mut statement = conn
            .prepare_cached("SELECT seq, name, \"unique\", origin, partial FROM pragma_index_list(?1, 'main')")
            .map_err(sqlite_error)?;
        let rows = statement
            .query_map([&relation.sqlite_name], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?)))
            .map_err(sqlite_error)?;
        rows.collect::<rusqlite::Result<_>>().map_err(sqlite_error)?
    };
    let own_collations =
        catalog.sqlite_collations && table_text(conn, &relation.sqlite_name)?.to_ascii_uppercase().contains("COLLATE");
    // SQLite lists the newest first.
    list.sort_unstable_by_key(|i| std::cmp::Reverse(i.0));
    for (_, name, unique, origin, partial) in list {
        work::visit();
        let stored =
            catalog.indexes_of(table).find(|(r, _)| r.sqlite_name == name).map(|(r, i)| ((**r).clone(), i.of_sqlite));
        let again = stored.as_ref().is_some_and(|(_, of_sqlite)| *of_sqlite);
        if known.contains(&name) && !again || name.starts_with(NULLS_INDEX) || (!constraints && origin != "c") {
            continue;
        }
        let mut statement = conn
            .prepare_cached(
                "SELECT name, \"desc\", coll FROM pragma_index_xinfo(?1, 'main') WHERE key = 1 ORDER BY seqno",
            )
            .map_err(sqlite_error)?;
        let keys: Vec<Key> = statement
            .query_map([&name], |r| {
                Ok(Key {
                    column: r.get(0)?,
                    descending: r.get(1)?,
                    collation: r.get::<_, Option<_>>(2)?.unwrap_or_default(),
                })
            })
            .map_err(sqlite_error)?
            .collect::<rusqlite::Result<_>>()
            .map_err(sqlite_error)?;
        let attnums: Option<Vec<i16>> =
            keys.iter().map(|k| k.column.as_deref().and_then(|n| relation.column(n)).map(|c| c.attnum)).collect();
        let Some(attnums) = attnums.filter(|_| !partial) else {
            let text: Option<String> = conn
                .query_row("SELECT sql FROM main.sqlite_schema WHERE type = 'index' AND name = ?1", [&name], |r| {
                    r.get(0)
                })
                .map_err(sqlite_error)?;
            let shown =
                adopted_indexes::translate(catalog, &relation, &text.unwrap_or_default(), &keys, own_collations);
            let (columns, predicate) = shown.unwrap_or_default();
            let index = Index {
                unique: unique && !columns.is_empty(),
                columns,
                predicate,
                of_sqlite: true,
                ..plain_index(table)
            };
            let index = match stored {
                Some((stored, _)) => Relation { kind: RelationKind::Index(index), ..stored },
                None => {
                    let oid = take(next_oid);
                    let pg = free_name(catalog, relation.schema, &name);
                    naming::index_relation(oid, relation.schema, pg, name, relation.owner, index)
                }
            };
            catalog.add_relation(index);
            continue;
        };
        if again {
            // another program has made another index under the name
            let (stored, _) = stored.expect("it was found");
            catalog.remove_relation(stored.oid);
        }
        let descending: Vec<bool> = keys.iter().map(|k| k.descending).collect();
        let column_names: Vec<&str> = keys.iter().filter_map(|k| k.column.as_deref()).collect();
        match origin.as_str() {
            "pk" => {
                let pg = free_name(catalog, relation.schema, &naming::object_name(&relation.name, "", "pkey"));
                add_constraint_index(catalog, table, pg, &name, &attnums, true, next_oid);
            }
            "u" => {
                let pg = free_name(
                    catalog,
                    relation.schema,
                    &naming::object_name(&relation.name, &column_names.join("_"), "key"),
                );
                add_constraint_index(catalog, table, pg, &name, &attnums, false, next_oid);
            }
            _ => {
                let pg = free_name(catalog, relation.schema, &name);
                add_index(catalog, table, pg, &name, &attnums, &descending, unique, false, next_oid);
            }
        }
    }
    Ok(())
}

fn add_foreign_keys(conn: &Connection, catalog: &mut Catalog, table: Oid, next_oid: &mut Oid) -> Result<()> {
    let mut relation = (**catalog.relation(table).expect("the table was added before")).clone();
    for mut key in declared_foreign_keys(conn, catalog, &relation)? {
        work::visit();
        let names: Vec<&str> =
            key.columns.iter().filter_map(|a| relation.column_by_attnum(*a)).map(|c| c.name.as_str()).collect();
        let base = naming::object_name(&relation.name, &names.join("_"), "fkey");
        key.name = base.clone();
        let mut n = 1;
        while relation.constraints.iter().any(|c| c.name == key.name) {
            work::visit();
            key.name = format!("{base}{n}");
            n += 1;
        }
        key.oid = take(next_oid);
        relation.constraints.push(key);
    }
    catalog.add_relation(relation);
    Ok(())
}

/// After another program has renamed or dropped tables: the foreign keys of a stored table reference what they reference in the file now. Those
/// whose table is gone are no constraints any more (SQLite refuses rows that would have to be in it).
fn follow_foreign_keys(conn: &Connection, catalog: &mut Catalog) -> Result<()> {
    let dangles = |c: &Constraint| matches!(c.kind, ConstraintKind::ForeignKey { references, .. } if catalog.relation(references).is_none());
    let dangling = |r: &&Arc<Relation>| r.constraints.iter().any(dangles);
    let tables: Vec<Arc<Relation>> = catalog.relations.values().filter(dangling).cloned().collect();
    for table in tables {
        work::visit();
        let mut relation = (*table).clone();
        let declared = declared_foreign_keys(conn, catalog, &relation)?;
        relation.constraints.retain_mut(|c| {
            work::visit();
            let ConstraintKind::ForeignKey { references, columns, .. } = &mut c.kind else { return true };
            if catalog.relation(*references).is_some() {
                return true;
            }
            let Some(now) = declared.iter().find(|d| d.columns == c.columns) else { return false };
            if let ConstraintKind::ForeignKey { references: to, columns: there, .. } = &now.kind {
                *references = *to;
                columns.clone_from(there);
                c.index = now.index;
            }
            true
        });
        catalog.add_relation(relation);
    }
    Ok(())
}

/// The foreign keys that a table's declaration in the file has to tables of the catalog, without OIDs and names.
fn declared_foreign_keys(conn: &Connection, catalog: &Catalog, relation: &Relation) -> Result<Vec<Constraint>> {
    let mut statement = conn
        .prepare_cached("SELECT id, \"table\", \"from\", \"to\", on_update, on_delete FROM pragma_foreign_key_list(?1, 'main') ORDER BY id DESC, seq")
        .map_err(sqlite_error)?;
    type Parts = (i64, String, String, Option<String>, String, String);
    let rows: Vec<Parts> = statement
        .query_map([&relation.sqlite_name], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get(5)?)))
        .map_err(sqlite_error)?
        .collect::<rusqlite::Result<_>>()
        .map_err(sqlite_error)?;
    let mut keys: Vec<Vec<&Parts>> = Vec::new();
    let mut position: HashMap<i64, usize> = HashMap::new();
    for row in &rows {
        work::visit();
        let at = *position.entry(row.0).or_insert_with(|| {
            keys.push(Vec::new());
            keys.len() - 1
        });
        keys[at].push(row);
    }
    let mut found = Vec::with_capacity(keys.len());
    for parts in keys {
        work::visit();
        // SQLite matches the referenced table's name without regard to case, and allows it to be missing.
        let Some(parent) = catalog
            .relations
            .values()
            .find(|r| r.kind == RelationKind::Table && r.sqlite_name.eq_ignore_ascii_case(&parts[0].1))
        else {
            continue;
        };
        let find =
            |r: &Relation, name: &str| r.live_columns().find(|c| c.name.eq_ignore_ascii_case(name)).map(|c| c.attnum);
        let from: Option<Vec<i16>> = parts.iter().map(|p| find(relation, &p.2)).collect();
        let to: Option<Vec<i16>> = if parts.iter().all(|p| p.3.is_none()) {
            parent.primary_key().map(|k| k.columns.clone())
        } else {
            parts.iter().map(|p| p.3.as_deref().and_then(|n| find(parent, n))).collect()
        };
        let (Some(from), Some(to)) = (from, to) else { continue };
        let index = parent.constraints.iter().find(|c| c.index != 0 && c.columns == to).map_or(0, |c| c.index);
        let references = parent.oid;
        found.push(Constraint {
            oid: 0,
            name: String::new(),
            kind: ConstraintKind::ForeignKey {
                references,
                columns: to,
                on_update: action(&parts[0].4),
                on_delete: action(&parts[0].5),
                match_full: false,
                delete_columns: vec![],
            },
            columns: from,
            index,
            deferrable: false,
            initially_deferred: false,
            not_valid: false,
            inherited: Inherited::default(),
            managed: false,
            not_enforced: false,
            temporal: None,
        });
    }
    Ok(found)
}

fn action(sqlite: &str) -> ForeignKeyAction {
    match sqlite {
        "CASCADE" => ForeignKeyAction::Cascade,
        "SET NULL" => ForeignKeyAction::SetNull,
        "SET DEFAULT" => ForeignKeyAction::SetDefault,
        "RESTRICT" => ForeignKeyAction::Restrict,
        _ => ForeignKeyAction::NoAction,
    }
}

/// A view of another program: its columns' types are those of the table columns they show; expressions are text.
/// A view that SQLite itself cannot prepare (a table is missing) is left out.
fn add_view(conn: &Connection, catalog: &mut Catalog, sqlite_name: &str, next_oid: &mut Oid) -> Result<()> {
    let Ok(mut infos) = columns(conn, sqlite_name) else {
        tracing::warn!(
            name = sqlite_name,
            "a view or virtual table of the file cannot be read by SQLite and is not shown"
        );
        return Ok(());
    };
    // those of a virtual table that are no part of its rows (FTS5's rank …)
    infos.retain(|info| info.hidden != 1);
    let oid = take(next_oid);
    let relation = Relation {
        oid,
        schema: catalog.public_schema(),
        name: free_name(catalog, catalog.public_schema(), sqlite_name),
        sqlite_name: sqlite_name.to_string(),
        row_type: take(next_oid),
        array_type: take(next_oid),
        columns: infos
            .iter()
            .zip(1i16..)
            .map(|(info, attnum)| {
                let mut column = column_of(info, attnum);
                // What a view computes has no affinity: every value goes through the normalising functions.
                column.storage = StorageForm::Foreign;
                column
            })
            .collect(),
        origin: Origin::Foreign,
        ..Relation::new(RelationKind::ForeignView)
    };
    catalog.add_relation(relation);
    Ok(())
}
