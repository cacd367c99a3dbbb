//! CREATE TABLE: columns, defaults, generated and identity columns, constraints; LIKE.

use super::column_definition::{cast_type, required};
use super::storage_parameters::Parameters;
use super::{strings, Ddl};
use crate::ddl::sequence::SequenceOptions;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::Names;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

/// A PRIMARY KEY or UNIQUE constraint to make.
#[derive(Clone)]
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
    pub without_overlaps: bool,
    pub location: i32,
}

/// What LIKE says of the constraint behind an index that it copies.
#[derive(Clone, Copy)]
pub(super) struct CopiedConstraint {
    pub deferrable: bool,
    pub initially_deferred: bool,
    pub temporal: Option<TemporalKey>,
}

/// A CHECK constraint that LIKE takes over.
pub(super) struct CopiedCheck {
    pub name: String,
    pub expression: String,
    pub no_inherit: bool,
    pub not_enforced: bool,
    pub comment: Option<String>,
}

/// A CHECK constraint to make.
pub(super) struct CheckSpec {
    pub name: String,
    pub condition: Box<ast::Node>,
    pub no_inherit: bool,
    pub not_valid: bool,
    pub not_enforced: bool,
    pub location: i32,
}

/// A FOREIGN KEY constraint to make, with the referencing columns.
pub(super) struct ForeignKeySpec {
    pub constraint: Box<ast::Constraint>,
    pub columns: Vec<String>,
    pub deferrable: bool,
    pub initially_deferred: bool,
    pub not_enforced: bool,
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
    pub not_nulls: Vec<super::not_null::NotNullSpec>,
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

impl Elements {
    /// Whether there is something that PostgreSQL makes by a statement of its own, which looks for the new table by its name.
    fn looks_up_table(&self) -> bool {
        let Elements { serials, identities, keys, exclusions, foreign_keys, .. } = self;
        let none = serials.is_empty() && identities.is_empty() && keys.is_empty() && exclusions.is_empty();
        !(none && foreign_keys.is_empty() && self.copied_indexes.is_empty() && self.comments.is_empty())
    }
}

/// What messages call the expression of a CHECK.
pub(super) const CHECK: &str = "check constraint";

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
        let temporary = self.is_temporary(name).map_err(|e| e.at(name.location))?;
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
        if elements.looks_up_table() {
            self.check_usage(&name.schemaname)?;
        }
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
        let (ty, _) = self.type_name(of)?;
        let fields = match self.catalog.types.get(&ty).map(|t| &t.kind) {
            Some(UserTypeKind::Composite { fields }) => fields.clone(),
            _ => {
                let shown = self.display_type(ty);
                let wrong = |message: String| PgError::new(SqlState::WRONG_OBJECT_TYPE, message);
                return Err(match self.catalog.relations.values().any(|r| r.row_type == ty) {
                    true => wrong(format!("type {shown} is the row type of another table"))
                        .detail("A typed table must use a stand-alone composite type created with CREATE TYPE."),
                    false => wrong(format!("type {shown} is not a composite type")),
                });
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
        self.check_own_database(name).map_err(|e| e.at(name.location))?;
        let temporary = self.is_temporary(name).map_err(|e| e.at(name.location))?;
        let schema = if temporary { PG_TEMP } else { self.creation_schema(&name.schemaname, name.location)? };
        self.check_create(schema).map_err(|e| e.at(name.location))?;
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
        self.check_takes_objects(schema, &name.relname)?;
        self.check_row_type_name(schema, &name.relname)?;
        let array_name = self.name_of_array(schema, &name.relname, true)?;
        let sqlite_name = self.choose_sqlite_name(schema, &name.relname);
        Ok(Some(Relation {
            oid: self.new_oid(temporary)?,
            schema,
            name: name.relname.clone(),
            sqlite_name,
            owner: self.environment.user,
            row_type: self.new_oid(temporary)?,
            array_type: self.new_oid(temporary)?,
            temporary,
            unlogged: name.relpersistence == "u",
            acl: self.default_acl(pgsqlite_sql::acl::AclObject::Table, schema),
            array_name,
            ..Relation::new(RelationKind::Table)
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

    pub(super) fn key_spec(&self, c: &ast::Constraint, columns: Vec<String>) -> Result<KeySpec> {
        let parameters = Parameters::of_index("btree").read(&[], &c.options, false)?;
        if !c.indexname.is_empty() {
            return Err(PgError::not_supported("USING INDEX").at(c.location));
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
            without_overlaps: c.without_overlaps,
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
                not_valid: c.skip_validation || !c.is_enforced,
                not_enforced: !c.is_enforced,
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
                not_enforced: !c.is_enforced,
                constraint: Box::new(c.clone()),
            }),
            ast::ConstrType::ConstrExclusion => elements.exclusions.push(c.clone()),
            ast::ConstrType::ConstrNotnull => elements.not_nulls.push(self.not_null_spec(c)?),
            _ => return Err(PgError::not_supported("this table constraint").at(c.location)),
        }
        Ok(())
    }

    /// Makes the table, its sequences, indexes and constraints, in the catalog and in SQLite.
    pub(super) fn make_table(&mut self, mut relation: Relation, elements: Elements) -> Result<()> {
        super::check_number_of_columns(relation.columns.len())?;
        self.set_not_nulls(&mut relation, &elements.not_nulls)?;
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
        // (an expression may name a generated column that comes after it, too)
        for (attnum, _) in &elements.generated {
            work::visit();
            relation.columns[*attnum as usize - 1].generated = Some(String::new());
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
            relation.constraints.push(Constraint { not_valid: constraint.not_enforced, ..constraint });
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
                not_valid: check.not_enforced,
                inherited: Inherited::default(),
                managed: false,
                not_enforced: check.not_enforced,
                temporal: None,
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
        for key in different(&keys) {
            work::visit();
            self.add_key(&mut relation, &key, &mut indexes, true)?;
        }
        for (index, constraint, comment) in elements.copied_indexes {
            work::visit();
            if index.primary && relation.primary_constraint().is_some() {
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
            relation.constraints.push(Constraint { not_valid: constraint.not_enforced, ..constraint });
            self.catalog.add_relation(relation.clone());
        }
        let of_not_nulls = self.make_not_nulls(&mut relation, &elements.not_nulls)?;
        comments.extend(of_not_nulls.into_iter().map(|(oid, c)| (super::schema::CLASS_CONSTRAINT, oid, c)));
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
            not_enforced: spec.not_enforced,
            temporal: None,
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

pub(super) fn is_key(c: &ast::Constraint) -> bool {
    matches!(c.contype(), ast::ConstrType::ConstrPrimary | ast::ConstrType::ConstrUnique)
}

/// The keys of a new table without those that one before them is, too: of these only the name is taken, where that has none.
fn different(keys: &[&KeySpec]) -> Vec<KeySpec> {
    let what = |k: &KeySpec| {
        let when = (k.deferrable, k.initially_deferred, k.nulls_not_distinct, k.without_overlaps);
        (k.columns.clone(), k.include.clone(), when)
    };
    let mut kept: Vec<KeySpec> = Vec::new();
    for key in keys {
        work::visit();
        match kept.iter_mut().find(|k| what(k) == what(key)) {
            None => kept.push((*key).clone()),
            Some(same) if same.name.is_empty() => same.name.clone_from(&key.name),
            Some(_) => {}
        }
    }
    kept
}
