//! Identifiers, literals and the names of objects, quoted and qualified as PostgreSQL prints them.

use crate::builtins::catalog as builtin;
use crate::catalog::{searched, Catalog, TypeEntry, UserTypeKind, PG_CATALOG, PG_TEMP};
use pgsqlite_types::{typmod, work, Oid};
use std::collections::HashMap;
use std::sync::Arc;

pub use crate::quoting::{quote_callable, quote_identifier, quoted};

/// A constant in an expression as ruleutils prints it: backslashes stand for themselves, as standard_conforming_strings has it.
pub fn quote_constant(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A string literal as ruleutils prints it: doubled quotes, `E'…'` where a backslash is in it.
pub fn quote_literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if text.contains('\\') {
        format!("E'{}'", doubled.replace('\\', "\\\\"))
    } else {
        format!("'{doubled}'")
    }
}

/// Names of objects, seen along a search path: an object that its bare name would not find is qualified.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    pub catalog: &'a Catalog,
    /// With pg_catalog where PostgreSQL implies it.
    pub search_path: &'a [Oid],
    /// how constants are printed; None: as stored texts have them
    pub settings: Option<&'a pgsqlite_types::Settings>,
    /// the fields of row types that are called otherwise than when the text was read
    pub renamed: Option<&'a RenamedFields>,
}

/// The fields of row types that one catalog calls otherwise than another: by type and former name.
#[derive(Debug, Default)]
pub struct RenamedFields(HashMap<(Oid, String), String>);

impl RenamedFields {
    /// The fields of composite types and of the rows of tables and views that have got another name. Fields are told by their numbers.
    pub fn between(old: &Catalog, new: &Catalog) -> RenamedFields {
        let mut renamed = HashMap::new();
        for relation in new.relations.values().filter(|r| r.row_type != 0) {
            work::visit();
            let Some(before) = old.relation(relation.oid).filter(|before| !Arc::ptr_eq(before, relation)) else {
                continue;
            };
            for column in relation.live_columns() {
                work::visit();
                match before.column_by_attnum(column.attnum) {
                    Some(then) if then.name != column.name => {
                        renamed.insert((relation.row_type, then.name.clone()), column.name.clone());
                    }
                    _ => {}
                }
            }
        }
        for now in new.types.values() {
            work::visit();
            let Some(before) = old.types.get(&now.oid).filter(|before| !Arc::ptr_eq(before, now)) else { continue };
            let (UserTypeKind::Composite { fields }, UserTypeKind::Composite { fields: then }) =
                (&now.kind, &before.kind)
            else {
                continue;
            };
            let then: HashMap<_, _> = before.attribute_numbers().zip(then).collect();
            for (number, field) in now.attribute_numbers().zip(fields) {
                work::visit();
                match then.get(&number) {
                    Some(then) if then.0 != field.0 => {
                        renamed.insert((now.oid, then.0.clone()), field.0.clone());
                    }
                    _ => {}
                }
            }
        }
        RenamedFields(renamed)
    }
}

pub use crate::catalog::STORED_PATH;

impl<'a> Names<'a> {
    pub fn new(catalog: &'a Catalog, search_path: &'a [Oid]) -> Names<'a> {
        Names { catalog, search_path, settings: None, renamed: None }
    }

    /// For texts that are stored.
    pub fn stored(catalog: &'a Catalog) -> Names<'a> {
        Names { catalog, search_path: STORED_PATH, settings: None, renamed: None }
    }

    /// The same for texts that were read before these fields were renamed.
    pub fn after(self, renamed: &'a RenamedFields) -> Names<'a> {
        Names { renamed: Some(renamed), ..self }
    }

    /// What a field of a row type is called that had this name when the text was read.
    pub(crate) fn field<'n>(&self, ty: Oid, name: &'n str) -> &'n str
    where
        'a: 'n,
    {
        let of = |renamed: &'a RenamedFields| renamed.0.get(&(self.catalog.base_type(ty), name.to_string()));
        self.renamed.and_then(of).map_or(name, String::as_str)
    }

    /// Whether the names are those of texts to store.
    pub(crate) fn is_stored(&self) -> bool {
        self.search_path == STORED_PATH && self.settings.is_none()
    }

    fn path(&self) -> impl Iterator<Item = Oid> + '_ {
        searched(self.search_path)
    }

    fn qualified(&self, schema: Oid, name: &str, visible: bool) -> String {
        if visible {
            quote_identifier(name)
        } else {
            format!("{}.{}", quote_identifier(self.catalog.schema_name(schema)), quote_identifier(name))
        }
    }

    /// As [`Names::qualified`], of a function or type.
    fn qualified_callable(&self, schema: Oid, name: &str, visible: bool) -> String {
        if visible {
            quote_callable(name)
        } else {
            self.qualified(schema, name, false)
        }
    }

    pub fn relation_is_visible(&self, oid: Oid) -> bool {
        let Some(relation) = self.catalog.relation(oid) else { return false };
        // temporary tables come first where the path does not say otherwise (stored texts qualify everything)
        let implied = self.search_path != STORED_PATH && !self.search_path.contains(&PG_TEMP);
        implied
            .then_some(PG_TEMP)
            .into_iter()
            .chain(self.path())
            .find_map(|s| self.catalog.relation_in(s, &relation.name))
            .is_some_and(|r| r.oid == oid)
    }

    pub fn type_is_visible(&self, oid: Oid) -> bool {
        let Some((schema, name)) = self.type_identity(oid) else { return false };
        if schema == PG_CATALOG && self.search_path.first() == Some(&PG_CATALOG) {
            return true;
        }
        let implied = self.search_path != STORED_PATH && !self.search_path.contains(&PG_TEMP);
        let path = implied.then_some(PG_TEMP).into_iter().chain(self.path());
        path.into_iter().find_map(|s| self.catalog.type_in(s, &name)) == Some(oid)
    }

    /// Whether an unqualified name means this object.
    pub fn statistics_is_visible(&self, object: &crate::catalog::StatisticsObject) -> bool {
        let first = self
            .path()
            .find(|&schema| self.catalog.statistics().any(|(_, s)| s.schema == schema && s.name == object.name));
        first == Some(object.schema)
    }

    pub fn statistics_object(&self, object: &crate::catalog::StatisticsObject) -> String {
        self.qualified(object.schema, &object.name, self.statistics_is_visible(object))
    }

    /// A relation's name; the number for an OID that is none.
    pub fn relation(&self, oid: Oid) -> String {
        match self.catalog.relation(oid) {
            Some(r) => self.qualified(r.schema, &r.name, self.relation_is_visible(oid)),
            None => oid.to_string(),
        }
    }

    /// Schema and catalog name of a type.
    pub fn type_identity(&self, oid: Oid) -> Option<(Oid, String)> {
        Some(match self.catalog.type_entry(oid)? {
            TypeEntry::Builtin(t) => (self.catalog.schema_of_builtin_type(t)?, t.name.to_string()),
            TypeEntry::User(t) => (t.schema, t.name.clone()),
            TypeEntry::Row(r) => (r.schema, r.name.clone()),
            TypeEntry::ArrayOf(element) => match self.catalog.type_entry(element)? {
                TypeEntry::User(t) => (t.schema, t.array_name()),
                TypeEntry::Row(r) => (r.schema, r.array_name()),
                TypeEntry::Builtin(_) | TypeEntry::ArrayOf(_) => return None,
            },
        })
    }

    /// `format_type(oid, typmod)`, qualified where needed. A typmod of -1 is none.
    pub fn type_name(&self, oid: Oid, typmod: i32) -> String {
        if let Some(name) = typmod::format_type(oid, typmod) {
            return name;
        }
        match self.catalog.type_entry(oid) {
            Some(TypeEntry::ArrayOf(element)) => format!("{}[]", self.type_name(element, typmod)),
            Some(TypeEntry::Builtin(t)) if t.is_array() => format!("{}[]", self.type_name(t.elem, typmod)),
            Some(_) => {
                let (schema, name) = self.type_identity(oid).unwrap_or_default();
                let name = self.qualified_callable(schema, &name, self.type_is_visible(oid));
                // of the types of extensions those have modifiers that are stored as BLOBs
                match typmod >= 0 && pgsqlite_types::catalog::is_blob(oid) {
                    true => format!("{name}({typmod})"),
                    false => name,
                }
            }
            None => "???".into(),
        }
    }

    /// An operator between its operands: `OPERATOR(schema.name)` where the name alone would not find it.
    pub fn operator(&self, oid: Oid) -> String {
        let (Some(o), Some(schema)) = (self.catalog.operator(oid), self.catalog.schema_of_operator(oid)) else {
            return "?".into();
        };
        match self.operator_is_visible(oid) {
            true => o.name.to_string(),
            false => format!("OPERATOR({}.{})", quote_identifier(self.catalog.schema_name(schema)), o.name),
        }
    }

    /// Whether an operator is what its name and the types of its operands find.
    pub fn operator_is_visible(&self, oid: Oid) -> bool {
        let Some(o) = self.catalog.operator(oid) else { return false };
        let found = self.catalog.operators_found(self.search_path, &o.name);
        found.iter().find(|(f, _)| (f.left, f.right) == (o.left, o.right)).is_some_and(|(f, _)| f.oid == oid)
    }

    /// A type of which no modifier is known: `character`, where one without a length is `bpchar`.
    fn bare_type_name(&self, ty: Oid) -> String {
        pgsqlite_types::typmod::type_name(ty).unwrap_or_else(|| self.type_name(ty, -1))
    }

    /// `name(left,right)` as a regoperator is printed; None: there is no such operator.
    pub fn operator_signature(&self, oid: Oid) -> Option<String> {
        let o = self.catalog.operator(oid)?;
        let side = |t: Oid| if t == 0 { "NONE".to_string() } else { self.bare_type_name(t) };
        let schema = match self.catalog.schema_of_operator(oid) {
            Some(schema) if !self.operator_is_visible(oid) => {
                format!("{}.", quote_identifier(self.catalog.schema_name(schema)))
            }
            _ => String::new(),
        };
        Some(format!("{schema}{}({},{})", o.name, side(o.left), side(o.right)))
    }

    /// A function's name, qualified where needed; the number for an OID that is none.
    pub fn function(&self, proc: Oid) -> String {
        match (self.catalog.proc(proc), self.schema_of_function(proc)) {
            (Some(p), Some(schema)) => self.qualified_callable(schema, &p.name, self.function_is_visible(proc)),
            _ => proc.to_string(),
        }
    }

    /// The schema that a function is in.
    pub fn schema_of_function(&self, proc: Oid) -> Option<Oid> {
        if let Some(f) = self.catalog.function(proc) {
            return Some(f.schema);
        }
        if let Some((_, range)) = self.catalog.range_of_constructor(proc) {
            return Some(range.constructor_schema);
        }
        builtin::proc_by_oid(proc).and_then(|_| self.catalog.schema_of_builtin(proc))
    }

    /// Whether a function is what its name and the types of its arguments find.
    pub fn function_is_visible(&self, proc: Oid) -> bool {
        let (Some(p), Some(own)) = (self.catalog.proc(proc), self.schema_of_function(proc)) else { return false };
        let is_in = |schema: Oid| {
            let builtins = builtin::procs_named(&p.name).filter(|b| b.args == p.args);
            builtins.into_iter().any(|b| self.catalog.schema_of_builtin(b.oid) == Some(schema))
                || self.catalog.routine_in(schema, &p.name, &p.args).is_some()
        };
        self.path().find(|&schema| schema == own || is_in(schema)) == Some(own)
    }

    /// `name(argument types)` as `regprocedure` prints it.
    pub fn signature(&self, proc: Oid) -> Option<String> {
        let p = self.catalog.proc(proc)?;
        let args: Vec<String> = p.args.iter().map(|&a| self.bare_type_name(a)).collect();
        Some(format!("{}({})", self.function(proc), args.join(",")))
    }

    pub fn collation_is_visible(&self, oid: Oid) -> bool {
        let Some(c) = self.catalog.collation(oid) else { return false };
        self.path().find_map(|s| self.catalog.collation_in(s, c.name)) == Some(oid)
    }

    /// A text search configuration, qualified where needed.
    pub fn ts_configuration(&self, oid: Oid) -> Option<String> {
        let (schema, name) = self.catalog.ts_configuration_identity(oid)?;
        let visible = self.path().find_map(|s| self.catalog.ts_configuration_in(s, name)) == Some(oid);
        Some(self.qualified(schema, name, visible))
    }

    /// A text search dictionary, qualified where needed.
    pub fn ts_dictionary(&self, oid: Oid) -> Option<String> {
        let (schema, name) = self.catalog.ts_dictionary_identity(oid)?;
        let visible = self.path().find_map(|s| self.catalog.ts_dictionary_in(s, name)) == Some(oid);
        Some(self.qualified(schema, name, visible))
    }

    /// `"collation"` for COLLATE clauses.
    pub fn collation(&self, oid: Oid) -> Option<String> {
        let c = self.catalog.collation(oid)?;
        Some(self.qualified(c.schema, c.name, self.collation_is_visible(oid)))
    }
}
