//! Indexes: CREATE INDEX, and those behind PRIMARY KEY and UNIQUE. All access methods are SQLite b-trees; the method's name is kept.

use super::create_table::{CopiedConstraint, KeySpec};
use super::storage_parameters::Parameters;
use super::{naming, strings, Ddl};
use pgsqlite_metadata::store::sqlite_error;
use pgsqlite_sql::builtins::catalog as builtin;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{definitions, Style};
use pgsqlite_sql::lower::nearest::is_method;
use pgsqlite_sql::lower::nulls_index;
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_sql::typed::{CastForm, ExprKind};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

impl Ddl<'_> {
    /// PRIMARY KEY or UNIQUE of a table; the index goes to `indexes`. `inline`: the table is being made, so a primary key can
    /// be part of its declaration.
    pub(super) fn add_key(
        &mut self,
        relation: &mut Relation,
        spec: &KeySpec,
        indexes: &mut Vec<Relation>,
        inline: bool,
    ) -> Result<()> {
        if spec.without_overlaps {
            return self.add_temporal_key(relation, spec, indexes);
        }
        let kind = if spec.primary { "primary key" } else { "unique" };
        let mut attnums: Vec<i16> = Vec::new();
        for name in &spec.columns {
            work::visit();
            let column = relation.column(name).ok_or_else(|| {
                PgError::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" named in key does not exist"))
                    .at(spec.location)
            })?;
            if attnums.contains(&column.attnum) {
                return Err(PgError::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{name}\" appears twice in {kind} constraint"),
                )
                .at(spec.location));
            }
            attnums.push(column.attnum);
        }
        let mut include: Vec<i16> = Vec::new();
        for name in &spec.include {
            work::visit();
            let column = relation.column(name).ok_or_else(|| {
                PgError::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" named in key does not exist"))
                    .at(spec.location)
            })?;
            include.push(column.attnum);
        }
        check_number_of_keys(attnums.len() + include.len())?;
        let used: Vec<i16> = attnums.iter().chain(&include).copied().collect();
        self.check_no_virtual(relation, &used, if spec.primary { "primary keys" } else { "unique constraints" })?;
        let word = if spec.primary { "PRIMARY KEY" } else { "UNIQUE" };
        self.check_key_has_partition_key(relation, word, &attnums)?;
        if spec.primary {
            for &attnum in &attnums {
                work::visit();
                relation.columns[attnum as usize - 1].not_null = true;
            }
        }
        let taken: Vec<String> = indexes.iter().map(|i| i.name.clone()).collect();
        let name = if spec.name.is_empty() {
            if spec.primary {
                self.choose_relation_name(relation.schema, &relation.name, "", "pkey", true, &taken)
            } else {
                let names = naming::numbered(spec.columns.iter().chain(&spec.include).cloned());
                let joined = naming::joined_columns(names.iter().map(String::as_str));
                self.choose_relation_name(relation.schema, &relation.name, &joined, "key", true, &taken)
            }
        } else {
            self.check_constraint_name(relation, &spec.name)?;
            if self.catalog.relation_in(relation.schema, &spec.name).is_some() || taken.contains(&spec.name) {
                return Err(PgError::new(
                    SqlState::DUPLICATE_TABLE,
                    format!("relation \"{}\" already exists", spec.name),
                ));
            }
            spec.name.clone()
        };
        let mut columns = Vec::new();
        for &attnum in &attnums {
            work::visit();
            let column = &relation.columns[attnum as usize - 1];
            columns.push(self.plain_key(column, "btree")?);
        }
        // SQLite checks the key of a declaration at once
        let inline = inline && !spec.deferrable;
        let rowid = match attnums[..] {
            [one] if spec.primary && inline && include.is_empty() => {
                let base = self.catalog.base_type(relation.columns[one as usize - 1].type_oid);
                matches!(base, oid::INT2 | oid::INT4 | oid::INT8)
                    && relation.columns[one as usize - 1].generated.is_none()
            }
            _ => false,
        };
        let sqlite_name = if rowid {
            relation.rowid_column = Some(attnums[0]);
            String::new()
        } else if spec.primary && inline {
            format!("sqlite_autoindex_{}_1", relation.sqlite_name)
        } else {
            self.choose_sqlite_name(relation.schema, &name)
        };
        let index = Index {
            table: relation.oid,
            unique: true,
            primary: spec.primary,
            nulls_not_distinct: spec.nulls_not_distinct,
            deferrable: spec.deferrable,
            exclusion: vec![],
            inverted: false,
            of_sqlite: false,
            method: "btree".into(),
            columns,
            include,
            predicate: None,
        };
        let index_oid = self.push_index(relation, name.clone(), sqlite_name, index, indexes)?;
        if let Some(made) = indexes.last_mut() {
            made.storage.parameters.clone_from(&spec.parameters);
        }
        relation.constraints.push(Constraint {
            oid: self.new_oid(relation.temporary)?,
            name,
            kind: if spec.primary {
                ConstraintKind::PrimaryKey
            } else {
                ConstraintKind::Unique { nulls_not_distinct: spec.nulls_not_distinct }
            },
            columns: attnums,
            index: index_oid,
            deferrable: spec.deferrable,
            initially_deferred: spec.initially_deferred,
            not_valid: false,
            inherited: Inherited::default(),
            managed: false,
            not_enforced: false,
            temporal: None,
        });
        Ok(())
    }

    pub(super) fn push_index(
        &mut self,
        relation: &Relation,
        name: String,
        sqlite_name: String,
        index: Index,
        indexes: &mut Vec<Relation>,
    ) -> Result<Oid> {
        let oid = self.new_oid(relation.temporary)?;
        let mut made = naming::index_relation(oid, relation.schema, name, sqlite_name, relation.owner, index);
        made.temporary = relation.temporary;
        indexes.push(made);
        Ok(oid)
    }

    /// A key that is just the column.
    fn plain_key(&self, column: &Column, method: &str) -> Result<IndexColumn> {
        let opclass = naming::default_opclass(&self.catalog, column.type_oid, method)
            .ok_or_else(|| self.no_opclass(column.type_oid, method))?;
        Ok(IndexColumn {
            key: KeyPart::Column(column.attnum),
            descending: false,
            nulls_first: false,
            collation: column.collation,
            opclass,
            opclass_explicit: false,
        })
    }

    pub(super) fn no_opclass(&self, ty: Oid, method: &str) -> PgError {
        PgError::new(
            SqlState::UNDEFINED_OBJECT,
            format!("data type {} has no default operator class for access method \"{method}\"", self.display_type(ty)),
        )
        .hint("You must specify an operator class for the index or define a default operator class for the data type.")
    }

    /// LIKE … INCLUDING INDEXES: the same index on the new table, and the constraint behind it.
    pub(super) fn copy_index(
        &mut self,
        relation: &mut Relation,
        index: Index,
        constraint: Option<CopiedConstraint>,
        indexes: &mut Vec<Relation>,
    ) -> Result<()> {
        let keys: Vec<i16> = index.columns.iter().filter_map(|k| k.key.column()).collect();
        let temporal = constraint.and_then(|c| c.temporal);
        if let (Some(CopiedConstraint { initially_deferred, .. }), false, None) =
            (constraint, index.exclusion.is_empty(), temporal)
        {
            return self.push_exclusion(relation, "", index, initially_deferred, indexes);
        }
        if let Some(CopiedConstraint { deferrable, initially_deferred, .. }) = constraint {
            let names = |attnums: &[i16]| -> Vec<String> {
                attnums.iter().filter_map(|&a| relation.column_by_attnum(a)).map(|c| c.name.clone()).collect()
            };
            let spec = KeySpec {
                name: String::new(),
                primary: index.primary || temporal == Some(TemporalKey::Primary),
                deferrable,
                initially_deferred,
                columns: names(&keys),
                parameters: vec![],
                include: names(&index.include),
                nulls_not_distinct: index.nulls_not_distinct,
                without_overlaps: temporal.is_some(),
                location: -1,
            };
            return self.add_key(relation, &spec, indexes, true);
        }
        let taken: Vec<String> = indexes.iter().map(|i| i.name.clone()).collect();
        let joined = index_name_columns(relation, &index);
        let name = self.choose_relation_name(relation.schema, &relation.name, &joined, "idx", false, &taken);
        let sqlite_name = self.choose_sqlite_name(relation.schema, &name);
        self.push_index(relation, name, sqlite_name, index, indexes)?;
        Ok(())
    }

    /// 42501 unless the role may make something in the schemas of a table and its partitions, which an index is.
    pub(super) fn check_may_index(&self, relation: &Relation) -> Result<()> {
        self.check_create(relation.schema)?;
        for partition in self.catalog.partitions(relation.oid) {
            work::visit();
            self.check_may_index(partition)?;
        }
        Ok(())
    }

    pub(super) fn create_index(&mut self, statement: &ast::IndexStmt) -> Result<String> {
        let tag = Ok("CREATE INDEX".to_string());
        let name = statement.relation.as_ref().ok_or_else(|| PgError::internal("CREATE INDEX without a table"))?;
        let relation = self.find(name)?;
        check_number_of_keys(statement.index_params.len() + statement.index_including_params.len())?;
        match relation.kind {
            RelationKind::Table | RelationKind::MaterializedView { .. } => {}
            RelationKind::System => {
                self.check_not_system(&relation)?;
            }
            _ => {
                self.check_owner(&relation)?;
                return Err(PgError::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("cannot create index on relation \"{}\"", relation.name),
                )
                .detail(relation.kind.not_supported()));
            }
        }
        self.check_not_system(&relation)?;
        self.check_owner(&relation)?;
        self.check_may_index(&relation)?;
        self.check_table_place(&statement.table_space, "")?;
        let method = if statement.access_method.is_empty() { "btree" } else { statement.access_method.as_str() };
        let is_here = |oid| self.catalog.schema_of_builtin(oid).is_some();
        if !builtin::access_methods().iter().any(|m| m.1 == method && m.3 == b'i' && is_here(m.0)) {
            return Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("access method \"{method}\" does not exist")));
        }
        let parameters = Parameters::of_index(method).read(&[], &statement.options, false)?;
        if statement.unique && method != "btree" {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("access method \"{method}\" does not support unique indexes"),
            ));
        }
        if !statement.index_including_params.is_empty() && !matches!(method, "btree" | "gist" | "spgist") {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("access method \"{method}\" does not support included columns"),
            ));
        }
        if !matches!(method, "btree" | "gist" | "gin" | "brin") && statement.index_params.len() > 1 {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("access method \"{method}\" does not support multicolumn indexes"),
            ));
        }
        let mut columns = Vec::new();
        for node in &statement.index_params {
            work::visit();
            let Some(NodeEnum::IndexElem(element)) = &node.node else {
                return Err(PgError::internal("an index key that is no IndexElem"));
            };
            columns.push(self.index_key(&relation, element, method)?);
        }
        let mut include = Vec::new();
        for node in &statement.index_including_params {
            work::visit();
            let Some(NodeEnum::IndexElem(element)) = &node.node else {
                return Err(PgError::internal("an included column that is no IndexElem"));
            };
            if element.expr.is_some() {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "expressions are not supported in included columns",
                ));
            }
            include.push(self.key_column(&relation, &element.name)?.attnum);
        }
        let predicate = match &statement.where_clause {
            None => None,
            Some(node) => {
                let (expr, text) = self.expression(node, Some(&relation), Some((oid::BOOL, -1)), "index predicate")?;
                let refusal = "functions in index predicate must be marked IMMUTABLE";
                self.check_immutable(&expr, (&text, &relation), "an index predicate", refusal)?;
                // a constant is no condition
                Some(text).filter(|_| expr.kind != ExprKind::Const(Datum::Int(1)))
            }
        };
        if !statement.idxname.is_empty() && self.catalog.relation_in(relation.schema, &statement.idxname).is_some() {
            if statement.if_not_exists {
                let message = format!("relation \"{}\" already exists, skipping", statement.idxname);
                self.notice(SqlState::DUPLICATE_TABLE, message);
                return tag;
            }
            return Err(PgError::new(
                SqlState::DUPLICATE_TABLE,
                format!("relation \"{}\" already exists", statement.idxname),
            ));
        }
        let mut index = Index {
            table: relation.oid,
            unique: statement.unique,
            primary: false,
            nulls_not_distinct: statement.nulls_not_distinct,
            deferrable: false,
            exclusion: vec![],
            inverted: false,
            of_sqlite: false,
            method: method.to_string(),
            columns,
            include,
            predicate,
        };
        self.check_no_virtual_in_index(&relation, &index, "indexes")?;
        self.check_nearest(&relation, &index, &parameters)?;
        index.inverted = self.is_inverted(&relation, &index)?;
        if relation.is_partitioned() {
            if statement.concurrent {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("cannot create index on partitioned table \"{}\" concurrently", relation.name),
                ));
            }
            if index.unique {
                let keys: Vec<i16> = index.columns.iter().filter_map(|k| k.key.column()).collect();
                self.check_key_has_partition_key(&relation, "UNIQUE", &keys)?;
            }
        }
        let index_name = if statement.idxname.is_empty() {
            let joined = index_name_columns(&relation, &index);
            self.choose_relation_name(relation.schema, &relation.name, &joined, "idx", false, &[])
        } else {
            statement.idxname.clone()
        };
        let sqlite_name = self.choose_sqlite_name(relation.schema, &index_name);
        let mut made = Vec::new();
        self.push_index(&relation, index_name, sqlite_name, index, &mut made)?;
        for mut index in made {
            work::visit();
            index.storage.parameters.clone_from(&parameters);
            self.make_sqlite_index(&index, &relation)?;
            let oid = index.oid;
            self.put_relation(index)?;
            self.count_for_index(relation.oid, oid)?;
            if relation.is_partitioned() && name.inh {
                self.pass_on_index(relation.oid, oid)?;
            }
        }
        tag
    }

    fn key_column<'r>(&self, relation: &'r Relation, name: &str) -> Result<&'r Column> {
        relation
            .column(name)
            .ok_or_else(|| PgError::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist")))
    }

    /// The operator class of a name along the path, or in the schema before it. A definition that is stored finds those of all extensions.
    pub(super) fn operator_class_named(&self, parts: &[&str], method: &str) -> Result<&'static builtin::OperatorClass> {
        let (schema, name) = self.qualified(parts)?;
        let path = self.environment.search_path;
        let stored = self.stored_path || path == pgsqlite_sql::deparse::names::STORED_PATH;
        let schemas: Vec<Oid> = match schema {
            "" => searched(path).collect(),
            schema => vec![self.catalog.schema_oid(schema).ok_or_else(|| {
                PgError::new(SqlState::INVALID_SCHEMA_NAME, format!("schema \"{schema}\" does not exist"))
            })?],
        };
        let named = || builtin::all_operator_classes().iter().filter(|c| c.method == method && c.name == name);
        let within = |schema: &Oid| named().find(|c| self.catalog.schema_of_builtin(c.oid) == Some(*schema));
        let anywhere = || named().find(|c| self.catalog.schema_of_builtin(c.oid).is_some());
        schemas.iter().find_map(within).or_else(|| anywhere().filter(|_| stored && schema.is_empty())).ok_or_else(
            || {
                PgError::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!("operator class \"{}\" does not exist for access method \"{method}\"", parts.join(".")),
                )
            },
        )
    }

    pub(super) fn index_key(&self, relation: &Relation, element: &ast::IndexElem, method: &str) -> Result<IndexColumn> {
        let (key, ty, mut collation) = match &element.expr {
            None => {
                let column = self.key_column(relation, &element.name)?;
                (KeyPart::Column(column.attnum), column.type_oid, column.collation)
            }
            Some(node) => {
                let (expr, text) = self.expression(node, Some(relation), None, "index expression")?;
                if is_untyped(node) && element.opclass.is_empty() {
                    return Err(self.no_opclass(oid::UNKNOWN, method));
                }
                if expr.ty == oid::RECORD {
                    return Err(PgError::new(
                        SqlState::INVALID_TABLE_DEFINITION,
                        "column \"row\" has pseudo-type record",
                    ));
                }
                let refusal = "functions in index expression must be marked IMMUTABLE";
                self.check_immutable(&expr, (&text, relation), "an index expression", refusal)?;
                let collation = match expr.collation {
                    0 => naming::default_collation(&self.catalog, expr.ty),
                    NO_COLLATION if element.collation.is_empty() => {
                        return Err(PgError::new(
                            SqlState::INDETERMINATE_COLLATION,
                            "could not determine which collation to use for index expression",
                        )
                        .hint("Use the COLLATE clause to set the collation explicitly."))
                    }
                    own => own,
                };
                // an expression that is but a column is the column
                let bare = match &expr.kind {
                    ExprKind::Cast { arg, form: CastForm::Collate, .. } => &**arg,
                    _ => &expr,
                };
                match &bare.kind {
                    ExprKind::Var(v) => {
                        let column = relation
                            .live_columns()
                            .nth(v.column)
                            .ok_or_else(|| PgError::internal("an index key that its relation does not have"))?;
                        let own = if std::ptr::eq(bare, &expr) { column.collation } else { collation };
                        (KeyPart::Column(column.attnum), column.type_oid, own)
                    }
                    _ => (KeyPart::Expression(text), expr.ty, collation),
                }
            }
        };
        if !element.collation.is_empty() {
            collation = self.collation_oid(&strings(&element.collation))?;
            if self.catalog.type_collation(ty) == 0 {
                return Err(PgError::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!("collations are not supported by type {}", self.display_type(ty)),
                ));
            }
        }
        if !element.opclassopts.is_empty() {
            return Err(PgError::not_supported("operator class parameters"));
        }
        let patterns = ["text_pattern_ops", "varchar_pattern_ops", "bpchar_pattern_ops"];
        if let Some(class) = strings(&element.opclass).last().filter(|class| patterns.contains(class)) {
            if self.catalog.collation(collation).is_some_and(|c| !c.deterministic) {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("nondeterministic collations are not supported for operator class \"{class}\""),
                ));
            }
        }
        let default = naming::default_opclass(&self.catalog, ty, method);
        let opclass = match strings(&element.opclass)[..] {
            [] => default.ok_or_else(|| self.no_opclass(ty, method))?,
            [.., name] => self.operator_class_named(&strings(&element.opclass), method).and_then(|class| {
                match is_method(method) && self.catalog.base_type(ty) != class.input {
                    true => Err(PgError::new(
                        SqlState::DATATYPE_MISMATCH,
                        format!("operator class \"{name}\" does not accept data type {}", self.display_type(ty)),
                    )),
                    false => Ok(class.oid),
                }
            })?,
        };
        let descending = element.ordering() == ast::SortByDir::SortbyDesc;
        let ordered = !matches!(element.ordering(), ast::SortByDir::SortbyDefault | ast::SortByDir::Undefined);
        if method != "btree" && ordered {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("access method \"{method}\" does not support ASC/DESC options"),
            ));
        }
        let nulls_first = match element.nulls_ordering() {
            ast::SortByNulls::SortbyNullsFirst => true,
            ast::SortByNulls::SortbyNullsLast => false,
            _ => descending,
        };
        Ok(IndexColumn { key, descending, nulls_first, collation, opclass, opclass_explicit: Some(opclass) != default })
    }

    /// CREATE INDEX in SQLite, unless the index is part of the table's declaration. Errors: 23505 for existing duplicates.
    pub(super) fn make_sqlite_index(&self, index_relation: &Relation, table: &Relation) -> Result<()> {
        let make = || self.make_sqlite_index_as_owner(index_relation, table);
        super::run_as_owner(self.session.as_owner, table.owner, make)
    }

    fn make_sqlite_index_as_owner(&self, index_relation: &Relation, table: &Relation) -> Result<()> {
        let RelationKind::Index(index) = &index_relation.kind else {
            return Err(PgError::internal("an index that is no index"));
        };
        if index.of_sqlite
            || index_relation.sqlite_name.is_empty()
            || index_relation.sqlite_name.starts_with("sqlite_autoindex_")
        {
            return Ok(());
        }
        // what an exclusion constraint compares by other operators than equality, no SQLite index finds
        let exclusion = match index.exclusion.is_empty() {
            true => None,
            false => {
                Some(self.analyze_stored(|e| pgsqlite_sql::lower::exclusion::exclusion(e, table, index_relation))?)
            }
        };
        let mut keys = Vec::new();
        // of each key: whether it is NULL, and its value if it is not
        let (mut absent, mut presence) = (Vec::new(), Vec::new());
        for (i, key) in index.columns.iter().enumerate() {
            work::visit();
            if exclusion.as_ref().is_some_and(|e| !e.equal.contains(&i)) {
                continue;
            }
            let mut text = match &key.key {
                KeyPart::Column(attnum) => {
                    let column = table
                        .column_by_attnum(*attnum)
                        .ok_or_else(|| PgError::internal("an index on a column that is not there"))?;
                    let collation = |of| super::sqlite_schema::storage_collation(&self.catalog, column.type_oid, of);
                    let (own, of_key) = (collation(column.collation), collation(key.collation));
                    match own == of_key {
                        true => quoted(&column.name),
                        false => format!(
                            "{} COLLATE {}",
                            quoted(&column.name),
                            quoted(of_key.as_deref().unwrap_or("BINARY"))
                        ),
                    }
                }
                KeyPart::Expression(text) => {
                    let lowered = self.lower_index_part(text, Some(table))?;
                    let ty = self
                        .analyze_stored(|e| pgsqlite_sql::analyze::analyze_expression(e, text, Some(table), None))?
                        .ty;
                    // (SQLite takes a text alone for the name of a column)
                    let lowered = if lowered.starts_with('\'') { format!("CAST({lowered} AS TEXT)") } else { lowered };
                    match super::sqlite_schema::storage_collation(&self.catalog, ty, key.collation) {
                        Some(collation) => format!("({lowered}) COLLATE {}", quoted(&collation)),
                        None => format!("({lowered})"),
                    }
                }
            };
            if index.nulls_not_distinct {
                let (value, collation, _) = self.nullable_key(table, key)?;
                absent.push(format!("{value} IS NULL"));
                presence.push(format!("({value} IS NULL)"));
                presence.push(format!("ifnull({value}, ''){collation}"));
            }
            if key.descending {
                text.push_str(" DESC");
            }
            keys.push(text);
        }
        if let (Some(exclusion), true) = (&exclusion, keys.is_empty()) {
            return self.check_exclusion(exclusion, table);
        }
        let schema = if table.temporary { "temp." } else { "" };
        let mut sql = format!(
            "CREATE {}INDEX {schema}{} ON {} ({})",
            if index.unique && !index.deferrable { "UNIQUE " } else { "" },
            quoted(&index_relation.sqlite_name),
            quoted(&table.sqlite_name),
            keys.join(", ")
        );
        if is_method(&index.method) {
            // (SQLite's index is there for its name only: it has no rows)
            sql.push_str(" WHERE 0");
        }
        if let (Some(predicate), None) = (&index.predicate, &exclusion) {
            sql.push_str(&format!(" WHERE {}", self.lower_index_predicate(predicate, Some(table))?));
        }
        if index.nulls_not_distinct && index.unique && !index.deferrable {
            // SQLite takes NULLs as different: rows that have one in the key have a unique index of their own
            let mut condition = format!("({})", absent.join(" OR "));
            if let Some(predicate) = &index.predicate {
                let lowered = self.lower_index_predicate(predicate, Some(table))?;
                condition = format!("{condition} AND ({lowered})");
            }
            sql.push_str(&format!(
                "; CREATE UNIQUE INDEX {schema}{} ON {} ({}) WHERE {condition}",
                quoted(&nulls_index(index_relation.oid)),
                quoted(&table.sqlite_name),
                presence.join(", "),
            ));
        }
        if let Some(progress) = self.session.progress {
            progress.builds(table.oid, index_relation.oid, keys.len(), index.unique, self.about_rows(table));
        }
        self.conn.execute_batch(&sql).map_err(|error| {
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) {
                return self.duplicate_keys(index_relation, index, table);
            }
            let message = error.to_string();
            if message.contains("non-deterministic")
                || message.contains("prohibited in index")
                || message.contains("prohibited in partial index")
            {
                return PgError::not_supported("an index on this expression");
            }
            sqlite_error(error)
        })?;
        if let Some(exclusion) = &exclusion {
            return self.check_exclusion(exclusion, table);
        }
        if index.inverted {
            // (its column may have got another type)
            match self.is_inverted(table, index)? {
                true => self.make_terms(index_relation, index, table)?,
                false => self.drop_terms(index_relation.oid)?,
            }
        }
        if index.deferrable && self.has_duplicates(index, table)? {
            return Err(self.duplicate_keys(index_relation, index, table));
        }
        Ok(())
    }

    /// About how many rows a table has: none of its numbers of rows is larger. (0 for one without such numbers.)
    fn about_rows(&self, table: &Relation) -> u64 {
        let sql = format!("SELECT max(rowid) FROM {}", quoted(&table.sqlite_name));
        let largest = self.conn.query_row(&sql, [], |row| row.get::<_, Option<i64>>(0));
        largest.ok().flatten().unwrap_or(0).max(0) as u64
    }

    /// Whether rows have equal keys: what SQLite does not look for where the index of a deferrable constraint is made.
    fn has_duplicates(&self, index: &Index, table: &Relation) -> Result<bool> {
        let (sql, _) = self.duplicates(index, table)?;
        self.conn.query_row(&format!("SELECT EXISTS ({sql})"), [], |row| row.get(0)).map_err(sqlite_error)
    }

    /// SQL: a key that several rows have; and the types of its parts.
    fn duplicates(&self, index: &Index, table: &Relation) -> Result<(String, Vec<Oid>)> {
        let mut conditions = Vec::new();
        let (mut values, mut orders, mut types) = (Vec::new(), Vec::new(), Vec::new());
        for key in &index.columns {
            work::visit();
            let (value, collation, ty) = self.nullable_key(table, key)?;
            if !index.nulls_not_distinct {
                conditions.push(format!("{value} IS NOT NULL"));
            }
            orders.push(format!("{value}{collation}"));
            values.push(value);
            types.push(ty);
        }
        if let Some(predicate) = &index.predicate {
            conditions.push(format!("({})", self.lower_index_predicate(predicate, Some(table))?));
        }
        let sql = format!(
            "SELECT {} FROM {}{}{} GROUP BY {} HAVING count(*) > 1 LIMIT 1",
            values.join(", "),
            pgsqlite_sql::lower::table_name(table),
            if conditions.is_empty() { "" } else { " WHERE " },
            conditions.join(" AND "),
            orders.join(", ")
        );
        Ok((sql, types))
    }

    /// 23505 with the first duplicate.
    fn duplicate_keys(&self, index_relation: &Relation, index: &Index, table: &Relation) -> PgError {
        let error = PgError::new(
            SqlState::UNIQUE_VIOLATION,
            format!("could not create unique index \"{}\"", index_relation.name),
        )
        .schema(self.catalog.schema_name(table.schema))
        .table(&table.name)
        .constraint(&index_relation.name);
        let detail = || -> Result<String> {
            let (sql, types) = self.duplicates(index, table)?;
            let values = self.conn.query_row(&sql, [], |row| {
                let shown = types.iter().enumerate().map(|(i, ty)| self.display_value(row.get_ref(i)?, *ty));
                shown.collect::<rusqlite::Result<Vec<_>>>()
            });
            let values = values.map_err(sqlite_error)?;
            let mut names = Vec::new();
            for i in 1..=index.columns.len() {
                work::visit();
                let name =
                    self.analyze_stored(|e| definitions::index_definition(e, index_relation, i, Style::Pretty))?;
                names.push(name.unwrap_or_default());
            }
            Ok(format!("Key ({})=({}) is duplicated.", names.join(", "), values.join(", ")))
        };
        match detail() {
            Ok(detail) => error.detail(detail),
            // the error itself is the one to tell
            Err(_) => error,
        }
    }

    /// A stored value as its type prints it, for messages.
    pub(super) fn display_value(&self, value: rusqlite::types::ValueRef, ty: Oid) -> rusqlite::Result<String> {
        use pgsqlite_types::DatumRef;
        use rusqlite::types::ValueRef;
        let datum = match value {
            ValueRef::Null => return Ok("null".into()),
            ValueRef::Integer(i) => DatumRef::Int(i),
            ValueRef::Real(r) => DatumRef::Real(r),
            ValueRef::Text(t) => DatumRef::Text(std::str::from_utf8(t)?),
            ValueRef::Blob(b) => DatumRef::Blob(b),
        };
        let names = pgsqlite_metadata::store::names::CatalogNames {
            catalog: &self.catalog,
            search_path: self.environment.search_path,
        };
        let context = pgsqlite_types::codec::Context { settings: self.environment.settings, names: &names };
        let mut out = Vec::new();
        let printed = self.catalog.codec(ty).map(|c| c.text_out(datum, &context, &mut out));
        match printed {
            Some(Ok(())) => Ok(String::from_utf8_lossy(&out).into_owned()),
            _ => Err(rusqlite::Error::InvalidQuery),
        }
    }
}

impl Ddl<'_> {
    /// The SQL of a key's value, ` COLLATE …` of its order, and its type.
    fn nullable_key(&self, table: &Relation, key: &IndexColumn) -> Result<(String, String, Oid)> {
        let (value, ty) = match &key.key {
            KeyPart::Column(attnum) => {
                let missing = || PgError::internal("an index on a column that is not there");
                let column = table.column_by_attnum(*attnum).ok_or_else(missing)?;
                (quoted(&column.name), column.type_oid)
            }
            KeyPart::Expression(text) => {
                let ty =
                    self.analyze_stored(|e| pgsqlite_sql::analyze::analyze_expression(e, text, Some(table), None))?.ty;
                (format!("({})", self.lower_index_part(text, Some(table))?), ty)
            }
        };
        let collation = super::sqlite_schema::storage_collation(&self.catalog, ty, key.collation);
        Ok((value, collation.map_or(String::new(), |c| format!(" COLLATE {}", quoted(&c))), ty))
    }

    /// Makes the SQLite indexes anew whose expressions call functions that users have made: a body has changed.
    pub(super) fn remake_indexes_over_functions(&self) -> Result<()> {
        let relations = self.catalog.relations.values();
        let indexes = relations.filter_map(|r| match &r.kind {
            RelationKind::Index(index) => Some((r, index)),
            _ => None,
        });
        for (relation, index) in indexes {
            work::visit();
            let table = self.required(index.table)?;
            let expressions = index.columns.iter().filter_map(|c| match &c.key {
                KeyPart::Expression(text) => Some(text),
                KeyPart::Column(_) => None,
            });
            let mut calls = false;
            for text in expressions.chain(&index.predicate) {
                work::visit();
                let expr =
                    self.analyze_stored(|e| pgsqlite_sql::analyze::analyze_expression(e, text, Some(table), None))?;
                calls |= !pgsqlite_sql::volatility::made_functions(&expr).is_empty();
            }
            if calls {
                let schema = if table.temporary { "temp" } else { "main" };
                self.sqlite(&format!("DROP INDEX IF EXISTS {schema}.{}", quoted(&relation.sqlite_name)))?;
                self.drop_nulls_index(relation.oid)?;
                self.make_sqlite_index(relation, table)?;
            }
        }
        Ok(())
    }

    /// Drops what [`Ddl::make_sqlite_index`] made beside an index whose NULLs are not distinct.
    pub(super) fn drop_nulls_index(&self, index: Oid) -> Result<()> {
        self.sqlite(&format!("DROP INDEX IF EXISTS {}", quoted(&nulls_index(index))))
    }
}

/// What an index's chosen name says of its keys.
pub(super) fn index_name_columns(relation: &Relation, index: &Index) -> String {
    let names = naming::index_column_names(relation, index);
    naming::joined_columns(names.iter().map(String::as_str))
}

/// Refuses more columns, included ones among them, than PostgreSQL gives an index (INDEX_MAX_KEYS).
pub(super) fn check_number_of_keys(count: usize) -> Result<()> {
    if count > 32 {
        return Err(PgError::new(SqlState::TOO_MANY_COLUMNS, "cannot use more than 32 columns in an index"));
    }
    Ok(())
}

/// Whether an expression is a literal without a type, which an index leaves so.
fn is_untyped(node: &ast::Node) -> bool {
    match &node.node {
        Some(NodeEnum::AConst(c)) => c.isnull || matches!(c.val, Some(ast::a_const::Val::Sval(_))),
        _ => false,
    }
}
