//! Access privilege inquiry functions (manual, "System Information Functions"): has_table_privilege and its kin, pg_has_role,
//! acldefault, aclexplode. A role and an object may each be given by name or by OID; an OID that no object has gives NULL.

use crate::pg_catalog::cluster;
use pgsqlite_metadata::store::names::split_identifier;
use pgsqlite_metadata::store::other::Other;
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_natives::udf::shim::{Call, Scalar};
use pgsqlite_sql::acl::{self, privilege, AclItem, AclObject, PUBLIC_ROLE};
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Datum, DatumRef, Oid, PgError, Result, SqlState};

/// The arguments before the privilege, of which the last names the object: (role, object arguments).
fn split(c: &Call, objects: usize) -> Result<(Oid, usize)> {
    let with_role = c.len() == objects + 2;
    if !with_role {
        return Ok((c.session.state().user_oid, 0));
    }
    Ok((role(c, 0)?, 1))
}

/// A role by name (42704 if unknown; `public` is everybody) or OID: one that is nobody's has what PUBLIC has.
fn role(c: &Call, i: usize) -> Result<Oid> {
    let state = c.session.state();
    match c.datum(i) {
        DatumRef::Text("public") => Ok(PUBLIC_ROLE),
        DatumRef::Text(name) if name == state.user => Ok(state.user_oid),
        DatumRef::Text(name) => state
            .catalog
            .role_named(name)
            .map(|r| r.oid)
            .ok_or_else(|| PgError::new(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))),
        DatumRef::Int(oid) => Ok(oid as Oid),
        _ => Err(PgError::internal("a role that is neither a name nor a number")),
    }
}

/// An object by name, looked up as a constant of the reg type, or by OID.
fn object(c: &Call, i: usize, reg_type: Oid) -> Result<Oid> {
    match c.datum(i) {
        DatumRef::Text(name) => c.session.reg_oid(reg_type, name).map_err(|e| {
            // (unlike a constant's, a relation's schema has to be there)
            let parts = split_identifier(name).unwrap_or_default();
            match &parts[..] {
                [schema, _]
                    if e.code() == SqlState::UNDEFINED_TABLE
                        && c.session.state().catalog.schema_oid(schema).is_none() =>
                {
                    PgError::new(SqlState::INVALID_SCHEMA_NAME, format!("schema \"{schema}\" does not exist"))
                }
                _ => e,
            }
        }),
        DatumRef::Int(oid) => Ok(oid as Oid),
        _ => Err(PgError::internal("an object that is neither a name nor a number")),
    }
}

/// The privileges asked for: (bits, with grant option), any of which will do. Errors: 22023.
fn wanted(text: &str, object: AclObject) -> Result<Vec<(u32, bool)>> {
    wanted_of(text, object.all())
}

fn wanted_of(text: &str, known: u32) -> Result<Vec<(u32, bool)>> {
    let mut out = Vec::new();
    for part in text.split(',') {
        work::visit();
        let part = part.trim();
        let upper = part.to_ascii_uppercase();
        let (word, option) = match upper.strip_suffix(" WITH GRANT OPTION") {
            Some(word) => (word.trim_end(), true),
            None => (upper.as_str(), false),
        };
        let word = if word == "TEMP" { "TEMPORARY" } else { word };
        let bit = privilege::NAMES.iter().position(|n| n.1 == word).map(|b| 1u32 << b);
        match bit.filter(|b| known & b != 0) {
            Some(bit) => out.push((bit, option)),
            None => {
                return Err(PgError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("unrecognized privilege type: \"{part}\""),
                ))
            }
        }
    }
    Ok(out)
}

/// Whether the role has one of the privileges by this list.
fn has(
    catalog: &Catalog,
    role: Oid,
    object: AclObject,
    owner: Oid,
    list: Option<&Vec<AclItem>>,
    wanted: &[(u32, bool)],
) -> bool {
    let held = acl::privileges(catalog, role, object, owner, list);
    let owns = acl::owns(catalog, role, owner);
    let default = acl::default_acl(object, owner);
    let roles = acl::inherited_roles(catalog, role);
    let options =
        list.unwrap_or(&default).iter().filter(|i| roles.contains(&i.grantee)).fold(0, |all, i| all | i.grant_options);
    wanted.iter().any(|&(bit, option)| if option { owns || options & bit != 0 } else { held & bit != 0 })
}

/// Tables, views, sequences; a column has what its table has.
fn on_relation(c: &Call, arguments: usize, kind: AclObject, known: u32) -> Result<Datum> {
    let (role, at) = split(c, arguments)?;
    let relation = object(c, at, oid::REGCLASS)?;
    let wanted = wanted_of(c.text(c.len() - 1)?, known)?;
    let state = c.session.state();
    let Some(relation) = state.catalog.relation(relation) else { return Ok(Datum::Null) };
    // a column's own privileges; of has_any_column_privilege those of all
    let mut own: Vec<AclItem> = Vec::new();
    if arguments == 1 && known == acl::OF_COLUMNS {
        own.extend(relation.live_columns().flat_map(|c| c.acl.iter().flatten().cloned()));
    }
    if arguments == 2 {
        let column = match c.datum(at + 1) {
            DatumRef::Text(name) => match relation.column(name) {
                Some(column) => Some(column),
                None => {
                    return Err(PgError::new(
                        SqlState::UNDEFINED_COLUMN,
                        format!("column \"{name}\" of relation \"{}\" does not exist", relation.name),
                    ))
                }
            },
            DatumRef::Int(attnum) => relation.live_columns().find(|c| i64::from(c.attnum) == attnum),
            _ => None,
        };
        let Some(column) = column else { return Ok(Datum::Null) };
        own.extend(column.acl.iter().flatten().cloned());
    }
    if kind == AclObject::Sequence && !matches!(relation.kind, pgsqlite_sql::catalog::RelationKind::Sequence(_)) {
        return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is not a sequence", relation.name)));
    }
    let held = acl::relation_privileges(&state.catalog, role, relation);
    let by_list = has(&state.catalog, role, kind, relation.owner, relation.acl.as_ref(), &wanted);
    let by_columns = has(&state.catalog, role, kind, relation.owner, Some(&own), &wanted);
    Ok((by_list || by_columns || wanted.iter().any(|&(bit, option)| !option && held & bit != 0)).into())
}

fn any_column(c: &Call) -> Result<Datum> {
    on_relation(c, 1, AclObject::Table, acl::OF_COLUMNS)
}
fn table(c: &Call) -> Result<Datum> {
    on_relation(c, 1, AclObject::Table, AclObject::Table.all())
}
fn sequence(c: &Call) -> Result<Datum> {
    on_relation(c, 1, AclObject::Sequence, AclObject::Sequence.all())
}
fn column(c: &Call) -> Result<Datum> {
    on_relation(c, 2, AclObject::Table, acl::OF_COLUMNS)
}

/// row_security_active(table): whether policies hide rows of it from the current role.
fn row_security_active(c: &Call) -> Result<Datum> {
    let relation = object(c, 0, oid::REGCLASS)?;
    let state = c.session.state();
    let Some(relation) = state.catalog.relation(relation) else { return Ok(false.into()) };
    Ok(acl::policies_apply(&state.catalog, state.user_oid, relation).into())
}

fn schema(c: &Call) -> Result<Datum> {
    let (role, at) = split(c, 1)?;
    let schema = object(c, at, oid::REGNAMESPACE)?;
    let wanted = wanted(c.text(c.len() - 1)?, AclObject::Schema)?;
    let state = c.session.state();
    let Some(found) = state.catalog.schemas.get(&schema) else { return Ok(Datum::Null) };
    // (what predefined roles give, nobody can pass on)
    let given = acl::schema_privileges(&state.catalog, role, schema);
    let is_given = wanted.iter().any(|(one, grant_option)| !grant_option && given & one != 0);
    let granted = || has(&state.catalog, role, AclObject::Schema, found.owner, found.acl.as_ref(), &wanted);
    Ok((is_given || granted()).into())
}

fn database(c: &Call) -> Result<Datum> {
    let (role, at) = split(c, 1)?;
    let state = c.session.state();
    let database = cluster::database_argument(&state, c.datum(at))?;
    let wanted = wanted(c.text(c.len() - 1)?, AclObject::Database)?;
    let Some(database) = database else { return Ok(Datum::Null) };
    if database.number != cluster::OWN {
        return Ok(has_on_other(&state, &database.look(&state)?, role, &wanted).into());
    }
    let properties = &state.catalog.properties;
    Ok(has(&state.catalog, role, AclObject::Database, properties.owner, properties.acl.as_ref(), &wanted).into())
}

/// Privileges on another database, whose file knows roles of its own: one that it does not know has what everybody has.
pub(crate) fn has_on_other(state: &SessionState, other: &Other, role: Oid, wanted: &[(u32, bool)]) -> bool {
    let properties = &other.catalog.properties;
    let role = other.role_of(&state.catalog, role).unwrap_or(PUBLIC_ROLE);
    has(&other.catalog, role, AclObject::Database, properties.owner, properties.acl.as_ref(), wanted)
}

fn user_type(c: &Call) -> Result<Datum> {
    let (role, at) = split(c, 1)?;
    let ty = object(c, at, oid::REGTYPE)?;
    let wanted = wanted(c.text(c.len() - 1)?, AclObject::Type)?;
    let state = c.session.state();
    match state.catalog.types.get(&ty) {
        Some(t) => Ok(has(&state.catalog, role, AclObject::Type, t.owner, t.acl.as_ref(), &wanted).into()),
        // built-in types, arrays and row types have the default
        None if state.catalog.type_entry(ty).is_some() => {
            Ok(has(&state.catalog, role, AclObject::Type, pgsqlite_sql::catalog::BOOTSTRAP_ROLE, None, &wanted).into())
        }
        None => Ok(Datum::Null),
    }
}

/// Everybody may call PostgreSQL's own functions.
fn function(c: &Call) -> Result<Datum> {
    let (role, at) = split(c, 1)?;
    let reg_type = match c.datum(at) {
        DatumRef::Text(name) if name.contains('(') => oid::REGPROCEDURE,
        _ => oid::REGPROC,
    };
    let function = object(c, at, reg_type)?;
    let text = c.text(c.len() - 1)?.trim().to_ascii_uppercase();
    let option = match text.as_str() {
        "EXECUTE" => false,
        "EXECUTE WITH GRANT OPTION" => true,
        _ => {
            return Err(PgError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("unrecognized privilege type: \"{}\"", c.text(c.len() - 1)?),
            ))
        }
    };
    let state = c.session.state();
    let owned = match state.catalog.function(function) {
        Some(f) => {
            let list = f.acl.clone().unwrap_or_else(|| acl::default_acl(acl::AclObject::Function, f.owner));
            Some((list, f.owner))
        }
        None => acl::builtin_function_acl(&state.catalog, function)
            .map(|list| (list, pgsqlite_sql::catalog::BOOTSTRAP_ROLE)),
    };
    if let Some((items, owner)) = owned {
        let roles = acl::inherited_roles(&state.catalog, role);
        let held = items.iter().filter(|i| i.grantee == acl::PUBLIC_ROLE || roles.contains(&i.grantee));
        let bit = acl::privilege::EXECUTE;
        let has = held.clone().any(|i| if option { i.grant_options } else { i.privileges } & bit != 0);
        return Ok((has || acl::is_superuser(&state.catalog, role) || roles.contains(&owner) && option).into());
    }
    let exists = pgsqlite_sql::builtins::catalog::proc_by_oid(function).is_some();
    if !exists {
        return Ok(Datum::Null);
    }
    Ok((!option || acl::is_superuser(&state.catalog, role)).into())
}

/// pg_has_role: MEMBER, USAGE (of the privileges), SET (by SET ROLE), each WITH ADMIN OPTION.
fn has_role(c: &Call) -> Result<Datum> {
    let (user, at) = if c.len() == 3 { (role(c, 0)?, 1) } else { (c.session.state().user_oid, 0) };
    let target = role(c, at)?;
    let text = c.text(c.len() - 1)?.trim().to_ascii_uppercase();
    let state = c.session.state();
    let catalog = &state.catalog;
    let answer = match text.as_str() {
        "MEMBER" => acl::is_superuser(catalog, user) || acl::member_of(catalog, user, target),
        "USAGE" => acl::is_superuser(catalog, user) || acl::inherited_roles(catalog, user).contains(&target),
        "SET" => acl::may_set_role(catalog, user, target),
        "MEMBER WITH ADMIN OPTION"
        | "MEMBER WITH GRANT OPTION"
        | "USAGE WITH ADMIN OPTION"
        | "USAGE WITH GRANT OPTION"
        | "SET WITH ADMIN OPTION"
        | "SET WITH GRANT OPTION" => acl::is_admin_of(catalog, user, target),
        _ => {
            return Err(PgError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("unrecognized privilege type: \"{}\"", c.text(c.len() - 1)?),
            ))
        }
    };
    Ok(answer.into())
}

fn array(catalog: &Catalog, items: &[AclItem]) -> Datum {
    crate::pg_catalog::strings(items.iter().map(|i| acl::item_text(catalog, i)))
}

/// acldefault(kind, owner)
fn default(c: &Call) -> Result<Datum> {
    let owner = c.int(1)? as Oid;
    let object = match c.text(0)? {
        "r" => AclObject::Table,
        "s" => AclObject::Sequence,
        "n" => AclObject::Schema,
        "T" => AclObject::Type,
        "d" => AclObject::Database,
        "c" => return Ok(array(&c.session.state().catalog, &[])),
        // kinds of objects that only PostgreSQL itself makes here: (of PUBLIC, of the owner)
        kind @ ("f" | "l" | "t" | "F" | "S" | "L" | "p") => {
            let (public, own) = match kind {
                "f" => ("X", "X"),
                "l" => ("U", "U"),
                "t" => ("", "C"),
                "F" | "S" => ("", "U"),
                "L" => ("", "rw"),
                _ => ("", "sA"),
            };
            let state = c.session.state();
            let owner_name = acl::item_text(
                &state.catalog,
                &AclItem { grantee: owner, grantor: owner, privileges: 0, grant_options: 0 },
            );
            let owner_name = owner_name.split('=').next().unwrap_or_default();
            let mut items = vec![format!("{owner_name}={own}/{owner_name}")];
            if !public.is_empty() {
                items.insert(0, format!("={public}/{owner_name}"));
            }
            return Ok(crate::pg_catalog::strings(items));
        }
        other => {
            return Err(PgError::new(
                SqlState::INTERNAL_ERROR,
                format!("unrecognized object type abbreviation: {other}"),
            ))
        }
    };
    Ok(array(&c.session.state().catalog, &acl::default_acl(object, owner)))
}

/// A role in an aclitem's text: a name, quoted where it must be, or a number.
fn item_role(state: &SessionState, text: &str) -> Option<Oid> {
    let name = match text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => text.to_string(),
    };
    state.catalog.role_named(&name).map(|r| r.oid).or_else(|| name.parse().ok())
}

/// aclexplode(aclitem[]): (grantor, grantee, privilege, grantable) of each.
fn explode(c: &Call) -> Result<Datum> {
    let malformed = || PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, "malformed aclitem");
    let items: Vec<String> = serde_json::from_str(c.text(0)?).map_err(|_| malformed())?;
    let state = c.session.state();
    let mut rows: Vec<serde_json::Value> = Vec::new();
    for item in &items {
        work::visit();
        let (grantee, rest) = item.rsplit_once('=').ok_or_else(malformed)?;
        let (letters, grantor) = rest.split_once('/').ok_or_else(malformed)?;
        let grantee = if grantee.is_empty() { Some(PUBLIC_ROLE) } else { item_role(&state, grantee) };
        let (grantee, grantor) = (grantee.ok_or_else(malformed)?, item_role(&state, grantor).ok_or_else(malformed)?);
        let mut letters = letters.chars().peekable();
        while let Some(letter) = letters.next() {
            work::visit();
            let name = privilege::NAMES.iter().find(|n| n.0 == letter).ok_or_else(malformed)?.1;
            let grantable = letters.next_if_eq(&'*').is_some();
            rows.push(serde_json::json!([grantor, grantee, name, i32::from(grantable)]));
        }
    }
    Ok(Datum::Text(serde_json::Value::from(rows).to_string()))
}

/// Languages and tablespaces are PostgreSQL's own: everybody may use the trusted languages, superusers the rest.
fn language(c: &Call) -> Result<Datum> {
    let (role, at) = split(c, 1)?;
    let found = crate::pg_catalog::language(c.datum(at))?;
    let state = c.session.state();
    let Some(trusted) = found else { return Ok(Datum::Null) };
    Ok((trusted || acl::is_superuser(&state.catalog, role)).into())
}

/// The two tablespaces every cluster has; only superusers may create in them.
fn tablespace(c: &Call) -> Result<Datum> {
    let (role, at) = split(c, 1)?;
    let exists = match c.datum(at) {
        DatumRef::Text("pg_default" | "pg_global") => true,
        DatumRef::Text(name) => {
            return Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("tablespace \"{name}\" does not exist")))
        }
        DatumRef::Int(oid) => matches!(oid, 1663 | 1664),
        _ => false,
    };
    wanted_of(c.text(c.len() - 1)?, privilege::CREATE)?;
    let state = c.session.state();
    Ok(exists.then(|| acl::is_superuser(&state.catalog, role)).into())
}

pub const FUNCTIONS: &[(&str, Scalar)] = &[
    ("has_table_privilege_name_name has_table_privilege_name_id has_table_privilege_id_name", table),
    ("has_table_privilege_id_id has_table_privilege_name has_table_privilege_id", table),
    (
        "has_any_column_privilege_name_name has_any_column_privilege_name_id has_any_column_privilege_id_name",
        any_column,
    ),
    ("has_any_column_privilege_id_id has_any_column_privilege_name has_any_column_privilege_id", any_column),
    ("has_column_privilege_name_name_name has_column_privilege_name_name_attnum", column),
    ("has_column_privilege_name_id_name has_column_privilege_name_id_attnum", column),
    ("has_column_privilege_id_name_name has_column_privilege_id_name_attnum", column),
    ("has_column_privilege_id_id_name has_column_privilege_id_id_attnum", column),
    ("has_column_privilege_name_name has_column_privilege_name_attnum", column),
    ("has_column_privilege_id_name has_column_privilege_id_attnum", column),
    ("has_sequence_privilege_name_name has_sequence_privilege_name_id has_sequence_privilege_id_name", sequence),
    ("has_sequence_privilege_id_id has_sequence_privilege_name has_sequence_privilege_id", sequence),
    ("has_schema_privilege_name_name has_schema_privilege_name_id has_schema_privilege_id_name", schema),
    ("has_schema_privilege_id_id has_schema_privilege_name has_schema_privilege_id", schema),
    ("has_database_privilege_name_name has_database_privilege_name_id has_database_privilege_id_name", database),
    ("has_database_privilege_id_id has_database_privilege_name has_database_privilege_id", database),
    ("has_type_privilege_name_name has_type_privilege_name_id has_type_privilege_id_name", user_type),
    ("has_type_privilege_id_id has_type_privilege_name has_type_privilege_id", user_type),
    ("has_function_privilege_name_name has_function_privilege_name_id has_function_privilege_id_name", function),
    ("has_function_privilege_id_id has_function_privilege_name has_function_privilege_id", function),
    ("has_language_privilege_name_name has_language_privilege_name_id has_language_privilege_id_name", language),
    ("has_language_privilege_id_id has_language_privilege_name has_language_privilege_id", language),
    (
        "has_tablespace_privilege_name_name has_tablespace_privilege_name_id has_tablespace_privilege_id_name \
         has_tablespace_privilege_id_id has_tablespace_privilege_name has_tablespace_privilege_id",
        tablespace,
    ),
    ("pg_has_role_name_name pg_has_role_name_id pg_has_role_id_name pg_has_role_id_id", has_role),
    ("pg_has_role_name pg_has_role_id", has_role),
    ("row_security_active row_security_active_name", row_security_active),
    ("acldefault_sql", default),
    ("aclexplode", explode),
];
