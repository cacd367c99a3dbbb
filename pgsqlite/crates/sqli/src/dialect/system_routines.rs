//! `sysprocedures`, `sysprocbody`, `systriggers` and `systrigbody`: routines, triggers and the texts that made them.

use super::print::literal;
use super::spl::routine::text_of;
use super::spl::trigger::{event_letter, name_of};
use super::system_catalog::{columns, Table, FLAG, NAME, OWNER};
use pgsqlite_sql::catalog::{Catalog, Relation};
use pgsqlite_sql::routine::{Routine, Trigger};
use pgsqlite_types::{oid, work};
use std::sync::Arc;

/// Characters of a text in one row.
const PIECE: usize = 256;

/// One of these tables; None: it is none of them.
pub(super) fn table(name: &str, catalog: &Catalog) -> Option<Table> {
    let owner = |oid| literal(catalog.role_name(oid).unwrap_or("informix"));
    Some(match name {
        "sysprocedures" => Table {
            columns: columns(&[
                ("procname", NAME),
                ("owner", OWNER),
                ("procid", "int"),
                ("specificname", NAME),
                ("mode", FLAG),
                ("isproc", FLAG),
                ("numargs", "int"),
                ("retsize", "int"),
                ("langid", "int"),
                ("variant", FLAG),
            ]),
            rows: routines(catalog)
                .map(|r| {
                    let f = &r.function;
                    let is_procedure = f.returns == oid::VOID;
                    vec![
                        literal(&f.name),
                        owner(f.owner),
                        f.oid.to_string(),
                        "NULL".into(),
                        "'O'".into(),
                        literal(if is_procedure { "t" } else { "f" }),
                        f.input_types().len().to_string(),
                        "0".into(),
                        "2".into(),
                        "'t'".into(),
                    ]
                })
                .collect(),
        },
        "sysprocbody" => Table {
            columns: columns(&[("procid", "int"), ("datakey", FLAG), ("seqno", "int"), ("data", "char(256)")]),
            rows: routines(catalog)
                .flat_map(|r| pieces(r.function.oid, &text_of(r).unwrap_or_default(), "T"))
                .collect(),
        },
        "systriggers" => Table {
            columns: columns(&[
                ("trigid", "int"),
                ("trigname", NAME),
                ("owner", OWNER),
                ("tabid", "int"),
                ("event", FLAG),
                ("old", NAME),
                ("new", NAME),
                ("mode", FLAG),
                ("collation", OWNER),
            ]),
            rows: triggers(catalog)
                .map(|(r, t, name, _)| {
                    vec![
                        t.oid.to_string(),
                        literal(&name),
                        owner(r.owner),
                        r.oid.to_string(),
                        literal(event_letter(t)),
                        "NULL".into(),
                        "NULL".into(),
                        "'O'".into(),
                        "NULL".into(),
                    ]
                })
                .collect(),
        },
        "systrigbody" => Table {
            columns: columns(&[("trigid", "int"), ("datakey", FLAG), ("seqno", "int"), ("data", "char(256)")]),
            rows: triggers(catalog).flat_map(|(_, t, _, text)| pieces(t.oid, &text, "A")).collect(),
        },
        _ => return None,
    })
}

/// Those that are made in SPL.
fn routines(catalog: &Catalog) -> impl Iterator<Item = &Arc<Routine>> {
    // (those of this server's own schema are no routines of Informix's)
    let own = catalog.schema_oid(crate::values::types::SCHEMA);
    let of_users = move |r: &&Arc<Routine>| {
        Some(r.function.schema) != own && !r.function.is_trigger() && !r.function.is_event_trigger()
    };
    catalog.routines.values().filter(of_users).filter(|r| text_of(r).is_some())
}

/// Informix's triggers, each once, with their names and texts.
fn triggers(catalog: &Catalog) -> impl Iterator<Item = (&Relation, &Trigger, String, String)> {
    let mut seen: Vec<String> = vec![];
    let all = catalog.relations.values().flat_map(|r| r.triggers.iter().map(move |t| (&**r, t)));
    all.filter_map(move |(r, t)| {
        work::visit();
        let routine = catalog.routines.get(&t.function)?;
        let name = name_of(&routine.function.name)?.to_string();
        let text = text_of(routine)?;
        if seen.contains(&name) {
            return None;
        }
        seen.push(name.clone());
        Some((r, t, name, text))
    })
}

fn pieces(oid: u32, text: &str, key: &str) -> Vec<Vec<String>> {
    let characters: Vec<char> = text.chars().collect();
    let piece = |(i, part): (usize, &[char])| {
        let part: String = part.iter().collect();
        vec![oid.to_string(), literal(key), (i + 1).to_string(), literal(&part)]
    };
    characters.chunks(PIECE).enumerate().map(piece).collect()
}
