//! What is said about storage: parameters in WITH, CLUSTER ON, REPLICA IDENTITY. A SQLite file stores its rows in one way, so it is
//! checked and remembered for the catalogs and for dumps, and changes nothing else.

use super::def_elem::def_elems;
use super::{Ddl, NodeEnum};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::work;
use pgsqlite_types::{PgError, Result, SqlState};

/// What values a parameter takes.
enum Values {
    Truth,
    Integer(i64, i64),
    Number(f64, f64),
    Word(&'static [&'static str]),
}

use Values::{Integer, Number, Truth, Word};

const COUNT: i64 = i32::MAX as i64;
const SWITCH: &[&str] = &["auto", "on", "off", "true", "false", "yes", "no", "1", "0"];

const OF_TABLES: &[(&str, Values)] = &[
    ("fillfactor", Integer(10, 100)),
    ("toast_tuple_target", Integer(128, 8160)),
    ("parallel_workers", Integer(0, 1024)),
    ("user_catalog_table", Truth),
    ("autovacuum_enabled", Truth),
    ("autovacuum_vacuum_threshold", Integer(0, COUNT)),
    ("autovacuum_vacuum_insert_threshold", Integer(-1, COUNT)),
    ("autovacuum_analyze_threshold", Integer(0, COUNT)),
    ("autovacuum_vacuum_cost_limit", Integer(1, 10_000)),
    ("autovacuum_freeze_min_age", Integer(0, 1_000_000_000)),
    ("autovacuum_multixact_freeze_min_age", Integer(0, 1_000_000_000)),
    ("autovacuum_freeze_max_age", Integer(100_000, 2_000_000_000)),
    ("autovacuum_multixact_freeze_max_age", Integer(10_000, 2_000_000_000)),
    ("autovacuum_freeze_table_age", Integer(0, 2_000_000_000)),
    ("autovacuum_multixact_freeze_table_age", Integer(0, 2_000_000_000)),
    ("log_autovacuum_min_duration", Integer(-1, COUNT)),
    ("autovacuum_vacuum_cost_delay", Number(0.0, 100.0)),
    ("autovacuum_vacuum_scale_factor", Number(0.0, 100.0)),
    ("autovacuum_vacuum_insert_scale_factor", Number(0.0, 100.0)),
    ("autovacuum_analyze_scale_factor", Number(0.0, 100.0)),
    ("vacuum_truncate", Truth),
    ("vacuum_index_cleanup", Word(SWITCH)),
];
const OF_BTREE: &[(&str, Values)] = &[
    ("fillfactor", Integer(10, 100)),
    ("deduplicate_items", Truth),
    ("vacuum_cleanup_index_scale_factor", Number(0.0, 1e10)),
];
const OF_HASH: &[(&str, Values)] = &[("fillfactor", Integer(10, 100))];
const OF_GIST: &[(&str, Values)] = &[("fillfactor", Integer(10, 100)), ("buffering", Word(&["auto", "on", "off"]))];
const OF_GIN: &[(&str, Values)] = &[("fastupdate", Truth), ("gin_pending_list_limit", Integer(64, COUNT))];
const OF_BRIN: &[(&str, Values)] = &[("pages_per_range", Integer(1, 131_072)), ("autosummarize", Truth)];
/// (what pgvector's graph is made with changes no answer here: lists stand for it)
const OF_HNSW: &[(&str, Values)] = &[("m", Integer(2, 100)), ("ef_construction", Integer(4, 1000))];
const OF_IVFFLAT: &[(&str, Values)] = &[("lists", Integer(1, 32_768))];

/// The parameters that a kind of object has.
pub(super) struct Parameters {
    known: &'static [(&'static str, Values)],
    of_table: bool,
}

const OF_COLUMNS: &[(&str, Values)] =
    &[("n_distinct", Number(-1.0, f64::MAX)), ("n_distinct_inherited", Number(-1.0, f64::MAX))];

fn invalid(message: String) -> PgError {
    PgError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

impl Parameters {
    pub fn of_table() -> Parameters {
        Parameters { known: OF_TABLES, of_table: true }
    }

    /// Of a partitioned table, which has no rows of its own: there are none.
    pub fn of_partitioned_table() -> Parameters {
        Parameters { known: &[], of_table: true }
    }

    /// Of a column.
    pub fn of_column() -> Parameters {
        Parameters { known: OF_COLUMNS, of_table: false }
    }

    /// Of an index of an access method.
    pub fn of_index(method: &str) -> Parameters {
        let known = match method {
            "btree" => OF_BTREE,
            "hash" | "spgist" => OF_HASH,
            "gist" => OF_GIST,
            "gin" => OF_GIN,
            "brin" => OF_BRIN,
            "hnsw" => OF_HNSW,
            "ivfflat" => OF_IVFFLAT,
            _ => &[],
        };
        Parameters { known, of_table: false }
    }

    /// The parameters after WITH, SET or (`reset`) RESET, over those that were there. Errors: 22023, 42601.
    pub fn read(&self, old: &[String], nodes: &[ast::Node], reset: bool) -> Result<Vec<String>> {
        let mut out = old.to_vec();
        let mut seen: Vec<(&str, &str)> = Vec::new();
        for option in def_elems(nodes) {
            work::visit();
            let (space, name) = (option.defnamespace.as_str(), option.defname.as_str());
            if reset && option.arg.is_some() {
                return Err(PgError::new(SqlState::SYNTAX_ERROR, "RESET must not include values for parameters"));
            }
            // a table's TOAST table is no table here: what is said about it is checked only
            let toast = space == "toast" && self.of_table;
            if !space.is_empty() && !toast {
                return Err(invalid(format!("unrecognized parameter namespace \"{space}\"")));
            }
            if name == "oids" && self.of_table && !toast {
                if super::def_elem::boolean(option)? {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "tables declared WITH OIDS are not supported",
                    ));
                }
                continue;
            }
            if seen.contains(&(space, name)) {
                return Err(invalid(format!("parameter \"{name}\" specified more than once")));
            }
            seen.push((space, name));
            let known = if toast { OF_TABLES } else { self.known };
            let found = known.iter().find(|(known, _)| *known == name);
            let Some((_, values)) = found else {
                if reset {
                    continue;
                }
                if self.known.is_empty() && self.of_table && !toast {
                    let message = "cannot specify storage parameters for a partitioned table";
                    return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, message)
                        .hint("Specify storage parameters for its leaf partitions instead."));
                }
                return Err(invalid(format!("unrecognized parameter \"{name}\"")));
            };
            if !toast {
                out.retain(|o| o.split_once('=').map_or(o.as_str(), |o| o.0) != name);
            }
            if reset {
                continue;
            }
            let text = value_text(option);
            check_value(name, &text, values)?;
            if !toast {
                out.push(format!("{name}={text}"));
            }
        }
        Ok(out)
    }
}

/// The value as it is written; a parameter without one is on.
fn value_text(option: &ast::DefElem) -> String {
    match option.arg {
        None => "true".into(),
        Some(_) => super::def_elem::text_of(option),
    }
}

fn check_value(name: &str, text: &str, values: &Values) -> Result<()> {
    let out_of_bounds = |low: String, high: String| {
        invalid(format!("value {text} out of bounds for option \"{name}\""))
            .detail(format!("Valid values are between \"{low}\" and \"{high}\"."))
    };
    match values {
        Truth => match pgsqlite_natives::settings::parse_bool(text) {
            Some(_) => Ok(()),
            None => Err(invalid(format!("invalid value for boolean option \"{name}\": {text}"))),
        },
        Integer(low, high) => match text.parse::<f64>().ok().filter(|n| n.is_finite()) {
            None => Err(invalid(format!("invalid value for integer option \"{name}\": {text}"))),
            Some(n) if n.round() < *low as f64 || n.round() > *high as f64 => {
                Err(out_of_bounds(low.to_string(), high.to_string()))
            }
            Some(_) => Ok(()),
        },
        Number(low, high) => match text.parse::<f64>().ok().filter(|n| n.is_finite()) {
            None => Err(invalid(format!("invalid value for floating point option \"{name}\": {text}"))),
            Some(n) if n < *low || n > *high => Err(out_of_bounds(format!("{low:.6}"), format!("{high:.6}"))),
            Some(_) => Ok(()),
        },
        Word(words) => match words.iter().any(|w| w.eq_ignore_ascii_case(text)) {
            true => Ok(()),
            false => Err(invalid(format!("invalid value for enum option \"{name}\": {text}"))
                .detail("Valid values are \"on\", \"off\", and \"auto\".")),
        },
    }
}

impl Ddl<'_> {
    /// ALTER TABLE, ALTER INDEX … SET / RESET (…).
    pub(super) fn alter_parameters(&mut self, mut relation: Relation, list: &[ast::Node], reset: bool) -> Result<()> {
        let known = match &relation.kind {
            RelationKind::Index(index) => Parameters::of_index(&index.method),
            _ if relation.is_partitioned() => Parameters::of_partitioned_table(),
            _ => Parameters::of_table(),
        };
        relation.storage.parameters = known.read(&relation.storage.parameters, list, reset)?;
        self.put_relation(relation)
    }

    /// The index of a table that a command names. Errors: 42704, 42809.
    fn index_of_table(&self, table: &Relation, name: &str) -> Result<Relation> {
        let found = self.catalog.relation_in(table.schema, name).cloned().ok_or_else(|| {
            PgError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("index \"{name}\" for table \"{}\" does not exist", table.name),
            )
        })?;
        match &found.kind {
            RelationKind::Index(index) if index.table == table.oid => Ok((*found).clone()),
            _ => Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{name}\" is not an index for table \"{}\"", table.name),
            )),
        }
    }

    /// CLUSTER ON index, SET WITHOUT CLUSTER.
    pub(super) fn set_clustered(&mut self, mut table: Relation, index: Option<&str>) -> Result<()> {
        if table.is_partitioned() {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot mark index clustered in partitioned table",
            ));
        }
        table.storage.clustered = match index {
            None => 0,
            Some(name) => {
                let index = self.index_of_table(&table, name)?;
                if let RelationKind::Index(definition) = &index.kind {
                    let unable = match definition {
                        d if !matches!(d.method.as_str(), "btree" | "gist") => {
                            Some("because access method does not support clustering")
                        }
                        d if d.predicate.is_some() => {
                            return Err(PgError::new(
                                SqlState::FEATURE_NOT_SUPPORTED,
                                format!("cannot cluster on partial index \"{name}\""),
                            ))
                        }
                        _ => None,
                    };
                    if let Some(reason) = unable {
                        return Err(PgError::new(
                            SqlState::FEATURE_NOT_SUPPORTED,
                            format!("cannot cluster on index \"{name}\" {reason}"),
                        ));
                    }
                }
                index.oid
            }
        };
        self.put_relation(table)
    }

    /// REPLICA IDENTITY …
    pub(super) fn set_replica_identity(&mut self, mut table: Relation, command: &ast::AlterTableCmd) -> Result<()> {
        let Some(NodeEnum::ReplicaIdentityStmt(s)) = command.def.as_ref().and_then(|d| d.node.as_ref()) else {
            return Err(PgError::internal("REPLICA IDENTITY without one"));
        };
        table.storage.replica_identity = match s.identity_type.as_str() {
            "d" => ReplicaIdentity::Default,
            "n" => ReplicaIdentity::Nothing,
            "f" => ReplicaIdentity::Full,
            _ => {
                let index = self.index_of_table(&table, &s.name)?;
                self.check_identifies(&table, &index)?;
                ReplicaIdentity::Index(index.oid)
            }
        };
        self.put_relation(table)
    }

    /// An index tells rows apart for replication: unique, not partial, over columns that are never NULL.
    fn check_identifies(&self, table: &Relation, index: &Relation) -> Result<()> {
        let RelationKind::Index(definition) = &index.kind else { return Err(PgError::internal("no index")) };
        let name = &index.name;
        let wrong = |what: String| PgError::new(SqlState::WRONG_OBJECT_TYPE, what);
        if !definition.unique {
            return Err(wrong(format!("cannot use non-unique index \"{name}\" as replica identity")));
        }
        let refused = |what: String| PgError::new(SqlState::FEATURE_NOT_SUPPORTED, what);
        if definition.deferrable {
            return Err(refused(format!("cannot use non-immediate index \"{name}\" as replica identity")));
        }
        if definition.columns.iter().any(|c| matches!(c.key, KeyPart::Expression(_))) {
            return Err(refused(format!("cannot use expression index \"{name}\" as replica identity")));
        }
        if definition.predicate.is_some() {
            return Err(refused(format!("cannot use partial index \"{name}\" as replica identity")));
        }
        for key in &definition.columns {
            work::visit();
            let KeyPart::Column(attnum) = key.key else { continue };
            if let Some(column) = table.column_by_attnum(attnum).filter(|c| !c.not_null) {
                return Err(wrong(format!(
                    "index \"{name}\" cannot be used as replica identity because column \"{}\" is nullable",
                    column.name
                )));
            }
        }
        Ok(())
    }
}
