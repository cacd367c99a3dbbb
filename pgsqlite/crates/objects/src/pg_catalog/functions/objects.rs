//! Functions that print the definitions of the database's objects.

use pgsqlite_natives::udf::session_cell::SessionCell;
use pgsqlite_natives::udf::shim::{Call, Scalar};
use pgsqlite_sql::analyze::Environment;
use pgsqlite_sql::builtins::catalog as builtin;
use pgsqlite_sql::catalog::{Catalog, Index, PartitionStrategy, Relation, RelationKind, StatisticsObject};
use pgsqlite_sql::deparse::{definitions, Names, Style};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

/// Runs with the analyzer's environment of the session.
pub(crate) fn with_environment<R>(session: &SessionCell, run: impl FnOnce(&Environment) -> R) -> R {
    let state = session.state();
    run(&Environment {
        catalog: &state.catalog,
        search_path: &state.search_path,
        settings: &state.settings,
        names: &*state.names,
        // definitions were permitted when they were written
        user: pgsqlite_sql::catalog::BOOTSTRAP_ROLE,
        rights: pgsqlite_sql::analyze::Rights::AskedNow,
        parameters: Default::default(),
        sqlite_text: pgsqlite_sql::lower::lower_expression,
    })
}

pub(crate) fn oid_argument(c: &Call, i: usize) -> Result<Oid> {
    c.int(i).map(|v| v as Oid)
}

/// The pretty flag in the argument after the last plain one.
fn style(c: &Call, i: usize) -> Result<Style> {
    Ok(if c.len() > i && c.bool(i)? { Style::Pretty } else { Style::Full })
}

fn get_expr(c: &Call) -> Result<Datum> {
    let (text, relation, style) = (c.text(0)?, oid_argument(c, 1)?, style(c, 2)?);
    // (the bound of a partition is kept as it is printed)
    if text == "DEFAULT" || text.starts_with("FOR VALUES ") {
        return Ok(Datum::from(text));
    }
    with_environment(c.session, |e| {
        // An index's expressions are about its table.
        let relation = e.catalog.relation(relation).map(|r| match &r.kind {
            RelationKind::Index(index) => e.catalog.relation(index.table).unwrap_or(r),
            _ => r,
        });
        let printed = definitions::stored_expression(e, text, relation.map(|r| &**r), style);
        let of_sqlite = || {
            let words = |c: &pgsqlite_sql::catalog::Column| c.sqlite_text.as_deref() == Some(text);
            relation.is_some_and(|r| r.columns.iter().any(words))
        };
        match printed {
            // SQLite's words that mean nothing in PostgreSQL
            Err(_) if of_sqlite() => Ok(Datum::from(text)),
            printed => printed.map(Datum::from),
        }
    })
}

fn get_constraintdef(c: &Call) -> Result<Datum> {
    let (constraint, style) = (oid_argument(c, 0)?, style(c, 1)?);
    with_environment(c.session, |e| match e.catalog.constraint(constraint) {
        Some((relation, constraint)) => {
            definitions::constraint_definition(e, relation, constraint, style).map(Datum::from)
        }
        None => match constraint_trigger(e.catalog, constraint) {
            Some(shown) => Ok(shown),
            None => domain_constraint(e, constraint, style),
        },
    })
}

/// What is shown of a constraint trigger's constraint.
fn constraint_trigger(catalog: &Catalog, constraint: Oid) -> Option<Datum> {
    let triggers = catalog.relations.values().flat_map(|r| &r.triggers);
    let trigger = triggers.into_iter().find(|t| t.constraint != 0 && t.constraint == constraint)?;
    let mut shown = String::from("TRIGGER");
    if trigger.deferrable {
        shown.push_str(" DEFERRABLE");
    }
    if trigger.initially_deferred {
        shown.push_str(" INITIALLY DEFERRED");
    }
    Some(Datum::Text(shown))
}

fn domain_constraint(e: &Environment, constraint: Oid, style: Style) -> Result<Datum> {
    for found in e.catalog.domain_checks() {
        work::visit();
        if found.check.oid == constraint {
            return definitions::domain_constraint(e, found.check, found.base, style).map(Datum::from);
        }
    }
    Ok(Datum::Null)
}

fn get_indexdef(c: &Call) -> Result<Datum> {
    let index = oid_argument(c, 0)?;
    // (there is no column of a negative number)
    let column = if c.len() > 1 { usize::try_from(c.int(1)?).unwrap_or(usize::MAX) } else { 0 };
    let style = style(c, 2)?;
    with_environment(c.session, |e| match e.catalog.relation(index) {
        Some(relation) => definitions::index_definition(e, relation, column, style).map(Datum::from),
        None => Ok(Datum::Null),
    })
}

fn get_viewdef(c: &Call) -> Result<Datum> {
    let (view, style) = (oid_argument(c, 0)?, style(c, 1)?);
    with_environment(c.session, |e| definitions::view_definition(e, view, style).map(Datum::from))
}

/// pg_relation_is_updatable(relation, triggers count) → a bit per command; 0 of what is not there
fn relation_is_updatable(c: &Call) -> Result<Datum> {
    let (relation, triggers) = (oid_argument(c, 0)?, c.bool(1)?);
    with_environment(c.session, |e| match e.catalog.relation(relation) {
        Some(r) => pgsqlite_sql::analyze::updatable(e, r, triggers, None).map(|u| Datum::Int(u.bits())),
        None => Ok(Datum::Int(0)),
    })
}

/// pg_column_is_updatable(relation, attnum, triggers count)
fn column_is_updatable(c: &Call) -> Result<Datum> {
    let (relation, attnum, triggers) = (oid_argument(c, 0)?, c.int(1)?, c.bool(2)?);
    with_environment(c.session, |e| match (e.catalog.relation(relation), i16::try_from(attnum)) {
        (Some(r), Ok(attnum)) if attnum > 0 => {
            let works = pgsqlite_sql::analyze::updatable(e, r, triggers, Some(attnum))?;
            Ok((works.update && works.delete).into())
        }
        _ => Ok(false.into()),
    })
}

/// With the column where lines are wrapped: 0 puts every output on a line of its own.
fn get_viewdef_wrapped(c: &Call) -> Result<Datum> {
    let (view, wrap) = (oid_argument(c, 0)?, c.int(1)?);
    if wrap > 0 {
        return Err(PgError::not_supported("a view's text wrapped at a column"));
    }
    with_environment(c.session, |e| definitions::view_definition(e, view, Style::Pretty).map(Datum::from))
}

/// A type's name where no modifier is meant: `character`, where an unknown modifier would give `bpchar`.
pub(crate) fn bare_type_name(names: &Names, catalog: &Catalog, ty: Oid) -> String {
    let element = catalog.element_type(ty).unwrap_or(ty);
    let word = match element {
        oid::BPCHAR => "character",
        oid::BIT => "bit",
        _ => return names.type_name(ty, -1),
    };
    if element == ty {
        word.to_string()
    } else {
        format!("{word}[]")
    }
}

fn get_viewdef_by_name(c: &Call) -> Result<Datum> {
    let view = c.session.reg_oid(oid::REGCLASS, c.text(0)?)?;
    let style = style(c, 1)?;
    with_environment(c.session, |e| definitions::view_definition(e, view, style).map(Datum::from))
}

/// Permanent tables of users could be published.
fn relation_is_publishable(c: &Call) -> Result<Datum> {
    let relation = oid_argument(c, 0)?;
    let state = c.session.state();
    Ok(state.catalog.relation(relation).map(|r| r.kind == RelationKind::Table && !r.temporary && !r.unlogged).into())
}

/// The rule of a view is the only one that there can be.
fn get_ruledef(c: &Call) -> Result<Datum> {
    let (rule, style) = (oid_argument(c, 0)?, style(c, 1)?);
    with_environment(c.session, |e| {
        let own = e.catalog.relations.values().find_map(|r| Some((r.oid, r.rules.iter().find(|own| own.oid == rule)?)));
        if let Some((relation, rule)) = own {
            return definitions::rule_definition(e, relation, rule, style).map(Datum::from);
        }
        let Some(view) = crate::pg_catalog::ruled(e.catalog, rule) else { return Ok(Datum::Null) };
        let Some(query) = definitions::view_definition(e, view.oid, style)? else {
            return Err(PgError::not_supported(format!("the definition of the system view {}", view.name)));
        };
        let path = if matches!(style, Style::Pretty) { e.search_path } else { &[] };
        let name = Names::new(e.catalog, path).relation(view.oid);
        Ok(Datum::Text(format!("CREATE RULE \"_RETURN\" AS\n    ON SELECT TO {name} DO INSTEAD {query}")))
    })
}

// --- properties of access methods and indexes: None (NULL) for a property that there is not -----------------------------

/// What an index of these methods offers is up to the operator class.
fn not_of_class(index: &Index, property: &str) -> Result<()> {
    match index.method.as_str() {
        "gist" | "spgist" => Err(PgError::not_supported(format!("property {property} of {} indexes", index.method))),
        _ => Ok(()),
    }
}

fn index_column_has_property(c: &Call) -> Result<Datum> {
    let (oid, number, property) = (oid_argument(c, 0)?, c.int(1)?, c.text(2)?.to_ascii_lowercase());
    let state = c.session.state();
    let Some(RelationKind::Index(index)) = state.catalog.relation(oid).map(|r| &r.kind) else { return Ok(Datum::Null) };
    let Some(at) = number.checked_sub(1).and_then(|n| usize::try_from(n).ok()) else { return Ok(Datum::Null) };
    let Some(column) = index.columns.get(at) else {
        let included = at < index.columns.len() + index.include.len();
        return Ok(match property.as_str() {
            "orderable" | "distance_orderable" if included => Some(false),
            "returnable" if included => Some(true),
            _ => None,
        }
        .into());
    };
    let sorted = index.method == "btree";
    Ok(match property.as_str() {
        "asc" => Some(sorted && !column.descending),
        "desc" => Some(sorted && column.descending),
        "nulls_first" => Some(sorted && column.nulls_first),
        "nulls_last" => Some(sorted && !column.nulls_first),
        "orderable" => Some(sorted),
        "search_array" => Some(sorted),
        "search_nulls" => Some(!matches!(index.method.as_str(), "hash" | "gin")),
        "distance_orderable" => {
            not_of_class(index, &property)?;
            Some(false)
        }
        "returnable" => {
            not_of_class(index, &property)?;
            Some(sorted)
        }
        _ => None,
    }
    .into())
}

fn index_has_property(c: &Call) -> Result<Datum> {
    let (oid, property) = (oid_argument(c, 0)?, c.text(1)?.to_ascii_lowercase());
    let state = c.session.state();
    let Some(RelationKind::Index(index)) = state.catalog.relation(oid).map(|r| &r.kind) else { return Ok(Datum::Null) };
    let method = index.method.as_str();
    Ok(match property.as_str() {
        "clusterable" => Some(matches!(method, "btree" | "gist")),
        "index_scan" => Some(!matches!(method, "brin" | "gin")),
        "bitmap_scan" => Some(true),
        "backward_scan" => Some(matches!(method, "btree" | "hash")),
        _ => None,
    }
    .into())
}

fn method_has_property(c: &Call) -> Result<Datum> {
    let (oid, property) = (oid_argument(c, 0)?, c.text(1)?.to_ascii_lowercase());
    let Some(&(_, method, _, b'i')) = builtin::access_methods().iter().find(|m| m.0 == oid) else {
        return Ok(Datum::Null);
    };
    Ok(match property.as_str() {
        "can_order" | "can_unique" => Some(method == "btree"),
        "can_multi_col" => Some(!matches!(method, "hash" | "spgist")),
        "can_exclude" => Some(!matches!(method, "brin" | "gin")),
        "can_include" => Some(matches!(method, "btree" | "gist" | "spgist")),
        _ => None,
    }
    .into())
}

/// What is told of extended statistics by OID; NULL for one that is none.
fn of_statistics(
    c: &Call,
    tell: impl FnOnce(&Environment, &Relation, &StatisticsObject) -> Result<Datum>,
) -> Result<Datum> {
    let oid = oid_argument(c, 0)?;
    with_environment(c.session, |e| match e.catalog.statistics().find(|(_, s)| s.oid == oid) {
        Some((table, object)) => tell(e, table, object),
        None => Ok(Datum::Null),
    })
}

fn get_statistics_definition(c: &Call) -> Result<Datum> {
    of_statistics(c, |e, table, object| definitions::statistics_definition(e, table, object).map(Datum::from))
}

fn get_statistics_columns(c: &Call) -> Result<Datum> {
    of_statistics(c, |e, table, object| definitions::statistics_columns(e, table, object).map(Datum::from))
}

fn get_statistics_expressions(c: &Call) -> Result<Datum> {
    of_statistics(c, |e, table, object| {
        if object.expressions.is_empty() {
            return Ok(Datum::Null);
        }
        let texts = object.expressions.iter();
        let texts = texts.map(|text| definitions::stored_expression(e, text, Some(table), Style::Full));
        Ok(crate::pg_catalog::strings(texts.collect::<Result<Vec<String>>>()?))
    })
}

fn statistics_are_visible(c: &Call) -> Result<Datum> {
    of_statistics(c, |e, _, object| Ok(Names::of(e).statistics_is_visible(object).into()))
}

/// There are no objects of this kind of the user: no OID is one of theirs.
fn no_such_object(_: &Call) -> Result<Datum> {
    Ok(Datum::Null)
}

/// Tablespaces are the data folder's own: their location is empty.
fn tablespace_location(_: &Call) -> Result<Datum> {
    Ok(Datum::from(""))
}

/// Whether partitions are about a relation: a partitioned table, a partition, the indexes of both.
fn in_partition_tree(catalog: &Catalog, relation: &Relation) -> bool {
    match &relation.kind {
        RelationKind::Table => relation.is_partitioned() || relation.is_partition(),
        RelationKind::Index(index) => {
            let partitioned = catalog.relation(index.table).is_some_and(|t| t.is_partitioned());
            partitioned || !relation.inheritance.parents.is_empty()
        }
        _ => false,
    }
}

/// The table of a partition (None: it is being detached), or the index that an index belongs to.
fn parent_of(relation: &Relation) -> Option<Oid> {
    relation.inheritance.parents.first().copied().filter(|_| !relation.inheritance.detaching)
}

/// A relation and those above it, up to the root of its tree of partitions.
fn line_of(catalog: &Catalog, oid: Oid) -> Vec<Oid> {
    let mut line = Vec::new();
    let mut at = catalog.relation(oid).filter(|r| in_partition_tree(catalog, r));
    while let Some(relation) = at {
        work::visit();
        line.push(relation.oid);
        at = parent_of(relation).and_then(|p| catalog.relation(p));
    }
    line
}

fn partition_root(c: &Call) -> Result<Datum> {
    let line = line_of(&c.session.state().catalog, oid_argument(c, 0)?);
    Ok(line.last().map_or(Datum::Null, |root| Datum::Int(i64::from(*root))))
}

fn partition_ancestors(c: &Call) -> Result<Datum> {
    let line = line_of(&c.session.state().catalog, oid_argument(c, 0)?);
    let rows: Vec<serde_json::Value> = line.iter().map(|o| serde_json::json!(o)).collect();
    Ok(Datum::Text(serde_json::Value::from(rows).to_string()))
}

/// pg_partition_tree: (relid, parentrelid, isleaf, level) of each.
fn partition_tree(c: &Call) -> Result<Datum> {
    let state = c.session.state();
    let (catalog, root) = (&state.catalog, oid_argument(c, 0)?);
    let mut rows: Vec<serde_json::Value> = Vec::new();
    if catalog.relation(root).is_some_and(|r| in_partition_tree(catalog, r)) {
        for oid in catalog.with_descendants(root) {
            work::visit();
            let Some(relation) = catalog.relation(oid) else { continue };
            let line = line_of(catalog, oid);
            let level = line.iter().position(|o| *o == root).unwrap_or(0);
            let leaf = match &relation.kind {
                RelationKind::Index(index) => !catalog.relation(index.table).is_some_and(|t| t.is_partitioned()),
                _ => !relation.is_partitioned(),
            };
            rows.push(serde_json::json!([oid, parent_of(relation), i32::from(leaf), level]));
        }
    }
    Ok(Datum::Text(serde_json::Value::from(rows).to_string()))
}

/// satisfies_hash_partition(table, modulus, remainder, key …)
fn satisfies_hash_partition(c: &Call) -> Result<Datum> {
    let types = c.types()?;
    if types.variadic {
        return Err(PgError::not_supported("VARIADIC in satisfies_hash_partition"));
    }
    if (1..4).any(|i| c.is_null(i)) {
        return Ok(Datum::from(false));
    }
    let invalid = |message: String| PgError::new(SqlState::INVALID_PARAMETER_VALUE, message);
    let (modulus, remainder) = (c.int(2)?, c.int(3)?);
    if modulus <= 0 {
        return Err(invalid("modulus for hash partition must be an integer value greater than zero".into()));
    }
    if remainder < 0 {
        return Err(invalid(
            "remainder for hash partition must be an integer value greater than or equal to zero".into(),
        ));
    }
    if remainder >= modulus {
        return Err(invalid("remainder for hash partition must be less than modulus".into()));
    }
    let state = c.session.state();
    let catalog = &state.catalog;
    let table = oid_argument(c, 1)?;
    let relation = catalog
        .relation(table)
        .ok_or_else(|| PgError::new(SqlState::UNDEFINED_TABLE, format!("could not open relation with OID {table}")))?;
    let key = relation.inheritance.key.as_ref().filter(|k| k.strategy == PartitionStrategy::Hash);
    let key = key.ok_or_else(|| invalid(format!("\"{}\" is not a hash partitioned table", relation.name)))?;
    let given = &types.args[3.min(types.args.len())..];
    if given.len() != key.columns.len() {
        return Err(invalid(format!(
            "number of partitioning columns ({}) does not match number of partition keys provided ({})",
            key.columns.len(),
            given.len()
        )));
    }
    let mut hash = 0;
    for (i, (column, ty)) in key.columns.iter().zip(given).enumerate() {
        work::visit();
        if catalog.base_type(column.type_oid) != catalog.base_type(*ty) {
            let names = Names::new(catalog, &state.search_path);
            return Err(invalid(format!(
                "column {} of the partition key has type {}, but supplied value is of type {}",
                i + 1,
                names.type_name(column.type_oid, -1),
                names.type_name(*ty, -1)
            )));
        }
        if c.is_null(4 + i) {
            continue;
        }
        let codec = catalog.codec(column.type_oid);
        let value = codec.and_then(|codec| pgsqlite_types::hash::of_value(&codec, c.datum(4 + i)));
        let value = value.ok_or_else(|| PgError::not_supported("the hash of a value of this type"))?;
        hash = pgsqlite_types::hash::combine(hash, value);
    }
    Ok(Datum::from(hash % modulus as u64 == remainder as u64))
}

fn get_partkeydef(c: &Call) -> Result<Datum> {
    let table = oid_argument(c, 0)?;
    with_environment(c.session, |e| {
        let Some(relation) = e.catalog.relation(table) else { return Ok(Datum::Null) };
        match &relation.inheritance.key {
            Some(key) => pgsqlite_sql::partition::key_text(relation, key).map(Datum::from),
            None => Ok(Datum::Null),
        }
    })
}

fn get_partition_constraintdef(c: &Call) -> Result<Datum> {
    let table = oid_argument(c, 0)?;
    with_environment(c.session, |e| {
        let Some(relation) = e.catalog.relation(table) else { return Ok(Datum::Null) };
        match pgsqlite_sql::partition::constraint(e.catalog, relation)? {
            Some(text) => definitions::stored_expression(e, &text, Some(relation), Style::Full).map(Datum::from),
            None => Ok(Datum::Null),
        }
    })
}

pub const FUNCTIONS: &[(&str, Scalar)] = &[
    ("pg_get_expr pg_get_expr_ext", get_expr),
    ("pg_get_constraintdef pg_get_constraintdef_ext", get_constraintdef),
    ("pg_get_indexdef pg_get_indexdef_ext", get_indexdef),
    ("pg_get_viewdef pg_get_viewdef_ext", get_viewdef),
    ("pg_get_viewdef_wrap", get_viewdef_wrapped),
    ("pg_relation_is_updatable", relation_is_updatable),
    ("pg_column_is_updatable", column_is_updatable),
    ("pg_get_viewdef_name pg_get_viewdef_name_ext", get_viewdef_by_name),
    ("pg_relation_is_publishable", relation_is_publishable),
    ("pg_statistics_obj_is_visible", statistics_are_visible),
    ("pg_partition_root", partition_root),
    ("pg_conversion_is_visible", no_such_object),
    ("pg_tablespace_location", tablespace_location),
    ("pg_partition_ancestors", partition_ancestors),
    ("pg_partition_tree", partition_tree),
    ("pg_get_ruledef pg_get_ruledef_ext", get_ruledef),
    ("pg_index_column_has_property", index_column_has_property),
    ("pg_index_has_property", index_has_property),
    ("pg_indexam_has_property", method_has_property),
    ("pg_get_statisticsobjdef", get_statistics_definition),
    ("pg_get_statisticsobjdef_columns", get_statistics_columns),
    ("pg_get_statisticsobjdef_expressions", get_statistics_expressions),
    ("satisfies_hash_partition", satisfies_hash_partition),
    ("pg_get_partkeydef", get_partkeydef),
    ("pg_get_partition_constraintdef", get_partition_constraintdef),
];
