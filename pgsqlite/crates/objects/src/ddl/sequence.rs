//! CREATE SEQUENCE, ALTER SEQUENCE, and the sequences of serial and identity columns.

use super::def_elem::{boolean, def_elems, integer, names, type_name};
use super::Ddl;
use pgsqlite_metadata::store::sequence_relation::sequence_relation;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

/// How long a sequence lasts.
#[derive(Clone, Copy)]
pub(super) struct Lasting {
    pub temporary: bool,
    pub unlogged: bool,
}

/// The options as written; None: not given.
#[derive(Default, Clone)]
pub(super) struct SequenceOptions {
    pub type_oid: Option<Oid>,
    pub increment: Option<i64>,
    /// Some(None): NO MINVALUE
    pub min: Option<Option<i64>>,
    pub max: Option<Option<i64>>,
    pub start: Option<i64>,
    /// Some(None): RESTART without a value
    pub restart: Option<Option<i64>>,
    pub cache: Option<i64>,
    pub cycle: Option<bool>,
    /// the dotted name after OWNED BY
    pub owned_by: Option<Vec<String>>,
    /// SEQUENCE NAME of an identity column: (schema, name)
    pub name: Option<(String, String)>,
}

fn invalid(message: String) -> PgError {
    PgError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn type_range(ty: Oid) -> (i64, i64) {
    match ty {
        oid::INT2 => (i16::MIN as i64, i16::MAX as i64),
        oid::INT4 => (i32::MIN as i64, i32::MAX as i64),
        _ => (i64::MIN, i64::MAX),
    }
}

impl SequenceOptions {
    pub(super) fn read(ddl: &Ddl, nodes: &[ast::Node]) -> Result<SequenceOptions> {
        let mut out = SequenceOptions::default();
        for option in def_elems(nodes) {
            work::visit();
            let again = || PgError::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options").at(option.location);
            macro_rules! once {
                ($field:ident, $value:expr) => {{
                    if out.$field.is_some() {
                        return Err(again());
                    }
                    out.$field = Some($value);
                }};
            }
            match option.defname.as_str() {
                "as" => {
                    let name = type_name(option).ok_or_else(|| PgError::internal("AS without a type"))?;
                    let ty = ddl.type_name(name)?.0;
                    if !matches!(ty, oid::INT2 | oid::INT4 | oid::INT8) {
                        return Err(
                            invalid("sequence type must be smallint, integer, or bigint".into()).at(option.location)
                        );
                    }
                    once!(type_oid, ty)
                }
                "increment" => once!(increment, integer(option)?),
                "minvalue" => once!(min, option.arg.is_some().then(|| integer(option)).transpose()?),
                "maxvalue" => once!(max, option.arg.is_some().then(|| integer(option)).transpose()?),
                "start" => once!(start, integer(option)?),
                "restart" => once!(restart, option.arg.is_some().then(|| integer(option)).transpose()?),
                "cache" => once!(cache, integer(option)?),
                "cycle" => once!(cycle, boolean(option)?),
                "owned_by" => once!(owned_by, names(option).into_iter().map(str::to_string).collect()),
                "sequence_name" => {
                    let parts = names(option);
                    let (schema, name) = ddl.qualified(&parts)?;
                    once!(name, (schema.to_string(), name.to_string()))
                }
                other => return Err(PgError::not_supported(format!("the sequence option {other}")).at(option.location)),
            }
        }
        Ok(out)
    }

    /// The options over those of `old` (of a new sequence: PostgreSQL's defaults). Errors: 22023.
    pub(super) fn apply(&self, old: Option<&Sequence>) -> Result<Sequence> {
        let type_oid = self.type_oid.or(old.map(|o| o.type_oid)).unwrap_or(oid::INT8);
        let (type_min, type_max) = type_range(type_oid);
        let increment = self.increment.or(old.map(|o| o.increment)).unwrap_or(1);
        if increment == 0 {
            return Err(invalid("INCREMENT must not be zero".into()));
        }
        // A bound that was the old type's own limit follows the new type.
        let old_range = old.map(|o| type_range(o.type_oid));
        let follows_max = old.is_some_and(|o| self.type_oid.is_some() && old_range.is_some_and(|r| o.max == r.1));
        let follows_min = old.is_some_and(|o| self.type_oid.is_some() && old_range.is_some_and(|r| o.min == r.0));
        let default_max = if increment > 0 || follows_max { type_max } else { -1 };
        let default_min = if increment < 0 || follows_min { type_min } else { 1 };
        let max = match (self.max, old) {
            (Some(Some(v)), _) => v,
            (None, Some(o)) if !follows_max => o.max,
            _ => default_max,
        };
        let min = match (self.min, old) {
            (Some(Some(v)), _) => v,
            (None, Some(o)) if !follows_min => o.min,
            _ => default_min,
        };
        let type_name = pgsqlite_types::typmod::format_type(type_oid, -1).unwrap_or_default();
        if !(type_min..=type_max).contains(&max) {
            return Err(invalid(format!("MAXVALUE ({max}) is out of range for sequence data type {type_name}")));
        }
        if !(type_min..=type_max).contains(&min) {
            return Err(invalid(format!("MINVALUE ({min}) is out of range for sequence data type {type_name}")));
        }
        if min >= max {
            return Err(invalid(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})")));
        }
        let start = self.start.or(old.map(|o| o.start)).unwrap_or(if increment > 0 { min } else { max });
        if start < min {
            return Err(invalid(format!("START value ({start}) cannot be less than MINVALUE ({min})")));
        }
        if start > max {
            return Err(invalid(format!("START value ({start}) cannot be greater than MAXVALUE ({max})")));
        }
        let cache = self.cache.or(old.map(|o| o.cache)).unwrap_or(1);
        if cache <= 0 {
            return Err(invalid(format!("CACHE ({cache}) must be greater than zero")));
        }
        Ok(Sequence {
            type_oid,
            start,
            increment,
            min,
            max,
            cache,
            cycle: self.cycle.or(old.map(|o| o.cycle)).unwrap_or(false),
            owned_by: old.and_then(|o| o.owned_by),
            identity: old.is_some_and(|o| o.identity),
            row_numbers: old.and_then(|o| o.row_numbers),
        })
    }
}

impl Ddl<'_> {
    /// Makes a sequence; gives its OID and name.
    pub(super) fn make_sequence(
        &mut self,
        schema: Oid,
        name: String,
        lasting: Lasting,
        options: SequenceOptions,
        owned_by: Option<(Oid, i16)>,
        identity: bool,
    ) -> Result<(Oid, String)> {
        let mut sequence = options.apply(None)?;
        sequence.owned_by = owned_by;
        sequence.identity = identity;
        let Lasting { temporary, unlogged } = lasting;
        // (that of a table's column is the table's owner's)
        let owner = owned_by.and_then(|(table, _)| self.catalog.relation(table)).map(|table| table.owner);
        let oid = self.new_oid(temporary)?;
        let start = sequence.start;
        self.put_relation(Relation {
            oid,
            schema,
            name: name.clone(),
            owner: owner.unwrap_or(self.environment.user),
            temporary,
            unlogged,
            acl: self.default_acl(pgsqlite_sql::acl::AclObject::Sequence, schema),
            ..sequence_relation(sequence)
        })?;
        self.put_sequence_state(oid, start, false)?;
        Ok((oid, name))
    }

    /// OWNED BY table.column or NONE, of a sequence of this schema and owner.
    fn owner_column(&self, parts: &[String], (schema, owner): (Oid, Oid)) -> Result<Option<(Oid, i16)>> {
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (table, column) = match parts[..] {
            ["none"] => return Ok(None),
            [_] => {
                return Err(PgError::new(SqlState::SYNTAX_ERROR, "invalid OWNED BY option")
                    .hint("Specify OWNED BY table.column or OWNED BY NONE."))
            }
            [ref table @ .., column] => (self.qualified(table)?, column),
            [] => return Ok(None),
        };
        let relation = self.find_relation(table.0, table.1).ok_or_else(|| {
            PgError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{}\" does not exist", table.1))
        })?;
        if matches!(relation.kind, RelationKind::View { .. }) {
            return Err(PgError::not_supported("a sequence that a view's column owns"));
        }
        if !matches!(relation.kind, RelationKind::Table) {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("sequence cannot be owned by relation \"{}\"", relation.name),
            )
            .detail(relation.kind.not_supported()));
        }
        if relation.owner != owner {
            return Err(PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "sequence must have same owner as table it is linked to",
            ));
        }
        if relation.schema != schema {
            return Err(PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "sequence must be in same schema as table it is linked to",
            ));
        }
        let attnum = relation.column(column).map(|c| c.attnum).ok_or_else(|| {
            PgError::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{column}\" of relation \"{}\" does not exist", relation.name),
            )
        })?;
        Ok(Some((relation.oid, attnum)))
    }

    pub(super) fn create_sequence(&mut self, statement: &ast::CreateSeqStmt) -> Result<String> {
        let tag = "CREATE SEQUENCE".to_string();
        let name = statement.sequence.as_ref().ok_or_else(|| PgError::internal("CREATE SEQUENCE without a name"))?;
        let temporary = self.is_temporary(name)?;
        self.check_own_database(name)?;
        let schema = if temporary { PG_TEMP } else { self.creation_schema(&name.schemaname, name.location)? };
        self.check_create(schema)?;
        if self.catalog.relation_in(schema, &name.relname).is_some() {
            if statement.if_not_exists {
                let message = format!("relation \"{}\" already exists, skipping", name.relname);
                self.notice(SqlState::DUPLICATE_TABLE, message);
                return Ok(tag);
            }
            return Err(PgError::new(
                SqlState::DUPLICATE_TABLE,
                format!("relation \"{}\" already exists", name.relname),
            ));
        }
        self.check_takes_objects(schema, &name.relname)?;
        let options = SequenceOptions::read(self, &statement.options)?;
        if options.restart.is_some() {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"RESTART\""));
        }
        let owned_by = match &options.owned_by {
            Some(parts) => self.owner_column(parts, (schema, self.environment.user))?,
            None => None,
        };
        let lasting = Lasting { temporary, unlogged: name.relpersistence == "u" };
        self.make_sequence(schema, name.relname.clone(), lasting, options, owned_by, false)?;
        Ok(tag)
    }

    pub(super) fn alter_sequence(&mut self, statement: &ast::AlterSeqStmt) -> Result<String> {
        let tag = "ALTER SEQUENCE".to_string();
        let name = statement.sequence.as_ref().ok_or_else(|| PgError::internal("ALTER SEQUENCE without a name"))?;
        let Some(relation) = self.find_opt(name)? else {
            if statement.missing_ok {
                let message = format!("relation \"{}\" does not exist, skipping", name.relname);
                self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                return Ok(tag);
            }
            return Err(self.no_relation(name));
        };
        self.check_owner(&relation)?;
        let RelationKind::Sequence(old) = &relation.kind else {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("cannot open relation \"{}\"", relation.name),
            )
            .detail(relation.kind.not_supported()));
        };
        let options = SequenceOptions::read(self, &statement.options)?;
        self.change_sequence(&relation, old, &options)?;
        Ok(tag)
    }

    /// Applies changed options to a sequence.
    pub(super) fn change_sequence(
        &mut self,
        relation: &Relation,
        old: &Sequence,
        options: &SequenceOptions,
    ) -> Result<()> {
        let mut sequence = options.apply(Some(old))?;
        let numbers = |s: &Sequence| (s.start, s.increment, s.min, s.cycle);
        if old.row_numbers.is_some() && (options.restart.is_some() || numbers(&sequence) != numbers(old)) {
            return Err(PgError::not_supported(format!(
                "changing sequence \"{}\", whose numbers SQLite gives",
                relation.name
            )));
        }
        if let Some(parts) = &options.owned_by {
            if old.identity {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "cannot change ownership of identity sequence",
                )
                .detail(format!("Sequence \"{}\" is linked to table.", relation.name)));
            }
            sequence.owned_by = self.owner_column(parts, (relation.schema, relation.owner))?;
        }
        let state = pgsqlite_metadata::store::sequence_state(self.conn, relation.oid)?.unwrap_or((old.start, false));
        match options.restart {
            Some(value) => {
                let value = value.unwrap_or(sequence.start);
                if value < sequence.min {
                    return Err(invalid(format!(
                        "RESTART value ({value}) cannot be less than MINVALUE ({})",
                        sequence.min
                    )));
                }
                if value > sequence.max {
                    return Err(invalid(format!(
                        "RESTART value ({value}) cannot be greater than MAXVALUE ({})",
                        sequence.max
                    )));
                }
                self.put_sequence_state(relation.oid, value, false)?;
            }
            // (it stands where the table's rows do)
            None if old.row_numbers.is_some() => {}
            None => {
                if state.0 < sequence.min {
                    return Err(invalid(format!(
                        "RESTART value ({}) cannot be less than MINVALUE ({})",
                        state.0, sequence.min
                    )));
                }
                if state.0 > sequence.max {
                    return Err(invalid(format!(
                        "RESTART value ({}) cannot be greater than MAXVALUE ({})",
                        state.0, sequence.max
                    )));
                }
                self.sequences.push(relation.oid);
            }
        }
        self.put_relation(Relation { kind: RelationKind::Sequence(sequence), ..relation.clone() })
    }
}
