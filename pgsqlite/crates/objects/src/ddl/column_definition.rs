//! A column's definition: its type, collation, default, generation expression and attributes.

use super::create_table::{is_key, CheckSpec, Elements, ForeignKeySpec, KeySpec};
use super::not_null::NotNullSpec;
use super::{naming, strings, Ddl};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_sql::typed::ExprKind;
use pgsqlite_types::{oid, work, Oid, PgError, Result, SqlState};

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
pub(super) fn cast_type(node: &NodeEnum) -> Option<ast::TypeName> {
    let NodeEnum::SelectStmt(select) = node else { return None };
    let Some(NodeEnum::ResTarget(target)) = &select.target_list.first()?.node else { return None };
    match &target.val.as_ref()?.node {
        Some(NodeEnum::TypeCast(cast)) => cast.type_name.clone(),
        _ => None,
    }
}

/// The constraints of a column's definition, with DEFERRABLE and its kin as nodes of their own, as they were written.
pub(super) fn written_constraints(definition: &ast::ColumnDef) -> Vec<&ast::Constraint> {
    let nodes = definition.constraints.iter();
    nodes
        .filter_map(|n| match &n.node {
            Some(NodeEnum::Constraint(c)) => Some(&**c),
            _ => None,
        })
        .collect()
}

impl Ddl<'_> {
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
        let constraints = written_constraints(def);
        for (i, c) in constraints.iter().enumerate() {
            work::visit();
            // DEFERRABLE and its kin follow as nodes of their own.
            let attributes = Attributes::after(&constraints[i + 1..])?;
            match c.contype() {
                ast::ConstrType::ConstrNull | ast::ConstrType::ConstrNotnull => {
                    let not_null = c.contype() == ast::ConstrType::ConstrNotnull;
                    let primary = constraints[..i].iter().any(|c| c.contype() == ast::ConstrType::ConstrPrimary);
                    if saw_null.is_some_and(|s| s != not_null)
                        || (!not_null && (serial.is_some() || column.identity.is_some() || primary))
                    {
                        return Err(already("conflicting NULL/NOT NULL declarations").at(c.location));
                    }
                    saw_null = Some(not_null);
                    column.not_null |= not_null;
                    if not_null {
                        elements.not_nulls.push(NotNullSpec {
                            name: c.conname.clone(),
                            column: name.to_string(),
                            no_inherit: c.is_no_inherit,
                            not_valid: false,
                            beside_column: true,
                            comment: None,
                        });
                    }
                }
                ast::ConstrType::ConstrPrimary if saw_null == Some(false) => {
                    return Err(already("conflicting NULL/NOT NULL declarations").at(c.location));
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
                    if elements.generated.iter().any(|g| g.0 == attnum) {
                        return Err(already("multiple generation clauses specified").at(c.location));
                    }
                    column.is_virtual = c.generated_kind == "v";
                    if column.is_virtual && relation.origin == Origin::Foreign {
                        let what = "a virtual generated column of a table that another program made";
                        return Err(PgError::not_supported(what).at(c.location));
                    }
                    elements.generated.push((attnum, required(&c.raw_expr)?));
                }
                ast::ConstrType::ConstrCheck => elements.checks.push(CheckSpec {
                    name: c.conname.clone(),
                    condition: required(&c.raw_expr)?,
                    no_inherit: c.is_no_inherit,
                    not_valid: attributes.not_enforced,
                    not_enforced: attributes.not_enforced,
                    location: c.location,
                }),
                ast::ConstrType::ConstrPrimary | ast::ConstrType::ConstrUnique => {
                    let spec = self.key_spec(c, vec![name.to_string()])?;
                    let Attributes { deferrable, initially_deferred, .. } = attributes;
                    elements.keys.push(KeySpec { deferrable, initially_deferred, ..spec })
                }
                ast::ConstrType::ConstrForeign => elements.foreign_keys.push(ForeignKeySpec {
                    constraint: Box::new((*c).clone()),
                    columns: vec![name.to_string()],
                    deferrable: attributes.deferrable,
                    initially_deferred: attributes.initially_deferred,
                    not_enforced: attributes.not_enforced,
                }),
                _ if is_attribute(c) => {
                    let follows = constraints[..i].iter().rev().find(|p| !is_attribute(p));
                    if !follows.is_some_and(|p| may_have(p, c)) {
                        let clause = Attributes::clause(c);
                        return Err(
                            PgError::new(SqlState::SYNTAX_ERROR, format!("misplaced {clause} clause")).at(c.location)
                        );
                    }
                }
                _ => return Err(PgError::not_supported("this column constraint").at(c.location)),
            }
        }
        let is_own = |s: &&NotNullSpec| s.beside_column && s.column == name;
        let mut own = elements.not_nulls.iter().filter(is_own);
        let primary = constraints.iter().any(|c| c.contype() == ast::ConstrType::ConstrPrimary);
        let implied = serial.is_some() || column.identity.is_some() || primary || own.clone().any(|s| !s.no_inherit);
        if implied && own.any(|s| s.no_inherit) {
            let message = format!("conflicting NO INHERIT declarations for not-null constraints on column \"{name}\"");
            return Err(PgError::new(SqlState::SYNTAX_ERROR, message));
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

    /// 42P16 for pseudo-types.
    pub(super) fn check_not_pseudo(&self, column: &str, ty: Oid) -> Result<()> {
        match self.catalog.type_entry(ty) {
            Some(TypeEntry::Builtin(t)) if t.kind == b'p' => Err(PgError::new(
                SqlState::INVALID_TABLE_DEFINITION,
                format!("column \"{column}\" has pseudo-type {}", self.display_type(ty)),
            )),
            _ => Ok(()),
        }
    }

    /// 42P16 for pseudo-types, 0A000 for types that are not implemented.
    pub(super) fn check_column_type(&self, column: &str, ty: Oid, location: i32) -> Result<()> {
        self.check_not_pseudo(column, ty)?;
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
        if let [.., schema, _] = parts {
            pgsqlite_sql::acl::check_schema_usage(&self.catalog, self.environment.user, schema)?;
        }
        pgsqlite_sql::analyze::find_collation(&self.catalog, self.environment.search_path, parts)
    }

    /// DEFAULT, checked against the column's type; the text to store. None: NULL, which is no default.
    pub(super) fn column_default(&self, relation: &Relation, attnum: i16, node: &ast::Node) -> Result<Option<String>> {
        let column = &relation.columns[attnum as usize - 1];
        self.default_expression(&column.name, (column.type_oid, column.typmod), node)
    }

    /// DEFAULT of a column or a domain of this name and type (with its modifier): the text to store. None: NULL. (One that is converted to a
    /// length is stored.)
    pub(super) fn default_expression(
        &self,
        name: &str,
        target: (Oid, i32),
        node: &ast::Node,
    ) -> Result<Option<String>> {
        let is_null =
            |expr: &pgsqlite_sql::typed::Expr| matches!(expr.kind, ExprKind::Const(pgsqlite_types::Datum::Null));
        let (expr, text) = self.typed_default(name, target, node)?;
        let printed = |e: &pgsqlite_sql::analyze::Environment| {
            pgsqlite_sql::analyze::analyze_expression_to_print(e, node, None, Some(target))
        };
        let nothing = is_null(&expr) && is_null(&self.analyze(printed)?);
        Ok((!nothing).then_some(text))
    }

    fn typed_default(
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
        if column.is_virtual {
            self.check_virtual_type(column)?;
            self.check_virtual_expression(relation, node)?;
        }
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
}

/// The expression that the grammar always gives with this kind of constraint.
pub(super) fn required(node: &Option<Box<ast::Node>>) -> Result<Box<ast::Node>> {
    node.clone().ok_or_else(|| PgError::internal("a constraint without its expression"))
}

/// DEFERRABLE and its kin, which follow a column's constraint as nodes of their own.
pub(super) fn is_attribute(c: &ast::Constraint) -> bool {
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

/// Whether a clause may follow this constraint of a column: keys and foreign keys are deferred, foreign keys and CHECKs enforced.
pub(super) fn may_have(constraint: &ast::Constraint, attribute: &ast::Constraint) -> bool {
    let foreign = constraint.contype() == ast::ConstrType::ConstrForeign;
    match attribute.contype() {
        ast::ConstrType::ConstrAttrEnforced | ast::ConstrType::ConstrAttrNotEnforced => {
            foreign || constraint.contype() == ast::ConstrType::ConstrCheck
        }
        _ => foreign || is_key(constraint),
    }
}

/// DEFERRABLE, INITIALLY DEFERRED, NOT ENFORCED … after a column constraint.
pub(super) struct Attributes {
    pub deferrable: bool,
    pub initially_deferred: bool,
    pub not_enforced: bool,
}

impl Attributes {
    /// Errors: 42601 for clauses that repeat or contradict each other.
    pub(super) fn after(rest: &[&ast::Constraint]) -> Result<Attributes> {
        let wrong =
            |c: &ast::Constraint, message: &str| Err(PgError::new(SqlState::SYNTAX_ERROR, message).at(c.location));
        let (mut deferrable, mut deferred, mut enforced) = (None, None, None);
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
                _ => {
                    let on = c.contype() == ast::ConstrType::ConstrAttrEnforced;
                    if enforced.replace(on).is_some() {
                        return wrong(c, "multiple ENFORCED/NOT ENFORCED clauses not allowed");
                    }
                }
            }
            if (deferrable, deferred) == (Some(false), Some(true)) {
                return wrong(c, "constraint declared INITIALLY DEFERRED must be DEFERRABLE");
            }
        }
        let initially_deferred = deferred == Some(true);
        let deferrable = deferrable.unwrap_or(initially_deferred);
        Ok(Attributes { deferrable, initially_deferred, not_enforced: enforced == Some(false) })
    }

    /// How messages name such a clause.
    pub(super) fn clause(c: &ast::Constraint) -> &'static str {
        match c.contype() {
            ast::ConstrType::ConstrAttrNotDeferrable => "NOT DEFERRABLE",
            ast::ConstrType::ConstrAttrDeferred => "INITIALLY DEFERRED",
            ast::ConstrType::ConstrAttrImmediate => "INITIALLY IMMEDIATE",
            ast::ConstrType::ConstrAttrEnforced => "ENFORCED",
            ast::ConstrType::ConstrAttrNotEnforced => "NOT ENFORCED",
            _ => "DEFERRABLE",
        }
    }
}
