//! FOREIGN KEY constraints: the referenced key, the types, the actions.

use super::create_table::ForeignKeySpec;
use super::{naming, strings, Ddl};
use pgsqlite_sql::catalog::*;
use pgsqlite_types::{PgError, Result, SqlState};

fn action(letter: &str) -> ForeignKeyAction {
    match letter {
        "r" => ForeignKeyAction::Restrict,
        "c" => ForeignKeyAction::Cascade,
        "n" => ForeignKeyAction::SetNull,
        "d" => ForeignKeyAction::SetDefault,
        _ => ForeignKeyAction::NoAction,
    }
}

impl Ddl<'_> {
    /// A FOREIGN KEY of `relation` (which the catalog knows). Errors: 42P01, 42703, 42809, 42830, 42704, 42804.
    pub(super) fn foreign_key(&mut self, relation: &Relation, spec: &ForeignKeySpec) -> Result<Constraint> {
        let c = &spec.constraint;
        let name = c.pktable.as_ref().ok_or_else(|| PgError::internal("a foreign key without a referenced table"))?;
        let parent = self.find(name)?;
        if parent.kind != RelationKind::Table {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("referenced relation \"{}\" is not a table", parent.name),
            ));
        }
        if parent.is_partitioned() {
            // its keys are those of its partitions, and SQLite's foreign keys name one table
            return Err(PgError::not_supported("a foreign key that references a partitioned table").at(c.location));
        }
        let has = pgsqlite_sql::acl::relation_privileges(&self.catalog, self.environment.user, &parent);
        if has & pgsqlite_sql::acl::privilege::REFERENCES == 0 {
            return Err(PgError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied for table {}", parent.name),
            ));
        }
        if relation.temporary != parent.temporary {
            let message = if relation.temporary {
                "constraints on temporary tables may reference only temporary tables"
            } else {
                "constraints on permanent tables may reference only permanent tables"
            };
            return Err(PgError::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        if parent.unlogged && !relation.unlogged && !relation.temporary {
            let message = "constraints on permanent tables may reference only permanent tables";
            return Err(PgError::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        if parent.on_commit == OnCommit::DeleteRows && relation.on_commit != OnCommit::DeleteRows {
            let message = "constraints on temporary tables must not reference tables whose rows go at commit";
            return Err(PgError::not_supported(message));
        }
        let column_of = |table: &Relation, name: &str| {
            table.column(name).cloned().ok_or_else(|| {
                PgError::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!("column \"{name}\" referenced in foreign key constraint does not exist"),
                )
            })
        };
        let columns: Vec<Column> = spec.columns.iter().map(|n| column_of(relation, n)).collect::<Result<_>>()?;
        let written = strings(&c.pk_attrs);
        let (referenced, index) = if written.is_empty() {
            let key = parent.primary_key().ok_or_else(|| {
                PgError::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!("there is no primary key for referenced table \"{}\"", parent.name),
                )
            })?;
            check_immediate(&parent, key)?;
            (key.columns.clone(), key.index)
        } else {
            let attnums: Vec<i16> =
                written.iter().map(|n| column_of(&parent, n).map(|c| c.attnum)).collect::<Result<_>>()?;
            let index = if attnums.len() == columns.len() { self.referenced_index(&parent, &attnums) } else { Some(0) };
            let index = index.ok_or_else(|| {
                PgError::new(
                    SqlState::INVALID_FOREIGN_KEY,
                    format!(
                        "there is no unique constraint matching given keys for referenced table \"{}\"",
                        parent.name
                    ),
                )
            })?;
            if let Some(key) = parent.constraints.iter().find(|k| k.is_key() && k.index == index) {
                check_immediate(&parent, key)?;
            }
            (attnums, index)
        };
        if referenced.len() != columns.len() {
            return Err(PgError::new(
                SqlState::INVALID_FOREIGN_KEY,
                "number of referencing and referenced columns for foreign key disagree",
            ));
        }
        let constraint_name = if c.conname.is_empty() {
            let joined = naming::joined_columns(spec.columns.iter().map(String::as_str));
            let taken: Vec<String> = relation.constraints.iter().map(|c| c.name.clone()).collect();
            self.choose_constraint_name(relation.schema, &relation.name, &joined, "fkey", &taken)
        } else {
            self.check_constraint_name(relation, &c.conname)?;
            c.conname.clone()
        };
        for (own, &other) in columns.iter().zip(&referenced) {
            let other = parent.column_by_attnum(other).ok_or_else(|| PgError::internal("a key on a dropped column"))?;
            self.check_comparable(&constraint_name, own, other)?;
        }
        if c.fk_matchtype == "f" && columns.len() > 1 {
            return Err(PgError::not_supported("MATCH FULL with several columns").at(c.location));
        }
        if c.fk_matchtype == "p" {
            return Err(
                PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "MATCH PARTIAL not yet implemented").at(c.location)
            );
        }
        if !c.fk_del_set_cols.is_empty() {
            return Err(PgError::not_supported("ON DELETE SET … with a column list").at(c.location));
        }
        let (on_update, on_delete) = (action(&c.fk_upd_action), action(&c.fk_del_action));
        let sets_default = [on_update, on_delete].contains(&ForeignKeyAction::SetDefault);
        if sets_default && columns.iter().any(|c| c.default.is_some()) {
            // SQLite takes the default from its own schema, where we keep none.
            return Err(PgError::not_supported("SET DEFAULT on a column with a default").at(c.location));
        }
        // SQLite carries the actions out by itself, and CHECKs and generation expressions are not in its schema.
        let keeps = |a: ForeignKeyAction| matches!(a, ForeignKeyAction::NoAction | ForeignKeyAction::Restrict);
        if !keeps(on_update) || !(keeps(on_delete) || on_delete == ForeignKeyAction::Cascade) {
            let own: Vec<i16> = columns.iter().map(|c| c.attnum).collect();
            let checked = relation
                .constraints
                .iter()
                .any(|k| matches!(k.kind, ConstraintKind::Check { .. }) && k.columns.iter().any(|a| own.contains(a)));
            if checked || relation.live_columns().any(|c| c.generated.is_some()) {
                return Err(PgError::not_supported(
                    "a foreign key action that changes a column with a CHECK constraint or of a table with generated columns",
                )
                .at(c.location));
            }
        }
        Ok(Constraint {
            oid: self.new_oid(relation.temporary)?,
            name: constraint_name,
            kind: ConstraintKind::ForeignKey {
                references: parent.oid,
                columns: referenced,
                on_update,
                on_delete,
                match_full: c.fk_matchtype == "f",
            },
            columns: columns.iter().map(|c| c.attnum).collect(),
            index,
            deferrable: spec.deferrable || spec.initially_deferred,
            initially_deferred: spec.initially_deferred,
            not_valid: c.skip_validation,
            inherited: Inherited::default(),
        })
    }

    /// The unique index over exactly these columns (in any order): a constraint's or one made by CREATE UNIQUE INDEX.
    fn referenced_index(&self, parent: &Relation, attnums: &[i16]) -> Option<pgsqlite_types::Oid> {
        let same = |columns: &[i16]| {
            let (mut a, mut b) = (columns.to_vec(), attnums.to_vec());
            a.sort_unstable();
            b.sort_unstable();
            a == b
        };
        let constraint = parent.constraints.iter().find(|c| c.index != 0 && c.is_key() && same(&c.columns));
        if let Some(c) = constraint {
            return Some(c.index);
        }
        self.catalog
            .indexes_of(parent.oid)
            .find(|(_, index)| {
                let keys: Option<Vec<i16>> = index
                    .columns
                    .iter()
                    .map(|k| match k.key {
                        KeyPart::Column(attnum) => Some(attnum),
                        KeyPart::Expression(_) => None,
                    })
                    .collect();
                index.unique && index.predicate.is_none() && keys.is_some_and(|k| same(&k))
            })
            .map(|(r, _)| r.oid)
    }

    /// The two columns of a key pair must compare equal in SQLite exactly when PostgreSQL's `=` says so.
    fn check_comparable(&self, constraint: &str, own: &Column, other: &Column) -> Result<()> {
        let storage = |c: &Column| {
            let base = self.catalog.base_type(c.type_oid);
            (super::sqlite::storage_class(&self.catalog, base), self.catalog.codec(base).and_then(|c| c.collation()))
        };
        let family = |c: &Column| {
            use pgsqlite_types::oid::*;
            match self.catalog.base_type(c.type_oid) {
                INT2 | INT4 | INT8 => 1,
                FLOAT4 | FLOAT8 => 2,
                TEXT | VARCHAR => 3,
                TIMESTAMP | DATE | TIMESTAMPTZ => 4,
                other => other,
            }
        };
        if self.catalog.base_type(own.type_oid) == self.catalog.base_type(other.type_oid)
            || family(own) == family(other)
        {
            // A date and a timestamp are equal in PostgreSQL and differ as text.
            if family(own) != 4 || own.type_oid == other.type_oid {
                return Ok(());
            }
        }
        let comparable = {
            let both = [family(own), family(other)];
            let numeric = |f: u32| f <= 2 || f == pgsqlite_types::oid::NUMERIC;
            let text = |f: u32| f == 3 || f == pgsqlite_types::oid::BPCHAR || f == pgsqlite_types::oid::NAME;
            both.iter().all(|&f| numeric(f)) || both.iter().all(|&f| text(f)) || both == [4, 4]
        };
        if comparable {
            if storage(own) == storage(other) && family(own) != 4 {
                return Ok(());
            }
            return Err(PgError::not_supported(format!(
                "a foreign key from {} to {}",
                self.display_type(own.type_oid),
                self.display_type(other.type_oid)
            )));
        }
        Err(PgError::new(
            SqlState::DATATYPE_MISMATCH,
            format!("foreign key constraint \"{constraint}\" cannot be implemented"),
        )
        .detail(format!(
            "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
            own.name,
            other.name,
            self.display_type(own.type_oid),
            self.display_type(other.type_oid)
        )))
    }
}

/// 55000 if a foreign key may not rest on this key: SQLite, as PostgreSQL, needs one that always holds.
fn check_immediate(parent: &Relation, key: &Constraint) -> Result<()> {
    if !key.deferrable {
        return Ok(());
    }
    let kind = if key.kind == ConstraintKind::PrimaryKey { "primary key" } else { "unique constraint" };
    Err(PgError::new(
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("cannot use a deferrable {kind} for referenced table \"{}\"", parent.name),
    ))
}
