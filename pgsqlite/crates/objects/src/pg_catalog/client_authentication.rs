//! What the program that serves the database was started with: the rules of who may come in, and the maps of user names.

use super::{int, strings, text, Rows};
use pgsqlite_natives::host::Host;
use pgsqlite_types::work;
use pgsqlite_types::{Datum, Result};

fn optional(value: Option<impl Into<String>>) -> Datum {
    value.map_or(Datum::Null, text)
}

fn list(values: Option<Vec<String>>) -> Datum {
    values.map_or(Datum::Null, strings)
}

/// `pg_hba_file_rules`
pub(super) fn rules(rows: &mut Rows, host: &dyn Host) -> Result<()> {
    for rule in host.hba_file_rules()? {
        work::visit();
        rows.push(&[
            ("line_number", rule.line.map_or(Datum::Null, int)),
            ("type", optional(rule.kind)),
            ("database", list(rule.databases)),
            ("user_name", list(rule.users)),
            ("address", optional(rule.address)),
            ("netmask", optional(rule.netmask)),
            ("auth_method", optional(rule.method)),
            ("options", list(rule.options)),
            ("error", optional(rule.error)),
        ]);
    }
    Ok(())
}

/// `pg_ident_file_mappings`
pub(super) fn mappings(rows: &mut Rows, host: &dyn Host) -> Result<()> {
    for mapping in host.ident_file_mappings()? {
        work::visit();
        rows.push(&[
            ("line_number", int(mapping.line)),
            ("map_name", optional(mapping.map)),
            ("sys_name", optional(mapping.system_user)),
            ("pg_username", optional(mapping.role)),
            ("error", optional(mapping.error)),
        ]);
    }
    Ok(())
}
