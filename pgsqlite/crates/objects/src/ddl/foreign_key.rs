//! FOREIGN KEY constraints: the referenced key, the types, the actions; which of them the server carries out itself
//! (`pgsqlite_sql::foreign_key`), and what they have for each partition of the referenced table.

use super::create_table::ForeignKeySpec;
use super::inherit::renumbered;
use super::{naming, strings, Ddl};
use pgsqlite_metadata::store::sqlite_error;
use pgsqlite_sql::analyze::Environment;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::quote_identifier;
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::collections::BTreeSet;

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
    /// 42501 unless the session's role may reference these columns of a table.
    fn check_references(&self, parent: &Relation, columns: &[i16]) -> Result<()> {
        let (catalog, user) = (&self.catalog, self.environment.user);
        let on_column = |attnum: &i16| {
            parent.column_by_attnum(*attnum).is_some_and(|c| {
                pgsqlite_sql::acl::column_privileges(catalog, user, parent, c)
                    & pgsqlite_sql::acl::privilege::REFERENCES
                    != 0
            })
        };
        if columns.iter().all(on_column) {
            return Ok(());
        }
        let message = format!("permission denied for table {}", parent.name);
        Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message))
    }

    /// A FOREIGN KEY of `relation` (which the catalog knows). Errors: 42P01, 42703, 42809, 42830, 42704, 42804.
    pub(super) fn foreign_key(&mut self, relation: &Relation, spec: &ForeignKeySpec) -> Result<Constraint> {
        let c = &spec.constraint;
        if c.fk_with_period || c.pk_with_period {
            return Err(PgError::not_supported("PERIOD in a foreign key").at(c.location));
        }
        let name = c.pktable.as_ref().ok_or_else(|| PgError::internal("a foreign key without a referenced table"))?;
        let parent = self.find(name)?;
        if parent.kind != RelationKind::Table {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("referenced relation \"{}\" is not a table", parent.name),
            ));
        }
        if relation.is_partitioned() && c.skip_validation && !spec.not_enforced {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!(
                    "cannot add NOT VALID foreign key on partitioned table \"{}\" referencing relation \"{}\"",
                    relation.name, parent.name
                ),
            )
            .detail("This feature is not yet supported on partitioned tables."));
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
        let column_of = |table: &Relation, name: &str| {
            if matches!(name, "tableoid" | "xmin" | "cmin" | "xmax" | "cmax" | "ctid") {
                let message = "system columns cannot be used in foreign keys";
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            table.column(name).cloned().ok_or_else(|| {
                PgError::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!("column \"{name}\" referenced in foreign key constraint does not exist"),
                )
            })
        };
        let columns: Vec<Column> = spec.columns.iter().map(|n| column_of(relation, n)).collect::<Result<_>>()?;
        let used: Vec<i16> = columns.iter().map(|c| c.attnum).collect();
        self.check_no_virtual(relation, &used, "foreign key constraints")?;
        let written = strings(&c.pk_attrs);
        let (referenced, index) = if written.is_empty() {
            if parent.primary_key().is_none() && parent.primary_constraint().is_some() {
                let message = "foreign key uses PERIOD on the referenced table but not the referencing table";
                return Err(PgError::new(SqlState::INVALID_FOREIGN_KEY, message));
            }
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
            let mut temporal = parent.constraints.iter().filter(|k| k.temporal.is_some());
            if index.is_none() && temporal.any(|k| attnums.iter().all(|a| k.columns.contains(a))) {
                let message = "foreign key must use PERIOD when referencing a primary key using WITHOUT OVERLAPS";
                return Err(PgError::new(SqlState::INVALID_FOREIGN_KEY, message));
            }
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
        self.check_references(&parent, &referenced)?;
        if referenced.len() != columns.len() {
            return Err(PgError::new(
                SqlState::INVALID_FOREIGN_KEY,
                "number of referencing and referenced columns for foreign key disagree",
            ));
        }
        if columns.iter().any(|column| column.is_generated()) {
            let act = match (c.fk_upd_action.as_str(), c.fk_del_action.as_str()) {
                ("c" | "n" | "d", _) => Some("ON UPDATE"),
                (_, "n" | "d") => Some("ON DELETE"),
                _ => None,
            };
            if let Some(act) = act {
                return Err(PgError::new(
                    SqlState::SYNTAX_ERROR,
                    format!("invalid {act} action for foreign key constraint containing generated column"),
                ));
            }
        }
        let constraint_name = if c.conname.is_empty() {
            let joined = naming::joined_columns(spec.columns.iter().map(String::as_str));
            let taken: Vec<String> = relation.constraints.iter().map(|c| c.name.clone()).collect();
            self.choose_constraint_name(relation.schema, &relation.name, &joined, "fkey", &taken)
        } else {
            self.check_constraint_name(relation, &c.conname)?;
            c.conname.clone()
        };
        let mut managed = false;
        for (own, &other) in columns.iter().zip(&referenced) {
            work::visit();
            let other = parent.column_by_attnum(other).ok_or_else(|| PgError::internal("a key on a dropped column"))?;
            managed |= !self.is_same_in_sqlite(&constraint_name, own, other)?;
        }
        if c.fk_matchtype == "p" {
            return Err(
                PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "MATCH PARTIAL not yet implemented").at(c.location)
            );
        }
        let (on_update, on_delete) = (action(&c.fk_upd_action), action(&c.fk_del_action));
        let mut delete_columns = Vec::new();
        for name in strings(&c.fk_del_set_cols) {
            work::visit();
            let column = column_of(relation, name)?;
            if !columns.iter().any(|c| c.attnum == column.attnum) {
                return Err(PgError::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    format!("column \"{name}\" referenced in ON DELETE SET action must be part of foreign key"),
                ));
            }
            if !delete_columns.contains(&column.attnum) {
                delete_columns.push(column.attnum);
            }
        }
        let constraint = Constraint {
            oid: self.new_oid(relation.temporary)?,
            name: constraint_name,
            kind: ConstraintKind::ForeignKey {
                references: parent.oid,
                columns: referenced,
                on_update,
                on_delete,
                match_full: c.fk_matchtype == "f",
                delete_columns,
            },
            columns: columns.iter().map(|c| c.attnum).collect(),
            index,
            deferrable: spec.deferrable || spec.initially_deferred,
            initially_deferred: spec.initially_deferred,
            not_valid: c.skip_validation || spec.not_enforced,
            inherited: Inherited::default(),
            managed,
            not_enforced: spec.not_enforced,
            temporal: None,
        };
        // (SQLite enforces each that it knows)
        let managed = managed || spec.not_enforced || self.catalog.must_manage(relation, &constraint);
        Ok(Constraint { managed, ..constraint })
    }

    /// A foreign key to a partitioned table, for each of its partitions: constraints of the referencing table that belong to
    /// it. `table`: where the constraint is. Those that are there already stay.
    pub(super) fn reference_partitions(&mut self, table: Oid, constraint: Oid) -> Result<()> {
        let named = self.required(table)?.constraints.iter().find(|c| c.oid == constraint).map(|c| c.name.clone());
        self.reference_partitions_as(table, constraint, &named.unwrap_or_default())
    }

    /// The same of a constraint whose parts have the name `base` with a number.
    fn reference_partitions_as(&mut self, table: Oid, constraint: Oid, base: &str) -> Result<()> {
        let relation = (**self.required(table)?).clone();
        let Some(own) = relation.constraints.iter().find(|c| c.oid == constraint).cloned() else {
            return Err(PgError::internal("a foreign key that is not there"));
        };
        let ConstraintKind::ForeignKey { references, columns, .. } = &own.kind else { return Ok(()) };
        let parent = self.required(*references)?.clone();
        if !parent.is_partitioned() {
            return Ok(());
        }
        for partition in self.catalog.children(parent.oid).to_vec() {
            work::visit();
            let mut new = (**self.required(table)?).clone();
            let is_part = |c: &Constraint| {
                c.inherited.parent == own.oid
                    && matches!(c.kind, ConstraintKind::ForeignKey { references, .. } if references == partition)
            };
            if new.constraints.iter().any(is_part) {
                continue;
            }
            let part = self.required(partition)?.clone();
            let used = |name: &String| self.constraint_name_used(new.schema, name);
            let mut numbered = (1u32..).map(|n| naming::object_name(base, "", &n.to_string()));
            let name = numbered.find(|name| !used(name)).unwrap_or_default();
            let mut kind = own.kind.clone();
            if let ConstraintKind::ForeignKey { references, columns: of_part, .. } = &mut kind {
                *references = partition;
                *of_part = renumbered(columns, &parent, &part)?;
            }
            let oid = self.new_oid(new.temporary)?;
            let index =
                self.catalog.indexes_of(partition).find(|(i, _)| self.catalog.ancestors(i.oid).contains(&own.index));
            let index = index.map_or(0, |(i, _)| i.oid);
            let inherited = Inherited { parent: own.oid, ..Inherited::ONCE };
            new.constraints.push(Constraint { oid, name, kind, index, inherited, managed: true, ..own.clone() });
            self.put_relation(new)?;
            self.reference_partitions_as(table, oid, base)?;
        }
        Ok(())
    }

    /// A table has got a partition: the foreign keys to it reference that, too.
    pub(super) fn reference_new_partition(&mut self, parent: Oid) -> Result<()> {
        let mut keys: Vec<(Oid, Oid)> = self.catalog.referencing(parent).map(|(t, c)| (c.oid, t.oid)).collect();
        keys.sort_unstable();
        keys.into_iter().try_for_each(|(constraint, table)| self.reference_partitions(table, constraint))
    }

    /// Errors: 23503 if rows of a partition are referenced by a foreign key to its table.
    pub(super) fn check_unreferenced(&self, partition: &Relation) -> Result<()> {
        for (table, part) in self.parts_of_keys(partition) {
            work::visit();
            if let Some(key) = self.first_reference(&table, &part)? {
                return Err(PgError::new(
                    SqlState::FOREIGN_KEY_VIOLATION,
                    format!(
                        "removing partition \"{}\" violates foreign key constraint \"{}\"",
                        partition.name, part.name
                    ),
                )
                .detail(format!("{key} is still referenced from table \"{}\".", table.name))
                .schema(self.catalog.schema_name(table.schema))
                .table(table.name.clone())
                .constraint(part.name.clone()));
            }
        }
        Ok(())
    }

    fn parts_of_keys(&self, partition: &Relation) -> Vec<(Relation, Constraint)> {
        let parts = self.catalog.referencing(partition.oid).filter(|(t, c)| t.is_part_of_key(c));
        parts.map(|(t, c)| ((**t).clone(), c.clone())).collect()
    }

    /// A partition leaves its table: 23503 if a foreign key to that needs it. Their parts for it go.
    pub(super) fn unreference_partition(&mut self, partition: &Relation) -> Result<()> {
        self.check_unreferenced(partition)?;
        let parts = self.parts_of_keys(partition);
        for (table, part) in parts {
            work::visit();
            self.forget_parts_of_key(table.oid, part.oid)?;
            let mut new = (**self.required(table.oid)?).clone();
            new.constraints.retain(|c| c.oid != part.oid);
            self.put_relation(new)?;
        }
        Ok(())
    }

    /// Takes the constraints for the partitions of the referenced table away.
    pub(super) fn forget_parts_of_key(&mut self, table: Oid, constraint: Oid) -> Result<()> {
        let mut new = (**self.required(table)?).clone();
        let mut gone = vec![constraint];
        while let Some(at) = new.constraints.iter().position(|c| gone.contains(&c.inherited.parent)) {
            work::visit();
            gone.push(new.constraints.remove(at).oid);
        }
        match gone.len() {
            1 => Ok(()),
            _ => self.put_relation(new),
        }
    }

    /// `column = column` of each pair of a foreign key, the referencing table being `c`, the other one `p`; the referencing columns.
    fn key_conditions(&self, table: &Relation, constraint: &Constraint) -> Result<(Vec<String>, Vec<String>, String)> {
        let ConstraintKind::ForeignKey { references, columns, .. } = &constraint.kind else {
            return Err(PgError::internal("not a foreign key"));
        };
        let parent = self.required(*references)?.clone();
        let name = |r: &Relation, a: &i16| {
            let column = r.column_by_attnum(*a).ok_or_else(|| PgError::internal("a key on a missing column"))?;
            Ok(quote_identifier(&column.name))
        };
        let own: Vec<String> =
            constraint.columns.iter().map(|a| Ok(format!("c.{}", name(table, a)?))).collect::<Result<_>>()?;
        let other: Vec<String> =
            columns.iter().map(|a| Ok(format!("p.{}", name(&parent, a)?))).collect::<Result<_>>()?;
        let equal = own.iter().zip(&other).map(|(c, p)| format!("{p} = {c}")).collect();
        Ok((own, equal, self.named_in_query(&parent)))
    }

    /// A table in a query over its own rows, or those of its partitions.
    fn named_in_query(&self, table: &Relation) -> String {
        let only = if table.is_partitioned() { "" } else { "ONLY " };
        let schema = if table.temporary { "pg_temp" } else { self.catalog.schema_name(table.schema) };
        format!("{only}{}.{}", quote_identifier(schema), quote_identifier(&table.name))
    }

    /// `Key (a, b)=(1, 2)` of the first row of a query that gives the referencing columns of a foreign key.
    fn first_key(&self, table: &Relation, constraint: &Constraint, query: &str) -> Result<Option<String>> {
        let sql = self.stored_query(query)?;
        let mut statement = self.conn.prepare(&sql).map_err(sqlite_error)?;
        let mut rows = statement.query([]).map_err(sqlite_error)?;
        let Some(row) = rows.next().map_err(sqlite_error)? else { return Ok(None) };
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (i, attnum) in constraint.columns.iter().enumerate() {
            work::visit();
            let Some(column) = table.column_by_attnum(*attnum) else { continue };
            names.push(column.name.as_str());
            let value = row.get_ref(i).map_err(sqlite_error)?;
            values.push(self.display_value(value, column.type_oid).map_err(sqlite_error)?);
        }
        Ok(Some(format!("Key ({})=({})", names.join(", "), values.join(", "))))
    }

    /// The first key of the referencing table that a row of the referenced one has.
    fn first_reference(&self, table: &Relation, constraint: &Constraint) -> Result<Option<String>> {
        let (own, equal, parent) = self.key_conditions(table, constraint)?;
        let query = format!(
            "SELECT {} FROM {} c JOIN {parent} p ON {} LIMIT 1",
            own.join(", "),
            self.named_in_query(table),
            equal.join(" AND ")
        );
        self.first_key(table, constraint, &query)
    }

    /// 23503 if a row violates a managed foreign key.
    pub(super) fn check_managed_rows(&self, table: &Relation, constraint: &Constraint) -> Result<()> {
        if table.is_partitioned() {
            // (the partition that has the row is told of)
            for partition in self.catalog.partitions(table.oid) {
                work::visit();
                let columns = super::inherit::renumbered(&constraint.columns, table, partition)?;
                self.check_managed_rows(partition, &Constraint { columns, ..constraint.clone() })?;
            }
            return Ok(());
        }
        let ConstraintKind::ForeignKey { references, match_full, .. } = &constraint.kind else { return Ok(()) };
        let (own, equal, parent) = self.key_conditions(table, constraint)?;
        let given = |word: &str, op: &str| {
            let each: Vec<String> = own.iter().map(|o| format!("{o} IS {word}")).collect();
            each.join(op)
        };
        let child = self.named_in_query(table);
        let violated = || {
            PgError::new(
                SqlState::FOREIGN_KEY_VIOLATION,
                format!(
                    "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                    table.name, constraint.name
                ),
            )
            .schema(self.catalog.schema_name(table.schema))
            .table(&table.name)
            .constraint(&constraint.name)
        };
        if *match_full && own.len() > 1 {
            let query = format!(
                "SELECT {} FROM {child} c WHERE ({}) AND ({}) LIMIT 1",
                own.join(", "),
                given("NULL", " OR "),
                given("NOT NULL", " OR ")
            );
            if self.first_key(table, constraint, &query)?.is_some() {
                return Err(violated().detail("MATCH FULL does not allow mixing of null and nonnull key values."));
            }
        }
        let query = format!(
            "SELECT {} FROM {child} c WHERE {} AND NOT EXISTS (SELECT 1 FROM {parent} p WHERE {}) LIMIT 1",
            own.join(", "),
            given("NOT NULL", " AND "),
            equal.join(" AND ")
        );
        let parent = &self.required(*references)?.name;
        match self.first_key(table, constraint, &query)? {
            None => Ok(()),
            Some(key) => Err(violated().detail(format!("{key} is not present in table \"{parent}\"."))),
        }
    }

    /// A query of ours in PostgreSQL's SQL, as SQLite's.
    fn stored_query(&self, text: &str) -> Result<String> {
        let statements = pgsqlite_sql::parse::parse(text)?;
        let node = &statements.first().ok_or_else(|| PgError::internal("a query of a foreign key"))?.node;
        let environment = Environment { catalog: &self.catalog, user: BOOTSTRAP_ROLE, ..self.environment };
        let environment = environment.for_stored_text();
        let analyzed = pgsqlite_sql::analyze::analyze(&environment, node, &[])?;
        let plan = pgsqlite_sql::lower::lower(&environment, &analyzed.0, vec![])?;
        match &plan.query.steps[..] {
            [step] => Ok(step.sql.clone()),
            _ => Err(PgError::not_supported("a foreign key on columns of these types")),
        }
    }

    /// Foreign keys that SQLite can no longer carry out, after whatever this statement has done, become managed ones.
    pub(super) fn settle_foreign_keys(&mut self) -> Result<()> {
        let crossing = self.catalog.crossing_keys();
        loop {
            work::visit();
            let found = self.catalog.relations.values().find_map(|table| {
                let unsettled = table.constraints.iter().any(|c| is_unsettled(&self.catalog, table, c, &crossing));
                unsettled.then(|| (**table).clone())
            });
            let Some(old) = found else { return Ok(()) };
            let mut new = old.clone();
            for constraint in &mut new.constraints {
                work::visit();
                constraint.managed |= is_unsettled(&self.catalog, &old, constraint, &crossing);
            }
            self.put_relation(new.clone())?;
            self.rebuild(&old, &new, &Default::default())?;
        }
    }

    /// Makes the tables anew that reference a table, without these keys as far as SQLite is concerned: it can be dropped before them.
    pub(super) fn take_keys_from_sqlite(&mut self, table: Oid) -> Result<()> {
        let referencing: Vec<Oid> = self.catalog.referencing(table).map(|(r, _)| r.oid).collect();
        for child in referencing.into_iter().filter(|child| *child != table) {
            work::visit();
            let old = (**self.required(child)?).clone();
            let mut new = old.clone();
            for constraint in &mut new.constraints {
                work::visit();
                constraint.managed |=
                    matches!(constraint.kind, ConstraintKind::ForeignKey { references, .. } if references == table);
            }
            if new != old {
                self.put_relation(new.clone())?;
                self.rebuild(&old, &new, &Default::default())?;
            }
        }
        Ok(())
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
                let keys: Option<Vec<i16>> = index.columns.iter().map(|k| k.key.column()).collect();
                index.unique && index.predicate.is_none() && keys.is_some_and(|k| same(&k))
            })
            .map(|(r, _)| r.oid)
    }

    /// Whether the two columns of a key pair compare equal in SQLite exactly when PostgreSQL's `=` says so. Errors: 42804 if
    /// there is no `=` of their types.
    fn is_same_in_sqlite(&self, constraint: &str, own: &Column, other: &Column) -> Result<bool> {
        let storage = |c: &Column| {
            let base = self.catalog.base_type(c.type_oid);
            (
                super::sqlite_schema::storage_class(&self.catalog, base),
                self.catalog.codec(base).and_then(|c| c.collation()),
            )
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
                return Ok(true);
            }
        }
        let comparable = {
            let both = [family(own), family(other)];
            // the key's operator is that of the referenced type: the referencing one must become it by itself
            let rank = |f: u32| match f {
                1 => Some(1),
                pgsqlite_types::oid::NUMERIC => Some(2),
                2 => Some(3),
                _ => None,
            };
            let numbers = rank(both[0]).zip(rank(both[1])).is_some_and(|(own, other)| own <= other);
            let text = |f: u32| f == 3 || f == pgsqlite_types::oid::BPCHAR || f == pgsqlite_types::oid::NAME;
            numbers || both.iter().all(|&f| text(f)) || both == [4, 4]
        };
        if comparable {
            return Ok(storage(own) == storage(other) && family(own) != 4);
        }
        // the referencing type becomes the other one by itself, and the server compares them
        use pgsqlite_types::oid::{CIDR, INET, INT2, INT4, INT8, OID};
        let base = |c: &Column| self.catalog.base_type(c.type_oid);
        if matches!((base(own), base(other)), (INT2 | INT4 | INT8, OID) | (CIDR, INET) | (INET, CIDR)) {
            return Ok(false);
        }
        Err(PgError::new(
            SqlState::DATATYPE_MISMATCH,
            format!("foreign key constraint \"{constraint}\" cannot be implemented"),
        )
        .detail(format!(
            "Key columns \"{}\" of the referencing table and \"{}\" of the referenced table are of incompatible types: {} and {}.",
            own.name,
            other.name,
            self.display_type(own.type_oid),
            self.display_type(other.type_oid)
        )))
    }
}

/// Whether SQLite carries out a foreign key of a table of ours that it cannot.
pub(super) fn is_unsettled(
    catalog: &Catalog,
    table: &Relation,
    constraint: &Constraint,
    crossing: &BTreeSet<Oid>,
) -> bool {
    !constraint.managed
        && constraint.is_foreign_key()
        && table.origin != Origin::Foreign
        && (crossing.contains(&constraint.oid) || catalog.must_manage(table, constraint))
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
