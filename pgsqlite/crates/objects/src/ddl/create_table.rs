//! CREATE TABLE: columns, defaults, generated and identity columns, constraints; LIKE.

use super::storage::Parameters;
use super::{naming, strings, Ddl};
use crate::ddl::sequence::SequenceOptions;
use pgsqlite_sql::acl;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::Names;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_sql::typed::ExprKind;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

/// A PRIMARY KEY or UNIQUE constraint to make.
pub(super) struct KeySpec {
    pub name: String,
    pub primary: bool,
    pub columns: Vec<String>,
    pub include: Vec<String>,
    /// storage parameters of its index
    pub parameters: Vec<String>,
    pub deferrable: bool,
    pub initially_deferred: bool,
    pub nulls_not_distinct: bool,
    pub location: i32,
}

/// What LIKE says of the constraint behind an index that it copies.
#[derive(Clone, Copy)]
pub(super) struct CopiedConstraint {
    pub deferrable: bool,
    pub initially_deferred: bool,
}

/// A CHECK constraint that LIKE takes over.
pub(super) struct CopiedCheck {
    pub name: String,
    pub expression: String,
    pub no_inherit: bool,
    pub comment: Option<String>,
}

/// A CHECK constraint to make.
pub(super) struct CheckSpec {
    pub name: String,
    pub condition: Box<ast::Node>,
    pub no_inherit: bool,
    pub not_valid: bool,
    pub location: i32,
}

/// A FOREIGN KEY constraint to make, with the referencing columns.
pub(super) struct ForeignKeySpec {
    pub constraint: Box<ast::Constraint>,
    pub columns: Vec<String>,
    pub deferrable: bool,
    pub initially_deferred: bool,
}

/// What the elements of a table definition say, before expressions are analyzed.
#[derive(Default)]
pub(super) struct Elements {
    pub defaults: Vec<(i16, Box<ast::Node>)>,
    pub generated: Vec<(i16, Box<ast::Node>)>,
    /// (attnum, sequence options)
    pub serials: Vec<i16>,
    pub identities: Vec<(i16, Identity, Vec<ast::Node>)>,
    pub checks: Vec<CheckSpec>,
    pub keys: Vec<KeySpec>,
    pub exclusions: Vec<ast::Constraint>,
    pub foreign_keys: Vec<ForeignKeySpec>,
    /// CHECKs taken over by LIKE
    pub copied_checks: Vec<CopiedCheck>,
    /// what LIKE … INCLUDING STATISTICS takes over, with its comment
    pub copied_statistics: Vec<(StatisticsObject, Option<String>)>,
    /// indexes taken over by LIKE … INCLUDING INDEXES, with their comment
    pub copied_indexes: Vec<(Index, Option<CopiedConstraint>, Option<String>)>,
    /// (attnum, comment)
    pub comments: Vec<(i16, String)>,
}

/// What messages call the expression of a CHECK.
pub(super) const CHECK: &str = "check constraint";

const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

/// `serial`, `bigserial` … : the integer type behind it.
fn serial_type(name: &ast::TypeName) -> Option<Oid> {
    match strings(&name.names)[..] {
        ["serial" | "serial4"] => Some(oid::INT4),
        ["bigserial" | "serial8"] => Some(oid::INT8),
        ["smallserial" | "serial2"] => Some(oid::INT2),
        _ => None,
    }
}

/// Refuses what SQLite cannot hold: two names that differ in case only.
pub(super) fn check_column_name(columns: &[Column], name: &str, location: i32) -> Result<()> {
    if SYSTEM_COLUMNS.contains(&name) {
        return Err(PgError::new(
            SqlState::DUPLICATE_COLUMN,
            format!("column name \"{name}\" conflicts with a system column name"),
        ));
    }
    for column in columns.iter().filter(|c| !c.dropped) {
        work::visit();
        if column.name != name && column.name.eq_ignore_ascii_case(name) {
            return Err(PgError::not_supported(format!(
                "a table with the columns \"{}\" and \"{name}\", which differ in case only,",
                column.name
            ))
            .at(location));
        }
    }
    Ok(())
}

/// The type of the cast that a query of one column is.
fn cast_type(node: &NodeEnum) -> Option<ast::TypeName> {
    let NodeEnum::SelectStmt(select) = node else { return None };
    let Some(NodeEnum::ResTarget(target)) = &select.target_list.first()?.node else { return None };
    match &target.val.as_ref()?.node {
        Some(NodeEnum::TypeCast(cast)) => cast.type_name.clone(),
        _ => None,
    }
}

impl Ddl<'_> {
    pub(super) fn create_table(&mut self, statement: &ast::CreateStmt) -> Result<String> {
        let name = statement.relation.as_ref().ok_or_else(|| PgError::internal("CREATE TABLE without a name"))?;
        let known = match statement.partspec {
            Some(_) => Parameters::of_partitioned_table(),
            None => Parameters::of_table(),
        };
        let parameters = known.read(&[], &statement.options, false)?;
        self.check_table_place(&statement.tablespacename, &statement.access_method)?;
        if statement.partspec.is_some() && statement.tablespacename == "pg_default" {
            let message = "cannot specify default tablespace for partitioned relations";
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let temporary = name.relpersistence == "t";
        let on_commit = super::create_as::on_commit(statement.oncommit());
        if !temporary
            && !matches!(statement.oncommit(), ast::OnCommitAction::OncommitNoop | ast::OnCommitAction::Undefined)
        {
            return Err(PgError::new(
                SqlState::INVALID_TABLE_DEFINITION,
                "ON COMMIT can only be used on temporary tables",
            ));
        }
        let Some(mut relation) = self.new_table(name, statement.if_not_exists)? else {
            return Ok("CREATE TABLE".into());
        };
        relation.on_commit = on_commit;
        relation.storage.parameters = parameters;
        let mut elements = Elements::default();
        let mut parent = None;
        match &statement.partbound {
            Some(spec) => {
                let Some(NodeEnum::RangeVar(of)) = statement.inh_relations.first().and_then(|n| n.node.as_ref()) else {
                    return Err(PgError::internal("a partition of no table"));
                };
                let of = self.partitioned_parent(&relation, of)?;
                let bound = self.partition_bound(&of, spec)?;
                self.check_new_bound(&of, &relation.name, &bound, spec)?;
                relation.inheritance.parents.push(of.oid);
                relation.inheritance.bound = Some(bound);
                self.inherit_columns(&mut relation, &of)?;
                self.inherit_checks(&mut relation, &of)?;
                parent = Some(of);
            }
            None if statement.partspec.is_some() && !statement.inh_relations.is_empty() => {
                return Err(PgError::new(
                    SqlState::INVALID_OBJECT_DEFINITION,
                    "cannot create partitioned table as inheritance child",
                ))
            }
            None => self.inherit_from(&mut relation, &statement.inh_relations)?,
        }
        let mut number = 0;
        let typed;
        let mut list: &[ast::Node] = &statement.table_elts;
        if let Some(of) = &statement.of_typename {
            typed = self.typed_elements(&mut relation, of, list)?;
            list = &typed;
        }
        for node in list.iter().chain(&statement.constraints) {
            work::visit();
            match &node.node {
                Some(NodeEnum::ColumnDef(def)) => {
                    number += 1;
                    self.child_column_definition(&mut relation, def, &mut elements, number)?
                }
                Some(NodeEnum::Constraint(c)) => self.table_constraint(&relation, c, &mut elements)?,
                Some(NodeEnum::TableLikeClause(like)) => self.like(&mut relation, like, &mut elements)?,
                _ => return Err(PgError::not_supported("this element of a table definition")),
            }
        }
        self.check_default_conflicts(&relation, &elements)?;
        if let Some(spec) = &statement.partspec {
            if elements.checks.iter().any(|c| c.no_inherit) || elements.copied_checks.iter().any(|c| c.no_inherit) {
                return Err(PgError::new(
                    SqlState::INVALID_TABLE_DEFINITION,
                    format!("cannot add NO INHERIT constraint to partitioned table \"{}\"", relation.name),
                ));
            }
            // (what generates a column is analyzed later, when all columns are there)
            let mut columns = relation.clone();
            for (attnum, _) in &elements.generated {
                work::visit();
                columns.columns[*attnum as usize - 1].generated = Some(String::new());
            }
            relation.inheritance.key = Some(self.partition_key(&columns, spec)?);
        }
        let table = relation.oid;
        self.make_table(relation, elements)?;
        if let Some(parent) = parent {
            self.check_default_partition(parent.oid, table, false)?;
            self.give_parts(&parent, table)?;
        }
        Ok("CREATE TABLE".into())
    }

    /// The elements of a table OF a composite type: its columns, with what the statement says of them, and the rest.
    fn typed_elements(
        &mut self,
        relation: &mut Relation,
        of: &ast::TypeName,
        elements: &[ast::Node],
    ) -> Result<Vec<ast::Node>> {
        let (ty, _) = self.type_name(of).map_err(|mut e| {
            e.fields_mut().location = None;
            e
        })?;
        let fields = match self.catalog.types.get(&ty).map(|t| &t.kind) {
            Some(UserTypeKind::Composite { fields }) => fields.clone(),
            _ => {
                return Err(PgError::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("type {} is not a composite type", self.display_type(ty)),
                ))
            }
        };
        self.check_types_usable(&[ty])?;
        relation.inheritance.of_type = ty;
        let names = Names::stored(&self.catalog);
        let mut columns: Vec<ast::ColumnDef> = Vec::new();
        for (name, ty, typmod) in &fields {
            work::visit();
            let cast = pgsqlite_sql::parse::parse(&format!("SELECT NULL::{}", names.type_name(*ty, *typmod)))?;
            let type_name = cast.first().and_then(|s| cast_type(&s.node)).ok_or_else(|| PgError::internal("a type"))?;
            columns.push(ast::ColumnDef { colname: name.clone(), type_name: Some(type_name), ..Default::default() });
        }
        let mut rest = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for node in elements {
            work::visit();
            let Some(NodeEnum::ColumnDef(def)) = &node.node else {
                rest.push(node.clone());
                continue;
            };
            let name = def.colname.as_str();
            let Some(column) = columns.iter_mut().find(|c| c.colname == name) else {
                let message = format!("column \"{name}\" does not exist");
                return Err(PgError::new(SqlState::UNDEFINED_COLUMN, message));
            };
            if seen.contains(&name) {
                let message = format!("column \"{name}\" specified more than once");
                return Err(PgError::new(SqlState::DUPLICATE_COLUMN, message));
            }
            seen.push(name);
            let identity = |node: &ast::Node| matches!(&node.node, Some(NodeEnum::Constraint(c)) if c.contype == ast::ConstrType::ConstrIdentity as i32);
            if def.constraints.iter().any(identity) {
                let message = "identity columns are not supported on typed tables";
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            column.constraints = def.constraints.clone();
            column.location = def.location;
        }
        let made = columns.into_iter().map(|c| ast::Node { node: Some(NodeEnum::ColumnDef(Box::new(c))) });
        Ok(made.chain(rest).collect())
    }

    pub(super) fn check_table_place(&self, tablespace: &str, access_method: &str) -> Result<()> {
        if !matches!(tablespace, "" | "pg_default") {
            return Err(PgError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("tablespace \"{tablespace}\" does not exist"),
            ));
        }
        if !matches!(access_method, "" | "heap") {
            return Err(PgError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("access method \"{access_method}\" does not exist"),
            ));
        }
        Ok(())
    }

    /// A relation without columns for the name; None if it exists and IF NOT EXISTS was written.
    pub(super) fn new_table(&mut self, name: &ast::RangeVar, if_not_exists: bool) -> Result<Option<Relation>> {
        self.find_opt(&ast::RangeVar { relname: String::new(), ..name.clone() }).map_err(|e| match e.code() {
            SqlState::INSUFFICIENT_PRIVILEGE => e.at(name.location),
            _ => e,
        })?;
        let temporary = name.relpersistence == "t" || name.schemaname == "pg_temp";
        if name.relpersistence == "u" && name.schemaname == "pg_temp" {
            return Err(PgError::new(
                SqlState::INVALID_TABLE_DEFINITION,
                "only temporary relations may be created in temporary schemas",
            )
            .at(name.location));
        }
        let schema = if temporary {
            if !matches!(name.schemaname.as_str(), "" | "pg_temp") {
                return Err(super::temporary_elsewhere().at(name.location));
            }
            PG_TEMP
        } else {
            self.creation_schema(&name.schemaname, name.location)?
        };
        self.check_creation(schema, &name.relname).map_err(|e| e.at(name.location))?;
        if self.catalog.relation_in(schema, &name.relname).is_some() {
            if if_not_exists {
                let message = format!("relation \"{}\" already exists, skipping", name.relname);
                self.notice(SqlState::DUPLICATE_TABLE, message);
                return Ok(None);
            }
            return Err(PgError::new(
                SqlState::DUPLICATE_TABLE,
                format!("relation \"{}\" already exists", name.relname),
            ));
        }
        self.check_row_type_name(schema, &name.relname)?;
        let array_name = self.name_of_array(schema, &name.relname, true)?;
        let sqlite_name = self.choose_sqlite_name(schema, &name.relname);
        Ok(Some(Relation {
            oid: self.new_oid(temporary)?,
            schema,
            name: name.relname.clone(),
            kind: RelationKind::Table,
            sqlite_name,
            owner: self.environment.user,
            row_type: self.new_oid(temporary)?,
            array_type: self.new_oid(temporary)?,
            temporary,
            unlogged: name.relpersistence == "u",
            columns: Vec::new(),
            constraints: Vec::new(),
            rowid_column: None,
            without_rowid: false,
            origin: Origin::Pgsqlite,
            acl: self.default_acl(pgsqlite_sql::acl::AclObject::Table, schema),
            tuples: None,
            distinct: vec![],
            on_commit: Default::default(),
            security: Default::default(),
            inheritance: Default::default(),
            storage: Default::default(),
            triggers: Vec::new(),
            statistics: Vec::new(),
            rules: Vec::new(),
            array_name,
        }))
    }

    /// A relation's row type has its name, which no other type of the schema may have.
    pub(super) fn check_row_type_name(&self, schema: Oid, name: &str) -> Result<()> {
        if self.catalog.types.values().any(|t| t.schema == schema && t.name == name) {
            return Err(PgError::new(SqlState::DUPLICATE_OBJECT, format!("type \"{name}\" already exists")).hint(
                "A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.",
            ));
        }
        Ok(())
    }

    /// One column with its constraints.
    pub(super) fn column_definition(
        &mut self,
        relation: &mut Relation,
        def: &ast::ColumnDef,
        elements: &mut Elements,
    ) -> Result<()> {
        let name = def.colname.as_str();
        if relation.column(name).is_some() {
            return Err(PgError::new(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{name}\" specified more than once"),
            ));
        }
        check_column_name(&relation.columns, name, def.location)?;
        if !def.storage_name.is_empty() {
            return Err(PgError::not_supported("STORAGE").at(def.location));
        }
        let attnum = relation.columns.len() as i16 + 1;
        let type_name = def.type_name.as_ref().ok_or_else(|| PgError::internal("a column without a type"))?;
        let serial = serial_type(type_name);
        let (type_oid, typmod) = match serial {
            Some(_) if !type_name.array_bounds.is_empty() => {
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "array of serial is not implemented")
                    .at(type_name.location))
            }
            Some(ty) => (ty, -1),
            None => self.type_name(type_name)?,
        };
        self.check_column_type(name, type_oid, type_name.location)?;
        let mut column = Column::new(attnum, name, type_oid, typmod);
        column.keeping.compression = self.compression(&def.compression, type_oid)?;
        column.collation = self.column_collation(def.coll_clause.as_deref(), type_oid)?;
        if serial.is_some() {
            column.not_null = true;
            elements.serials.push(attnum);
        }
        let mut saw_null = None;
        let mut saw_default = false;
        let already = |what: &str| {
            PgError::new(SqlState::SYNTAX_ERROR, format!("{what} for column \"{name}\" of table \"{}\"", relation.name))
        };
        let constraints: Vec<&ast::Constraint> = def
            .constraints
            .iter()
            .filter_map(|n| match &n.node {
                Some(NodeEnum::Constraint(c)) => Some(&**c),
                _ => None,
            })
            .collect();
        for (i, c) in constraints.iter().enumerate() {
            work::visit();
            // DEFERRABLE and its kin follow as nodes of their own.
            let attributes = Attributes::after(&constraints[i + 1..])?;
            match c.contype() {
                ast::ConstrType::ConstrNull | ast::ConstrType::ConstrNotnull => {
                    let not_null = c.contype() == ast::ConstrType::ConstrNotnull;
                    if saw_null.is_some_and(|s| s != not_null)
                        || (!not_null && (serial.is_some() || column.identity.is_some()))
                    {
                        return Err(already("conflicting NULL/NOT NULL declarations").at(c.location));
                    }
                    saw_null = Some(not_null);
                    column.not_null |= not_null;
                }
                ast::ConstrType::ConstrDefault => {
                    if saw_default || serial.is_some() {
                        return Err(already("multiple default values specified").at(c.location));
                    }
                    saw_default = true;
                    elements.defaults.push((attnum, required(&c.raw_expr)?));
                }
                ast::ConstrType::ConstrIdentity => {
                    if !matches!(type_oid, oid::INT2 | oid::INT4 | oid::INT8) {
                        return Err(PgError::new(
                            SqlState::INVALID_PARAMETER_VALUE,
                            "identity column type must be smallint, integer, or bigint",
                        ));
                    }
                    if column.identity.is_some() {
                        return Err(already("multiple identity specifications").at(c.location));
                    }
                    if saw_null == Some(false) {
                        return Err(already("conflicting NULL/NOT NULL declarations").at(c.location));
                    }
                    let identity = if c.generated_when == "a" { Identity::Always } else { Identity::ByDefault };
                    column.identity = Some(identity);
                    column.not_null = true;
                    elements.identities.push((attnum, identity, c.options.clone()));
                }
                ast::ConstrType::ConstrGenerated => {
                    if c.generated_kind == "v" {
                        return Err(PgError::not_supported("a virtual generated column").at(c.location));
                    }
                    if elements.generated.iter().any(|g| g.0 == attnum) {
                        return Err(already("multiple generation clauses specified").at(c.location));
                    }
                    elements.generated.push((attnum, required(&c.raw_expr)?));
                }
                ast::ConstrType::ConstrCheck => elements.checks.push(CheckSpec {
                    name: c.conname.clone(),
                    condition: required(&c.raw_expr)?,
                    no_inherit: c.is_no_inherit,
                    not_valid: false,
                    location: c.location,
                }),
                ast::ConstrType::ConstrPrimary | ast::ConstrType::ConstrUnique => {
                    if c.contype() == ast::ConstrType::ConstrPrimary && saw_null == Some(false) {
                        return Err(already("conflicting NULL/NOT NULL declarations").at(c.location));
                    }
                    let spec = self.key_spec(c, vec![name.to_string()])?;
                    let Attributes { deferrable, initially_deferred } = attributes;
                    elements.keys.push(KeySpec { deferrable, initially_deferred, ..spec })
                }
                ast::ConstrType::ConstrForeign => elements.foreign_keys.push(ForeignKeySpec {
                    constraint: Box::new((*c).clone()),
                    columns: vec![name.to_string()],
                    deferrable: attributes.deferrable,
                    initially_deferred: attributes.initially_deferred,
                }),
                ast::ConstrType::ConstrAttrDeferrable
                | ast::ConstrType::ConstrAttrNotDeferrable
                | ast::ConstrType::ConstrAttrDeferred
                | ast::ConstrType::ConstrAttrImmediate => {
                    let follows = constraints[..i].iter().rev().find(|p| !is_attribute(p));
                    if follows.is_none_or(|p| p.contype() != ast::ConstrType::ConstrForeign && !is_key(p)) {
                        let clause = Attributes::clause(c);
                        return Err(
                            PgError::new(SqlState::SYNTAX_ERROR, format!("misplaced {clause} clause")).at(c.location)
                        );
                    }
                }
                _ => return Err(PgError::not_supported("this column constraint").at(c.location)),
            }
        }
        let both = |what: &str| already(what).at(def.location);
        if elements.serials.contains(&attnum) && column.identity.is_some() {
            return Err(already("both default and identity specified"));
        }
        let generated = elements.generated.iter().any(|g| g.0 == attnum);
        if saw_default && column.identity.is_some() {
            return Err(both("both default and identity specified"));
        }
        if saw_default && generated {
            return Err(both("both default and generation expression specified"));
        }
        if column.identity.is_some() && generated {
            return Err(both("both identity and generation expression specified"));
        }
        relation.columns.push(column);
        Ok(())
    }

    /// 42P16 for pseudo-types, 0A000 for types that are not implemented.
    pub(super) fn check_column_type(&self, column: &str, ty: Oid, location: i32) -> Result<()> {
        if let Some(TypeEntry::Builtin(t)) = self.catalog.type_entry(ty) {
            if t.kind == b'p' {
                return Err(PgError::new(
                    SqlState::INVALID_TABLE_DEFINITION,
                    format!("column \"{column}\" has pseudo-type {}", self.display_type(ty)),
                ));
            }
        }
        if self.catalog.codec(ty).is_none() {
            return Err(PgError::not_supported(format!("type {}", self.display_type(ty))).at(location));
        }
        let element = self.catalog.element_type(ty).unwrap_or(ty);
        if let Some(used) = self.catalog.types.get(&element) {
            use pgsqlite_sql::acl::{privileges, AclObject};
            let user = self.environment.user;
            if privileges(&self.catalog, user, AclObject::Type, used.owner, used.acl.as_ref()) == 0 {
                return Err(PgError::new(
                    SqlState::INSUFFICIENT_PRIVILEGE,
                    format!("permission denied for type {}", used.name),
                ));
            }
        }
        Ok(())
    }

    /// The collation of a column that a query gives. Errors: 42P22 where none can be told.
    pub(super) fn derived_collation(&self, column: &str, ty: Oid, collation: Oid) -> Result<Oid> {
        match collation {
            0 => Ok(naming::default_collation(&self.catalog, ty)),
            NO_COLLATION => Err(PgError::new(
                SqlState::INDETERMINATE_COLLATION,
                format!(
                    "no collation was derived for column \"{column}\" with collatable type {}",
                    self.display_type(ty)
                ),
            )
            .hint("Use the COLLATE clause to set the collation explicitly.")),
            own => Ok(own),
        }
    }

    /// The OID of a COLLATE clause.
    pub(super) fn column_collation(&self, clause: Option<&ast::CollateClause>, ty: Oid) -> Result<Oid> {
        let default = naming::default_collation(&self.catalog, ty);
        let Some(clause) = clause else { return Ok(default) };
        if default == 0 {
            return Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("collations are not supported by type {}", self.display_type(ty)),
            )
            .at(clause.location));
        }
        let found = self.collation_oid(&strings(&clause.collname)).map_err(|e| e.at(clause.location))?;
        let plain = self.catalog.codec(ty) == Some(pgsqlite_types::codec::TypeCodec::Text);
        if self.catalog.is_of_language(found) && !plain {
            let what = format!("a collation of ICU for type {}", self.display_type(ty));
            return Err(PgError::not_supported(what).at(clause.location));
        }
        Ok(found)
    }

    pub(super) fn collation_oid(&self, parts: &[&str]) -> Result<Oid> {
        pgsqlite_sql::analyze::find_collation(&self.catalog, self.environment.search_path, parts)
    }

    fn key_spec(&self, c: &ast::Constraint, columns: Vec<String>) -> Result<KeySpec> {
        let parameters = Parameters::of_index("btree").read(&[], &c.options, false)?;
        if !c.indexname.is_empty() {
            return Err(PgError::not_supported("USING INDEX").at(c.location));
        }
        if c.without_overlaps {
            return Err(PgError::not_supported("WITHOUT OVERLAPS").at(c.location));
        }
        self.check_table_place(&c.indexspace, "")?;
        Ok(KeySpec {
            name: c.conname.clone(),
            primary: c.contype() == ast::ConstrType::ConstrPrimary,
            columns,
            include: strings(&c.including).into_iter().map(str::to_string).collect(),
            parameters,
            deferrable: c.deferrable || c.initdeferred,
            initially_deferred: c.initdeferred,
            nulls_not_distinct: c.nulls_not_distinct,
            location: c.location,
        })
    }

    /// A table constraint of CREATE TABLE or ADD CONSTRAINT.
    pub(super) fn table_constraint(
        &self,
        _relation: &Relation,
        c: &ast::Constraint,
        elements: &mut Elements,
    ) -> Result<()> {
        match c.contype() {
            ast::ConstrType::ConstrCheck => elements.checks.push(CheckSpec {
                name: c.conname.clone(),
                condition: required(&c.raw_expr)?,
                no_inherit: c.is_no_inherit,
                not_valid: c.skip_validation,
                location: c.location,
            }),
            ast::ConstrType::ConstrPrimary | ast::ConstrType::ConstrUnique => {
                let columns = strings(&c.keys).into_iter().map(str::to_string).collect();
                elements.keys.push(self.key_spec(c, columns)?);
            }
            ast::ConstrType::ConstrForeign => elements.foreign_keys.push(ForeignKeySpec {
                columns: strings(&c.fk_attrs).into_iter().map(str::to_string).collect(),
                deferrable: c.deferrable,
                initially_deferred: c.initdeferred,
                constraint: Box::new(c.clone()),
            }),
            ast::ConstrType::ConstrExclusion => elements.exclusions.push(c.clone()),
            _ => return Err(PgError::not_supported("this table constraint").at(c.location)),
        }
        Ok(())
    }

    /// A sequence's options as the grammar would give them, for a copy of it.
    fn sequence_options_of(&self, sequence: Oid) -> Vec<ast::Node> {
        let Some(RelationKind::Sequence(s)) = self.catalog.relation(sequence).map(|r| &r.kind) else {
            return Vec::new();
        };
        let number = |name: &str, value: i64| {
            let arg = NodeEnum::Float(ast::Float { fval: value.to_string() });
            ast::Node {
                node: Some(NodeEnum::DefElem(Box::new(ast::DefElem {
                    defname: name.into(),
                    arg: Some(Box::new(ast::Node { node: Some(arg) })),
                    location: -1,
                    ..Default::default()
                }))),
            }
        };
        let mut out = vec![
            number("increment", s.increment),
            number("minvalue", s.min),
            number("maxvalue", s.max),
            number("start", s.start),
            number("cache", s.cache),
        ];
        if s.cycle {
            let arg = NodeEnum::Boolean(ast::Boolean { boolval: true });
            out.push(ast::Node {
                node: Some(NodeEnum::DefElem(Box::new(ast::DefElem {
                    defname: "cycle".into(),
                    arg: Some(Box::new(ast::Node { node: Some(arg) })),
                    location: -1,
                    ..Default::default()
                }))),
            });
        }
        out
    }

    /// LIKE source [INCLUDING …].
    fn like(&mut self, relation: &mut Relation, like: &ast::TableLikeClause, elements: &mut Elements) -> Result<()> {
        let name = like.relation.as_ref().ok_or_else(|| PgError::internal("LIKE without a table"))?;
        let source = self.find(name).map_err(|e| e.at(name.location))?;
        if matches!(source.kind, RelationKind::Index(_) | RelationKind::Sequence(_)) {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("relation \"{}\" is invalid in LIKE clause", source.name),
            )
            .at(name.location));
        }
        let user = self.environment.user;
        if acl::relation_privileges(&self.catalog, user, &source) & acl::privilege::SELECT == 0
            && !acl::is_superuser(&self.catalog, user)
        {
            return Err(PgError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied for {} {}", super::kind_word(&source.kind), source.name),
            ));
        }
        let including = |bit: u32| like.options & (1 << bit) != 0;
        let comments = if including(0) { self.catalog.comments.clone() } else { Default::default() };
        let comment = |class: Oid, object: Oid, sub: i16| comments.get(&(class, object, i32::from(sub))).cloned();
        let first = relation.columns.len() as i16;
        for from in source.live_columns() {
            work::visit();
            if let Some(own) = relation.column(&from.name) {
                if own.inherited.merely {
                    return Err(PgError::not_supported("LIKE with a column that is inherited, too,").at(name.location));
                }
                return Err(PgError::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{}\" specified more than once", from.name),
                ));
            }
            check_column_name(&relation.columns, &from.name, name.location)?;
            let attnum = relation.columns.len() as i16 + 1;
            let mut column = Column::new(attnum, from.name.clone(), from.type_oid, from.typmod);
            column.not_null = from.not_null;
            column.collation = from.collation;
            if including(1) {
                column.keeping.compression = from.keeping.compression;
            }
            if including(8) {
                column.keeping.storage = from.keeping.storage;
            }
            if including(3) {
                column.default.clone_from(&from.default);
            }
            if including(4) {
                column.generated.clone_from(&from.generated);
            }
            if let (Some(identity), true) = (from.identity, including(5)) {
                column.identity = Some(identity);
                elements.identities.push((attnum, identity, self.sequence_options_of(from.sequence)));
            }
            if let Some(comment) = comment(super::schema::CLASS_RELATION, source.oid, from.attnum) {
                elements.comments.push((attnum, comment));
            }
            relation.columns.push(column);
        }
        if including(2) {
            for c in &source.constraints {
                work::visit();
                if let ConstraintKind::Check { expression, no_inherit } = &c.kind {
                    elements.copied_checks.push(CopiedCheck {
                        name: c.name.clone(),
                        expression: expression.clone(),
                        no_inherit: *no_inherit,
                        comment: comment(super::schema::CLASS_CONSTRAINT, c.oid, 0),
                    });
                }
            }
        }
        let renumber = |attnum: i16| {
            let position = source.live_columns().position(|c| c.attnum == attnum);
            position.map(|p| first + p as i16 + 1)
        };
        if including(7) {
            for object in &source.statistics {
                work::visit();
                let columns = object.columns.iter().filter_map(|&a| renumber(a)).collect();
                let comment = comment(super::schema::CLASS_STATISTICS, object.oid, 0);
                elements.copied_statistics.push((StatisticsObject { columns, ..object.clone() }, comment));
            }
        }
        if including(6) {
            let indexes: Vec<(Oid, Index)> =
                self.catalog.indexes_of(source.oid).map(|(r, i)| (r.oid, i.clone())).collect();
            for (index_oid, mut index) in indexes {
                work::visit();
                if index.is_named_only() {
                    continue;
                }
                // (the new table's is ours)
                index.of_sqlite = false;
                let constraint =
                    source.constraints.iter().find(|c| c.has_index() && c.index == index_oid).map(|c| {
                        CopiedConstraint { deferrable: c.deferrable, initially_deferred: c.initially_deferred }
                    });
                for key in &mut index.columns {
                    work::visit();
                    if let KeyPart::Column(attnum) = &mut key.key {
                        *attnum = renumber(*attnum).ok_or_else(|| PgError::internal("an index on a dropped column"))?;
                    }
                }
                index.include = index.include.iter().filter_map(|&a| renumber(a)).collect();
                index.table = relation.oid;
                let comment = comment(super::schema::CLASS_RELATION, index_oid, 0);
                elements.copied_indexes.push((index, constraint, comment));
            }
        }
        Ok(())
    }

    /// Makes the table, its sequences, indexes and constraints, in the catalog and in SQLite.
    pub(super) fn make_table(&mut self, mut relation: Relation, elements: Elements) -> Result<()> {
        super::check_number_of_columns(relation.columns.len())?;
        // Sequences first: the defaults name them.
        for &attnum in &elements.serials {
            work::visit();
            self.add_owned_sequence(&mut relation, attnum, false, &[])?;
        }
        for (attnum, _, options) in &elements.identities {
            work::visit();
            self.add_owned_sequence(&mut relation, *attnum, true, options)?;
        }
        for (attnum, node) in &elements.defaults {
            work::visit();
            let text = self.column_default(&relation, *attnum, node)?;
            relation.columns[*attnum as usize - 1].default = text;
        }
        for (attnum, node) in &elements.generated {
            work::visit();
            let text = self.generation_expression(&relation, *attnum, node)?;
            relation.columns[*attnum as usize - 1].generated = Some(text);
        }
        // Foreign keys may reference the table itself, indexes are made for it: the catalog must know it.
        self.catalog.add_relation(relation.clone());
        for check in &elements.checks {
            work::visit();
            if self.merge_check(&mut relation, check)? {
                continue;
            }
            let constraint = self.check_constraint(&relation, check)?;
            // (a new table has no rows that NOT VALID could be about)
            relation.constraints.push(Constraint { not_valid: false, ..constraint });
        }
        let mut comments: Vec<(Oid, Oid, String)> = Vec::new();
        for check in elements.copied_checks {
            work::visit();
            let oid = self.new_oid(relation.temporary)?;
            comments.extend(check.comment.map(|c| (super::schema::CLASS_CONSTRAINT, oid, c)));
            let constraint = Constraint {
                oid,
                name: check.name,
                columns: self.expression_columns(&check.expression, &relation)?,
                kind: ConstraintKind::Check { expression: check.expression, no_inherit: check.no_inherit },
                index: 0,
                deferrable: false,
                initially_deferred: false,
                not_valid: false,
                inherited: Inherited::default(),
                managed: false,
            };
            relation.constraints.push(constraint);
        }
        let mut indexes: Vec<Relation> = Vec::new();
        // The primary key comes first, as in PostgreSQL.
        let mut keys: Vec<&KeySpec> = elements.keys.iter().filter(|k| k.primary).collect();
        if keys.len() > 1 {
            return Err(PgError::new(
                SqlState::INVALID_TABLE_DEFINITION,
                format!("multiple primary keys for table \"{}\" are not allowed", relation.name),
            )
            .at(keys[1].location));
        }
        keys.extend(elements.keys.iter().filter(|k| !k.primary));
        for key in keys {
            work::visit();
            self.add_key(&mut relation, key, &mut indexes, true)?;
        }
        for (index, constraint, comment) in elements.copied_indexes {
            work::visit();
            if index.primary && relation.primary_key().is_some() {
                return Err(PgError::new(
                    SqlState::INVALID_TABLE_DEFINITION,
                    format!("multiple primary keys for table \"{}\" are not allowed", relation.name),
                ));
            }
            let before = indexes.len();
            self.copy_index(&mut relation, index, constraint, &mut indexes)?;
            let made = indexes.get(before).map(|i| i.oid);
            comments.extend(made.zip(comment).map(|(oid, c)| (super::schema::CLASS_RELATION, oid, c)));
        }
        for constraint in &elements.exclusions {
            work::visit();
            self.add_exclusion(&mut relation, constraint, &mut indexes)?;
        }
        self.catalog.add_relation(relation.clone());
        for index in &indexes {
            work::visit();
            self.catalog.add_relation(index.clone());
        }
        for spec in &elements.foreign_keys {
            work::visit();
            let constraint = self.foreign_key(&relation, spec)?;
            relation.constraints.push(Constraint { not_valid: false, ..constraint });
            self.catalog.add_relation(relation.clone());
        }
        let sql = self.table_sql(&relation, &relation.sqlite_name)?;
        self.sqlite(&sql)?;
        for index in &indexes {
            work::visit();
            self.make_sqlite_index(index, &relation)?;
        }
        let oid = relation.oid;
        let keys: Vec<Oid> =
            relation.constraints.iter().filter(|c| c.is_foreign_key() && c.managed).map(|c| c.oid).collect();
        self.put_relation(relation)?;
        for index in indexes {
            work::visit();
            self.put_relation(index)?;
        }
        for key in keys {
            work::visit();
            self.reference_partitions(oid, key)?;
        }
        self.copy_statistics(oid, elements.copied_statistics)?;
        for (attnum, comment) in elements.comments {
            work::visit();
            self.set_comment(super::schema::CLASS_RELATION, oid, i32::from(attnum), Some(&comment))?;
        }
        for (class, object, comment) in comments {
            work::visit();
            self.set_comment(class, object, 0, Some(&comment))?;
        }
        Ok(())
    }

    /// The sequence of a serial or identity column, `table_column_seq`.
    pub(super) fn add_owned_sequence(
        &mut self,
        relation: &mut Relation,
        attnum: i16,
        identity: bool,
        options: &[ast::Node],
    ) -> Result<()> {
        let column = relation.columns[attnum as usize - 1].clone();
        let mut parsed = SequenceOptions::read(self, options)?;
        let schema = match parsed.name.take() {
            Some((schema, _)) if !schema.is_empty() => self.creation_schema(&schema, -1)?,
            _ => relation.schema,
        };
        let name = match SequenceOptions::read(self, options)?.name {
            Some((_, name)) => name,
            None => self.choose_relation_name(schema, &relation.name, &column.name, "seq", false, &[]),
        };
        parsed.type_oid.get_or_insert(column.type_oid);
        let lasting = super::sequence::Lasting { temporary: relation.temporary, unlogged: relation.unlogged };
        let sequence = self.make_sequence(schema, name, lasting, parsed, Some((relation.oid, attnum)), identity)?;
        let qualified = format!(
            "{}.{}",
            pgsqlite_sql::deparse::quote_identifier(self.catalog.schema_name(schema)),
            pgsqlite_sql::deparse::quote_identifier(&sequence.1)
        );
        let column = &mut relation.columns[attnum as usize - 1];
        column.sequence = sequence.0;
        if !identity {
            let literal = pgsqlite_sql::deparse::quote_literal(&qualified);
            column.default = Some(format!("nextval({literal}::regclass)"));
        }
        Ok(())
    }

    /// DEFAULT, checked against the column's type; the text to store. None: NULL, which is no default.
    pub(super) fn column_default(&self, relation: &Relation, attnum: i16, node: &ast::Node) -> Result<Option<String>> {
        let column = &relation.columns[attnum as usize - 1];
        let (expr, text) = self.default_expression(&column.name, (column.type_oid, column.typmod), node)?;
        let null = matches!(expr.kind, ExprKind::Const(pgsqlite_types::Datum::Null));
        Ok((!null).then_some(text))
    }

    /// DEFAULT of a column or a domain of this name and type (with its modifier), and the text to store.
    pub(super) fn default_expression(
        &self,
        name: &str,
        target: (Oid, i32),
        node: &ast::Node,
    ) -> Result<(pgsqlite_sql::typed::Expr, String)> {
        self.expression(node, None, Some(target), "DEFAULT expression").map_err(|e| {
            if e.code() == SqlState::UNDEFINED_COLUMN {
                let error =
                    PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "cannot use column reference in DEFAULT expression");
                return match e.fields().location {
                    Some(location) => error.at(location as i32),
                    None => error,
                };
            }
            if e.code() != SqlState::DATATYPE_MISMATCH {
                return e;
            }
            let Ok((expr, _)) = self.expression(node, None, None, "DEFAULT expression") else { return e };
            self.default_mismatch(name, target.0, expr.ty)
        })
    }

    fn default_mismatch(&self, column: &str, of: Oid, is: Oid) -> PgError {
        let (of, is) = (self.display_type(of), self.display_type(is));
        let message = format!("column \"{column}\" is of type {of} but default expression is of type {is}");
        PgError::new(SqlState::DATATYPE_MISMATCH, message).hint("You will need to rewrite or cast the expression.")
    }

    pub(super) fn generation_expression(&self, relation: &Relation, attnum: i16, node: &ast::Node) -> Result<String> {
        let column = &relation.columns[attnum as usize - 1];
        let target = Some((column.type_oid, column.typmod));
        let place = "column generation expression";
        let (expr, text) = self.expression(node, Some(relation), target, place).map_err(|e| {
            // what the expression is made of is wrong before its type is
            let untyped = self.expression(node, Some(relation), None, place);
            match (e.code() == SqlState::DATATYPE_MISMATCH, untyped) {
                (true, Ok((expr, _))) => self
                    .check_no_generated(relation, attnum, &expr)
                    .err()
                    .unwrap_or_else(|| self.default_mismatch(&column.name, column.type_oid, expr.ty)),
                _ => e,
            }
        })?;
        self.check_immutable(&expr, (&text, relation), "a generated column", "generation expression is not immutable")?;
        if let Some(location) = pgsqlite_sql::deparse::whole_row(&expr) {
            return Err(PgError::new(
                SqlState::INVALID_OBJECT_DEFINITION,
                "cannot use whole-row variable in column generation expression",
            )
            .detail("This would cause the generated column to depend on its own value.")
            .at(location));
        }
        self.check_no_generated(relation, attnum, &expr)?;
        Ok(text)
    }

    /// 42P17: the expression of the generated column `attnum` uses a generated column, maybe itself.
    fn check_no_generated(&self, relation: &Relation, attnum: i16, expr: &pgsqlite_sql::typed::Expr) -> Result<()> {
        let mut refused = None;
        pgsqlite_sql::walk::deep(expr, 0, &mut |depth, e| {
            let ExprKind::Var(v) = &e.kind else { return };
            let used = (v.levels_up == depth).then(|| relation.live_columns().nth(v.column)).flatten();
            if let Some(used) = used.filter(|c| c.generated.is_some() || c.attnum == attnum) {
                refused.get_or_insert((used.name.clone(), e.location));
            }
        });
        let Some((name, location)) = refused else { return Ok(()) };
        Err(PgError::new(
            SqlState::INVALID_OBJECT_DEFINITION,
            format!("cannot use generated column \"{name}\" in column generation expression"),
        )
        .detail("A generated column cannot reference another generated column.")
        .at(location))
    }

    /// The attnums an expression over `relation` uses, in order.
    pub(super) fn expression_columns(&self, text: &str, relation: &Relation) -> Result<Vec<i16>> {
        let expr = self.analyze_stored(|e| pgsqlite_sql::analyze::analyze_expression(e, text, Some(relation), None))?;
        let attnums: Vec<i16> = relation.live_columns().map(|c| c.attnum).collect();
        Ok(pgsqlite_sql::deparse::columns_used(&expr).into_iter().filter_map(|i| attnums.get(i).copied()).collect())
    }

    /// A CHECK constraint, analyzed and named.
    pub(super) fn check_constraint(&mut self, relation: &Relation, spec: &CheckSpec) -> Result<Constraint> {
        let (mut expr, mut text) = self.expression(&spec.condition, Some(relation), None, CHECK)?;
        if let Some(location) = pgsqlite_sql::deparse::whole_row(&expr) {
            return Err(PgError::not_supported("a whole row in a CHECK constraint").at(location));
        }
        if expr.ty == oid::UNKNOWN {
            (expr, text) = self.expression(&spec.condition, Some(relation), Some((oid::BOOL, -1)), CHECK)?;
        }
        if self.catalog.base_type(expr.ty) != oid::BOOL {
            return Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("argument of CHECK must be type boolean, not type {}", self.display_type(expr.ty)),
            )
            .at(pgsqlite_sql::analyze::location_of(&spec.condition).max(spec.location)));
        }
        let attnums: Vec<i16> = relation.live_columns().map(|c| c.attnum).collect();
        let columns: Vec<i16> =
            pgsqlite_sql::deparse::columns_used(&expr).into_iter().filter_map(|i| attnums.get(i).copied()).collect();
        let name = if spec.name.is_empty() {
            let column = match columns[..] {
                [one] => relation.column_by_attnum(one).map_or("", |c| &c.name),
                _ => "",
            };
            let taken: Vec<String> = relation.constraints.iter().map(|c| c.name.clone()).collect();
            self.choose_constraint_name(relation.schema, &relation.name, column, "check", &taken)
        } else {
            self.check_constraint_name(relation, &spec.name)?;
            spec.name.clone()
        };
        Ok(Constraint {
            oid: self.new_oid(relation.temporary)?,
            name,
            kind: ConstraintKind::Check { expression: text, no_inherit: spec.no_inherit },
            columns,
            index: 0,
            deferrable: false,
            initially_deferred: false,
            not_valid: spec.not_valid,
            inherited: Inherited::default(),
            managed: false,
        })
    }

    /// 42710 if the table has a constraint of this name.
    pub(super) fn check_constraint_name(&self, relation: &Relation, name: &str) -> Result<()> {
        if relation.constraints.iter().any(|c| c.name == name) {
            return Err(PgError::new(
                SqlState::DUPLICATE_OBJECT,
                format!("constraint \"{name}\" for relation \"{}\" already exists", relation.name),
            ));
        }
        Ok(())
    }
}

/// The expression that the grammar always gives with this kind of constraint.
fn required(node: &Option<Box<ast::Node>>) -> Result<Box<ast::Node>> {
    node.clone().ok_or_else(|| PgError::internal("a constraint without its expression"))
}

fn is_attribute(c: &ast::Constraint) -> bool {
    matches!(
        c.contype(),
        ast::ConstrType::ConstrAttrDeferrable
            | ast::ConstrType::ConstrAttrNotDeferrable
            | ast::ConstrType::ConstrAttrDeferred
            | ast::ConstrType::ConstrAttrImmediate
            | ast::ConstrType::ConstrAttrEnforced
            | ast::ConstrType::ConstrAttrNotEnforced
    )
}

fn is_key(c: &ast::Constraint) -> bool {
    matches!(c.contype(), ast::ConstrType::ConstrPrimary | ast::ConstrType::ConstrUnique)
}

/// DEFERRABLE, INITIALLY DEFERRED … after a column constraint.
struct Attributes {
    deferrable: bool,
    initially_deferred: bool,
}

impl Attributes {
    /// Errors: 42601 for clauses that repeat or contradict each other.
    fn after(rest: &[&ast::Constraint]) -> Result<Attributes> {
        let wrong =
            |c: &ast::Constraint, message: &str| Err(PgError::new(SqlState::SYNTAX_ERROR, message).at(c.location));
        let (mut deferrable, mut deferred) = (None, None);
        for c in rest.iter().take_while(|c| is_attribute(c)) {
            work::visit();
            match c.contype() {
                ast::ConstrType::ConstrAttrDeferrable | ast::ConstrType::ConstrAttrNotDeferrable => {
                    let on = c.contype() == ast::ConstrType::ConstrAttrDeferrable;
                    if deferrable.replace(on).is_some() {
                        return wrong(c, "multiple DEFERRABLE/NOT DEFERRABLE clauses not allowed");
                    }
                }
                ast::ConstrType::ConstrAttrDeferred | ast::ConstrType::ConstrAttrImmediate => {
                    let on = c.contype() == ast::ConstrType::ConstrAttrDeferred;
                    if deferred.replace(on).is_some() {
                        return wrong(c, "multiple INITIALLY IMMEDIATE/DEFERRED clauses not allowed");
                    }
                }
                _ => {}
            }
            if (deferrable, deferred) == (Some(false), Some(true)) {
                return wrong(c, "constraint declared INITIALLY DEFERRED must be DEFERRABLE");
            }
        }
        let initially_deferred = deferred == Some(true);
        Ok(Attributes { deferrable: deferrable.unwrap_or(initially_deferred), initially_deferred })
    }

    /// How messages name such a clause.
    fn clause(c: &ast::Constraint) -> &'static str {
        match c.contype() {
            ast::ConstrType::ConstrAttrNotDeferrable => "NOT DEFERRABLE",
            ast::ConstrType::ConstrAttrDeferred => "INITIALLY DEFERRED",
            ast::ConstrType::ConstrAttrImmediate => "INITIALLY IMMEDIATE",
            _ => "DEFERRABLE",
        }
    }
}
