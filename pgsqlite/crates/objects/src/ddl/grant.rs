//! GRANT and REVOKE: on objects (their `acl`) and of roles (memberships); REASSIGN OWNED, DROP OWNED.
//!
//! The analyzer enforces the privileges on relations and schemas (`pgsqlite_sql::acl`), DDL those on schemas, types and the
//! database, and those on functions. What could be stored but not enforced is refused: privileges on languages.

use super::acl_change::{AclChange, Mode};
use super::{strings, Ddl, NodeEnum};
use pgsqlite_metadata::store;
use pgsqlite_natives::large_object;
use pgsqlite_sql::acl::{self, privilege, AclItem, AclObject, PUBLIC_ROLE};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::error::Severity;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

/// What a GRANT or REVOKE on objects says, names resolved.
struct Change {
    grant: bool,
    /// WITH GRANT OPTION, GRANT OPTION FOR
    option: bool,
    cascade: bool,
    grantees: Vec<Oid>,
    /// privilege words; empty: ALL
    words: Vec<String>,
}

impl Change {
    /// Gives (or takes) these privileges, for all the statement's grantees. Errors: 0LP01 for an option that PUBLIC would get, and those of
    /// [`AclChange::update`].
    fn apply(&self, list: &AclChange, items: &mut Vec<AclItem>, grantor: Oid, bits: u32) -> Result<()> {
        for &grantee in &self.grantees {
            work::visit();
            if self.grant && self.option && grantee == PUBLIC_ROLE {
                let message = "grant options can only be granted to roles";
                return Err(PgError::new(SqlState::INVALID_GRANT_OPERATION, message));
            }
            let privileges = if self.grant || !self.option { bits } else { 0 };
            let grant_options = if !self.grant || self.option { bits } else { 0 };
            let mode = if self.grant { Mode::Add } else { Mode::Remove { cascade: self.cascade } };
            list.update(items, &AclItem { grantee, grantor, privileges, grant_options }, mode)?;
        }
        Ok(())
    }
}

/// An object that has privileges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Securable {
    Relation(Oid),
    Schema(Oid),
    Type(Oid),
    Function(Oid),
    Database,
    LargeObject(Oid),
}

/// The number that a statement gives for a large object.
pub(super) fn large_object_number(number: Option<&ast::Node>) -> Result<Oid> {
    let object = match number.and_then(|n| n.node.as_ref()) {
        Some(NodeEnum::Integer(i)) => Some(i.ival as Oid),
        Some(NodeEnum::Float(f)) => f.fval.parse().ok(),
        _ => None,
    };
    object.ok_or_else(|| PgError::not_supported("a large object of this number"))
}

impl Ddl<'_> {
    pub(super) fn is_superuser(&self) -> bool {
        acl::is_superuser(&self.catalog, self.environment.user)
    }

    /// 42501 unless the session's role is a superuser or has CREATEROLE.
    pub(super) fn may_create_roles(&self) -> bool {
        self.is_superuser() || self.catalog.roles.get(&self.environment.user).is_some_and(|r| r.create_role)
    }

    pub(super) fn check_create_role(&self, action: &str, detail: impl Into<String>) -> Result<()> {
        if self.may_create_roles() {
            return Ok(());
        }
        let message = format!("permission denied to {action}");
        Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message).detail(detail))
    }

    pub(super) fn grant(&mut self, statement: &ast::GrantStmt) -> Result<String> {
        use ast::ObjectType as T;
        let tag = if statement.is_grant { "GRANT" } else { "REVOKE" };
        let objtype = statement.objtype();
        let mut change = Change {
            grant: statement.is_grant,
            option: statement.grant_option,
            cascade: statement.behavior() == ast::DropBehavior::DropCascade,
            grantees: Vec::new(),
            words: Vec::new(),
        };
        if let Some(grantor) = &statement.grantor {
            if self.role(grantor)?.oid != self.environment.user {
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "grantor must be current user"));
            }
        }
        for node in &statement.grantees {
            work::visit();
            let Some(NodeEnum::RoleSpec(spec)) = &node.node else {
                return Err(PgError::internal("a grantee that is no role"));
            };
            let public = spec.roletype() == ast::RoleSpecType::RolespecPublic;
            change.grantees.push(if public { PUBLIC_ROLE } else { self.role(spec)?.oid });
        }
        let mut of_columns: Vec<(&str, Vec<&str>)> = Vec::new();
        for node in &statement.privileges {
            work::visit();
            let Some(NodeEnum::AccessPriv(access)) = &node.node else {
                return Err(PgError::internal("a privilege that is no AccessPriv"));
            };
            if access.cols.is_empty() {
                change.words.push(access.priv_name.clone());
            } else {
                of_columns.push((access.priv_name.as_str(), strings(&access.cols)));
            }
        }
        if let (T::ObjectDatabase, [ast::Node { node: Some(NodeEnum::String(database)) }]) =
            (objtype, &statement.objects[..])
        {
            let roles = statement.grantees.iter().filter_map(|node| match &node.node {
                Some(NodeEnum::RoleSpec(spec)) => Some(spec),
                _ => None,
            });
            if self.configure_other_database(&database.sval, roles.chain(&statement.grantor))? {
                return Ok(tag.into());
            }
        }
        let mut targets: Vec<Securable> = Vec::new();
        match statement.targtype() {
            ast::GrantTargetType::AclTargetObject => {
                for node in &statement.objects {
                    work::visit();
                    targets.push(self.securable(objtype, node)?);
                }
            }
            ast::GrantTargetType::AclTargetAllInSchema => {
                for schema in strings(&statement.objects) {
                    work::visit();
                    pgsqlite_sql::acl::check_schema_usage(&self.catalog, self.environment.user, schema)?;
                    let schema = self.catalog.schema_oid(schema).ok_or_else(|| {
                        PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{schema}\" does not exist"))
                    })?;
                    let wanted = |r: &Relation| match objtype {
                        T::ObjectTable => {
                            r.is_stored() || matches!(r.kind, RelationKind::View { .. } | RelationKind::ForeignView)
                        }
                        T::ObjectSequence => matches!(r.kind, RelationKind::Sequence(_)),
                        _ => false,
                    };
                    if schema < oid::FIRST_USER_OID && schema != PUBLIC {
                        return Err(PgError::not_supported("privileges on system relations"));
                    }
                    targets.extend(
                        self.catalog
                            .relations
                            .values()
                            .filter(|r| r.schema == schema && wanted(r))
                            .map(|r| Securable::Relation(r.oid)),
                    );
                    let of_kind = |f: &pgsqlite_sql::routine::Function| match objtype {
                        T::ObjectFunction => !f.procedure,
                        T::ObjectProcedure => f.procedure,
                        T::ObjectRoutine => true,
                        _ => false,
                    };
                    targets.extend(
                        self.catalog
                            .routines
                            .values()
                            .filter(|r| r.function.schema == schema && of_kind(&r.function))
                            .map(|r| Securable::Function(r.function.oid)),
                    );
                }
            }
            _ => return Err(PgError::not_supported("ALTER DEFAULT PRIVILEGES")),
        }
        // an unknown word is an error even where there is no object
        let general = match objtype {
            T::ObjectSequence => AclObject::Sequence,
            T::ObjectSchema => AclObject::Schema,
            T::ObjectType | T::ObjectDomain => AclObject::Type,
            T::ObjectDatabase => AclObject::Database,
            T::ObjectFunction | T::ObjectProcedure | T::ObjectRoutine => AclObject::Function,
            T::ObjectLargeobject => AclObject::LargeObject,
            _ => AclObject::Table,
        };
        if objtype == T::ObjectTable {
            relation_bits(&change.words)?;
        } else {
            privilege_bits(&change.words, general)?;
        }
        for target in targets {
            work::visit();
            self.change_object(target, &change, &of_columns, objtype)?;
        }
        Ok(tag.into())
    }

    /// Takes all privileges from a role, with what it has granted on, on each object whose privileges name it. As whoever says DROP OWNED: what
    /// others than the owner granted stays.
    pub(super) fn revoke_all_from(&mut self, role: Oid) -> Result<()> {
        let named = |owner: Oid, acl: &Option<Vec<AclItem>>| {
            owner != role && acl.iter().flatten().any(|i| i.grantee == role || i.grantor == role)
        };
        let catalog = &self.catalog;
        let mut targets: Vec<Securable> = Vec::new();
        let relations = catalog.relations.values();
        let concerned =
            |r: &&std::sync::Arc<Relation>| named(r.owner, &r.acl) || r.columns.iter().any(|c| named(r.owner, &c.acl));
        targets.extend(relations.filter(concerned).map(|r| Securable::Relation(r.oid)));
        let schemas = catalog.schemas.values().filter(|s| named(s.owner, &s.acl));
        targets.extend(schemas.map(|s| Securable::Schema(s.oid)));
        targets.extend(catalog.types.values().filter(|t| named(t.owner, &t.acl)).map(|t| Securable::Type(t.oid)));
        let functions = catalog.routines.values().map(|r| &r.function).filter(|f| named(f.owner, &f.acl));
        targets.extend(functions.map(|f| Securable::Function(f.oid)));
        if named(catalog.properties.owner, &catalog.properties.acl) {
            targets.push(Securable::Database);
        }
        let large = large_object::store::all(self.conn)?.into_iter().filter(|l| named(l.owner, &l.acl));
        targets.extend(large.map(|l| Securable::LargeObject(l.object)));
        let change = Change { grant: false, option: false, cascade: true, grantees: vec![role], words: vec![] };
        for target in targets {
            work::visit();
            self.change_object(target, &change, &[], ast::ObjectType::ObjectTable)?;
        }
        Ok(())
    }

    /// Changes the privileges on an object and on its columns.
    fn change_object(
        &mut self,
        target: Securable,
        change: &Change,
        of_columns: &[(&str, Vec<&str>)],
        objtype: ast::ObjectType,
    ) -> Result<()> {
        let Securable::Relation(oid) = target else {
            if of_columns.is_empty() {
                return self.change_privileges(target, change, objtype).map(|_| ());
            }
            let message = "column privileges are only valid for relations";
            return Err(PgError::new(SqlState::INVALID_GRANT_OPERATION, message));
        };
        let before = (**self.required(oid)?).clone();
        let mut implied = 0;
        if !change.words.is_empty() || of_columns.is_empty() {
            let bits = self.change_privileges(target, change, objtype)?;
            // what is taken from the relation is taken from its columns
            implied = if change.grant { 0 } else { bits & acl::OF_COLUMNS };
        }
        self.change_column_privileges(&before, implied, of_columns, change)
    }

    fn securable(&self, objtype: ast::ObjectType, node: &ast::Node) -> Result<Securable> {
        use ast::ObjectType as T;
        match (objtype, &node.node) {
            (T::ObjectTable | T::ObjectSequence, Some(NodeEnum::RangeVar(name))) => {
                let relation = self.find(name)?;
                if objtype == T::ObjectSequence && !matches!(relation.kind, RelationKind::Sequence(_)) {
                    return Err(PgError::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!("\"{}\" is not a sequence", relation.name),
                    ));
                }
                if matches!(relation.kind, RelationKind::Index(_)) {
                    return Err(PgError::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!("\"{}\" is an index", relation.name),
                    ));
                }
                if relation.oid < oid::FIRST_USER_OID {
                    return Err(PgError::not_supported("privileges on system relations"));
                }
                Ok(Securable::Relation(relation.oid))
            }
            (T::ObjectSchema, Some(NodeEnum::String(s))) => {
                let oid = self.catalog.schema_oid(&s.sval).ok_or_else(|| {
                    PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{}\" does not exist", s.sval))
                })?;
                if oid < oid::FIRST_USER_OID && oid != PUBLIC {
                    return Err(PgError::not_supported("privileges on a system schema"));
                }
                Ok(Securable::Schema(oid))
            }
            (T::ObjectType | T::ObjectDomain, Some(NodeEnum::List(list))) => {
                let parts = strings(&list.items);
                let (_, name) = self.qualified(&parts)?;
                match self.find_type(&parts) {
                    Ok(found) => {
                        if objtype == T::ObjectDomain && !matches!(found.kind, UserTypeKind::Domain { .. }) {
                            return Err(PgError::new(
                                SqlState::WRONG_OBJECT_TYPE,
                                format!("\"{name}\" is not a domain"),
                            ));
                        }
                        Ok(Securable::Type(found.oid))
                    }
                    Err(_) if pgsqlite_types::catalog::by_name(name).is_some() => {
                        Err(PgError::not_supported("privileges on a built-in type"))
                    }
                    Err(e) => Err(e),
                }
            }
            (T::ObjectFunction | T::ObjectProcedure | T::ObjectRoutine, Some(NodeEnum::ObjectWithArgs(named))) => {
                let name = strings(&named.objname).last().map_or("", |n| n).to_string();
                let builtin = pgsqlite_sql::builtins::catalog::procs_named(&name).next().is_some();
                if builtin && self.catalog.routines_named(&name).next().is_none() {
                    return Err(PgError::not_supported("privileges on a built-in function"));
                }
                Ok(Securable::Function(self.function_named(named, objtype, false)?.oid))
            }
            (T::ObjectDatabase, Some(NodeEnum::String(s))) => {
                if self.catalog.is_database(&s.sval) {
                    return Ok(Securable::Database);
                }
                let known = self.session.databases.is_some_and(|d| d.list().contains(&s.sval));
                if known {
                    return Err(PgError::not_supported("privileges on a database other than the current one"));
                }
                Err(PgError::new(SqlState::UNDEFINED_DATABASE, format!("database \"{}\" does not exist", s.sval)))
            }
            (T::ObjectLargeobject, _) => {
                let object = large_object_number(Some(node))?;
                match large_object::store::find(self.conn, object)? {
                    Some(_) => Ok(Securable::LargeObject(object)),
                    None => {
                        let message = format!("large object {object} does not exist");
                        Err(PgError::new(SqlState::UNDEFINED_OBJECT, message))
                    }
                }
            }
            (other, _) => {
                let word = other.as_str_name().trim_start_matches("OBJECT_").replace('_', " ");
                Err(PgError::not_supported(format!("privileges on a {word}")))
            }
        }
    }

    /// Changes the privileges on an object. Returns those that the statement names.
    fn change_privileges(&mut self, target: Securable, change: &Change, objtype: ast::ObjectType) -> Result<u32> {
        let (kind, word, name, owner, old) = match target {
            Securable::Relation(oid) => {
                let r = self.required(oid)?;
                let word = if matches!(r.kind, RelationKind::Sequence(_)) { "sequence" } else { "table" };
                (AclObject::of_relation(r), word, r.name.clone(), r.owner, r.acl.clone())
            }
            Securable::Schema(oid) => {
                let s = &self.catalog.schemas[&oid];
                (AclObject::Schema, "schema", s.name.clone(), s.owner, s.acl.clone())
            }
            Securable::Type(oid) => {
                let t = &self.catalog.types[&oid];
                (AclObject::Type, "type", t.name.clone(), t.owner, t.acl.clone())
            }
            Securable::Function(oid) => {
                let f = self.catalog.function(oid).ok_or_else(|| PgError::internal("a function that is gone"))?;
                (AclObject::Function, "function", f.name.clone(), f.owner, f.acl.clone())
            }
            Securable::Database => {
                let p = &self.catalog.properties;
                (AclObject::Database, "database", self.session.database.into(), p.owner, p.acl.clone())
            }
            Securable::LargeObject(object) => {
                let found = large_object::store::find(self.conn, object)?;
                let found = found.ok_or_else(|| PgError::internal("a large object that is gone"))?;
                (AclObject::LargeObject, "large object", format!("large object {object}"), found.owner, found.acl)
            }
        };
        // GRANT … ON TABLE (or without a word for the kind) takes sequences, too, and passes over what they do not have
        let sequence = kind == AclObject::Sequence && objtype == ast::ObjectType::ObjectTable;
        let bits = if sequence && !change.words.is_empty() {
            let bits = relation_bits(&change.words)?;
            if bits & !kind.all() != 0 {
                let message = format!("sequence \"{name}\" only supports USAGE, SELECT, and UPDATE privileges");
                let warning = PgError::new(SqlState::INVALID_GRANT_OPERATION, message);
                self.notices.push(warning.severity(Severity::Warning));
            }
            bits & kind.all()
        } else {
            privilege_bits(&change.words, kind)?
        };
        let mut items = old.unwrap_or_else(|| acl::default_acl(kind, owner));
        let user = self.environment.user;
        let list = AclChange { catalog: &self.catalog, owner };
        let (grantor, available) = list.best_grantor(user, bits, &items);
        if available == 0 {
            let mut any = acl::privileges(&self.catalog, user, kind, owner, Some(&items));
            any |= match target {
                Securable::Relation(oid) => acl::relation_privileges(&self.catalog, user, self.required(oid)?),
                Securable::Schema(oid) => acl::schema_privileges(&self.catalog, user, oid),
                _ => 0,
            };
            if any & kind.all() == 0 {
                let message = format!("permission denied for {word} {name}");
                return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
        }
        change.apply(&list, &mut items, grantor, bits & available)?;
        self.note_left_out(change, bits, available, change.words.is_empty(), &format!("\"{name}\""));
        let acl = Some(items);
        match target {
            Securable::Relation(oid) => {
                let relation = Relation { acl, ..(**self.required(oid)?).clone() };
                self.put_relation(relation)
            }
            Securable::Schema(oid) => {
                let schema = Schema { acl, ..(*self.catalog.schemas[&oid]).clone() };
                self.put_schema(schema)
            }
            Securable::Type(oid) => {
                let user_type = UserType { acl, ..(*self.catalog.types[&oid]).clone() };
                self.put_type(user_type)
            }
            Securable::Function(oid) => {
                let function =
                    self.catalog.function(oid).ok_or_else(|| PgError::internal("a function that is gone"))?.clone();
                self.put_function(pgsqlite_sql::routine::Function { acl, ..function })
            }
            Securable::Database => self.put_properties(DatabaseProperties { acl, ..self.catalog.properties.clone() }),
            Securable::LargeObject(object) => large_object::store::set_acl(self.conn, object, &acl),
        }?;
        Ok(bits)
    }

    /// The warning where not all privileges can be granted or revoked. `all`: ALL was written, which means what can be.
    fn note_left_out(&mut self, change: &Change, bits: u32, available: u32, all: bool, what: &str) {
        let given = bits & available;
        if given == bits || all && given != 0 {
            return;
        }
        let amount = if given == 0 { "no" } else { "not all" };
        let (code, verb) = match change.grant {
            true => (SqlState::PRIVILEGE_NOT_GRANTED, "were granted"),
            false => (SqlState::PRIVILEGE_NOT_REVOKED, "could be revoked"),
        };
        let message = format!("{amount} privileges {verb} for {what}");
        self.notices.push(PgError::new(code, message).severity(Severity::Warning));
    }

    /// GRANT and REVOKE on columns of a relation, which is `before` until now: those that the statement names, and what it revokes of all of them.
    fn change_column_privileges(
        &mut self,
        before: &Relation,
        implied: u32,
        named: &[(&str, Vec<&str>)],
        change: &Change,
    ) -> Result<()> {
        let sequence = matches!(before.kind, RelationKind::Sequence(_));
        // (attnum, name, privileges), in the columns' order
        let mut columns: Vec<(i16, &str, u32)> = Vec::new();
        if !matches!(before.kind, RelationKind::View { .. }) {
            let system = [(-6, "tableoid"), (-5, "cmax"), (-4, "xmax"), (-3, "cmin"), (-2, "xmin"), (-1, "ctid")];
            columns.extend(system.map(|(attnum, name)| (attnum, name, implied)));
        }
        columns.extend(before.live_columns().map(|c| (c.attnum, c.name.as_str(), implied)));
        for (word, names) in named {
            work::visit();
            let mut bits = column_bits(word)?;
            if sequence && bits & !privilege::SELECT != 0 {
                let message = format!("sequence \"{}\" only supports SELECT column privileges", before.name);
                let warning = PgError::new(SqlState::INVALID_GRANT_OPERATION, message);
                self.notices.push(warning.severity(Severity::Warning));
                bits &= privilege::SELECT;
            }
            for name in names {
                work::visit();
                let column = columns.iter_mut().find(|c| c.1 == *name).ok_or_else(|| {
                    PgError::new(
                        SqlState::UNDEFINED_COLUMN,
                        format!("column \"{name}\" of relation \"{}\" does not exist", before.name),
                    )
                })?;
                column.2 |= bits;
            }
        }
        columns.retain(|c| c.2 != 0);
        if columns.is_empty() {
            return Ok(());
        }
        let user = self.environment.user;
        let of_relation =
            before.acl.clone().unwrap_or_else(|| acl::default_acl(AclObject::of_relation(before), before.owner));
        let mut relation = (**self.required(before.oid)?).clone();
        for (attnum, name, bits) in columns {
            work::visit();
            let at = relation.columns.iter().position(|c| c.attnum == attnum);
            if at.is_none() && !named.is_empty() && implied == 0 {
                return Err(PgError::not_supported("privileges on a system column"));
            }
            let old = at.and_then(|at| relation.columns[at].acl.clone()).unwrap_or_default();
            let list = AclChange { catalog: &self.catalog, owner: before.owner };
            let (grantor, available) = list.best_grantor(user, bits, &[&of_relation[..], &old[..]].concat());
            if available == 0 {
                let any = match at {
                    Some(at) => acl::column_privileges(&self.catalog, user, &relation, &relation.columns[at]),
                    None => acl::relation_privileges(&self.catalog, user, &relation),
                };
                if any & acl::OF_COLUMNS == 0 {
                    let message = format!("permission denied for column \"{name}\" of relation \"{}\"", relation.name);
                    return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
                }
            }
            let mut items = old;
            change.apply(&list, &mut items, grantor, bits & available)?;
            let what = format!("column \"{name}\" of relation \"{}\"", relation.name);
            self.note_left_out(change, bits, available, bits == acl::OF_COLUMNS, &what);
            if let Some(at) = at {
                relation.columns[at].acl = (!items.is_empty()).then_some(items);
            }
        }
        self.put_relation(relation)
    }

    pub(super) fn put_schema(&mut self, schema: Schema) -> Result<()> {
        self.ensure_store()?;
        store::storing::put_schema(self.conn, &schema)?;
        self.catalog.remove_schema(schema.oid);
        self.catalog.add_schema(schema);
        self.changed = true;
        Ok(())
    }

    pub(super) fn put_properties(&mut self, properties: DatabaseProperties) -> Result<()> {
        self.ensure_store()?;
        store::storing::put_properties(self.conn, &properties)?;
        self.catalog.properties = properties;
        self.changed = true;
        Ok(())
    }

    // --- roles ---------------------------------------------------------------------------------------------------------

    // --- owned objects ---------------------------------------------------------------------------------------------------
}

/// The bits of privilege words for a kind of object (none: all). Errors: 42601 for an unknown word, 0LP01 for one that does not fit.
pub(super) fn privilege_bits(words: &[String], kind: AclObject) -> Result<u32> {
    if words.is_empty() {
        return Ok(kind.all());
    }
    let object = match kind {
        AclObject::Table => "table",
        AclObject::Sequence => "sequence",
        AclObject::Schema => "schema",
        AclObject::Type => "type",
        AclObject::Database => "database",
        AclObject::Function => "function",
        AclObject::LargeObject => "large object",
    };
    bits_among(words, kind.all(), object)
}

/// The bits of words where the statement does not say whether it means a table or a sequence. Errors: as [`privilege_bits`].
fn relation_bits(words: &[String]) -> Result<u32> {
    bits_among(words, AclObject::Table.all() | AclObject::Sequence.all(), "relation")
}

fn bits_among(words: &[String], all: u32, object: &str) -> Result<u32> {
    let mut bits = 0;
    for word in words {
        work::visit();
        let upper = word.to_ascii_uppercase();
        let upper = if upper == "TEMP" { "TEMPORARY".to_string() } else { upper };
        let bit = privilege::NAMES
            .iter()
            .position(|n| n.1 == upper)
            .ok_or_else(|| PgError::new(SqlState::SYNTAX_ERROR, format!("unrecognized privilege type \"{word}\"")))?;
        if all & (1 << bit) == 0 {
            return Err(PgError::new(
                SqlState::INVALID_GRANT_OPERATION,
                format!("invalid privilege type {upper} for {object}"),
            ));
        }
        bits |= 1 << bit;
    }
    Ok(bits)
}

/// The bits of a privilege (empty: all) on columns. Errors: as [`privilege_bits`].
fn column_bits(word: &str) -> Result<u32> {
    if word.is_empty() {
        return Ok(acl::OF_COLUMNS);
    }
    let upper = word.to_ascii_uppercase();
    let bit = privilege::NAMES
        .iter()
        .position(|n| n.1 == upper)
        .ok_or_else(|| PgError::new(SqlState::SYNTAX_ERROR, format!("unrecognized privilege type \"{word}\"")))?;
    if acl::OF_COLUMNS & (1 << bit) == 0 {
        let message = format!("invalid privilege type {upper} for column");
        return Err(PgError::new(SqlState::INVALID_GRANT_OPERATION, message));
    }
    Ok(1 << bit)
}

/// A new owner takes over what the old one had and granted.
pub(super) fn change_grantor(acl: &mut Option<Vec<AclItem>>, old: Oid, new: Oid) {
    let Some(items) = acl.take() else { return };
    let mut out: Vec<AclItem> = Vec::new();
    for mut item in items {
        work::visit();
        if item.grantee == old {
            item.grantee = new;
        }
        if item.grantor == old {
            item.grantor = new;
        }
        match out.iter_mut().find(|i| i.grantee == item.grantee && i.grantor == item.grantor) {
            Some(same) => {
                same.privileges |= item.privileges;
                same.grant_options |= item.grant_options;
            }
            None => out.push(item),
        }
    }
    *acl = Some(out);
}
