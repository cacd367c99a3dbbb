//! CREATE, ALTER and DROP of operators and casts. What is checked and how it is told follows PostgreSQL's `DefineOperator`,
//! `OperatorCreate` and `CreateCast`.

use super::def_elem::{boolean, def_elems, name_of};
use super::dependencies::Object;
use super::function::invalid;
use super::{strings, Ddl, NodeEnum};
use pgsqlite_metadata::store;
use pgsqlite_sql::analyze::aggregate::{call_target, same_storage};
use pgsqlite_sql::builtins::catalog as builtin;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::operator::{MadeOperator, UserCast, UserOperator};
use pgsqlite_sql::parse::ast;
use pgsqlite_types::error::Severity;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};
use std::sync::Arc;

const CLASS_OPERATOR: Oid = 2617;
const CLASS_CAST: Oid = 2605;

fn definition_error(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_OBJECT_DEFINITION, message)
}

impl Ddl<'_> {
    pub(super) fn put_operator(&mut self, definition: UserOperator) -> Result<()> {
        self.ensure_store()?;
        store::storing::put_operator(self.conn, &definition)?;
        self.catalog.operators.insert(definition.oid, Arc::new(MadeOperator::new(definition)));
        self.changed = true;
        Ok(())
    }

    fn operand_type(&mut self, option: &ast::DefElem) -> Result<Oid> {
        let Some(name) = super::def_elem::type_name(option) else {
            return Err(invalid("operator argument types must be specified"));
        };
        if name.setof {
            return Err(invalid("SETOF type not allowed for operator argument"));
        }
        self.head_type(name)
    }

    /// The function of a name with these argument types exactly.
    fn exact_function(&self, name: &[&str], types: &[Oid]) -> Result<Oid> {
        let (schema, own) = self.qualified(name)?;
        let missing = || {
            let list: Vec<String> = types.iter().map(|&t| self.display_type(t)).collect();
            let shown = format!("function {}({}) does not exist", name.join("."), list.join(", "));
            PgError::new(SqlState::UNDEFINED_FUNCTION, shown)
        };
        let path: Vec<Oid> = match schema.is_empty() {
            true => [PG_CATALOG].into_iter().chain(self.environment.search_path.iter().copied()).collect(),
            false => vec![self.catalog.schema_oid(schema).ok_or_else(missing)?],
        };
        for schema in path {
            work::visit();
            let builtins = builtin::procs_named(own)
                .filter(|p| self.catalog.schema_of_builtin(p.oid) == Some(schema) && p.args == types);
            let of_user = self.catalog.routines_named(own).filter(|r| r.function.schema == schema);
            let found = builtins.map(|p| p.oid).chain(of_user.filter(|r| r.proc.args == types).map(|r| r.function.oid));
            if let Some(found) = { found }.next() {
                return Ok(found);
            }
        }
        Err(missing())
    }

    /// The text of an operator's name, `schema.` in front of it where that was written. Errors: 0A000 for another database's, 42601.
    pub(super) fn operator_text(&self, name: &[&str]) -> Result<String> {
        let own = match name {
            [database, rest @ ..] if rest.len() == 2 => {
                if !self.catalog.is_database(database) {
                    let shown = name.join(".");
                    let message = format!("cross-database references are not implemented: {shown}");
                    return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                rest
            }
            own => own,
        };
        self.qualified(own)?;
        Ok(own.join("."))
    }

    /// The operator of a name whose operands are both of this very type. Errors: 42883.
    pub(super) fn exact_operator(&self, name: &[&str], ty: Oid) -> Result<Oid> {
        let text = self.operator_text(name)?;
        let found = self.analyze(|e| pgsqlite_sql::analyze::operator_for(e, &text, ty)).map_err(|mut error| {
            error.fields_mut().hint = None;
            error
        })?;
        match self.catalog.operator(found) {
            Some(o) if o.left == ty && o.right == ty => Ok(found),
            _ => {
                let shown = self.display_type(ty);
                let message = format!("operator does not exist: {shown} {text} {shown}");
                Err(PgError::new(SqlState::UNDEFINED_FUNCTION, message))
            }
        }
    }

    fn estimator(&self, name: &[&str], join: bool) -> Result<Oid> {
        let types: &[Oid] = if join {
            &[oid::INTERNAL, oid::OID, oid::INTERNAL, oid::INT2, oid::INTERNAL]
        } else {
            &[oid::INTERNAL, oid::OID, oid::INTERNAL, oid::INT4]
        };
        let found = self.exact_function(name, types)?;
        if self.catalog.proc(found).is_some_and(|p| p.ret != oid::FLOAT8) {
            let what = if join { "join" } else { "restriction" };
            return Err(definition_error(format!(
                "{what} estimator function {} must return type double precision",
                name.join(".")
            )));
        }
        Ok(found)
    }

    /// The operator of the user with this name and these operands.
    pub(super) fn own_operator(&self, schema: Oid, name: &str, left: Oid, right: Oid) -> Option<UserOperator> {
        let fits = |o: &&Arc<MadeOperator>| {
            let d = &o.definition;
            d.schema == schema && d.name == name && d.left == left && d.right == right
        };
        self.catalog.operators.values().find(fits).map(|o| o.definition.clone())
    }

    /// The operator that another one names as its commutator or negator: there already, or made to be defined later.
    fn other_operator(&mut self, name: &[&str], left: Oid, right: Oid, own: &UserOperator) -> Result<Oid> {
        let (schema, bare) = self.qualified_new(name)?;
        let builtin = builtin::operators_named(bare)
            .find(|o| o.left == left && o.right == right && matches!(schema, "" | "pg_catalog"));
        if let Some(found) = builtin {
            return Ok(found.oid);
        }
        let schema = self.lasting_schema(schema, "operator")?;
        self.check_create(schema)?;
        if schema == own.schema && bare == own.name && left == own.left && right == own.right {
            return Ok(own.oid);
        }
        if let Some(found) = self.own_operator(schema, bare, left, right) {
            return Ok(found.oid);
        }
        let shell = UserOperator {
            oid: self.new_oid(false)?,
            schema,
            name: bare.to_string(),
            owner: self.environment.user,
            left,
            right,
            result: 0,
            proc: 0,
            commutator: 0,
            negator: 0,
            merges: false,
            hashes: false,
            restrict: 0,
            join: 0,
        };
        let made = shell.oid;
        self.put_operator(shell)?;
        Ok(made)
    }

    pub(super) fn create_operator(&mut self, statement: &ast::DefineStmt) -> Result<String> {
        let parts = strings(&statement.defnames);
        let (schema, name) = self.qualified_new(&parts)?;
        let schema = self.lasting_schema(schema, "operator")?;
        self.check_create(schema)?;
        if name == "=>" {
            return Err(PgError::new(SqlState::INVALID_NAME, format!("\"{name}\" is not a valid operator name")));
        }
        let (mut left, mut right) = (0, 0);
        let (mut function, mut commutator, mut negator) = (vec![], vec![], vec![]);
        let (mut restrict, mut join, mut merges, mut hashes) = (vec![], vec![], false, false);
        for o in def_elems(&statement.definition) {
            work::visit();
            match o.defname.as_str() {
                "leftarg" => left = self.operand_type(o)?,
                "rightarg" => right = self.operand_type(o)?,
                "function" | "procedure" => function = name_of(o),
                "commutator" => commutator = name_of(o),
                "negator" => negator = name_of(o),
                "restrict" => restrict = name_of(o),
                "join" => join = name_of(o),
                "hashes" => hashes = boolean(o)?,
                "merges" | "sort1" | "sort2" | "ltcmp" | "gtcmp" => {
                    merges = if o.defname == "merges" { boolean(o)? } else { true }
                }
                other => {
                    let message = format!("operator attribute \"{other}\" not recognized");
                    self.notices.push(PgError::new(SqlState::SYNTAX_ERROR, message).severity(Severity::Warning));
                }
            }
        }
        if function.is_empty() {
            return Err(invalid("operator function must be specified"));
        }
        if left == 0 && right == 0 {
            return Err(invalid("operator argument types must be specified"));
        }
        if right == 0 {
            return Err(invalid("operator right argument type must be specified")
                .detail("Postfix operators are not supported."));
        }
        self.check_types_usable(&[left, right])?;
        let types: Vec<Oid> = [left, right].into_iter().filter(|t| *t != 0).collect();
        let proc = self.exact_function(&function, &types)?;
        self.analyze(|e| call_target(e, proc))?;
        let result = self.catalog.proc(proc).map_or(0, |p| p.ret);
        self.check_types_usable(&[result])?;
        let restrict = if restrict.is_empty() { 0 } else { self.estimator(&restrict, false)? };
        let join = if join.is_empty() { 0 } else { self.estimator(&join, true)? };
        let rules = [
            (left == 0, "binary", [!commutator.is_empty(), false, false, join != 0, merges, hashes]),
            (result != oid::BOOL, "boolean", [false, !negator.is_empty(), restrict != 0, join != 0, merges, hashes]),
        ];
        for (breaks, kind, given) in rules {
            work::visit();
            let whats = [
                "have commutators",
                "have negators",
                "have restriction selectivity",
                "have join selectivity",
                "merge join",
                "hash",
            ];
            if let (true, Some(at)) = (breaks, given.iter().position(|g| *g)) {
                return Err(invalid(format!("only {kind} operators can {}", whats[at])));
            }
        }
        let old = self.own_operator(schema, name, left, right);
        if old.as_ref().is_some_and(|o| o.proc != 0) {
            return Err(PgError::new(SqlState::DUPLICATE_FUNCTION, format!("operator {name} already exists")));
        }
        let mut operator = UserOperator {
            oid: match &old {
                Some(shell) => shell.oid,
                None => self.new_oid(false)?,
            },
            schema,
            name: name.to_string(),
            owner: self.environment.user,
            left,
            right,
            result,
            proc,
            commutator: old.as_ref().map_or(0, |o| o.commutator),
            negator: old.as_ref().map_or(0, |o| o.negator),
            merges,
            hashes,
            restrict,
            join,
        };
        if !commutator.is_empty() {
            operator.commutator = self.other_operator(&commutator, right, left, &operator)?;
        }
        if !negator.is_empty() {
            operator.negator = self.other_operator(&negator, left, right, &operator)?;
            if operator.negator == operator.oid {
                return Err(invalid("operator cannot be its own negator"));
            }
        }
        // the others name it in turn
        for (other, is_negator) in [(operator.commutator, false), (operator.negator, true)] {
            work::visit();
            let Some(mut found) = self.catalog.operators.get(&other).map(|o| o.definition.clone()) else { continue };
            let back = if is_negator { &mut found.negator } else { &mut found.commutator };
            if other != operator.oid && *back == 0 {
                *back = operator.oid;
                self.put_operator(found)?;
            }
        }
        self.put_operator(operator)?;
        Ok("CREATE OPERATOR".into())
    }

    /// 42501: one of the types may not be used by the role.
    pub(super) fn check_types_usable(&self, types: &[Oid]) -> Result<()> {
        use pgsqlite_sql::acl::{privilege, privileges, AclObject};
        for &ty in types {
            work::visit();
            let Some(found) = self.catalog.types.get(&ty) else { continue };
            let user = self.environment.user;
            let has = privileges(&self.catalog, user, AclObject::Type, found.owner, found.acl.as_ref());
            if has & privilege::USAGE == 0 {
                let message = format!("permission denied for type {}", found.name);
                return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
        }
        Ok(())
    }

    /// The operator that `name (left, right)` means. The inner error: there is none.
    pub(super) fn find_operator(&self, named: &ast::ObjectWithArgs) -> Result<Result<Oid, PgError>> {
        let parts = strings(&named.objname);
        let (schema, name) = self.qualified(&parts)?;
        let mut types = Vec::new();
        for node in &named.objargs {
            work::visit();
            match &node.node {
                Some(NodeEnum::TypeName(name)) => types.push(self.type_name(name)?.0),
                _ => types.push(0),
            }
        }
        let [left, right] = types[..] else {
            return Err(PgError::new(SqlState::UNDEFINED_PARAMETER, "missing argument")
                .hint("Use NONE to denote the missing argument of a unary operator."));
        };
        if right == 0 {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "postfix operators are not supported"));
        }
        let path: Vec<Oid> = match schema.is_empty() {
            true => self.environment.search_path.to_vec(),
            false => self.catalog.schema_oid(schema).into_iter().collect(),
        };
        let own = path.iter().find_map(|s| self.own_operator(*s, name, left, right));
        if let Some(found) = own {
            return Ok(Ok(found.oid));
        }
        if builtin::operators_named(name).any(|o| o.left == left && o.right == right) {
            return Err(PgError::not_supported("this of a built-in operator"));
        }
        let shown = parts.join(".");
        let signature = match left {
            0 => format!("{shown} {}", self.display_type(right)),
            _ => format!("{} {shown} {}", self.display_type(left), self.display_type(right)),
        };
        Ok(Err(PgError::new(SqlState::UNDEFINED_FUNCTION, format!("operator does not exist: {signature}"))))
    }

    fn owned_operator(&self, named: &ast::ObjectWithArgs) -> Result<UserOperator> {
        let oid = self.find_operator(named)??;
        let found = self.catalog.operators.get(&oid).ok_or_else(|| PgError::internal("an operator that is gone"))?;
        self.check_owned("operator", &found.definition.name, found.definition.owner)?;
        Ok(found.definition.clone())
    }

    /// ALTER OPERATOR … SET (RESTRICT = …, JOIN = …)
    pub(super) fn alter_operator(&mut self, statement: &ast::AlterOperatorStmt) -> Result<String> {
        let named = statement.opername.as_ref().ok_or_else(|| PgError::internal("ALTER OPERATOR without a name"))?;
        let mut operator = self.find_operator(named)??;
        let mut definition = self.catalog.operators[&operator].definition.clone();
        operator = definition.oid;
        for o in def_elems(&statement.options) {
            work::visit();
            // (NONE is no argument)
            let name = name_of(o);
            match o.defname.as_str() {
                "restrict" => definition.restrict = if name.is_empty() { 0 } else { self.estimator(&name, false)? },
                "join" => definition.join = if name.is_empty() { 0 } else { self.estimator(&name, true)? },
                attribute @ ("leftarg" | "rightarg" | "function" | "procedure" | "commutator" | "negator"
                | "hashes" | "merges") => {
                    let message = format!("operator attribute \"{attribute}\" cannot be changed");
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, message));
                }
                attribute => {
                    let message = format!("operator attribute \"{attribute}\" not recognized");
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, message));
                }
            }
        }
        debug_assert_eq!(operator, definition.oid);
        self.check_owned("operator", &definition.name, definition.owner)?;
        self.put_operator(definition)?;
        Ok("ALTER OPERATOR".into())
    }

    /// OWNER TO and SET SCHEMA of an operator.
    pub(super) fn change_operator(
        &mut self,
        object: Option<&ast::Node>,
        change: impl FnOnce(&Self, &mut UserOperator) -> Result<()>,
    ) -> Result<String> {
        let Some(NodeEnum::ObjectWithArgs(named)) = object.and_then(|o| o.node.as_ref()) else {
            return Err(PgError::internal("an operator without a name"));
        };
        let mut operator = self.owned_operator(named)?;
        change(self, &mut operator)?;
        self.put_operator(operator)?;
        Ok("ALTER OPERATOR".into())
    }

    pub(super) fn comment_on_operator(&mut self, object: Option<&ast::Node>, comment: &str) -> Result<String> {
        let Some(NodeEnum::ObjectWithArgs(named)) = object.and_then(|o| o.node.as_ref()) else {
            return Err(PgError::internal("an operator without a name"));
        };
        let operator = self.owned_operator(named)?;
        self.set_comment(CLASS_OPERATOR, operator.oid, 0, Some(comment))?;
        Ok("COMMENT".into())
    }

    // --- casts ---------------------------------------------------------------------------------------------------------

    pub(super) fn create_cast(&mut self, statement: &ast::CreateCastStmt) -> Result<String> {
        let type_of = |name: &Option<ast::TypeName>| {
            self.type_name(name.as_ref().ok_or_else(|| PgError::internal("a cast without types"))?).map(|t| t.0)
        };
        let (source, target) = (type_of(&statement.sourcetype)?, type_of(&statement.targettype)?);
        let shown = |ty: Oid| self.display_type(ty);
        for (ty, which) in [(source, "source"), (target, "target")] {
            work::visit();
            if pgsqlite_types::catalog::by_oid(ty).is_some_and(|t| t.kind == b'p') {
                return Err(PgError::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("{which} data type {} is a pseudo-type", shown(ty)),
                ));
            }
        }
        self.check_owns_cast(source, target)?;
        self.check_types_usable(&[source, target])?;
        let mut warnings = Vec::new();
        for (ty, which) in [(source, "source"), (target, "target")] {
            work::visit();
            if self.catalog.base_type(ty) != ty {
                let message = format!("cast will be ignored because the {which} data type is a domain");
                warnings.push(PgError::new(SqlState::WRONG_OBJECT_TYPE, message).severity(Severity::Warning));
            }
        }
        let mut function = 0;
        if let Some(named) = &statement.func {
            let name = strings(&named.objname);
            let mut types = Vec::new();
            for node in &named.objargs {
                work::visit();
                if let Some(NodeEnum::TypeName(name)) = &node.node {
                    types.push(self.type_name(name)?.0);
                }
            }
            function = if named.args_unspecified {
                self.find_function(named, ast::ObjectType::ObjectFunction)??
            } else {
                self.exact_function(&name, &types)?
            };
            self.check_cast_function(function, source, target)?;
        }
        if function == 0 && !statement.inout {
            self.check_binary_cast(source, target)?;
        }
        if source == target && self.catalog.proc(function).is_none_or(|p| p.args.len() < 2) {
            return Err(definition_error("source data type and target data type are the same"));
        }
        if builtin::cast(source, target).is_some() || self.catalog.casts.contains_key(&(source, target)) {
            let message = format!("cast from type {} to type {} already exists", shown(source), shown(target));
            return Err(PgError::new(SqlState::DUPLICATE_OBJECT, message));
        }
        if self.catalog.is_temporary_type(source) || self.catalog.is_temporary_type(target) {
            return Err(PgError::not_supported("a cast of a temporary table's row type"));
        }
        self.notices.append(&mut warnings);
        let cast = UserCast {
            oid: self.new_oid(false)?,
            source,
            target,
            context: match statement.context() {
                ast::CoercionContext::CoercionImplicit => b'i',
                ast::CoercionContext::CoercionAssignment => b'a',
                _ => b'e',
            },
            function,
            inout: statement.inout,
        };
        self.ensure_store()?;
        store::storing::put_cast(self.conn, &cast)?;
        self.catalog.casts.insert((source, target), Arc::new(cast));
        self.changed = true;
        Ok("CREATE CAST".into())
    }

    fn check_cast_function(&self, function: Oid, source: Oid, target: Oid) -> Result<()> {
        let proc = self.catalog.proc(function).ok_or_else(|| PgError::internal("a cast's function"))?;
        let same = |a: Oid, b: Oid| self.analyze(|e| Ok(same_storage(e, a, b)));
        if !(1..=3).contains(&proc.args.len()) {
            return Err(definition_error("cast function must take one to three arguments"));
        }
        if !same(source, proc.args[0])? {
            return Err(definition_error(
                "argument of cast function must match or be binary-coercible from source data type",
            ));
        }
        for (i, wanted, shown) in [(1, oid::INT4, "second"), (2, oid::BOOL, "third")] {
            work::visit();
            if proc.args.get(i).is_some_and(|t| *t != wanted) {
                let wanted = self.display_type(wanted);
                return Err(definition_error(format!("{shown} argument of cast function must be type {wanted}")));
            }
        }
        if !same(proc.ret, target)? {
            return Err(definition_error(
                "return data type of cast function must match or be binary-coercible to target data type",
            ));
        }
        if proc.kind != b'f' {
            return Err(definition_error("cast function must be a normal function"));
        }
        if proc.retset {
            return Err(definition_error("cast function must not return a set"));
        }
        Ok(())
    }

    fn check_binary_cast(&self, source: Oid, target: Oid) -> Result<()> {
        if !pgsqlite_sql::acl::is_superuser(&self.catalog, self.environment.user) {
            let message = "must be superuser to create a cast WITHOUT FUNCTION";
            return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        // (length, by value, alignment)
        let physical = |ty: Oid| match pgsqlite_types::catalog::by_oid(self.catalog.base_type(ty)) {
            Some(t) => (t.len, t.byval, t.align),
            None => match self.catalog.types.get(&ty).map(|t| &t.kind) {
                Some(UserTypeKind::Enum { .. }) => (4, true, b'i'),
                _ => (-1, false, b'd'),
            },
        };
        if physical(source) != physical(target) {
            return Err(definition_error("source and target data types are not physically compatible"));
        }
        for ty in [source, target] {
            work::visit();
            let what = if self.catalog.composite_fields(ty).is_some() {
                "composite data types are not binary-compatible"
            } else if self.catalog.element_type(ty).is_some() {
                "array data types are not binary-compatible"
            } else {
                match self.catalog.types.get(&ty).map(|t| &t.kind) {
                    Some(UserTypeKind::Enum { .. }) => "enum data types are not binary-compatible",
                    Some(UserTypeKind::Domain { .. }) => "domain data types must not be marked binary-compatible",
                    _ => continue,
                }
            };
            return Err(definition_error(what));
        }
        let codec = |ty: Oid| self.catalog.codec(ty).map(|c| format!("{c:?}"));
        if codec(source) != codec(target) {
            let message = "a cast WITHOUT FUNCTION between types that are stored in different ways";
            return Err(PgError::not_supported(message));
        }
        Ok(())
    }

    // --- DROP ----------------------------------------------------------------------------------------------------------

    /// DROP OPERATOR, DROP CAST. None: it is another kind.
    pub(super) fn drop_operators(&mut self, statement: &ast::DropStmt) -> Result<Option<String>> {
        use ast::ObjectType as T;
        let kind = statement.remove_type();
        let tag = match kind {
            T::ObjectOperator => "DROP OPERATOR",
            T::ObjectCast => "DROP CAST",
            _ => return Ok(None),
        };
        let mut targets = Vec::new();
        for node in &statement.objects {
            work::visit();
            let found = match &node.node {
                Some(NodeEnum::ObjectWithArgs(named)) => {
                    let found = self.find_operator(named)?;
                    if let Some(o) = found.as_ref().ok().and_then(|oid| self.catalog.operators.get(oid)) {
                        self.check_owned("operator", &o.definition.name, o.definition.owner)?;
                    }
                    found.map(Object::Operator)
                }
                Some(NodeEnum::List(types)) => self.find_cast(&types.items)?.map(|(s, t)| Object::Cast(s, t)),
                _ => return Err(PgError::internal("DROP of something without a name")),
            };
            match found {
                Ok(object) => {
                    if let Object::Cast(source, target) = object {
                        self.check_owns_cast(source, target)?;
                    }
                    targets.push(object);
                }
                Err(missing) if statement.missing_ok => {
                    let message = match &node.node {
                        Some(NodeEnum::ObjectWithArgs(named)) => {
                            format!("operator {} does not exist, skipping", strings(&named.objname).join("."))
                        }
                        _ => format!("{}, skipping", missing.message()),
                    };
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                }
                Err(missing) => return Err(missing),
            }
        }
        self.drop_objects(&targets, statement.behavior() == ast::DropBehavior::DropCascade)?;
        Ok(Some(tag.into()))
    }

    /// 42501 unless the role owns one of the types of a cast.
    fn check_owns_cast(&self, source: Oid, target: Oid) -> Result<()> {
        let owns = |ty: Oid| {
            let owner = self.catalog.types.get(&ty).map_or(BOOTSTRAP_ROLE, |t| t.owner);
            pgsqlite_sql::acl::owns(&self.catalog, self.environment.user, owner)
        };
        if owns(source) || owns(target) {
            return Ok(());
        }
        let message =
            format!("must be owner of type {} or type {}", self.display_type(source), self.display_type(target));
        Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message))
    }

    fn find_cast(&self, types: &[ast::Node]) -> Result<Result<(Oid, Oid), PgError>> {
        let mut found = Vec::new();
        for node in types {
            work::visit();
            let Some(NodeEnum::TypeName(name)) = &node.node else { continue };
            match self.type_name(name) {
                Ok((ty, _)) => found.push(ty),
                Err(missing) => return Ok(Err(missing)),
            }
        }
        let [source, target] = found[..] else { return Err(PgError::internal("a cast without its types")) };
        if self.catalog.casts.contains_key(&(source, target)) {
            return Ok(Ok((source, target)));
        }
        if builtin::cast(source, target).is_some() {
            return Err(PgError::not_supported("this of a built-in cast"));
        }
        let (source, target) = (self.display_type(source), self.display_type(target));
        let message = format!("cast from type {source} to type {target} does not exist");
        Ok(Err(PgError::new(SqlState::UNDEFINED_OBJECT, message)))
    }

    pub(super) fn remove_operator(&mut self, operator: Oid) -> Result<()> {
        self.catalog.operators.remove(&operator);
        store::storing::delete_object(self.conn, operator)?;
        self.forget_comments(operator)?;
        // the others do not name it any more
        let users: Vec<UserOperator> = self
            .catalog
            .operators
            .values()
            .map(|o| o.definition.clone())
            .filter(|o| o.commutator == operator || o.negator == operator)
            .collect();
        for mut user in users {
            work::visit();
            for other in [&mut user.commutator, &mut user.negator] {
                work::visit();
                if *other == operator {
                    *other = 0;
                }
            }
            self.put_operator(user)?;
        }
        Ok(())
    }

    pub(super) fn remove_cast(&mut self, source: Oid, target: Oid) -> Result<()> {
        if let Some(cast) = self.catalog.casts.remove(&(source, target)) {
            store::storing::delete_object(self.conn, cast.oid)?;
            self.forget_comments(cast.oid)?;
        }
        Ok(())
    }

    /// COMMENT ON CAST
    pub(super) fn comment_on_cast(&mut self, object: Option<&ast::Node>, comment: &str) -> Result<String> {
        let Some(NodeEnum::List(types)) = object.and_then(|o| o.node.as_ref()) else {
            return Err(PgError::internal("a cast without its types"));
        };
        let key = self.find_cast(&types.items)??;
        self.check_owns_cast(key.0, key.1)?;
        let oid = self.catalog.casts[&key].oid;
        self.set_comment(CLASS_CAST, oid, 0, Some(comment))?;
        Ok("COMMENT".into())
    }
}
