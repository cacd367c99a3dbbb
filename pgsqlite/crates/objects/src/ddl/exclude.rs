//! EXCLUDE constraints: their definition, and whether the rows of a table satisfy one that is being made.

use super::index::index_name_columns;
use super::storage_parameters::Parameters;
use super::{strings, Ddl};
use crate::exclusion_violation;
use pgsqlite_metadata::store::sqlite_error;
use pgsqlite_sql::analyze;
use pgsqlite_sql::builtins::catalog as builtin;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_sql::plan::Exclusion;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

impl Ddl<'_> {
    /// EXCLUDE of a table; its index goes to `indexes`.
    pub(super) fn add_exclusion(
        &mut self,
        relation: &mut Relation,
        c: &ast::Constraint,
        indexes: &mut Vec<Relation>,
    ) -> Result<()> {
        let refused = |message: String| PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
        if relation.is_partitioned() {
            return Err(refused("exclusion constraints are not supported on partitioned tables".into()).at(c.location));
        }
        super::index::check_number_of_keys(c.exclusions.len() + c.including.len())?;
        self.check_table_place(&c.indexspace, "")?;
        if !c.indexname.is_empty() {
            return Err(PgError::not_supported("USING INDEX").at(c.location));
        }
        let method = if c.access_method.is_empty() { "btree" } else { c.access_method.as_str() };
        let is_here = |oid| self.catalog.schema_of_builtin(oid).is_some();
        if !builtin::access_methods().iter().any(|m| m.1 == method && m.3 == b'i' && is_here(m.0)) {
            return Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("access method \"{method}\" does not exist")));
        }
        if !c.including.is_empty() && !matches!(method, "btree" | "gist" | "spgist") {
            return Err(refused(format!("access method \"{method}\" does not support included columns")));
        }
        if c.exclusions.len() > 1 && !matches!(method, "btree" | "gist" | "gin" | "brin") {
            return Err(refused(format!("access method \"{method}\" does not support multicolumn indexes")));
        }
        if matches!(method, "gin" | "brin") {
            return Err(refused(format!("access method \"{method}\" does not support exclusion constraints")));
        }
        let parameters = Parameters::of_index(method).read(&[], &c.options, false)?;
        let missing = |name: &str| {
            PgError::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" named in key does not exist"))
        };
        let predicate = match &c.where_clause {
            None => None,
            Some(node) => {
                let (expr, text) = self.expression(node, Some(relation), Some((oid::BOOL, -1)), "index predicate")?;
                let refusal = "functions in index predicate must be marked IMMUTABLE";
                self.check_immutable(&expr, (&text, relation), "an index predicate", refusal)?;
                Some(text)
            }
        };
        let (mut columns, mut operators) = (Vec::new(), Vec::new());
        for node in &c.exclusions {
            work::visit();
            let Some(NodeEnum::List(pair)) = &node.node else {
                return Err(PgError::internal("an exclusion that is no list"));
            };
            let (Some(NodeEnum::IndexElem(element)), Some(NodeEnum::List(operator))) =
                (pair.items.first().and_then(|n| n.node.as_ref()), pair.items.get(1).and_then(|n| n.node.as_ref()))
            else {
                return Err(PgError::internal("an exclusion that is no key and operator"));
            };
            if element.expr.is_none() && relation.column(&element.name).is_none() {
                return Err(missing(&element.name));
            }
            let key = self.index_key(relation, element, method)?;
            let ty = match &key.key {
                KeyPart::Column(attnum) => relation.column_by_attnum(*attnum).map_or(0, |c| c.type_oid),
                KeyPart::Expression(text) => {
                    self.analyze_stored(|e| analyze::analyze_expression(e, text, Some(relation), None))?.ty
                }
            };
            let name = strings(&operator.items);
            if let [schema, _] = name[..] {
                self.creation_schema(schema, -1)?;
            }
            operators.push(self.exclusion_operator(&self.operator_text(&name)?, ty, key.opclass)?);
            columns.push(key);
        }
        let mut include = Vec::new();
        for name in strings(&c.including) {
            work::visit();
            include.push(relation.column(name).ok_or_else(|| missing(name).at(c.location))?.attnum);
        }
        let index = Index {
            table: relation.oid,
            unique: false,
            primary: false,
            nulls_not_distinct: false,
            deferrable: c.deferrable || c.initdeferred,
            exclusion: operators,
            inverted: false,
            of_sqlite: false,
            method: method.to_string(),
            columns,
            include,
            predicate,
        };
        self.check_no_virtual_in_index(relation, &index, "unique constraints")?;
        self.push_exclusion(relation, &c.conname, index, c.initdeferred, indexes)?;
        if let Some(made) = indexes.last_mut() {
            made.storage.parameters = parameters;
        }
        Ok(())
    }

    /// The constraint of an index that is ready. `name` may be empty: one is chosen.
    pub(super) fn push_exclusion(
        &mut self,
        relation: &mut Relation,
        name: &str,
        index: Index,
        initially_deferred: bool,
        indexes: &mut Vec<Relation>,
    ) -> Result<()> {
        let taken: Vec<String> = indexes.iter().map(|i| i.name.clone()).collect();
        let name = if name.is_empty() {
            let joined = index_name_columns(relation, &index);
            self.choose_relation_name(relation.schema, &relation.name, &joined, "excl", true, &taken)
        } else {
            if self.catalog.relation_in(relation.schema, name).is_some() || taken.iter().any(|t| t == name) {
                return Err(PgError::new(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists")));
            }
            self.check_constraint_name(relation, name)?;
            name.to_string()
        };
        let columns = index.columns.iter().map(|k| match k.key {
            KeyPart::Column(attnum) => attnum,
            KeyPart::Expression(_) => 0,
        });
        let (columns, deferrable) = (columns.collect(), index.deferrable);
        let sqlite_name = self.choose_sqlite_name(relation.schema, &name);
        let index = self.push_index(relation, name.clone(), sqlite_name, index, indexes)?;
        relation.constraints.push(Constraint {
            oid: self.new_oid(relation.temporary)?,
            name,
            kind: ConstraintKind::Exclusion,
            columns,
            index,
            deferrable,
            initially_deferred,
            not_valid: false,
            managed: false,
            not_enforced: false,
            temporal: None,
            inherited: Inherited::default(),
        });
        Ok(())
    }

    /// The EXCLUDE constraints with a column in an expression or condition.
    pub(super) fn exclusions_over(&self, table: &Relation, attnum: i16) -> Result<Vec<Oid>> {
        let mut out = Vec::new();
        for (index_relation, index) in self.catalog.indexes_of(table.oid).filter(|(_, i)| !i.exclusion.is_empty()) {
            work::visit();
            let keys = index.columns.iter().filter_map(|k| match &k.key {
                KeyPart::Expression(text) => Some(text),
                KeyPart::Column(_) => None,
            });
            for text in keys.chain(&index.predicate) {
                work::visit();
                if self.expression_columns(text, table)?.contains(&attnum) {
                    out.extend(table.constraints.iter().filter(|c| c.index == index_relation.oid).map(|c| c.oid));
                    break;
                }
            }
        }
        Ok(out)
    }

    /// The operator of a name for a key of this type and operator class.
    /// Errors: 42883 (none), 42809 (it is not commutative, or the index cannot search by it).
    pub(super) fn exclusion_operator(&self, name: &str, ty: Oid, class: Oid) -> Result<Oid> {
        let operator = self.analyze(|e| analyze::operator_for(e, name, ty))?;
        let wrong = |message: String, detail: &str| PgError::new(SqlState::WRONG_OBJECT_TYPE, message).detail(detail);
        let found = self.catalog.operator(operator).ok_or_else(|| PgError::internal("no such operator"))?;
        let names = pgsqlite_sql::deparse::Names::new(&self.catalog, self.environment.search_path);
        let shown = names.operator_signature(operator).unwrap_or_default();
        if found.commutator != operator {
            return Err(wrong(
                format!("operator {shown} is not commutative"),
                "Only commutative operators can be used in exclusion constraints.",
            ));
        }
        let family = builtin::operator_class_by_oid(class).map_or(0, |c| c.family);
        if !builtin::is_in_family(operator, family) {
            let family = builtin::operator_family_name(family).unwrap_or_default();
            return Err(wrong(
                format!("operator {shown} is not a member of operator family \"{family}\""),
                "The exclusion operator must be related to the index operator class for the constraint.",
            ));
        }
        Ok(operator)
    }

    /// 23P01 if rows of the table are related.
    pub(super) fn check_exclusion(&self, exclusion: &Exclusion, table: &Relation) -> Result<()> {
        let mut statement = self.conn.prepare(&exclusion.any).map_err(sqlite_error)?;
        let mut rows = statement.query([]).map_err(|e| self.row_error(e))?;
        let Some(row) = rows.next().map_err(|e| self.row_error(e))? else { return Ok(()) };
        let mut shown = Vec::new();
        for (i, ty) in exclusion.types.iter().chain(&exclusion.types).enumerate() {
            work::visit();
            let value = row.get_ref(1 + i).map_err(sqlite_error)?;
            shown.push(self.display_value(value, *ty).map_err(sqlite_error)?);
        }
        Err(exclusion_violation::unsatisfiable(exclusion, self.catalog.schema_name(table.schema), &table.name, &shown))
    }
}
