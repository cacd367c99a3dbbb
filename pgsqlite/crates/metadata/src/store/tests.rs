//! Files of other programs, and our own tables in them.

use super::*;
use pgsqlite_sql::catalog::{ConstraintKind, ForeignKeyAction, Identity, RowNumbers, StorageForm, PUBLIC};
use pgsqlite_types::oid;

fn foreign_file() -> Connection {
    let conn = pgsqlite_storage::vfs::open::in_memory().unwrap();
    conn.execute_batch(
        "CREATE TABLE Artist (ArtistId INTEGER PRIMARY KEY, Name NVARCHAR(120));
         CREATE TABLE Album (AlbumId INTEGER NOT NULL PRIMARY KEY, Title NVARCHAR(160) NOT NULL DEFAULT 'x',
           ArtistId INTEGER NOT NULL REFERENCES Artist (ArtistId) ON DELETE CASCADE, Price DECIMAL(10,2),
           Made DATETIME DEFAULT CURRENT_TIMESTAMP, Ok BOOLEAN DEFAULT 1);
         CREATE TABLE \"odd name\" (\"a b\" TEXT, k TEXT, PRIMARY KEY (k)) WITHOUT ROWID;
         CREATE INDEX IFK ON Album (ArtistId);
         CREATE VIEW v AS SELECT AlbumId, Title || '!' AS loud FROM Album;
         CREATE TABLE plain (x, y INT);",
    )
    .unwrap();
    conn
}

#[test]
fn a_foreign_file_gets_types_keys_and_indexes() {
    let conn = foreign_file();
    let catalog = load(&conn).unwrap();
    let album = catalog.relation_in(PUBLIC, "Album").unwrap();
    let column = |name: &str| album.column(name).unwrap();
    assert_eq!((column("AlbumId").type_oid, album.rowid_column), (oid::INT8, Some(1)));
    assert!(column("AlbumId").sqlite_default);
    let numbers = catalog.relation(column("AlbumId").sequence).unwrap();
    assert_eq!((numbers.name.as_str(), column("AlbumId").identity), ("Album_AlbumId_seq", Some(Identity::ByDefault)));
    assert!(matches!(&numbers.kind, RelationKind::Sequence(s)
        if s.row_numbers == Some(RowNumbers::Highest) && s.owned_by == Some((album.oid, 1))));
    assert_eq!((column("Title").type_oid, column("Title").typmod), (oid::VARCHAR, 164));
    assert_eq!(column("Title").default.as_deref(), Some("'x'::character varying"));
    assert_eq!((column("Price").type_oid, column("Price").typmod), (oid::NUMERIC, (10 << 16 | 2) + 4));
    assert_eq!((column("Price").storage, column("Made").type_oid), (StorageForm::Foreign, oid::TIMESTAMP));
    assert!(column("Made").sqlite_default && column("Made").default.is_none());
    assert_eq!(column("Ok").default.as_deref(), Some("true"));
    let names: Vec<&str> = album.constraints.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Album_pkey",
            "Album_ArtistId_fkey",
            "Album_AlbumId_not_null",
            "Album_Title_not_null",
            "Album_ArtistId_not_null"
        ]
    );
    assert!(matches!(
        &album.constraints[1].kind,
        ConstraintKind::ForeignKey { on_delete: ForeignKeyAction::Cascade, columns, .. } if columns == &[1]
    ));
    assert!(catalog.relation_in(PUBLIC, "IFK").is_some());
    let odd = catalog.relation_in(PUBLIC, "odd name").unwrap();
    assert!(odd.without_rowid && odd.primary_key().is_some());
    let view = catalog.relation_in(PUBLIC, "v").unwrap();
    assert_eq!(view.kind, RelationKind::ForeignView);
    assert_eq!(view.column("AlbumId").unwrap().type_oid, oid::INT8);
    assert_eq!(catalog.relation_in(PUBLIC, "plain").unwrap().column("x").unwrap().type_oid, oid::TEXT);
    // Reading changed nothing.
    assert_eq!(version(&conn).unwrap(), None);
    // The same OIDs again.
    assert_eq!(load(&conn).unwrap().relations, catalog.relations);
}

#[test]
fn init_keeps_the_oids_and_notices_changes_of_others() {
    let conn = foreign_file();
    let before = load(&conn).unwrap();
    init(&conn, &before).unwrap();
    let stored = load(&conn).unwrap();
    assert_eq!(stored.relations, before.relations);
    conn.execute_batch(
        "DROP VIEW v; DROP TABLE plain; ALTER TABLE Artist ADD COLUMN born DATE; CREATE TABLE later (a INT)",
    )
    .unwrap();
    let after = load(&conn).unwrap();
    assert!(after.relation_in(PUBLIC, "plain").is_none());
    let artist = after.relation_in(PUBLIC, "Artist").unwrap();
    assert_eq!(artist.oid, before.relation_in(PUBLIC, "Artist").unwrap().oid);
    assert_eq!(artist.column("born").unwrap().type_oid, oid::DATE);
    assert!(after.relation_in(PUBLIC, "later").unwrap().oid > before.highest_oid());
}

#[test]
fn a_newer_file_is_refused() {
    let conn = pgsqlite_storage::vfs::open::in_memory().unwrap();
    init(&conn, &load(&conn).unwrap()).unwrap();
    conn.execute_batch("UPDATE __pgsqlite_meta SET value = 99 WHERE key = 'version'").unwrap();
    let error = load(&conn).unwrap_err();
    assert_eq!(error.code(), SqlState::FEATURE_NOT_SUPPORTED);
    assert!(error.message().contains("newer pgsqlite"), "{error}");
}

#[test]
fn declared_types_mean_what_programs_mean() {
    let ty = |d: &str| declared::parse(d).type_oid;
    for (declared, expected) in [
        ("INTEGER", oid::INT8),
        ("int unsigned", oid::INT8),
        ("SMALLINT", oid::INT2),
        ("varchar(20)", oid::VARCHAR),
        ("double precision", oid::FLOAT8),
        ("timestamp with time zone", oid::TIMESTAMPTZ),
        ("STRING", oid::TEXT),
        ("", oid::TEXT),
        ("Uuid", oid::UUID),
        ("decimal ( 5 , 1 )", oid::NUMERIC),
    ] {
        assert_eq!(ty(declared), expected, "{declared}");
    }
    assert_eq!(declared::parse("decimal ( 5 , 1 )").typmod, (5 << 16 | 1) + 4);
}
