//! pg_type, pg_enum, pg_range.

use super::{character, int, text, Rows};
use pgsqlite_metadata::naming::default_collation;
use pgsqlite_sql::catalog::*;
use pgsqlite_types::work;
use pgsqlite_types::{catalog as pg_type, oid, Datum, Oid};

/// Functions that every type of a kind shares (OIDs of pg_proc).
mod io {
    pub const ARRAY: [u32; 4] = [750, 751, 2400, 2401];
    pub const RANGE: [u32; 4] = [3834, 3835, 3836, 3837];
    pub const MULTIRANGE: [u32; 4] = [4231, 4232, 4233, 4234];
    pub const RECORD: [u32; 4] = [2290, 2291, 2402, 2403];
    pub const ENUM: [u32; 4] = [3506, 3507, 3532, 3533];
    /// domain_in, domain_recv; output is the base type's
    pub const DOMAIN_IN: u32 = 2597;
    pub const DOMAIN_RECEIVE: u32 = 2598;
    pub const ARRAY_SUBSCRIPT: u32 = 6179;
    /// array_typanalyze and its like
    pub const ANALYZE_ARRAY: u32 = 3816;
    pub const ANALYZE_RANGE: u32 = 3916;
    pub const ANALYZE_MULTIRANGE: u32 = 4242;
    pub const ANALYZE_TSVECTOR: u32 = 3688;
    /// (type, what reads its modifier, what prints it)
    pub const MODIFIERS: [(u32, u32, u32); 13] = [
        (super::oid::BPCHAR, 2913, 2914),
        (super::oid::VARCHAR, 2915, 2916),
        (super::oid::TIME, 2909, 2910),
        (super::oid::TIMESTAMP, 2905, 2906),
        (super::oid::TIMESTAMPTZ, 2907, 2908),
        (super::oid::INTERVAL, 2903, 2904),
        (super::oid::TIMETZ, 2911, 2912),
        (super::oid::BIT, 2919, 2920),
        (super::oid::VARBIT, 2902, 2921),
        (super::oid::NUMERIC, 2917, 2918),
        (pgsqlite_types::extension::HALFVEC, 15065, 0),
        (pgsqlite_types::extension::SPARSEVEC, 15105, 0),
        (pgsqlite_types::extension::VECTOR, 15138, 0),
    ];
}

/// `typmodin`, `typmodout` and `typanalyze` of a built-in type.
fn modifiers_and_analyze(t: &pg_type::PgType) -> [(&'static str, Datum); 3] {
    // (int2vector and oidvector are none)
    let is_array = t.subscript == io::ARRAY_SUBSCRIPT && t.array == 0;
    let of = if is_array { t.elem } else { t.oid };
    let (read, print) = io::MODIFIERS.iter().find(|m| m.0 == of).map_or((0, 0), |m| (m.1, m.2));
    let analyze = match t.kind {
        b'r' => io::ANALYZE_RANGE,
        b'm' => io::ANALYZE_MULTIRANGE,
        _ if is_array => io::ANALYZE_ARRAY,
        _ if t.oid == oid::TSVECTOR => io::ANALYZE_TSVECTOR,
        _ => 0,
    };
    [("typmodin", int(read)), ("typmodout", int(print)), ("typanalyze", int(analyze))]
}

type Row = Vec<(&'static str, Datum)>;

fn functions(row: &mut Row, [input, output, receive, send]: [u32; 4]) {
    row.extend([
        ("typinput", int(input)),
        ("typoutput", int(output)),
        ("typreceive", int(receive)),
        ("typsend", int(send)),
    ]);
}

fn common(oid: Oid, name: &str, schema: Oid, owner: Oid, kind: u8, category: u8) -> Row {
    vec![
        ("oid", int(oid)),
        ("typname", text(name)),
        ("typnamespace", int(schema)),
        ("typowner", int(owner)),
        ("typtype", character(kind)),
        ("typcategory", character(category)),
        ("typisdefined", true.into()),
        ("typdelim", text(",")),
        ("typtypmod", int(-1i64)),
    ]
}

fn array_row(catalog: &Catalog, array: Oid, element: Oid, name: &str, schema: Oid, owner: Oid, align: u8) -> Row {
    let mut row = common(array, name, schema, owner, b'b', b'A');
    functions(&mut row, io::ARRAY);
    row.extend([
        ("typlen", int(-1i64)),
        // an array begins with numbers of four bytes
        ("typalign", character(if align == b'd' { b'd' } else { b'i' })),
        ("typstorage", text("x")),
        ("typelem", int(element)),
        ("typsubscript", int(io::ARRAY_SUBSCRIPT)),
        ("typcollation", int(default_collation(catalog, element))),
        ("typanalyze", int(io::ANALYZE_ARRAY)),
    ]);
    row
}

/// `typalign` of a range type of the user: 8 bytes where its subtype's is, else 4.
fn range_align(catalog: &Catalog, ty: Oid) -> u8 {
    let subtype = catalog.range_types(ty).map_or(0, |t| t.subtype);
    let inner = match catalog.type_entry(catalog.base_type(subtype)) {
        Some(TypeEntry::Builtin(t)) => t.align,
        Some(TypeEntry::User(t)) => match t.kind {
            UserTypeKind::Composite { .. } => b'd',
            UserTypeKind::Range(_) | UserTypeKind::Multirange { .. } => range_align(catalog, t.oid),
            _ => b'i',
        },
        Some(TypeEntry::Row(_)) => b'd',
        _ => b'i',
    };
    if inner == b'd' {
        b'd'
    } else {
        b'i'
    }
}

pub(super) fn types(rows: &mut Rows, catalog: &Catalog) {
    let relation_of: std::collections::HashMap<Oid, Oid> =
        catalog.relations.values().filter(|r| r.row_type != 0).map(|r| (r.row_type, r.oid)).collect();
    for t in pg_type::all() {
        work::visit();
        let Some(schema) = catalog.schema_of_builtin_type(t) else { continue };
        let mut row = common(t.oid, t.name, schema, BOOTSTRAP_ROLE, t.kind, t.category);
        functions(&mut row, [t.input, t.output, t.receive, t.send]);
        row.extend([
            ("typlen", int(t.len)),
            ("typbyval", t.byval.into()),
            ("typispreferred", t.preferred.into()),
            ("typdelim", character(t.delim)),
            ("typrelid", int(relation_of.get(&t.oid).copied().unwrap_or(0))),
            ("typsubscript", int(t.subscript)),
            ("typelem", int(t.elem)),
            ("typarray", int(t.array)),
            ("typalign", character(t.align)),
            ("typstorage", character(t.storage)),
            ("typbasetype", int(t.base_type)),
            ("typcollation", int(t.collation)),
        ]);
        if is_information_domain(t.oid) {
            rows.push(&array_row(
                catalog,
                t.array,
                t.oid,
                &format!("_{}", t.name),
                INFORMATION_SCHEMA,
                BOOTSTRAP_ROLE,
                t.align,
            ));
        }
        row.extend(modifiers_and_analyze(t));
        rows.push(&row);
    }
    system_row_types(rows, catalog);
    for t in catalog.types.values() {
        work::visit();
        let mut align = b'i';
        let mut row = match &t.kind {
            UserTypeKind::Enum { .. } => {
                let mut row = common(t.oid, &t.name, t.schema, t.owner, b'e', b'E');
                functions(&mut row, io::ENUM);
                row.extend([
                    ("typlen", int(4)),
                    ("typbyval", true.into()),
                    ("typalign", text("i")),
                    ("typstorage", text("p")),
                ]);
                row
            }
            UserTypeKind::Domain { base, typmod, not_null, default, .. } => {
                let innermost = pg_type::by_oid(catalog.base_type(*base));
                let mut row = common(t.oid, &t.name, t.schema, t.owner, b'd', innermost.map_or(b'U', |b| b.category));
                let (output, send) = innermost.map_or((0, 0), |b| (b.output, b.send));
                functions(&mut row, [io::DOMAIN_IN, output, io::DOMAIN_RECEIVE, send]);
                align = innermost.map_or(b'i', |b| b.align);
                row.extend([
                    ("typlen", int(innermost.map_or(-1, |b| b.len))),
                    ("typbyval", innermost.is_some_and(|b| b.byval).into()),
                    ("typalign", character(align)),
                    ("typstorage", character(innermost.map_or(b'x', |b| b.storage))),
                    ("typnotnull", (*not_null).into()),
                    ("typbasetype", int(*base)),
                    ("typtypmod", int(*typmod)),
                    ("typcollation", int(default_collation(catalog, t.oid))),
                    ("typdefaultbin", default.clone().into()),
                    ("typdefault", default.clone().into()),
                ]);
                row
            }
            UserTypeKind::Range(_) | UserTypeKind::Multirange { .. } => {
                align = range_align(catalog, t.oid);
                let multirange = matches!(t.kind, UserTypeKind::Multirange { .. });
                let mut row = common(t.oid, &t.name, t.schema, t.owner, if multirange { b'm' } else { b'r' }, b'R');
                functions(&mut row, if multirange { io::MULTIRANGE } else { io::RANGE });
                let analyze = if multirange { io::ANALYZE_MULTIRANGE } else { io::ANALYZE_RANGE };
                row.extend([
                    ("typlen", int(-1i64)),
                    ("typalign", character(align)),
                    ("typstorage", text("x")),
                    ("typanalyze", int(analyze)),
                ]);
                row
            }
            UserTypeKind::Composite { .. } => {
                align = b'd';
                let mut row = common(t.oid, &t.name, t.schema, t.owner, b'c', b'C');
                functions(&mut row, io::RECORD);
                row.extend([
                    ("typlen", int(-1i64)),
                    ("typalign", text("d")),
                    ("typstorage", text("x")),
                    ("typrelid", Datum::Int(super::relations::composite_class(t.oid))),
                ]);
                row
            }
        };
        row.push(("typarray", int(t.array_oid)));
        row.push(("typacl", super::views::acl_array(catalog, &t.acl)));
        rows.push(&row);
        rows.push(&array_row(catalog, t.array_oid, t.oid, &t.array_name(), t.schema, t.owner, align));
    }
    for r in catalog.relations.values().filter(|r| r.row_type != 0 && r.oid >= oid::FIRST_USER_OID) {
        work::visit();
        let mut row = common(r.row_type, &r.name, r.schema, r.owner, b'c', b'C');
        functions(&mut row, io::RECORD);
        row.extend([
            ("typlen", int(-1i64)),
            ("typalign", text("d")),
            ("typstorage", text("x")),
            ("typrelid", int(r.oid)),
            ("typarray", int(r.array_type)),
        ]);
        rows.push(&row);
        if r.array_type != 0 {
            rows.push(&array_row(catalog, r.array_type, r.row_type, &r.array_name(), r.schema, r.owner, b'd'));
        }
    }
}

/// The row types of the system catalogs and views, and arrays of them.
fn system_row_types(rows: &mut Rows, catalog: &Catalog) {
    let known = |ty: Oid| pg_type::by_oid(ty).is_some();
    for r in catalog.relations.values().filter(|r| r.row_type != 0 && r.oid < oid::FIRST_USER_OID) {
        work::visit();
        if known(r.row_type) {
            continue;
        }
        let array = r.array_type;
        let mut row = common(r.row_type, &r.name, r.schema, r.owner, b'c', b'C');
        functions(&mut row, io::RECORD);
        row.extend([
            ("typlen", int(-1i64)),
            ("typalign", text("d")),
            ("typstorage", text("x")),
            ("typrelid", int(r.oid)),
            ("typarray", int(array)),
        ]);
        rows.push(&row);
        if array != 0 && !known(array) {
            rows.push(&array_row(catalog, array, r.row_type, &r.array_name(), r.schema, r.owner, b'd'));
        }
    }
}

pub(super) fn enums(rows: &mut Rows, catalog: &Catalog) {
    for t in catalog.types.values() {
        work::visit();
        if let UserTypeKind::Enum { labels, orders, .. } = &t.kind {
            for (i, (label, oid)) in labels.iter().enumerate() {
                work::visit();
                rows.push(&[
                    ("oid", int(*oid)),
                    ("enumtypid", int(t.oid)),
                    ("enumsortorder", Datum::Real(orders.get(i).map_or((i + 1) as f64, |o| f64::from(*o)))),
                    ("enumlabel", text(&**label)),
                ]);
            }
        }
    }
}

/// PostgreSQL's range types: (range, subtype, multirange, subtype's operator class, canonical and difference functions).
const RANGES: [[Oid; 6]; 6] = [
    [oid::INT4RANGE, oid::INT4, oid::INT4MULTIRANGE, 1978, 3914, 3922],
    [oid::NUMRANGE, oid::NUMERIC, oid::NUMMULTIRANGE, 3125, 0, 3924],
    [oid::TSRANGE, oid::TIMESTAMP, oid::TSMULTIRANGE, 3128, 0, 3929],
    [oid::TSTZRANGE, oid::TIMESTAMPTZ, oid::TSTZMULTIRANGE, 3127, 0, 3930],
    [oid::DATERANGE, oid::DATE, oid::DATEMULTIRANGE, 3122, 3915, 3925],
    [oid::INT8RANGE, oid::INT8, oid::INT8MULTIRANGE, 3124, 3928, 3923],
];

pub(super) fn ranges(rows: &mut Rows, catalog: &Catalog) {
    for [range, subtype, multirange, opclass, canonical, difference] in RANGES {
        work::visit();
        rows.push(&[
            ("rngtypid", int(range)),
            ("rngsubtype", int(subtype)),
            ("rngmultitypid", int(multirange)),
            ("rngsubopc", int(opclass)),
            ("rngcanonical", int(canonical)),
            ("rngsubdiff", int(difference)),
        ]);
    }
    for t in catalog.types.values() {
        work::visit();
        if let UserTypeKind::Range(range) = &t.kind {
            rows.push(&[
                ("rngtypid", int(t.oid)),
                ("rngsubtype", int(range.subtype)),
                ("rngmultitypid", int(range.multirange)),
                ("rngcollation", int(range.collation)),
                ("rngsubopc", int(range.opclass)),
                ("rngsubdiff", int(range.difference)),
            ]);
        }
    }
}
