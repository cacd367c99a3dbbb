//! Types of users, and what a type is, wherever it is defined.

use super::acl_item::AclItem;
use super::relation::Relation;
use super::{routine, Catalog, FIRST_TEMPORARY_OID, INFORMATION_SCHEMA, PG_CATALOG};
use pgsqlite_types::codec::{CompositeType, EnumType, TypeCodec};
use pgsqlite_types::oid::is_information_domain;
use pgsqlite_types::range::RangeType;
use pgsqlite_types::{catalog as pg_type, Oid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DomainConstraint {
    pub oid: Oid,
    pub name: String,
    /// PostgreSQL SQL text over VALUE; empty: NOT NULL.
    pub expression: String,
    #[serde(default)]
    pub not_valid: bool,
}

impl DomainConstraint {
    /// The NOT NULL of a domain.
    pub fn not_null(oid: Oid, name: String) -> DomainConstraint {
        DomainConstraint { oid, name, expression: String::new(), not_valid: false }
    }

    pub fn forbids_null(&self) -> bool {
        self.expression.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum UserTypeKind {
    /// (label, OID of the pg_enum row) in order
    Enum {
        labels: Vec<(String, Oid)>,
        /// pg_enum's enumsortorder of each; none: 1, 2, 3 …
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        orders: Vec<f32>,
        /// The labels (their OIDs) that the transaction has added: PostgreSQL does not let them be used before it commits.
        #[serde(skip)]
        added: Vec<Oid>,
    },
    Domain {
        base: Oid,
        typmod: i32,
        not_null: bool,
        default: Option<String>,
        checks: Vec<DomainConstraint>,
        /// 0: that of the base type
        #[serde(default)]
        collation: Oid,
        /// what NOT NULL is called (files of earlier versions do not say it)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_null_constraint: Option<DomainConstraint>,
    },
    /// A stand-alone composite type: (name, type, typmod)
    Composite {
        fields: Vec<(String, Oid, i32)>,
    },
    Range(RangeDefinition),
    /// The multirange type of a range type, which it lives and dies with.
    Multirange {
        range: Oid,
    },
}

/// What CREATE TYPE … AS RANGE says: a row of `pg_range`, and the functions and the cast that come with the type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RangeDefinition {
    pub subtype: Oid,
    pub multirange: Oid,
    /// 0: the subtype has none
    pub collation: Oid,
    /// the subtype's btree operator class
    pub opclass: Oid,
    /// the subtype difference function; 0: none
    pub difference: Oid,
    /// Schema and names of the constructors: those that the types had when they were made, which no ALTER TYPE changes.
    pub constructor_schema: Oid,
    pub range_name: String,
    pub multirange_name: String,
    /// of two bounds; of two bounds and flags
    pub range_constructors: [Oid; 2],
    /// of nothing; of a range; of an array of ranges
    pub multirange_constructors: [Oid; 3],
    /// from the range type to the multirange type
    pub cast: Oid,
}

impl RangeDefinition {
    /// OID and name of each constructor.
    pub fn constructors(&self) -> impl Iterator<Item = (Oid, &str)> {
        let of_range = self.range_constructors.iter().map(|&oid| (oid, self.range_name.as_str()));
        of_range.chain(self.multirange_constructors.iter().map(|&oid| (oid, self.multirange_name.as_str())))
    }
}

/// A range type, its multirange type and its subtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeTypes {
    pub range: Oid,
    pub multirange: Oid,
    pub subtype: Oid,
}

/// A type of the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserType {
    pub oid: Oid,
    /// OID of the array type over it
    pub array_oid: Oid,
    /// The array type's name, where it is not `_name`: that was taken, or another type has taken it since
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array_name: Option<String>,
    pub schema: Oid,
    pub name: String,
    pub owner: Oid,
    pub kind: UserTypeKind,
    /// None: PostgreSQL's default privileges
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acl: Option<Vec<AclItem>>,
    /// The numbers and types of a composite type's attributes that ALTER TYPE has dropped: the numbers are not used again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<(i16, Oid)>,
}

impl UserType {
    /// The numbers of the attributes that the composite type has, in their order.
    pub fn attribute_numbers(&self) -> impl Iterator<Item = i16> + '_ {
        (1i16..).filter(|number| !self.dropped.iter().any(|(dropped, _)| dropped == number))
    }

    /// Notes that the attribute at a place (from 0) is dropped.
    pub fn drop_attribute(&mut self, at: usize, ty: Oid) {
        let number = self.attribute_numbers().nth(at);
        self.dropped.extend(number.map(|number| (number, ty)));
    }

    /// The name of the array type over it.
    pub fn array_name(&self) -> String {
        self.array_name.clone().unwrap_or_else(|| format!("_{}", self.name))
    }
}

/// What a type OID is, wherever it is defined.
#[derive(Debug, Clone)]
pub enum TypeEntry<'a> {
    Builtin(&'static pg_type::PgType),
    User(&'a Arc<UserType>),
    /// The array type over a user type or a table's row type (element OID).
    ArrayOf(Oid),
    /// The row type of a relation.
    Row(&'a Arc<Relation>),
}

impl Catalog {
    /// The schema of a built-in type. None: it is an extension's that nobody has made.
    pub fn schema_of_builtin_type(&self, ty: &pg_type::PgType) -> Option<Oid> {
        match ty.extension {
            Some(extension) => self.extensions.get(extension).map(|e| e.schema),
            None if is_information_domain(ty.oid) => Some(INFORMATION_SCHEMA),
            None => Some(PG_CATALOG),
        }
    }

    /// Whether a type (or its elements') is of the session alone: the rows of a temporary table.
    pub fn is_temporary_type(&self, ty: Oid) -> bool {
        self.element_type(ty).unwrap_or(ty) >= FIRST_TEMPORARY_OID
    }

    /// Adds or replaces (same OID) a type of the user.
    pub fn add_type(&mut self, user_type: UserType) {
        self.remove_type(user_type.oid);
        self.type_names.insert(user_type.schema, user_type.name.clone(), user_type.oid);
        self.type_names.insert(user_type.schema, user_type.array_name(), user_type.array_oid);
        self.array_types.insert(user_type.array_oid, user_type.oid);
        for proc in routine::range_constructors(&user_type) {
            self.range_constructors.insert(proc.oid, Arc::new(proc));
        }
        self.types.insert(user_type.oid, Arc::new(user_type));
    }

    pub fn remove_type(&mut self, oid: Oid) {
        if let Some(old) = self.types.remove(&oid) {
            self.type_names.remove(old.schema, &old.name);
            self.type_names.remove(old.schema, &old.array_name());
            self.array_types.remove(&old.array_oid);
            if let UserTypeKind::Range(definition) = &old.kind {
                for (constructor, _) in definition.constructors() {
                    self.range_constructors.remove(&constructor);
                }
            }
        }
    }

    /// A type by OID.
    pub fn type_entry(&self, oid: Oid) -> Option<TypeEntry<'_>> {
        if let Some(t) = pg_type::by_oid(oid) {
            return Some(TypeEntry::Builtin(t));
        }
        if let Some(t) = self.types.get(&oid) {
            return Some(TypeEntry::User(t));
        }
        if let Some(&element) = self.array_types.get(&oid) {
            return Some(TypeEntry::ArrayOf(element));
        }
        self.row_types.get(&oid).and_then(|r| self.relations.get(r)).map(TypeEntry::Row)
    }

    /// A type by schema and catalog name (`int4`, `_int4`, `mood`, a table's name …).
    pub fn type_in(&self, schema: Oid, name: &str) -> Option<Oid> {
        if let Some(t) = pg_type::by_name(name).filter(|t| self.schema_of_builtin_type(t) == Some(schema)) {
            return Some(t.oid);
        }
        if let Some(oid) = self.type_names.get(schema, name) {
            return Some(oid);
        }
        if let Some(relation) = self.relation_in(schema, name).filter(|r| r.row_type != 0) {
            return Some(relation.row_type);
        }
        if let Some(oid) = self.array_names.get(schema, name) {
            return Some(oid);
        }
        let relation = self.relation_in(schema, name.strip_prefix('_')?)?;
        (relation.array_type != 0 && relation.array_name.is_none()).then_some(relation.array_type)
    }

    /// Whether a type has this name that does not make room for another one: any but an array type that came with its element type.
    pub fn type_name_taken(&self, schema: Oid, name: &str) -> bool {
        self.type_in(schema, name).is_some_and(|oid| !matches!(self.type_entry(oid), Some(TypeEntry::ArrayOf(_))))
    }

    /// A name that is free for the array type over the type `name`: `_name`, or `_name_1` and so on.
    pub fn free_array_name(&self, schema: Oid, name: &str) -> String {
        for n in 0u32.. {
            let suffix = if n == 0 { String::new() } else { format!("_{n}") };
            let mut kept = name.len().min(crate::parse::MAX_NAME - 1 - suffix.len());
            while !name.is_char_boundary(kept) {
                kept -= 1;
            }
            let found = format!("_{}{suffix}", &name[..kept]);
            if self.type_in(schema, &found).is_none() {
                return found;
            }
        }
        String::new()
    }

    /// The element type of an array type (built-in or of the user).
    pub fn element_type(&self, array: Oid) -> Option<Oid> {
        match self.type_entry(array)? {
            TypeEntry::Builtin(t) if t.is_array() => Some(t.elem),
            TypeEntry::ArrayOf(element) => Some(element),
            _ => None,
        }
    }

    /// The array type over a type; None if it has none.
    pub fn array_type(&self, element: Oid) -> Option<Oid> {
        match self.type_entry(element)? {
            TypeEntry::Builtin(t) => (t.array != 0).then_some(t.array),
            TypeEntry::User(t) => Some(t.array_oid),
            TypeEntry::Row(r) => (r.array_type != 0).then_some(r.array_type),
            TypeEntry::ArrayOf(_) => None,
        }
    }

    /// The fields of a composite type (name, type, type modifier); None for other types.
    pub fn composite_fields(&self, oid: Oid) -> Option<Vec<(String, Oid, i32)>> {
        match self.type_entry(self.base_type(oid))? {
            TypeEntry::Row(r) => Some(r.live_columns().map(|c| (c.name.clone(), c.type_oid, c.typmod)).collect()),
            TypeEntry::User(t) => match &t.kind {
                UserTypeKind::Composite { fields } => Some(fields.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the elements of an array type or the fields of a row type are values of domains, at any depth.
    pub fn holds_domains(&self, ty: Oid) -> bool {
        let of_domain = |t: Oid| self.base_type(t) != t || self.holds_domains(t);
        match self.element_type(ty) {
            Some(element) => of_domain(element),
            None => self.composite_fields(ty).is_some_and(|fields| fields.iter().any(|(_, t, _)| of_domain(*t))),
        }
    }

    /// The type modifier of a domain's values, -1 if none: its own or that of the domains below it.
    pub fn domain_typmod(&self, domain: Oid) -> i32 {
        match self.types.get(&domain).map(|t| &t.kind) {
            Some(UserTypeKind::Domain { base, typmod, .. }) if *typmod < 0 => self.domain_typmod(*base),
            Some(UserTypeKind::Domain { typmod, .. }) => *typmod,
            _ => pgsqlite_types::catalog::domain_typmod(domain),
        }
    }

    /// The default of a domain's values: its own or that of the domains below it.
    pub fn domain_default(&self, domain: Oid) -> Option<&String> {
        match self.types.get(&domain).map(|t| &t.kind) {
            Some(UserTypeKind::Domain { default, base, .. }) => default.as_ref().or_else(|| self.domain_default(*base)),
            _ => None,
        }
    }

    /// The range types that `ty` is the range or the multirange of (domains are not unwrapped).
    pub fn range_types(&self, ty: Oid) -> Option<RangeTypes> {
        if let Some(t) = RangeType::builtin(ty) {
            return Some(RangeTypes { range: t.oid, multirange: t.multirange, subtype: t.subtype });
        }
        let range = match &self.types.get(&ty)?.kind {
            UserTypeKind::Range(_) => ty,
            UserTypeKind::Multirange { range } => *range,
            _ => return None,
        };
        let definition = self.range_definition(range)?;
        Some(RangeTypes { range, multirange: definition.multirange, subtype: definition.subtype })
    }

    /// A type and all that its values may have inside: of arrays, ranges, domains and composite types.
    fn parts(&self, ty: Oid, seen: &mut BTreeSet<Oid>) {
        if !seen.insert(ty) {
            return;
        }
        if let Some(element) = self.element_type(ty) {
            self.parts(element, seen);
        } else if let Some(range) = self.range_types(ty) {
            self.parts(range.subtype, seen);
        } else if let Some(UserTypeKind::Domain { base, .. }) = self.types.get(&ty).map(|t| &t.kind) {
            self.parts(*base, seen);
        } else {
            self.composite_fields(ty).unwrap_or_default().iter().for_each(|f| self.parts(f.1, seen));
        }
    }

    /// Whether values of a type are, or may have inside, values of the type `inner`.
    pub fn holds_values_of(&self, ty: Oid, inner: Oid) -> bool {
        let mut parts = BTreeSet::new();
        self.parts(ty, &mut parts);
        parts.contains(&inner)
    }

    /// Whether values of a type are, or may have inside, values of a domain with constraints, which text and binary input of
    /// the outer type would not check.
    pub fn holds_constrained(&self, ty: Oid) -> bool {
        let mut parts = BTreeSet::new();
        self.parts(ty, &mut parts);
        parts.iter().any(|part| match self.types.get(part).map(|t| &t.kind) {
            Some(UserTypeKind::Domain { not_null, checks, .. }) => *not_null || !checks.is_empty(),
            _ => false,
        })
    }

    /// How a range type of the user was made.
    pub fn range_definition(&self, range: Oid) -> Option<&RangeDefinition> {
        match &self.types.get(&range)?.kind {
            UserTypeKind::Range(definition) => Some(definition),
            _ => None,
        }
    }

    /// The range type of the user that came with a function.
    pub fn range_of_constructor(&self, proc: Oid) -> Option<(&Arc<UserType>, &RangeDefinition)> {
        self.range_constructors.get(&proc)?;
        self.types.values().find_map(|t| match &t.kind {
            UserTypeKind::Range(d) if d.constructors().any(|(oid, _)| oid == proc) => Some((t, d)),
            _ => None,
        })
    }

    /// What the codecs need to know of a range type of the user.
    fn range_codec(&self, range: Oid, depth: usize) -> Option<Arc<RangeType>> {
        let definition = self.range_definition(range)?;
        Some(Arc::new(RangeType {
            oid: range,
            multirange: definition.multirange,
            subtype: definition.subtype,
            element: self.codec_within(definition.subtype, depth)?,
            discrete: false,
        }))
    }

    /// Domains unwrapped: the base type and the type modifier the innermost domain sets.
    pub fn base_type(&self, oid: Oid) -> Oid {
        match self.types.get(&oid).map(|t| &t.kind) {
            Some(UserTypeKind::Domain { base, .. }) => self.base_type(*base),
            _ => match pg_type::by_oid(oid) {
                Some(t) if t.kind == b'd' => self.base_type(t.base_type),
                _ => oid,
            },
        }
    }

    /// How values of the type are stored and travel; None: the type is not implemented (refuse with 0A000).
    pub fn codec(&self, oid: Oid) -> Option<TypeCodec> {
        self.codec_within(oid, 0)
    }

    /// As [`Catalog::codec`], for a type that is so many composite types deep inside of another.
    fn codec_within(&self, oid: Oid, depth: usize) -> Option<TypeCodec> {
        match self.type_entry(oid)? {
            TypeEntry::Builtin(t) if t.kind == b'd' => self.codec_within(t.base_type, depth),
            TypeEntry::Builtin(t) => TypeCodec::builtin(t.oid),
            TypeEntry::ArrayOf(element) => {
                Some(TypeCodec::Array(Box::new(self.codec_within(element, depth)?), element, b','))
            }
            TypeEntry::User(t) => match &t.kind {
                UserTypeKind::Enum { labels, added, .. } => Some(TypeCodec::Enum(Arc::new(EnumType {
                    oid: t.oid,
                    name: crate::quoting::quote_identifier(&t.name),
                    labels: labels.iter().map(|(l, _)| l.clone()).collect(),
                    unsafe_labels: labels.iter().filter(|(_, o)| added.contains(o)).map(|(l, _)| l.clone()).collect(),
                }))),
                UserTypeKind::Domain { base, .. } => self.codec_within(*base, depth),
                UserTypeKind::Composite { fields } => {
                    Some(self.composite_codec(&t.name, fields.iter().map(|f| (f.1, f.2)), depth))
                }
                UserTypeKind::Range(_) => self.range_codec(t.oid, depth).map(TypeCodec::Range),
                UserTypeKind::Multirange { range } => self.range_codec(*range, depth).map(TypeCodec::Multirange),
            },
            TypeEntry::Row(r) => {
                Some(self.composite_codec(&r.name, r.live_columns().map(|c| (c.type_oid, c.typmod)), depth))
            }
        }
    }

    /// The type modifier with which a field or column of the type `ty` and the modifier `typmod` is read: a domain's, or that of the
    /// domain of which an array's elements are, where it has none of its own.
    fn input_typmod(&self, ty: Oid, typmod: i32) -> i32 {
        match typmod {
            -1 => match self.domain_typmod(ty) {
                -1 => self.element_type(ty).map_or(-1, |element| self.domain_typmod(element)),
                own => own,
            },
            own => own,
        }
    }

    /// The codec of a composite type with these fields (type, type modifier).
    fn composite_codec(&self, name: &str, fields: impl Iterator<Item = (Oid, i32)>, depth: usize) -> TypeCodec {
        // A file may have a row type inside of itself; how deep values compare has an end then.
        const DEEPEST: usize = 4;
        let fields: Vec<(Oid, i32)> = fields.map(|(ty, typmod)| (ty, self.input_typmod(ty, typmod))).collect();
        let of_user = |ty: Oid| depth < DEEPEST && pg_type::by_oid(ty).is_none();
        let codecs = fields.iter().map(|f| of_user(f.0).then(|| self.codec_within(f.0, depth + 1)).flatten()).collect();
        TypeCodec::Composite(Arc::new(CompositeType { name: name.into(), fields, codecs }))
    }
}
