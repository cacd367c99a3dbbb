//! Roles, databases, settings, sessions.

use super::{int, text, Rows};
use pgsqlite_metadata::store::other::Other;
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_sql::catalog::{Catalog, Role, BOOTSTRAP_ROLE};
use pgsqlite_types::work;
use pgsqlite_types::{Datum, DatumRef, PgError, Result, SqlState};

type Row = Vec<(&'static str, Datum)>;

fn attributes(role: &Role) -> Row {
    vec![
        ("oid", int(role.oid)),
        ("rolname", text(&*role.name)),
        ("rolsuper", role.superuser.into()),
        ("rolinherit", role.inherit.into()),
        ("rolcreaterole", role.create_role.into()),
        ("rolcreatedb", role.create_db.into()),
        ("rolcanlogin", role.login.into()),
        ("rolreplication", role.replication.into()),
        ("rolbypassrls", role.bypass_rls.into()),
        ("rolconnlimit", int(role.connection_limit)),
        ("rolvaliduntil", role.valid_until.clone().into()),
    ]
}

pub(super) fn authids(rows: &mut Rows, catalog: &Catalog) {
    for role in catalog.roles.values() {
        work::visit();
        let mut row = attributes(role);
        row.push(("rolpassword", role.password.clone().into()));
        rows.push(&row);
    }
}

pub(super) fn roles(rows: &mut Rows, catalog: &Catalog) {
    for role in catalog.roles.values() {
        work::visit();
        let mut row = attributes(role);
        row.push(("rolpassword", text("********")));
        row.push(("rolconfig", super::views::settings_array(&role.settings)));
        rows.push(&row);
    }
}

pub(super) fn users(rows: &mut Rows, catalog: &Catalog) {
    for role in catalog.roles.values().filter(|r| r.login) {
        work::visit();
        rows.push(&[
            ("usename", text(&*role.name)),
            ("usesysid", int(role.oid)),
            ("usecreatedb", role.create_db.into()),
            ("usesuper", role.superuser.into()),
            ("userepl", role.replication.into()),
            ("usebypassrls", role.bypass_rls.into()),
            ("passwd", text("********")),
            ("valuntil", role.valid_until.clone().into()),
            ("useconfig", super::views::settings_array(&role.settings)),
        ]);
    }
}

/// pg_shadow: as pg_user, with the verifiers.
pub(super) fn shadow(rows: &mut Rows, catalog: &Catalog) {
    for role in catalog.roles.values().filter(|r| r.login) {
        work::visit();
        rows.push(&[
            ("usename", text(&*role.name)),
            ("usesysid", int(role.oid)),
            ("usecreatedb", role.create_db.into()),
            ("usesuper", role.superuser.into()),
            ("userepl", role.replication.into()),
            ("usebypassrls", role.bypass_rls.into()),
            ("passwd", role.password.clone().into()),
            ("valuntil", role.valid_until.clone().into()),
            ("useconfig", super::views::settings_array(&role.settings)),
        ]);
    }
}

/// The databases of the server, with what the files say of them.
pub(super) fn databases(rows: &mut Rows, state: &SessionState) {
    let catalog = &state.catalog;
    let mut push = |oid: i64, name: &str, owner: pgsqlite_types::Oid, acl: Datum| {
        rows.push(&[
            ("oid", Datum::Int(oid)),
            ("datname", text(name)),
            ("datdba", int(owner)),
            ("encoding", int(6)),
            ("datlocprovider", text("c")),
            ("datallowconn", true.into()),
            ("datconnlimit", int(-1i64)),
            ("dattablespace", int(1663)),
            ("datcollate", text("C.UTF-8")),
            ("datctype", text("C.UTF-8")),
            // nothing is older than the transactions that are to come: numbers are not kept in rows
            ("datfrozenxid", recent_transaction()),
            ("datminmxid", int(1)),
            ("datacl", acl),
        ]);
    };
    let acl = |of: &Catalog| super::views::acl_array(of, &of.properties.acl);
    for database in known_databases(state) {
        work::visit();
        if database.number == OWN {
            push(database.number, &database.shown, catalog.properties.owner, acl(catalog));
            continue;
        }
        match database.look(state) {
            // (an owner that only the other file knows has no OID here)
            Ok(other) => {
                push(database.number, &database.shown, other.owner_in(catalog).unwrap_or_default(), acl(&other.catalog))
            }
            // one file that cannot be read must not hide the others
            Err(error) => {
                tracing::debug!(%error, database = database.name, "the database cannot be looked at");
                push(database.number, &database.shown, BOOTSTRAP_ROLE, Datum::Null)
            }
        }
    }
}

/// The number of the transaction that is to come.
pub(super) fn recent_transaction() -> Datum {
    Datum::Int(i64::from(pgsqlite_metadata::counter::coming_number() as u32))
}

/// A database as this session sees it.
pub(crate) struct KnownDatabase {
    /// what the server calls it
    pub name: String,
    /// what the client calls it: of a server with one file it may be any name
    pub shown: String,
    /// its OID
    pub number: i64,
}

/// The OID of the database that the session uses.
pub(crate) const OWN: i64 = 1;

impl KnownDatabase {
    /// Another database than the session's: what its file says.
    pub fn look(&self, state: &SessionState) -> Result<Other> {
        match &state.databases {
            Some(databases) => databases.0.look(&self.name),
            None => Err(PgError::internal("another database of a server that has one")),
        }
    }
}

/// The database that an argument of a function means, by name (3D000 if there is none) or OID (None).
pub(crate) fn database_argument(state: &SessionState, argument: DatumRef) -> Result<Option<KnownDatabase>> {
    let mut known = known_databases(state).into_iter();
    match argument {
        DatumRef::Text(name) => {
            let found = known.find(|d| match d.number {
                OWN => state.catalog.is_database(name),
                _ => d.name == name,
            });
            let missing = || PgError::new(SqlState::UNDEFINED_DATABASE, format!("database \"{name}\" does not exist"));
            found.ok_or_else(missing).map(Some)
        }
        DatumRef::Int(oid) => Ok(known.find(|d| d.number == oid)),
        _ => Err(PgError::internal("a database that is neither a name nor a number")),
    }
}

/// The databases of the server, the open one first.
pub(crate) fn known_databases(state: &SessionState) -> Vec<KnownDatabase> {
    let own = KnownDatabase { name: state.catalog.database.clone(), shown: state.database.clone(), number: OWN };
    let others = state.databases.iter().flat_map(|d| d.0.list()).filter(|n| *n != state.database);
    let others = others.zip(2i64..).map(|(n, number)| KnownDatabase { shown: n.clone(), name: n, number });
    std::iter::once(own).chain(others).collect()
}

pub(super) fn settings(rows: &mut Rows, state: &SessionState) {
    let optional = |field: &str| if field == "\\N" { Datum::Null } else { text(field) };
    let settings = state.variables.as_ref().map(|v| v.all());
    for line in pgsqlite_sql::builtins::catalog::settings_data() {
        work::visit();
        let f: Vec<&str> = line.split('\t').collect();
        if !pgsqlite_natives::settings::may_examine(&state.catalog, state.user_oid, f[0]) {
            continue;
        }
        // A setting that the session does not have is not shown.
        let Some(settings) = &settings else { continue };
        let Some(value) = settings.raw(f[0]) else { continue };
        let (source, reset) = settings.origin(f[0]);
        let enumerated = match f[9] {
            "\\N" => Datum::Null,
            list => super::strings(list.trim_matches(['{', '}']).split(',').map(|v| v.trim_matches('"'))),
        };
        rows.push(&[
            ("name", text(f[0])),
            ("setting", text(value)),
            ("unit", optional(f[2])),
            ("category", text(f[3])),
            ("short_desc", text(f[4])),
            ("context", text(f[5])),
            ("vartype", text(f[6])),
            ("source", text(source)),
            ("min_val", optional(f[7])),
            ("max_val", optional(f[8])),
            ("enumvals", enumerated),
            ("boot_val", optional(f[1])),
            ("reset_val", reset.map_or(Datum::Null, text)),
            ("pending_restart", false.into()),
        ]);
    }
}
