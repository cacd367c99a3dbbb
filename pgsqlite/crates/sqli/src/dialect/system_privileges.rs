//! The system tables of privileges: `syscolauth`, `systabauth`.

use super::column_order::columns_of;
use super::print::literal;
use super::system_catalog::{columns, relations, Table, OWNER};
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::work;

/// Who may do what with single columns.
pub(super) fn syscolauth(catalog: &Catalog) -> Table {
    use pgsqlite_sql::acl::privilege;
    let mut rows = Vec::new();
    for r in relations(catalog) {
        work::visit();
        for (i, c) in columns_of(catalog, r).into_iter().enumerate() {
            work::visit();
            for item in c.acl.iter().flatten() {
                work::visit();
                let (Some(grantor), Some(grantee)) = (grantee(catalog, item.grantor), grantee(catalog, item.grantee))
                else {
                    continue;
                };
                let letters = [(privilege::SELECT, 's'), (privilege::UPDATE, 'u'), (privilege::REFERENCES, 'r')];
                let auth: String = letters.iter().map(|(bit, c)| letter(item, *bit, *c)).collect();
                let mut row = vec![literal(&grantor), literal(&grantee), r.oid.to_string()];
                row.extend([(i + 1).to_string(), literal(&auth)]);
                rows.push(row);
            }
        }
    }
    let columns = columns(&[
        ("grantor", OWNER),
        ("grantee", OWNER),
        ("tabid", "int"),
        ("colno", "smallint"),
        ("colauth", "char(3)"),
    ]);
    Table { columns, rows }
}

pub(super) fn grantee(catalog: &Catalog, role: u32) -> Option<String> {
    match role {
        pgsqlite_sql::acl::PUBLIC_ROLE => Some("public".to_string()),
        role => catalog.role_name(role).map(String::from),
    }
}

/// The letter of a privilege: it is large where the grantee may grant on.
fn letter(item: &pgsqlite_sql::acl::AclItem, bit: u32, letter: char) -> char {
    match (item.privileges & bit != 0, item.grant_options & bit != 0) {
        (_, true) => letter.to_ascii_uppercase(),
        (true, _) => letter,
        _ => '-',
    }
}

/// Who may do what with a table: the letters of `tabauth` are large where the grantee may grant on.
pub(super) fn systabauth(catalog: &Catalog) -> Table {
    use pgsqlite_sql::acl::{default_acl, privilege, AclObject};
    let mut rows = Vec::new();
    for r in relations(catalog) {
        work::visit();
        let own;
        let items = match &r.acl {
            Some(items) => items,
            None => {
                own = default_acl(AclObject::of_relation(r), r.owner);
                &own
            }
        };
        for item in items {
            work::visit();
            let (Some(grantor), Some(grantee)) = (grantee(catalog, item.grantor), grantee(catalog, item.grantee))
            else {
                continue;
            };
            let letter = |bit, c| letter(item, bit, c);
            // select, update, column privileges, insert, delete, index, alter, references, under
            let auth: String = [
                letter(privilege::SELECT, 's'),
                letter(privilege::UPDATE, 'u'),
                '-',
                letter(privilege::INSERT, 'i'),
                letter(privilege::DELETE, 'd'),
                '-',
                '-',
                letter(privilege::REFERENCES, 'r'),
                '-',
            ]
            .iter()
            .collect();
            rows.push(vec![literal(&grantor), literal(&grantee), r.oid.to_string(), literal(&auth)]);
        }
    }
    Table {
        columns: columns(&[("grantor", OWNER), ("grantee", OWNER), ("tabid", "int"), ("tabauth", "char(9)")]),
        rows,
    }
}
