//! The catalogs that only list PostgreSQL's built-ins: functions, operators, casts, access methods, collations.

use super::{character, int, numbers, strings, text, Rows};
use pgsqlite_sql::builtins::catalog as builtin;
use pgsqlite_sql::catalog::{Catalog, UserTypeKind, BOOTSTRAP_ROLE, PG_CATALOG};
use pgsqlite_types::work;
use pgsqlite_types::{Datum, DatumRef, Oid, PgError, Result, SqlState};

pub(super) fn procs(rows: &mut Rows, catalog: &Catalog) {
    for p in builtin::all_procs() {
        work::visit();
        let Some(schema) = catalog.schema_of_builtin(p.oid) else { continue };
        let mut row = proc_row(p, schema);
        let details = builtin::proc_details(p.oid);
        let rows_of_sets = if p.retset { 1000.0 } else { 0.0 };
        row.extend([
            ("proowner", int(BOOTSTRAP_ROLE)),
            ("prolang", int(details.map_or(12, |d| d.language))),
            ("procost", Datum::Real(details.map_or(1.0, |d| d.cost))),
            ("prorows", Datum::Real(details.map_or(rows_of_sets, |d| d.rows))),
            ("proparallel", text(details.map_or("s", |d| d.parallel))),
            ("proleakproof", p.leakproof.into()),
            ("probin", details.and_then(|d| d.library).into()),
            ("prosupport", int(details.map_or(0, |d| d.support))),
            ("proacl", super::views::acl_array(catalog, &pgsqlite_sql::acl::builtin_function_acl(catalog, p.oid))),
            ("prosrc", text(p.src.unwrap_or(&p.name))),
        ]);
        rows.push(&row);
    }
    for (oid, p) in &catalog.range_constructors {
        work::visit();
        let Some((range, definition)) = catalog.range_of_constructor(*oid) else { continue };
        let mut row = proc_row(p, definition.constructor_schema);
        row.extend([
            ("proowner", int(range.owner)),
            ("prolang", int(12)),
            ("procost", Datum::Real(1.0)),
            ("prorows", Datum::Real(0.0)),
            ("proparallel", text("s")),
            ("prosrc", text(p.src.unwrap_or(&p.name))),
        ]);
        rows.push(&row);
    }
    for r in catalog.routines.values() {
        work::visit();
        let f = &r.function;
        let mut row = proc_row(&r.proc, f.schema);
        let inputs = f.input_types();
        row.extend([
            ("proowner", int(f.owner)),
            ("prolang", int(f.language.oid())),
            ("procost", Datum::Real(f.cost)),
            ("prorows", Datum::Real(f.rows)),
            ("proparallel", character(f.parallel)),
            ("prosecdef", f.security_definer.into()),
            ("proleakproof", f.leakproof.into()),
            ("pronargs", int(inputs.len() as i64)),
            ("proargtypes", numbers(&inputs)),
            ("prosrc", text(if f.standard { "" } else { f.source.as_str() })),
            ("prosqlbody", if f.standard { text(f.source.as_str()) } else { Datum::Null }),
            ("proacl", super::views::acl_array(catalog, &f.acl)),
            (
                "proconfig",
                if f.settings.is_empty() {
                    Datum::Null
                } else {
                    strings(f.settings.iter().map(|(n, v)| format!("{n}={v}")))
                },
            ),
        ]);
        rows.push(&row);
    }
}

fn proc_row(p: &builtin::Proc, schema: Oid) -> Vec<(&'static str, Datum)> {
    let modes = p.arg_modes.as_ref().map(|m| strings(m.iter().map(|&b| (b as char).to_string())));
    vec![
        ("oid", int(p.oid)),
        ("proname", text(p.name.as_str())),
        ("pronamespace", int(schema)),
        ("provariadic", int(p.variadic)),
        ("prokind", character(p.kind)),
        ("proisstrict", p.strict.into()),
        ("proretset", p.retset.into()),
        ("provolatile", character(p.volatility)),
        ("pronargs", int(p.args.len() as i64)),
        ("pronargdefaults", int(p.default_count as i64)),
        ("prorettype", int(p.ret)),
        ("proargtypes", numbers(&p.args)),
        ("proallargtypes", p.all_args.as_ref().map(numbers).unwrap_or(Datum::Null)),
        ("proargmodes", modes.unwrap_or(Datum::Null)),
        ("proargnames", p.arg_names.as_ref().map(strings).unwrap_or(Datum::Null)),
        ("proargdefaults", if p.defaults.is_empty() { Datum::Null } else { text(p.defaults.join(", ")) }),
    ]
}

/// Triggers of users' tables.
pub(super) fn triggers(rows: &mut Rows, catalog: &Catalog) {
    use pgsqlite_sql::routine::{Event, Timing};
    for relation in catalog.relations.values() {
        work::visit();
        for t in &relation.triggers {
            work::visit();
            // bits of pg_trigger.tgtype
            let mut bits = i64::from(t.row);
            bits |= match t.timing {
                Timing::Before => 2,
                Timing::After => 0,
                Timing::InsteadOf => 64,
            };
            for event in &t.events {
                work::visit();
                bits |= match event {
                    Event::Insert => 4,
                    Event::Delete => 8,
                    Event::Update => 16,
                    Event::Truncate => 32,
                };
            }
            let mut arguments = Vec::new();
            for argument in &t.arguments {
                work::visit();
                arguments.extend(argument.as_bytes());
                arguments.push(0);
            }
            rows.push(&[
                ("oid", int(t.oid)),
                ("tgrelid", int(relation.oid)),
                ("tgname", text(t.name.as_str())),
                ("tgfoid", int(t.function)),
                ("tgtype", int(bits)),
                ("tgenabled", character(t.enabled)),
                ("tgparentid", int(t.parent)),
                ("tgconstraint", int(t.constraint)),
                ("tgdeferrable", t.deferrable.into()),
                ("tginitdeferred", t.initially_deferred.into()),
                ("tgnargs", int(t.arguments.len() as i64)),
                ("tgattr", numbers(&t.columns)),
                ("tgargs", Datum::Blob(arguments)),
                ("tgqual", t.condition.as_ref().map(|c| text(c.as_str())).unwrap_or(Datum::Null)),
                ("tgoldtable", t.old_table.as_ref().map(|c| text(c.as_str())).unwrap_or(Datum::Null)),
                ("tgnewtable", t.new_table.as_ref().map(|c| text(c.as_str())).unwrap_or(Datum::Null)),
            ]);
        }
    }
}

pub(super) fn operators(rows: &mut Rows, catalog: &Catalog) {
    let own =
        builtin::all_operators().iter().filter_map(|o| Some((o, catalog.schema_of_builtin(o.oid)?, BOOTSTRAP_ROLE)));
    let of_user = catalog.operators.values().map(|o| (&o.row, o.definition.schema, o.definition.owner));
    for (o, schema, owner) in own.chain(of_user) {
        work::visit();
        rows.push(&[
            ("oid", int(o.oid)),
            ("oprname", text(o.name.as_str())),
            ("oprnamespace", int(schema)),
            ("oprowner", int(owner)),
            ("oprkind", text(if o.left == 0 { "l" } else { "b" })),
            ("oprleft", int(o.left)),
            ("oprright", int(o.right)),
            ("oprresult", int(o.result)),
            ("oprcom", int(o.commutator)),
            ("oprnegate", int(o.negator)),
            ("oprcode", int(o.proc)),
            ("oprcanmerge", o.merges.into()),
            ("oprcanhash", o.hashes.into()),
            ("oprrest", int(o.restrict)),
            ("oprjoin", int(o.join)),
        ]);
    }
}

pub(super) fn casts(rows: &mut Rows, catalog: &Catalog) {
    let there =
        |ty: Oid| pgsqlite_types::catalog::by_oid(ty).is_some_and(|t| catalog.schema_of_builtin_type(t).is_some());
    let mut all: Vec<_> = builtin::all_casts().filter(|c| there(c.source) && there(c.target)).collect();
    all.sort_unstable_by_key(|c| (c.source, c.target));
    // pg_cast's OIDs are given by initdb, in no order that means anything.
    for (c, oid) in all.into_iter().zip(10_100i64..) {
        work::visit();
        let (method, function) = match c.method {
            builtin::CastMethod::Function(f) => ("f", f),
            builtin::CastMethod::InOut => ("i", 0),
            builtin::CastMethod::Binary => ("b", 0),
        };
        rows.push(&[
            ("oid", Datum::Int(oid)),
            ("castsource", int(c.source)),
            ("casttarget", int(c.target)),
            ("castfunc", int(function)),
            (
                "castcontext",
                text(match c.context {
                    builtin::CastContext::Implicit => "i",
                    builtin::CastContext::Assignment => "a",
                    builtin::CastContext::Explicit => "e",
                }),
            ),
            ("castmethod", text(method)),
        ]);
    }
    for t in catalog.types.values() {
        work::visit();
        if let UserTypeKind::Range(range) = &t.kind {
            let [_, of_range, _] = range.multirange_constructors;
            rows.push(&[
                ("oid", int(range.cast)),
                ("castsource", int(t.oid)),
                ("casttarget", int(range.multirange)),
                ("castfunc", int(of_range)),
                ("castcontext", text("e")),
                ("castmethod", text("f")),
            ]);
        }
    }
    for c in catalog.casts.values() {
        work::visit();
        let method = match (c.function, c.inout) {
            (0, true) => "i",
            (0, false) => "b",
            _ => "f",
        };
        rows.push(&[
            ("oid", int(c.oid)),
            ("castsource", int(c.source)),
            ("casttarget", int(c.target)),
            ("castfunc", int(c.function)),
            ("castcontext", character(c.context)),
            ("castmethod", text(method)),
        ]);
    }
}

pub(super) fn aggregates(rows: &mut Rows, catalog: &Catalog) {
    let made = |a: &&builtin::Aggregate| catalog.schema_of_builtin(a.proc).is_some();
    let own = builtin::all_procs().iter().filter_map(|p| builtin::aggregate(p.oid)).filter(made);
    let of_user = catalog.routines.values().filter_map(|r| r.function.aggregate.as_deref());
    for a in own.chain(of_user) {
        work::visit();
        let moving = a.moving.as_ref();
        let oid =
            |steps: Option<&builtin::AggregateSteps>, of: fn(&builtin::AggregateSteps) -> Oid| int(steps.map_or(0, of));
        let initial = |steps: Option<&builtin::AggregateSteps>| {
            steps.and_then(|s| s.initial.as_deref()).map_or(Datum::Null, text)
        };
        rows.push(&[
            ("aggfnoid", int(a.proc)),
            ("aggkind", character(a.kind)),
            ("aggnumdirectargs", int(a.direct_args as i64)),
            ("aggtransfn", int(a.plain.transition)),
            ("aggfinalfn", int(a.plain.finish)),
            ("aggcombinefn", int(a.combine)),
            ("aggserialfn", int(a.serialize)),
            ("aggdeserialfn", int(a.deserialize)),
            ("aggmtransfn", oid(moving, |s| s.transition)),
            ("aggminvtransfn", oid(moving, |s| s.inverse)),
            ("aggmfinalfn", oid(moving, |s| s.finish)),
            ("aggfinalextra", a.plain.finish_extra.into()),
            ("aggmfinalextra", moving.is_some_and(|s| s.finish_extra).into()),
            ("aggfinalmodify", character(a.plain.finish_modify)),
            ("aggmfinalmodify", character(a.moving_modify)),
            ("aggsortop", int(a.sort_operator)),
            ("aggtranstype", int(a.plain.state)),
            ("aggtransspace", int(i64::from(a.plain.space))),
            ("aggmtranstype", oid(moving, |s| s.state)),
            ("aggmtransspace", int(moving.map_or(0, |s| i64::from(s.space)))),
            ("agginitval", initial(Some(&a.plain))),
            ("aggminitval", initial(moving)),
        ]);
    }
}

pub(super) fn access_methods(rows: &mut Rows, catalog: &Catalog) {
    for &(oid, name, handler, kind) in builtin::access_methods() {
        work::visit();
        if catalog.schema_of_builtin(oid).is_none() {
            continue;
        }
        rows.push(&[
            ("oid", int(oid)),
            ("amname", text(name)),
            ("amhandler", int(handler)),
            ("amtype", character(kind)),
        ]);
    }
}

pub(super) fn operator_classes(rows: &mut Rows, catalog: &Catalog) {
    for c in builtin::all_operator_classes() {
        work::visit();
        let Some(schema) = catalog.schema_of_builtin(c.oid) else { continue };
        rows.push(&[
            ("oid", int(c.oid)),
            ("opcmethod", int(c.method_oid)),
            ("opcname", text(c.name)),
            ("opcnamespace", int(schema)),
            ("opcowner", int(BOOTSTRAP_ROLE)),
            ("opcfamily", int(c.family)),
            ("opcintype", int(c.input)),
            ("opcdefault", c.default.into()),
            ("opckeytype", int(c.key)),
        ]);
    }
}

pub(super) fn collations(rows: &mut Rows, catalog: &Catalog) {
    for c in builtin::all_collations() {
        work::visit();
        rows.push(&[
            ("oid", int(c.oid)),
            ("collname", text(c.name)),
            ("collnamespace", int(PG_CATALOG)),
            ("collowner", int(BOOTSTRAP_ROLE)),
            ("collprovider", character(c.provider)),
            ("collisdeterministic", true.into()),
            ("collencoding", int(c.encoding)),
            ("collcollate", c.collate.into()),
            ("collctype", c.ctype.into()),
            ("colliculocale", c.locale.into()),
            ("collversion", c.version.into()),
        ]);
    }
    for c in catalog.collations.values() {
        work::visit();
        let icu = c.locale.is_some();
        rows.push(&[
            ("oid", int(c.oid)),
            ("collname", text(c.name.as_str())),
            ("collnamespace", int(c.schema)),
            ("collowner", int(c.owner)),
            ("collprovider", character(if icu { b'i' } else { b'c' })),
            ("collisdeterministic", c.deterministic.into()),
            // libc's are bound to the database's encoding: UTF8
            ("collencoding", int(if c.any_encoding { -1i64 } else { 6 })),
            ("collcollate", c.collate.clone().into()),
            ("collctype", c.ctype.clone().into()),
            ("colliculocale", c.locale.clone().into()),
            ("collversion", c.version.clone().into()),
        ]);
    }
}

/// (oid, name, trusted)
const LANGUAGES: [(i64, &str, bool); 4] =
    [(12, "internal", false), (13, "c", false), (14, "sql", true), (13563, "plpgsql", true)];
/// Their validators, in this order.
const VALIDATORS: [i64; 4] = [2246, 2247, 2248, 13562];

/// The language of this name.
pub(crate) fn language_named(name: &str) -> Option<Oid> {
    LANGUAGES.iter().find(|l| l.1 == name).map(|l| l.0 as Oid)
}

pub(super) fn languages(rows: &mut Rows) {
    for ((oid, name, trusted), validator) in LANGUAGES.into_iter().zip(VALIDATORS) {
        work::visit();
        rows.push(&[
            ("oid", Datum::Int(oid)),
            ("lanname", text(name)),
            ("lanowner", int(BOOTSTRAP_ROLE)),
            ("lanispl", (name == "plpgsql").into()),
            ("lanpltrusted", trusted.into()),
            ("lanplcallfoid", int(if name == "plpgsql" { 13560 } else { 0 })),
            ("laninline", int(if name == "plpgsql" { 13561 } else { 0 })),
            ("lanvalidator", int(validator)),
        ]);
    }
}

pub(super) fn operator_families(rows: &mut Rows, catalog: &Catalog) {
    for f in builtin::all_operator_families() {
        work::visit();
        let family = f[0].parse().unwrap_or(0);
        let Some(schema) = catalog.schema_of_builtin(family) else { continue };
        let number = |i: usize| Datum::Int(f.get(i).and_then(|v| v.parse().ok()).unwrap_or(0));
        rows.push(&[
            ("oid", number(0)),
            ("opfmethod", number(1)),
            ("opfname", text(f.get(2).copied().unwrap_or_default())),
            ("opfnamespace", int(schema)),
            ("opfowner", int(BOOTSTRAP_ROLE)),
        ]);
    }
}

pub(super) fn family_operators(rows: &mut Rows, catalog: &Catalog) {
    rows.push_file(pgsqlite_sql::data::PG_AMOP);
    for line in pgsqlite_sql::data::EXTENSION_AMOP.lines().skip(1) {
        work::visit();
        let f: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| Datum::Int(f.get(i).and_then(|v| v.parse().ok()).unwrap_or(0));
        if catalog.schema_of_builtin(f.get(1).and_then(|v| v.parse().ok()).unwrap_or(0)).is_none() {
            continue;
        }
        rows.push(&[
            ("oid", number(0)),
            ("amopfamily", number(1)),
            ("amoplefttype", number(2)),
            ("amoprighttype", number(3)),
            ("amopstrategy", number(4)),
            ("amoppurpose", text(f.get(5).copied().unwrap_or_default())),
            ("amopopr", number(6)),
            ("amopmethod", number(7)),
            ("amopsortfamily", number(8)),
        ]);
    }
}

pub(super) fn tablespaces(rows: &mut Rows) {
    for (oid, name) in [(1663, "pg_default"), (1664, "pg_global")] {
        work::visit();
        rows.push(&[("oid", int(oid)), ("spcname", text(name)), ("spcowner", int(BOOTSTRAP_ROLE))]);
    }
}

/// Whether a language (by name or OID) is trusted; None: an OID that is none's. Errors: 42704.
pub(crate) fn language(language: DatumRef) -> Result<Option<bool>> {
    match language {
        DatumRef::Text(name) => LANGUAGES
            .iter()
            .find(|l| l.1 == name)
            .map(|l| Some(l.2))
            .ok_or_else(|| PgError::new(SqlState::UNDEFINED_OBJECT, format!("language \"{name}\" does not exist"))),
        DatumRef::Int(oid) => Ok(LANGUAGES.iter().find(|l| l.0 == oid).map(|l| l.2)),
        _ => Err(PgError::internal("a language that is neither a name nor a number")),
    }
}

/// An extension that is here: always, or once CREATE EXTENSION has made it.
pub(crate) struct Extension {
    /// Some: it is always there, in pg_catalog
    pub oid: Option<Oid>,
    pub name: &'static str,
    pub version: &'static str,
    /// those who may create databases may install it
    pub trusted: bool,
    pub relocatable: bool,
    /// the only schema that it can be in
    pub schema: Option<&'static str>,
    pub comment: &'static str,
}

const fn native(name: &'static str, version: &'static str, comment: &'static str) -> Extension {
    Extension { oid: None, name, version, trusted: true, relocatable: true, schema: None, comment }
}

pub(crate) const EXTENSIONS: [Extension; 11] = [
    Extension {
        oid: Some(13559),
        name: "plpgsql",
        version: "1.0",
        trusted: true,
        relocatable: false,
        schema: Some("pg_catalog"),
        comment: "PL/pgSQL procedural language",
    },
    // (its view is always there: dumps and schema files are not to name what nobody has asked for)
    Extension {
        oid: None,
        name: "pg_stat_statements",
        version: "1.10",
        trusted: false,
        relocatable: true,
        schema: None,
        comment: "track planning and execution statistics of all SQL statements executed",
    },
    native("uuid-ossp", "1.1", "generate universally unique identifiers (UUIDs)"),
    native("pgcrypto", "1.3", "cryptographic functions"),
    native("pg_trgm", "1.6", "text similarity measurement and index searching based on trigrams"),
    native("unaccent", "1.1", "text search dictionary that removes accents"),
    native("citext", "1.6", "data type for case-insensitive character strings"),
    native("hstore", "1.8", "data type for storing sets of (key, value) pairs"),
    native("intarray", "1.5", "functions, operators, and index support for 1-D arrays of integers"),
    native("btree_gist", "1.7", "support for indexing common datatypes in GiST"),
    native("vector", "0.8.6", "vector data type and ivfflat and hnsw access methods"),
];

fn is_installed(catalog: &Catalog, extension: &Extension) -> bool {
    extension.oid.is_some() || catalog.extensions.contains_key(extension.name)
}

pub(super) fn extensions(rows: &mut Rows, catalog: &Catalog) {
    let mut one = |oid: Oid, name: &str, owner: Oid, schema: Oid, version: &str, relocatable: bool| {
        rows.push(&[
            ("oid", int(oid)),
            ("extname", text(name)),
            ("extowner", int(owner)),
            ("extnamespace", int(schema)),
            ("extrelocatable", relocatable.into()),
            ("extversion", text(version)),
        ]);
    };
    for e in &EXTENSIONS {
        work::visit();
        if let Some(oid) = e.oid {
            // (what is always there cannot be moved)
            one(oid, e.name, BOOTSTRAP_ROLE, PG_CATALOG, e.version, false);
        }
    }
    for e in catalog.extensions.values() {
        work::visit();
        one(e.oid, &e.name, e.owner, e.schema, &e.version, true);
    }
}

pub(super) fn available_extensions(rows: &mut Rows, catalog: &Catalog) {
    for extension in &EXTENSIONS {
        work::visit();
        let installed = is_installed(catalog, extension);
        rows.push(&[
            ("name", text(extension.name)),
            ("default_version", text(extension.version)),
            ("installed_version", if installed { text(extension.version) } else { Datum::Null }),
            ("comment", text(extension.comment)),
        ]);
    }
}

pub(super) fn available_extension_versions(rows: &mut Rows, catalog: &Catalog) {
    for extension in &EXTENSIONS {
        work::visit();
        rows.push(&[
            ("name", text(extension.name)),
            ("version", text(extension.version)),
            ("installed", is_installed(catalog, extension).into()),
            ("superuser", true.into()),
            ("trusted", extension.trusted.into()),
            ("relocatable", extension.relocatable.into()),
            ("schema", extension.schema.into()),
            ("comment", text(extension.comment)),
        ]);
    }
}
