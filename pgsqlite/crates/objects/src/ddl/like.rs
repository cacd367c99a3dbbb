//! LIKE in CREATE TABLE: what is copied of the other table.

use super::column_definition::check_column_name;
use super::create_table::{CopiedCheck, CopiedConstraint, Elements};
use super::Ddl;
use pgsqlite_sql::acl;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::{work, Oid, PgError, Result, SqlState};

impl Ddl<'_> {
    /// A sequence's options as the grammar would give them, for a copy of it.
    fn sequence_options_of(&self, sequence: Oid) -> Vec<ast::Node> {
        let Some(RelationKind::Sequence(s)) = self.catalog.relation(sequence).map(|r| &r.kind) else {
            return Vec::new();
        };
        let number = |name: &str, value: i64| {
            let arg = NodeEnum::Float(ast::Float { fval: value.to_string() });
            ast::Node {
                node: Some(NodeEnum::DefElem(Box::new(ast::DefElem {
                    defname: name.into(),
                    arg: Some(Box::new(ast::Node { node: Some(arg) })),
                    location: -1,
                    ..Default::default()
                }))),
            }
        };
        // (whatever type the other sequence has)
        let word = |text: &str| ast::Node { node: Some(NodeEnum::String(ast::String { sval: text.into() })) };
        let names = vec![word("pg_catalog"), word("int8")];
        let bigint = ast::TypeName { names, typemod: -1, location: -1, ..Default::default() };
        let of_type = ast::DefElem {
            defname: "as".into(),
            arg: Some(Box::new(ast::Node { node: Some(NodeEnum::TypeName(bigint)) })),
            location: -1,
            ..Default::default()
        };
        let mut out = vec![
            ast::Node { node: Some(NodeEnum::DefElem(Box::new(of_type))) },
            number("increment", s.increment),
            number("minvalue", s.min),
            number("maxvalue", s.max),
            number("start", s.start),
            number("cache", s.cache),
        ];
        if s.cycle {
            let arg = NodeEnum::Boolean(ast::Boolean { boolval: true });
            out.push(ast::Node {
                node: Some(NodeEnum::DefElem(Box::new(ast::DefElem {
                    defname: "cycle".into(),
                    arg: Some(Box::new(ast::Node { node: Some(arg) })),
                    location: -1,
                    ..Default::default()
                }))),
            });
        }
        out
    }

    /// LIKE source [INCLUDING …].
    pub(super) fn like(
        &mut self,
        relation: &mut Relation,
        like: &ast::TableLikeClause,
        elements: &mut Elements,
    ) -> Result<()> {
        let name = like.relation.as_ref().ok_or_else(|| PgError::internal("LIKE without a table"))?;
        let source = self.find(name).map_err(|e| e.at(name.location))?;
        if matches!(source.kind, RelationKind::Index(_) | RelationKind::Sequence(_)) {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("relation \"{}\" is invalid in LIKE clause", source.name),
            )
            .at(name.location));
        }
        let user = self.environment.user;
        if acl::relation_privileges(&self.catalog, user, &source) & acl::privilege::SELECT == 0
            && !acl::is_superuser(&self.catalog, user)
        {
            return Err(PgError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied for {} {}", super::kind_word(&source.kind), source.name),
            ));
        }
        let including = |bit: u32| like.options & (1 << bit) != 0;
        let comments = if including(0) { self.catalog.comments.clone() } else { Default::default() };
        let comment = |class: Oid, object: Oid, sub: i16| comments.get(&(class, object, i32::from(sub))).cloned();
        let first = relation.columns.len() as i16;
        for from in source.live_columns() {
            work::visit();
            if let Some(own) = relation.column(&from.name) {
                if own.inherited.merely {
                    return Err(PgError::not_supported("LIKE with a column that is inherited, too,").at(name.location));
                }
                return Err(PgError::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{}\" specified more than once", from.name),
                ));
            }
            check_column_name(&relation.columns, &from.name, name.location)?;
            let attnum = relation.columns.len() as i16 + 1;
            let mut column = Column::new(attnum, from.name.clone(), from.type_oid, from.typmod);
            column.collation = from.collation;
            if including(1) {
                column.keeping.compression = from.keeping.compression;
            }
            if including(8) {
                column.keeping.storage = from.keeping.storage;
            }
            if including(3) {
                column.default.clone_from(&from.default);
            }
            if including(4) {
                column.generated.clone_from(&from.generated);
                column.is_virtual = from.is_virtual;
            }
            if let (Some(identity), true) = (from.identity, including(5)) {
                column.identity = Some(identity);
                elements.identities.push((attnum, identity, self.sequence_options_of(from.sequence)));
            }
            if let Some(comment) = comment(super::schema::CLASS_RELATION, source.oid, from.attnum) {
                elements.comments.push((attnum, comment));
            }
            relation.columns.push(column);
        }
        for c in &source.constraints {
            work::visit();
            let Some(column) = c.not_null_of().and_then(|a| source.column_by_attnum(a)) else { continue };
            elements.not_nulls.push(super::not_null::NotNullSpec {
                name: c.name.clone(),
                column: column.name.clone(),
                no_inherit: c.is_no_inherit(),
                not_valid: false,
                beside_column: false,
                comment: comment(super::schema::CLASS_CONSTRAINT, c.oid, 0),
            });
        }
        if including(2) {
            for c in &source.constraints {
                work::visit();
                if let ConstraintKind::Check { expression, no_inherit } = &c.kind {
                    elements.copied_checks.push(CopiedCheck {
                        name: c.name.clone(),
                        expression: expression.clone(),
                        no_inherit: *no_inherit,
                        not_enforced: c.not_enforced,
                        comment: comment(super::schema::CLASS_CONSTRAINT, c.oid, 0),
                    });
                }
            }
        }
        let renumber = |attnum: i16| {
            let position = source.live_columns().position(|c| c.attnum == attnum);
            position.map(|p| first + p as i16 + 1)
        };
        if including(7) {
            for object in &source.statistics {
                work::visit();
                let columns = object.columns.iter().filter_map(|&a| renumber(a)).collect();
                let comment = comment(super::schema::CLASS_STATISTICS, object.oid, 0);
                elements.copied_statistics.push((StatisticsObject { columns, ..object.clone() }, comment));
            }
        }
        if including(6) {
            let indexes: Vec<(Oid, Index)> =
                self.catalog.indexes_of(source.oid).map(|(r, i)| (r.oid, i.clone())).collect();
            for (index_oid, mut index) in indexes {
                work::visit();
                if index.is_named_only() {
                    continue;
                }
                // (the new table's is ours)
                index.of_sqlite = false;
                let constraint = source.constraints.iter().find(|c| c.has_index() && c.index == index_oid).map(|c| {
                    CopiedConstraint {
                        deferrable: c.deferrable,
                        initially_deferred: c.initially_deferred,
                        temporal: c.temporal,
                    }
                });
                for key in &mut index.columns {
                    work::visit();
                    if let KeyPart::Column(attnum) = &mut key.key {
                        let gone = || {
                            let table = &source.name;
                            PgError::damaged_catalog(format_args!(
                                "an index is on a column that \"{table}\" has no more"
                            ))
                        };
                        *attnum = renumber(*attnum).ok_or_else(gone)?;
                    }
                }
                index.include = index.include.iter().filter_map(|&a| renumber(a)).collect();
                index.table = relation.oid;
                let comment = comment(super::schema::CLASS_RELATION, index_oid, 0);
                elements.copied_indexes.push((index, constraint, comment));
            }
        }
        Ok(())
    }
}
