//! CREATE TRIGGER, DROP TRIGGER, ALTER TRIGGER … RENAME, ALTER TABLE … ENABLE and DISABLE TRIGGER. A trigger is stored with its table.

use super::def_elem::def_elems;
use super::dependencies::Object;
use super::{strings, Ddl, NodeEnum};
use pgsqlite_sql::acl::{self, privilege};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{condition_text, Style};
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::routine::{Event, Function, Timing, Trigger};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

/// Bits of CreateTrigStmt.timing and events (PostgreSQL's trigger.h).
mod bit {
    pub const BEFORE: i32 = 1 << 1;
    pub const INSERT: i32 = 1 << 2;
    pub const DELETE: i32 = 1 << 3;
    pub const UPDATE: i32 = 1 << 4;
    pub const TRUNCATE: i32 = 1 << 5;
    pub const INSTEAD: i32 = 1 << 6;
}

fn invalid(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_OBJECT_DEFINITION, message)
}

/// 42883 for a function of a trigger.
fn no_function(parts: &[&str]) -> PgError {
    PgError::new(SqlState::UNDEFINED_FUNCTION, format!("function {}() does not exist", parts.join(".")))
}

impl Ddl<'_> {
    pub(super) fn create_trigger(&mut self, s: &ast::CreateTrigStmt) -> Result<String> {
        let name = s.relation.as_ref().ok_or_else(|| PgError::internal("a trigger without a table"))?;
        let relation = self.find(name)?;
        if relation.oid < oid::FIRST_USER_OID {
            return Err(PgError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied: \"{}\" is a system catalog", relation.name),
            ));
        }
        let timing = match s.timing {
            t if t & bit::BEFORE != 0 => Timing::Before,
            t if t & bit::INSTEAD != 0 => Timing::InsteadOf,
            _ => Timing::After,
        };
        let mut events = Vec::new();
        for (flag, event) in [
            (bit::INSERT, Event::Insert),
            (bit::DELETE, Event::Delete),
            (bit::UPDATE, Event::Update),
            (bit::TRUNCATE, Event::Truncate),
        ] {
            work::visit();
            if s.events & flag != 0 {
                events.push(event);
            }
        }
        match &relation.kind {
            RelationKind::Table if timing == Timing::InsteadOf => {
                return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is a table", relation.name))
                    .detail("Tables cannot have INSTEAD OF triggers."))
            }
            RelationKind::Table => {}
            RelationKind::View { .. } if timing != Timing::InsteadOf && s.row => {
                return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is a view", relation.name))
                    .detail("Views cannot have row-level BEFORE or AFTER triggers."))
            }
            RelationKind::View { .. } if events.contains(&Event::Truncate) => {
                return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is a view", relation.name))
                    .detail("Views cannot have TRUNCATE triggers."))
            }
            RelationKind::View { .. } => {}
            RelationKind::ForeignView => return Err(PgError::not_supported("a trigger of a view of SQLite's")),
            _ => {
                return Err(PgError::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("relation \"{}\" cannot have triggers", relation.name),
                ))
            }
        }
        let has = acl::relation_privileges(&self.catalog, self.environment.user, &relation);
        if has & privilege::TRIGGER == 0 && !acl::owns(&self.catalog, self.environment.user, relation.owner) {
            return Err(PgError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied for table {}", relation.name),
            ));
        }
        if events.contains(&Event::Truncate) && s.row {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "TRUNCATE FOR EACH ROW triggers are not supported",
            ));
        }
        if timing == Timing::InsteadOf {
            let refused = if !s.row {
                Some("INSTEAD OF triggers must be FOR EACH ROW")
            } else if s.when_clause.is_some() {
                Some("INSTEAD OF triggers cannot have WHEN conditions")
            } else if !s.columns.is_empty() {
                Some("INSTEAD OF triggers cannot have column lists")
            } else {
                None
            };
            if let Some(message) = refused {
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        }
        if s.constrrel.is_some() {
            return Err(PgError::not_supported("FROM of a constraint trigger"));
        }
        let (old_table, new_table) = self.transition_tables(s, &relation, timing, &events)?;
        if s.row && (old_table.is_some() || new_table.is_some()) {
            let kind = match (relation.is_partition(), relation.inheritance.parents.is_empty()) {
                (true, _) => Some("partitions"),
                (_, false) => Some("inheritance children"),
                _ => None,
            };
            if let Some(kind) = kind {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("ROW triggers with transition tables are not supported on {kind}"),
                ));
            }
            if relation.is_partitioned() {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("\"{}\" is a partitioned table", relation.name),
                )
                .detail("ROW triggers with transition tables are not supported on partitioned tables."));
            }
        }
        let mut columns = Vec::new();
        for column in strings(&s.columns) {
            work::visit();
            let found = relation.column(column).ok_or_else(|| {
                PgError::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!("column \"{column}\" of relation \"{}\" does not exist", relation.name),
                )
            })?;
            if columns.contains(&found.attnum) {
                return Err(PgError::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{column}\" specified more than once"),
                ));
            }
            columns.push(found.attnum);
        }
        let condition = match s.when_clause.as_deref() {
            Some(when) => Some(self.trigger_condition(when, name.location, &relation, s.row, timing, &events)?),
            None => None,
        };
        let function = self.trigger_function(&strings(&s.funcname))?;
        let mut triggers = relation.triggers.clone();
        let old = triggers.iter().position(|t| t.name == s.trigname);
        let mut replaced = None;
        if let Some(at) = old {
            if !s.replace {
                return Err(PgError::new(
                    SqlState::DUPLICATE_OBJECT,
                    format!("trigger \"{}\" for relation \"{}\" already exists", s.trigname, relation.name),
                ));
            }
            let old = triggers.remove(at);
            if old.parent != 0 {
                return Err(PgError::new(
                    SqlState::DUPLICATE_OBJECT,
                    format!(
                        "trigger \"{}\" for relation \"{}\" is an internal or a child trigger",
                        s.trigname, relation.name
                    ),
                ));
            }
            if old.constraint != 0 || s.isconstraint {
                return Err(PgError::new(
                    SqlState::DUPLICATE_OBJECT,
                    format!("trigger \"{}\" for relation \"{}\" is a constraint trigger", s.trigname, relation.name),
                ));
            }
            replaced = Some(old.oid);
            self.forget_parts_of_trigger(relation.oid, old.oid)?;
        }
        let trigger_oid = match replaced {
            Some(oid) => oid,
            None => self.new_oid(relation.temporary)?,
        };
        let constraint = if s.isconstraint { self.new_oid(relation.temporary)? } else { 0 };
        triggers.push(Trigger {
            oid: trigger_oid,
            name: s.trigname.clone(),
            function,
            timing,
            events,
            row: s.row,
            columns,
            condition,
            arguments: strings(&s.args).into_iter().map(String::from).collect(),
            old_table,
            new_table,
            enabled: b'O',
            constraint,
            deferrable: s.deferrable || s.initdeferred,
            initially_deferred: s.initdeferred,
            parent: 0,
        });
        triggers.sort_by(|a, b| a.name.cmp(&b.name));
        self.put_relation(Relation { triggers, ..(*relation).clone() })?;
        if relation.is_partitioned() && s.row {
            let table = self.required(relation.oid)?.clone();
            let made = table.triggers.iter().find(|t| t.oid == trigger_oid).cloned();
            let made = made.ok_or_else(|| PgError::internal("a trigger that was not made"))?;
            for child in self.catalog.children(relation.oid).to_vec() {
                work::visit();
                self.trigger_of_partition(child, &table, &made)?;
            }
        }
        Ok("CREATE TRIGGER".into())
    }

    /// REFERENCING: the names of the tables of old and new rows. Errors: 42P17 as PostgreSQL's.
    fn transition_tables(
        &self,
        s: &ast::CreateTrigStmt,
        relation: &Relation,
        timing: Timing,
        events: &[Event],
    ) -> Result<(Option<String>, Option<String>)> {
        let (mut old, mut new) = (None, None);
        for node in &s.transition_rels {
            work::visit();
            let Some(NodeEnum::TriggerTransition(t)) = &node.node else { continue };
            if !t.is_table {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "ROW variable naming in the REFERENCING clause is not supported",
                )
                .hint("Use OLD TABLE or NEW TABLE for naming transition tables."));
            }
            if relation.kind != RelationKind::Table {
                return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is a view", relation.name))
                    .detail("Triggers on views cannot have transition tables."));
            }
            if timing != Timing::After {
                return Err(invalid("transition table name can only be specified for an AFTER trigger"));
            }
            if events.len() != 1 {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "transition tables cannot be specified for triggers with more than one event",
                ));
            }
            if !s.columns.is_empty() {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "transition tables cannot be specified for triggers with column lists",
                ));
            }
            let (slot, word, verb, fits) = match t.is_new {
                true => (&mut new, "NEW", "an INSERT or UPDATE", events[0] != Event::Delete),
                false => (&mut old, "OLD", "a DELETE or UPDATE", events[0] != Event::Insert),
            };
            if !fits {
                return Err(invalid(format!("{word} TABLE can only be specified for {verb} trigger")));
            }
            if slot.is_some() {
                return Err(invalid(format!("{word} TABLE cannot be specified multiple times")));
            }
            *slot = Some(t.name.clone());
        }
        if old.is_some() && old == new {
            return Err(invalid("OLD TABLE name and NEW TABLE name cannot be the same"));
        }
        Ok((old, new))
    }

    /// CREATE EVENT TRIGGER: 42501 for who is no superuser, what is wrong with the statement, else 0A000.
    pub(super) fn no_event_trigger(&self, s: &ast::CreateEventTrigStmt) -> PgError {
        if !self.is_superuser() {
            let message = format!("permission denied to create event trigger \"{}\"", s.trigname);
            return PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
                .hint("Must be superuser to create an event trigger.");
        }
        if !["ddl_command_start", "ddl_command_end", "sql_drop", "table_rewrite"].contains(&s.eventname.as_str()) {
            return PgError::new(SqlState::SYNTAX_ERROR, format!("unrecognized event name \"{}\"", s.eventname));
        }
        let variables: Vec<&str> = def_elems(&s.whenclause).map(|d| d.defname.as_str()).collect();
        let syntax = |message: String| PgError::new(SqlState::SYNTAX_ERROR, message);
        if let Some(other) = variables.iter().find(|v| **v != "tag") {
            return syntax(format!("unrecognized filter variable \"{other}\""));
        }
        if variables.len() > 1 {
            return syntax("filter variable \"tag\" specified more than once".into());
        }
        let unsupported = PgError::not_supported("an event trigger");
        if !variables.is_empty() {
            // (which values are none of its tags is not looked at)
            return unsupported;
        }
        let parts = strings(&s.funcname);
        let is_builtin = |name: &&str| pgsqlite_sql::builtins::catalog::procs_named(name).any(|p| p.args.is_empty());
        match self.routine_without_arguments(&parts) {
            Err(error) => error,
            Ok(Some(function)) if function.returns == oid::EVENT_TRIGGER => unsupported,
            Ok(None) if !parts.last().is_some_and(is_builtin) => no_function(&parts),
            Ok(_) => invalid(format!("function {} must return type event_trigger", parts.join("."))),
        }
    }

    /// The routine of the user with this name, which may have a schema in front, and without arguments.
    fn routine_without_arguments(&self, parts: &[&str]) -> Result<Option<&Function>> {
        let (schema, name) = self.qualified(parts)?;
        let path: Vec<Oid> = if schema.is_empty() {
            self.environment.search_path.to_vec()
        } else {
            self.catalog.schema_oid(schema).into_iter().collect()
        };
        let found = path.iter().find_map(|s| {
            self.catalog
                .routines_named(name)
                .find(|r| r.function.schema == *s && r.function.arguments.is_empty())
                .map(|r| &r.function)
        });
        Ok(found)
    }

    /// The function that a trigger calls: without arguments, returning trigger.
    fn trigger_function(&self, parts: &[&str]) -> Result<Oid> {
        let (schema, name) = self.qualified(parts)?;
        let Some(function) = self.routine_without_arguments(parts)? else {
            let mut own = pgsqlite_sql::builtins::catalog::procs_named(name).filter(|p| p.ret == oid::TRIGGER);
            if let (Some(p), true) = (own.next(), matches!(schema, "" | "pg_catalog")) {
                if pgsqlite_sql::builtins::trigger_functions::is_trigger_function(p.oid) {
                    return Ok(p.oid);
                }
                return Err(PgError::not_supported(format!("the built-in trigger function {name}")));
            }
            let mut others = pgsqlite_sql::builtins::catalog::procs_named(name).filter(|p| p.args.is_empty());
            if others.next().is_some() && matches!(schema, "" | "pg_catalog") {
                return Err(invalid(format!("function {} must return type trigger", parts.join("."))));
            }
            return Err(no_function(parts));
        };
        let has = acl::privileges(
            &self.catalog,
            self.environment.user,
            acl::AclObject::Function,
            function.owner,
            function.acl.as_ref(),
        );
        if has & privilege::EXECUTE == 0 {
            return Err(PgError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied for function {}", function.name),
            ));
        }
        if !function.is_trigger() {
            return Err(invalid(format!("function {} must return type trigger", function.name)));
        }
        Ok(function.oid)
    }

    /// WHEN as it is stored. Errors: 42P17 for rows that there are none of.
    fn trigger_condition(
        &self,
        when: &ast::Node,
        behind: i32,
        relation: &Relation,
        row: bool,
        timing: Timing,
        events: &[Event],
    ) -> Result<String> {
        let (mut old, mut new) = (false, false);
        if let Some(location) = pgsqlite_sql::parse::first_sub_query(when) {
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "cannot use subquery in trigger WHEN condition")
                .at(location));
        }
        let (text, from) = self.condition_source(behind)?;
        let mut places = (-1, -1);
        // what the condition names of the rows: whether of NEW, the field (None: the whole row), and where
        let mut named: Vec<(bool, Option<String>, i32)> = Vec::new();
        let words = pgsqlite_sql::parse::words(&text)?;
        let word = |i: usize| words.get(i).map_or("", |(start, end)| &text[*start..*end]);
        let name = |i: usize| match word(i).strip_prefix('"').and_then(|w| w.strip_suffix('"')) {
            Some(quoted) => quoted.replace("\"\"", "\""),
            None => word(i).to_lowercase(),
        };
        for (i, (start, _)) in words.iter().enumerate() {
            work::visit();
            let place = (self.offset + from + start) as i32;
            let is_new = match &*name(i) {
                // (a field may have such a name)
                _ if i > 0 && word(i - 1) == "." => continue,
                "old" => false,
                "new" => true,
                _ => continue,
            };
            if is_new && !new {
                new = true;
                places.1 = place;
            } else if !is_new && !old {
                old = true;
                places.0 = place;
            }
            let field = match (word(i + 1), word(i + 2)) {
                (".", _) => name(i + 2),
                (")", ".") if i > 0 && word(i - 1) == "(" => name(i + 3),
                _ => "*".to_string(),
            };
            named.push((is_new, (field != "*").then_some(field), place));
        }
        let names = |of_new: bool, field: &str| {
            named.iter().any(|(new, name, _)| *new == of_new && name.as_deref() == Some(field))
        };
        for column in ["tableoid", "ctid", "xmin", "cmin", "xmax", "cmax"] {
            work::visit();
            if names(true, column) && timing == Timing::Before {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "BEFORE trigger's WHEN condition cannot reference NEW system columns",
                )
                .at(places.1));
            }
            if names(true, column) || names(false, column) {
                return Err(PgError::not_supported(format!("{column} in a trigger's WHEN condition")));
            }
        }
        if !row && (old || new) {
            return Err(invalid("statement trigger's WHEN condition cannot reference column values").at(if new {
                places.1
            } else {
                places.0
            }));
        }
        if old && events.contains(&Event::Insert) {
            return Err(invalid("INSERT trigger's WHEN condition cannot reference OLD values").at(places.0));
        }
        if new && events.contains(&Event::Delete) {
            return Err(invalid("DELETE trigger's WHEN condition cannot reference NEW values").at(places.1));
        }
        let is_generated = |c: &&Column| c.generated.is_some();
        if timing == Timing::Before && relation.live_columns().any(|c| is_generated(&c)) {
            for (_, field, place) in named.iter().filter(|(new, ..)| *new) {
                work::visit();
                let detail = match field {
                    None => "A whole-row reference is used and the table contains generated columns.".to_string(),
                    Some(field) => match relation.live_columns().filter(is_generated).find(|c| c.name == *field) {
                        Some(column) => format!("Column \"{}\" is a generated column.", column.name),
                        None => continue,
                    },
                };
                return Err(invalid("BEFORE trigger's WHEN condition cannot reference NEW generated columns")
                    .detail(detail)
                    .at(*place));
            }
        }
        let table = pgsqlite_sql::deparse::Names::stored(&self.catalog).relation(relation.oid);
        self.analyze(|e| condition_text(e, &table, &text, Style::Full)).map_err(PgError::without_position)
    }

    /// The text of WHEN in the statement, and where it begins: between the bracket behind WHEN and the one that closes it. `behind`: a place
    /// in the statement before it, the table's name. (CREATE SCHEMA may have several triggers.)
    fn condition_source(&self, behind: i32) -> Result<(String, usize)> {
        let text = self.text.to_string();
        let behind = usize::try_from(behind).unwrap_or_default().saturating_sub(self.offset);
        let mut words = pgsqlite_sql::parse::words(&text)?;
        words.retain(|(start, _)| *start >= behind);
        let mut at = None;
        for (i, (start, end)) in words.iter().enumerate() {
            work::visit();
            if text[*start..*end].eq_ignore_ascii_case("when")
                && words.get(i + 1).is_some_and(|w| &text[w.0..w.1] == "(")
            {
                at = Some(i + 1);
                break;
            }
        }
        let open = at.ok_or_else(|| PgError::internal("WHEN that is not in the text"))?;
        let mut depth = 0;
        for (start, end) in &words[open..] {
            work::visit();
            match &text[*start..*end] {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok((text[words[open].1..*start].to_string(), words[open].1));
            }
        }
        Err(PgError::internal("WHEN without its end"))
    }

    /// DROP TRIGGER of a trigger that is there; None: it is not.
    pub(super) fn drop_trigger(&mut self, statement: &ast::DropStmt) -> Result<Option<String>> {
        if statement.remove_type() != ast::ObjectType::ObjectTrigger {
            return Ok(None);
        }
        let mut targets = Vec::new();
        for node in &statement.objects {
            work::visit();
            let Some((relation, name)) = self.part_of_relation(node)? else { return Ok(None) };
            let Some(trigger) = relation.triggers.iter().find(|t| t.name == name) else { return Ok(None) };
            self.check_owner_of_part(&relation)?;
            targets.push(Object::Trigger(relation.oid, trigger.oid));
        }
        self.drop_objects(&targets, statement.behavior() == ast::DropBehavior::DropCascade)?;
        Ok(Some("DROP TRIGGER".into()))
    }

    /// ALTER TRIGGER … RENAME TO
    pub(super) fn rename_trigger(&mut self, statement: &ast::RenameStmt) -> Result<()> {
        let name = statement.relation.as_ref().ok_or_else(|| PgError::internal("a trigger without a table"))?;
        let relation = self.find(name)?;
        self.check_owner(&relation)?;
        let missing = || {
            PgError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("trigger \"{}\" for table \"{}\" does not exist", statement.subname, relation.name),
            )
        };
        let mut new = (*relation).clone();
        if !new.triggers.iter().any(|t| t.name == statement.subname) {
            return Err(missing());
        }
        if statement.newname == statement.subname {
            return Ok(());
        }
        if new.triggers.iter().any(|t| t.name == statement.newname) {
            return Err(PgError::new(
                SqlState::DUPLICATE_OBJECT,
                format!("trigger \"{}\" for relation \"{}\" already exists", statement.newname, relation.name),
            ));
        }
        let trigger = new.triggers.iter_mut().find(|t| t.name == statement.subname).ok_or_else(missing)?;
        if trigger.parent != 0 || relation.is_partitioned() && trigger.row {
            return Err(PgError::not_supported("renaming a row trigger of a partitioned table"));
        }
        trigger.name.clone_from(&statement.newname);
        new.triggers.sort_by(|a, b| a.name.cmp(&b.name));
        self.put_relation(new)
    }

    /// ENABLE and DISABLE TRIGGER: of one (by name), or of all that are the user's.
    pub(super) fn set_trigger(&mut self, relation: &Relation, name: Option<&str>, enabled: u8) -> Result<()> {
        let mut new = relation.clone();
        if let Some(name) = name {
            let trigger = new.triggers.iter_mut().find(|t| t.name == name).ok_or_else(|| {
                PgError::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!("trigger \"{name}\" for table \"{}\" does not exist", relation.name),
                )
            })?;
            trigger.enabled = enabled;
        } else {
            new.triggers.iter_mut().for_each(|t| t.enabled = enabled);
        }
        self.put_relation(new)
    }
}
