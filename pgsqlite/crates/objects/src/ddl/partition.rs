//! Partitioning: PARTITION BY, the bounds of partitions, ATTACH and DETACH. `partition_parts.rs` has what partitions get of their
//! table's indexes, foreign keys and triggers.

use super::inherit::{disown, invalid_table};
use super::{naming, strings, Ddl, NodeEnum};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::{deparse, lower, partition};
use pgsqlite_types::buffer::bad_stored;
use pgsqlite_types::codec::{Context, TypeCodec};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Datum, DatumRef, Oid, PgError, Result, Settings, SqlState};
use std::cmp::Ordering;
use std::sync::Arc;

fn invalid_object(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_OBJECT_DEFINITION, message)
}

fn wrong_kind(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::WRONG_OBJECT_TYPE, message)
}

/// What to do about a DETACH … CONCURRENTLY that has not ended.
pub(super) const FINALIZE_HINT: &str =
    "Use ALTER TABLE ... DETACH PARTITION ... FINALIZE to complete the pending detach operation.";

/// 42809 unless a table has partitions.
fn check_has_partitions(parent: &Relation, action: &str) -> Result<()> {
    if parent.is_partitioned() {
        return Ok(());
    }
    let message = format!("ALTER action {action} cannot be performed on relation \"{}\"", parent.name);
    Err(wrong_kind(message).detail(parent.kind.not_supported()))
}

impl Ddl<'_> {
    /// PARTITION BY of a table whose columns are known.
    pub(super) fn partition_key(&mut self, relation: &Relation, spec: &ast::PartitionSpec) -> Result<PartitionKey> {
        let strategy = match spec.strategy() {
            ast::PartitionStrategy::List => PartitionStrategy::List,
            ast::PartitionStrategy::Range => PartitionStrategy::Range,
            ast::PartitionStrategy::Hash => PartitionStrategy::Hash,
            ast::PartitionStrategy::Undefined => return Err(PgError::internal("a partitioning strategy")),
        };
        if strategy == PartitionStrategy::List && spec.part_params.len() != 1 {
            return Err(invalid_object("cannot use \"list\" partition strategy with more than one column"));
        }
        if spec.part_params.len() > 32 {
            return Err(PgError::new(SqlState::TOO_MANY_COLUMNS, "cannot partition using more than 32 columns"));
        }
        let mut columns = Vec::new();
        for node in &spec.part_params {
            work::visit();
            let Some(NodeEnum::PartitionElem(element)) = &node.node else {
                return Err(PgError::internal("a partition key without columns"));
            };
            columns.push(self.partition_key_column(relation, element, strategy)?);
        }
        Ok(PartitionKey { strategy, columns })
    }

    fn partition_key_column(
        &mut self,
        relation: &Relation,
        element: &ast::PartitionElem,
        strategy: PartitionStrategy,
    ) -> Result<PartitionKeyColumn> {
        let generated = |column: &Column| {
            PgError::new(SqlState::INVALID_OBJECT_DEFINITION, "cannot use generated column in partition key")
                .detail(format!("Column \"{}\" is a generated column.", column.name))
                .at(element.location)
        };
        let (part, type_oid, typmod, mut collation) = match element.expr.as_deref() {
            None => {
                let Some(column) = relation.column(&element.name) else {
                    if matches!(element.name.as_str(), "tableoid" | "xmin" | "cmin" | "xmax" | "cmax" | "ctid") {
                        return Err(invalid_object(format!(
                            "cannot use system column \"{}\" in partition key",
                            element.name
                        ))
                        .at(element.location));
                    }
                    return Err(PgError::new(
                        SqlState::UNDEFINED_COLUMN,
                        format!("column \"{}\" named in partition key does not exist", element.name),
                    )
                    .at(element.location));
                };
                if column.generated.is_some() {
                    return Err(generated(column));
                }
                (KeyPart::Column(column.attnum), column.type_oid, column.typmod, column.collation)
            }
            Some(node) => {
                let (expr, text) = self.expression(node, Some(relation), None, "partition key expression")?;
                let live: Vec<&Column> = relation.live_columns().collect();
                let used = deparse::columns_used(&expr);
                if let Some(column) = used.iter().filter_map(|i| live.get(*i)).find(|c| c.generated.is_some()) {
                    return Err(generated(column));
                }
                if let pgsqlite_sql::typed::ExprKind::Var(v) = &expr.kind {
                    let column = live.get(v.column).ok_or_else(|| PgError::internal("a partition key on no column"))?;
                    (KeyPart::Column(column.attnum), column.type_oid, column.typmod, column.collation)
                } else {
                    let refusal = "functions in partition key expression must be marked IMMUTABLE";
                    self.check_immutable(&expr, (&text, relation), "a partition key", refusal)?;
                    if used.is_empty() {
                        return Err(invalid_object("cannot use constant expression as partition key"));
                    }
                    let collation = naming::default_collation(&self.catalog, expr.ty);
                    (KeyPart::Expression(text), expr.ty, expr.typmod, collation)
                }
            }
        };
        if let Some(TypeEntry::Builtin(t)) = self.catalog.type_entry(type_oid) {
            if t.kind == b'p' {
                return Err(invalid_table(format!(
                    "partition key column 1 has pseudo-type {}",
                    self.display_type(type_oid)
                )));
            }
        }
        if !element.collation.is_empty() {
            collation = self.collation_oid(&strings(&element.collation))?;
        }
        if self.catalog.is_of_language(collation) {
            return Err(PgError::not_supported("partitioning by a key in a collation of ICU").at(element.location));
        }
        let method = if strategy == PartitionStrategy::Hash { "hash" } else { "btree" };
        if method == "hash" && !self.catalog.codec(type_oid).is_some_and(|c| pgsqlite_types::hash::is_known(&c)) {
            let what = format!("hash partitioning by type {}", self.display_type(type_oid));
            return Err(PgError::not_supported(what).at(element.location));
        }
        let default = naming::default_opclass(&self.catalog, type_oid, method);
        let opclass = match strings(&element.opclass)[..] {
            [] => default.ok_or_else(|| {
                PgError::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!(
                        "data type {} has no default operator class for access method \"{method}\"",
                        self.display_type(type_oid)
                    ),
                )
                .hint(format!(
                    "You must specify a {method} operator class or define a default {method} operator class for the data type."
                ))
            })?,
            _ => {
                let found = self.operator_class_named(&strings(&element.opclass), method)?;
                if Some(found.oid) != default {
                    return Err(PgError::not_supported("an operator class in a partition key").at(element.location));
                }
                found.oid
            }
        };
        Ok(PartitionKeyColumn { part, type_oid, typmod, collation, opclass })
    }

    // --- bounds --------------------------------------------------------------------------------------------------------

    /// The parent of a table that is to be its partition.
    pub(super) fn partitioned_parent(&self, child: &Relation, name: &ast::RangeVar) -> Result<Arc<Relation>> {
        let parent = self.find(name)?;
        if !parent.is_partitioned() {
            return Err(invalid_object(format!("\"{}\" is not partitioned", parent.name)));
        }
        if parent.temporary && !child.temporary {
            return Err(wrong_kind(format!(
                "cannot create a permanent relation as partition of temporary relation \"{}\"",
                parent.name
            )));
        }
        if child.temporary && !parent.temporary {
            return Err(wrong_kind(format!(
                "cannot create a temporary relation as partition of permanent relation \"{}\"",
                parent.name
            )));
        }
        self.check_owner(&parent)?;
        Ok(parent)
    }

    /// FOR VALUES … as it is stored. `name`: the partition's, for messages.
    pub(super) fn partition_bound(
        &mut self,
        parent: &Relation,
        spec: &ast::PartitionBoundSpec,
    ) -> Result<PartitionBound> {
        let key = parent.inheritance.key.clone().ok_or_else(|| PgError::internal("a table without partition key"))?;
        if spec.is_default {
            if key.strategy == PartitionStrategy::Hash {
                return Err(invalid_table("a hash-partitioned table may not have a default partition"));
            }
            return Ok(PartitionBound::Default);
        }
        let invalid = |kind: &str| {
            Err(invalid_table(format!("invalid bound specification for a {kind} partition")).at(spec.location))
        };
        let names = partition::key_texts(parent, &key)?;
        match key.strategy {
            PartitionStrategy::List => {
                if spec.strategy != "l" {
                    return invalid("list");
                }
                let mut values: Vec<Option<String>> = Vec::new();
                for node in &spec.listdatums {
                    work::visit();
                    let value = self.bound_value(node, &key.columns[0], &names[0])?;
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                Ok(PartitionBound::List(values))
            }
            PartitionStrategy::Range => {
                if spec.strategy != "r" {
                    return invalid("range");
                }
                for (list, word) in [(&spec.lowerdatums, "FROM"), (&spec.upperdatums, "TO")] {
                    work::visit();
                    if list.len() != key.columns.len() {
                        return Err(invalid_table(format!(
                            "{word} must specify exactly one value per partitioning column"
                        )));
                    }
                }
                let from = self.range_bound(&spec.lowerdatums, &key, &names)?;
                let to = self.range_bound(&spec.upperdatums, &key, &names)?;
                Ok(PartitionBound::Range { from, to })
            }
            PartitionStrategy::Hash => {
                if spec.strategy != "h" {
                    return invalid("hash");
                }
                let (modulus, remainder) = (spec.modulus, spec.remainder);
                if modulus <= 0 {
                    let message = "modulus for hash partition must be an integer value greater than zero";
                    return Err(invalid_table(message));
                }
                if remainder < 0 {
                    let message = "remainder for hash partition must be an integer value greater than or equal to zero";
                    return Err(invalid_table(message));
                }
                if remainder >= modulus {
                    return Err(invalid_table("remainder for hash partition must be less than modulus"));
                }
                Ok(PartitionBound::Hash { modulus, remainder })
            }
        }
    }

    fn range_bound(&mut self, nodes: &[ast::Node], key: &PartitionKey, names: &[String]) -> Result<Vec<RangeDatum>> {
        let mut out: Vec<RangeDatum> = Vec::new();
        for (i, node) in nodes.iter().enumerate() {
            work::visit();
            let word = match &node.node {
                Some(NodeEnum::ColumnRef(c)) => match strings(&c.fields)[..] {
                    [word] => word,
                    _ => "",
                },
                _ => "",
            };
            let datum = match word {
                "minvalue" => RangeDatum::MinValue,
                "maxvalue" => RangeDatum::MaxValue,
                _ => match self.bound_value(node, &key.columns[i], &names[i])? {
                    Some(text) => RangeDatum::Value(text),
                    None => return Err(invalid_object("cannot specify NULL in range bound")),
                },
            };
            let location = pgsqlite_sql::analyze::location_of(node);
            match (out.last(), &datum) {
                (Some(RangeDatum::MinValue), d) if *d != RangeDatum::MinValue => {
                    let message = "every bound following MINVALUE must also be MINVALUE";
                    return Err(PgError::new(SqlState::DATATYPE_MISMATCH, message).at(location));
                }
                (Some(RangeDatum::MaxValue), d) if *d != RangeDatum::MaxValue => {
                    let message = "every bound following MAXVALUE must also be MAXVALUE";
                    return Err(PgError::new(SqlState::DATATYPE_MISMATCH, message).at(location));
                }
                _ => {}
            }
            out.push(datum);
        }
        Ok(out)
    }

    /// The value of an expression of a bound, as the type's output function writes it. None: NULL.
    fn bound_value(&mut self, node: &ast::Node, column: &PartitionKeyColumn, name: &str) -> Result<Option<String>> {
        let target = Some((column.type_oid, column.typmod));
        let location = pgsqlite_sql::analyze::location_of(node);
        let place = "partition bound expression";
        let result = self.expression(node, None, target, place);
        let (expr, _) = result.map_err(|mut e| {
            if e.code() == SqlState::UNDEFINED_COLUMN {
                let message = "cannot use column reference in partition bound expression";
                return PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(location);
            }
            if e.code() == SqlState::DATATYPE_MISMATCH {
                return PgError::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!(
                        "specified value cannot be cast to type {} for column \"{}\"",
                        self.display_type(column.type_oid),
                        name
                    ),
                )
                .at(location);
            }
            let message = e
                .message()
                .replace("in partition bound expressions", "in partition bound")
                .replace("cannot use subquery in partition bound expression", "cannot use subquery in partition bound");
            e.fields_mut().message = message;
            e
        })?;
        let sql = self.analyze(|e| lower::lower_expression(e, &expr, None))?;
        self.show_catalog();
        let value = self
            .conn
            .query_row(&format!("SELECT {sql}"), [], |row| Ok(stored(row.get_ref(0)?)))
            .map_err(|e| self.row_error(e))??;
        if value.is_null() {
            return Ok(None);
        }
        let codec = self.codec_of(column.type_oid)?;
        let names = pgsqlite_metadata::store::names::CatalogNames {
            catalog: &self.catalog,
            search_path: deparse::names::STORED_PATH,
        };
        let settings = Settings::default();
        let context = Context { settings: &settings, names: &names };
        let mut out = Vec::new();
        codec.text_out(value.as_ref(), &context, &mut out)?;
        Ok(Some(String::from_utf8_lossy(&out).into_owned()))
    }

    fn codec_of(&self, ty: Oid) -> Result<TypeCodec> {
        self.catalog.codec(ty).ok_or_else(|| PgError::not_supported(format!("type {}", self.display_type(ty))))
    }

    fn compare_values(&self, ty: Oid, a: &str, b: &str) -> Result<Ordering> {
        let codec = self.codec_of(ty)?;
        let names = pgsqlite_metadata::store::names::CatalogNames {
            catalog: &self.catalog,
            search_path: deparse::names::STORED_PATH,
        };
        let settings = Settings::default();
        let context = Context { settings: &settings, names: &names };
        let (a, b) = (codec.text_in(a, -1, &context)?, codec.text_in(b, -1, &context)?);
        Ok(codec.compare_storage(a.as_ref(), b.as_ref()))
    }

    fn compare_bounds(&self, key: &PartitionKey, a: &[RangeDatum], b: &[RangeDatum]) -> Result<Ordering> {
        partition::compare_bounds(key, a, b, |ty, a, b| self.compare_values(ty, a, b))
    }

    /// Errors: 42P17 if the bound is empty, overlaps another partition's, or there is a DEFAULT one already.
    pub(super) fn check_new_bound(
        &self,
        parent: &Relation,
        name: &str,
        bound: &PartitionBound,
        spec: &ast::PartitionBoundSpec,
    ) -> Result<()> {
        let key = parent.inheritance.key.as_ref().ok_or_else(|| PgError::internal("a table without partition key"))?;
        let siblings = self.catalog.partitions(parent.oid);
        let overlap = |other: &Relation, location: i32| {
            invalid_object(format!("partition \"{name}\" would overlap partition \"{}\"", other.name)).at(location)
        };
        match bound {
            PartitionBound::Default => {
                match siblings.iter().find(|s| s.inheritance.bound == Some(PartitionBound::Default)) {
                    Some(other) => Err(invalid_object(format!(
                        "partition \"{name}\" conflicts with existing default partition \"{}\"",
                        other.name
                    ))
                    .at(spec.location)),
                    None => Ok(()),
                }
            }
            PartitionBound::List(values) => {
                for value in values {
                    work::visit();
                    for sibling in &siblings {
                        work::visit();
                        let Some(PartitionBound::List(others)) = &sibling.inheritance.bound else { continue };
                        for other in others {
                            work::visit();
                            let same = match (value, other) {
                                (None, None) => true,
                                (Some(a), Some(b)) => self.compare_values(key.columns[0].type_oid, a, b)?.is_eq(),
                                _ => false,
                            };
                            if same {
                                let location = spec.listdatums.first().map_or(-1, pgsqlite_sql::analyze::location_of);
                                return Err(overlap(sibling, location));
                            }
                        }
                    }
                }
                Ok(())
            }
            PartitionBound::Range { from, to } => {
                let location = spec.lowerdatums.first().map_or(-1, pgsqlite_sql::analyze::location_of);
                if self.compare_bounds(key, from, to)?.is_ge() {
                    let text = partition::bound_text(&self.catalog, parent, bound)?;
                    let (lower, upper) = text
                        .strip_prefix("FOR VALUES FROM ")
                        .and_then(|t| t.split_once(" TO "))
                        .ok_or_else(|| PgError::internal("a bound's text"))?;
                    return Err(invalid_object(format!("empty range bound specified for partition \"{name}\""))
                        .detail(format!(
                            "Specified lower bound {lower} is greater than or equal to upper bound {upper}."
                        ))
                        .at(location));
                }
                for sibling in &siblings {
                    work::visit();
                    let Some(PartitionBound::Range { from: other_from, to: other_to }) = &sibling.inheritance.bound
                    else {
                        continue;
                    };
                    let apart = self.compare_bounds(key, to, other_from)?.is_le()
                        || self.compare_bounds(key, other_to, from)?.is_le();
                    if !apart {
                        return Err(overlap(sibling, location));
                    }
                }
                Ok(())
            }
            PartitionBound::Hash { modulus, remainder } => {
                let mut others: Vec<(i32, i32, &str)> = siblings
                    .iter()
                    .filter_map(|s| match s.inheritance.bound {
                        Some(PartitionBound::Hash { modulus, remainder }) => Some((modulus, remainder, &*s.name)),
                        _ => None,
                    })
                    .collect();
                others.sort_unstable();
                let factor = |detail: String| {
                    invalid_object("every hash partition modulus must be a factor of the next larger modulus")
                        .detail(detail)
                };
                let smaller = others.iter().rev().find(|o| o.0 <= *modulus);
                if let Some((other, _, sibling)) = smaller.filter(|o| modulus % o.0 != 0) {
                    return Err(factor(format!(
                        "The new modulus {modulus} is not divisible by {other}, the modulus of existing partition \"{sibling}\"."
                    )));
                }
                let larger = others.iter().find(|o| o.0 >= *modulus);
                if let Some((other, _, sibling)) = larger.filter(|o| o.0 % modulus != 0) {
                    return Err(factor(format!(
                        "The new modulus {modulus} is not a factor of {other}, the modulus of existing partition \"{sibling}\"."
                    )));
                }
                let meets = |o: &&(i32, i32, &str)| {
                    let least = o.0.min(*modulus);
                    o.1 % least == remainder % least
                };
                match others.iter().find(meets) {
                    Some((_, _, sibling)) => {
                        Err(invalid_object(format!("partition \"{name}\" would overlap partition \"{sibling}\""))
                            .at(spec.location))
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// 23514 if the DEFAULT partition has rows that belong to a new one. The catalog has the new one already. `attached`: it was a table
    /// before; then PostgreSQL names the table that has such a row, and else the DEFAULT partition, which that may be a part of.
    pub(super) fn check_default_partition(&self, parent: Oid, new: Oid, attached: bool) -> Result<()> {
        let default = self
            .catalog
            .partitions(parent)
            .into_iter()
            .find(|p| p.inheritance.bound == Some(PartitionBound::Default) && p.oid != new)
            .cloned();
        let Some(default) = default else { return Ok(()) };
        let Some(table) = self.row_outside(&default)? else { return Ok(()) };
        let named = if attached { table } else { default };
        let message = format!(
            "updated partition constraint for default partition \"{}\" would be violated by some row",
            named.name
        );
        let schema = self.catalog.schema_name(named.schema);
        Err(PgError::new(SqlState::CHECK_VIOLATION, message).schema(schema).table(&named.name))
    }

    /// A table, this or one below it, with a row that the partition's bound (and those above it) does not allow.
    fn row_outside(&self, partition: &Relation) -> Result<Option<Arc<Relation>>> {
        let Some(text) = partition::constraint(&self.catalog, partition)? else { return Ok(None) };
        for table in self.catalog.tables_with_rows(partition.oid) {
            work::visit();
            let condition = self.lower_stored(&text, Some(&table), Some((oid::BOOL, -1)))?;
            if self.any_row(&table, &format!("({condition}) IS NOT TRUE"))? {
                return Ok(Some(table));
            }
        }
        Ok(None)
    }

    // --- ATTACH and DETACH ---------------------------------------------------------------------------------------------

    fn partition_command<'c>(&self, command: &'c ast::AlterTableCmd) -> Result<&'c ast::PartitionCmd> {
        match command.def.as_ref().and_then(|d| d.node.as_ref()) {
            Some(NodeEnum::PartitionCmd(c)) => Ok(c),
            _ => Err(PgError::internal("a partition without a name")),
        }
    }

    pub(super) fn attach_partition(&mut self, table: Oid, command: &ast::AlterTableCmd) -> Result<()> {
        let parent = self.required(table)?.clone();
        let c = self.partition_command(command)?;
        let name = c.name.as_ref().ok_or_else(|| PgError::internal("a partition without a name"))?;
        if let (RelationKind::Index(_), Some(_)) = (&parent.kind, &c.bound) {
            return Err(invalid_object(format!("\"{}\" is not a partitioned table", parent.name)));
        }
        if let RelationKind::Index(_) = parent.kind {
            return self.attach_index(&parent, name);
        }
        check_has_partitions(&parent, "ATTACH PARTITION")?;
        let child = self.find(name)?;
        self.check_owner(&child)?;
        if child.kind != RelationKind::Table {
            return Err(wrong_kind(format!(
                "ALTER action ATTACH PARTITION cannot be performed on relation \"{}\"",
                child.name
            ))
            .detail(child.kind.not_supported()));
        }
        if child.is_partition() {
            return Err(wrong_kind(format!("\"{}\" is already a partition", child.name)));
        }
        if !child.inheritance.parents.is_empty() {
            return Err(wrong_kind("cannot attach inheritance child as partition"));
        }
        if self.catalog.has_children(child.oid) && !child.is_partitioned() {
            return Err(wrong_kind("cannot attach inheritance parent as partition"));
        }
        if self.catalog.with_descendants(child.oid).contains(&parent.oid) {
            return Err(PgError::new(SqlState::DUPLICATE_TABLE, "circular inheritance not allowed")
                .detail(format!("\"{}\" is already a child of \"{}\".", parent.name, child.name)));
        }
        if child.temporary != parent.temporary {
            let (a, b) = match parent.temporary {
                true => ("permanent relation as partition of temporary", parent.name.as_str()),
                false => ("temporary relation as partition of permanent", parent.name.as_str()),
            };
            return Err(wrong_kind(format!("cannot attach a {a} relation \"{b}\"")));
        }
        if child.origin == Origin::Foreign {
            return Err(PgError::not_supported("attaching a table that another program made").at(name.location));
        }
        let family = self.catalog.with_descendants(parent.oid);
        if let Some((_, key)) =
            self.catalog.referencing(child.oid).find(|(t, c)| family.contains(&t.oid) && c.inherited.parent == 0)
        {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!(
                    "cannot attach table \"{}\" as a partition because it is referenced by foreign key \"{}\"",
                    child.name, key.name
                ),
            ));
        }
        for column in child.live_columns() {
            work::visit();
            if parent.column(&column.name).is_none() {
                return Err(PgError::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!(
                        "table \"{}\" contains column \"{}\" not found in parent \"{}\"",
                        child.name, column.name, parent.name
                    ),
                )
                .detail("The new partition may contain only the columns present in parent."));
            }
        }
        super::inherit::check_row_triggers(&child, "a partition", "on partitions")?;
        let spec = c.bound.as_ref().ok_or_else(|| PgError::internal("a partition without a bound"))?;
        let bound = self.partition_bound(&parent, spec)?;
        self.check_new_bound(&parent, &child.name, &bound, spec)?;
        let mut new = (*child).clone();
        self.adopt(&mut new, &parent)?;
        new.inheritance.parents.push(parent.oid);
        new.inheritance.bound = Some(bound);
        self.put_relation(new.clone())?;
        if let Some(found) = self.row_outside(&new)? {
            return Err(PgError::new(
                SqlState::CHECK_VIOLATION,
                format!("partition constraint of relation \"{}\" is violated by some row", found.name),
            )
            .schema(self.catalog.schema_name(found.schema))
            .table(&found.name));
        }
        self.check_default_partition(parent.oid, new.oid, true)?;
        self.give_parts(&parent, new.oid)
    }

    pub(super) fn detach_partition(&mut self, table: Oid, command: &ast::AlterTableCmd) -> Result<()> {
        let parent = self.required(table)?.clone();
        let c = self.partition_command(command)?;
        let name = c.name.as_ref().ok_or_else(|| PgError::internal("a partition without a name"))?;
        let finalizes = command.subtype() == ast::AlterTableType::AtDetachPartitionFinalize;
        check_has_partitions(&parent, if finalizes { "DETACH PARTITION ... FINALIZE" } else { "DETACH PARTITION" })?;
        let state = |message: String| PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        let has_default =
            self.catalog.partitions(table).iter().any(|p| p.inheritance.bound == Some(PartitionBound::Default));
        if c.concurrent && has_default {
            return Err(state("cannot detach partitions concurrently when a default partition exists".into()));
        }
        let child = self.find(name)?;
        if child.inheritance.parents.first() != Some(&parent.oid) {
            return Err(PgError::new(
                SqlState::UNDEFINED_TABLE,
                format!("relation \"{}\" is not a partition of relation \"{}\"", child.name, parent.name),
            ));
        }
        if finalizes && !child.inheritance.detaching {
            return Err(state(format!("cannot complete detaching partition \"{}\"", child.name))
                .detail("There's no pending concurrent detach."));
        }
        if c.concurrent {
            let pending = self.catalog.detaching(table).next().cloned();
            if let Some(pending) = pending {
                let schema = self.catalog.schema_name(parent.schema);
                let message = format!(
                    "partition \"{}\" already pending detach in partitioned table \"{schema}.{}\"",
                    pending.name, parent.name
                );
                return Err(state(message).hint(FINALIZE_HINT));
            }
            self.check_unreferenced(&child)?;
            let mut new = (**self.required(child.oid)?).clone();
            new.inheritance.detaching = true;
            return self.put_relation(new);
        }
        if child.inheritance.detaching && !finalizes {
            return Err(state(format!("cannot detach partition \"{}\"", child.name))
                .detail("The partition is being detached concurrently or has an unfinished detach.")
                .hint(FINALIZE_HINT));
        }
        self.unreference_partition(&child)?;
        let mut new = (**self.required(child.oid)?).clone();
        let condition = match (finalizes, &new.inheritance.bound) {
            // (that of a hash partition names its table)
            (true, Some(bound)) if !matches!(bound, PartitionBound::Hash { .. }) => {
                partition::constraint(&self.catalog, &new)?
            }
            _ => None,
        };
        disown(&mut new, &parent);
        new.inheritance.bound = None;
        new.inheritance.detaching = false;
        self.put_relation(new)?;
        self.take_parts(child.oid)?;
        match condition {
            Some(condition) => self.keep_condition(child.oid, &condition),
            None => Ok(()),
        }
    }

    /// What a partition has had to satisfy becomes a CHECK constraint of its own.
    fn keep_condition(&mut self, table: Oid, condition: &str) -> Result<()> {
        let statements = pgsqlite_sql::parse::parse(&format!("SELECT {condition}"))?;
        let expression = match statements.first().map(|s| &s.node) {
            Some(NodeEnum::SelectStmt(s)) => match s.target_list.first().and_then(|t| t.node.as_ref()) {
                Some(NodeEnum::ResTarget(target)) => target.val.clone(),
                _ => None,
            },
            _ => None,
        };
        let constraint = ast::Constraint {
            contype: ast::ConstrType::ConstrCheck as i32,
            is_enforced: true,
            raw_expr: Some(expression.ok_or_else(|| PgError::internal("a condition that is none"))?),
            initially_valid: true,
            ..Default::default()
        };
        let command = ast::AlterTableCmd {
            subtype: ast::AlterTableType::AtAddConstraint as i32,
            def: Some(Box::new(ast::Node { node: Some(NodeEnum::Constraint(Box::new(constraint))) })),
            ..Default::default()
        };
        self.alter_tree(table, &command, false)
    }
}

/// A value of SQLite's, in storage form.
fn stored(value: rusqlite::types::ValueRef) -> Result<Datum> {
    use rusqlite::types::ValueRef;
    Ok(match value {
        ValueRef::Null => Datum::Null,
        ValueRef::Integer(i) => Datum::Int(i),
        ValueRef::Real(r) => Datum::Real(r),
        ValueRef::Text(t) => {
            Datum::Text(std::str::from_utf8(t).map_err(|_| bad_stored("text", DatumRef::Blob(t)))?.to_string())
        }
        ValueRef::Blob(b) => Datum::Blob(b.to_vec()),
    })
}
