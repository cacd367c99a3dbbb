//! Table inheritance and partitioning as the catalog has them: who inherits from whom (`pg_inherits`), by what a table is
//! partitioned (`pg_partitioned_table`) and what a partition holds (`pg_class.relpartbound`).
//!
//! In the file a child is a table of its own, and so is each partition. The parent of partitions is a table without rows.

use crate::catalog::{Catalog, KeyPart, Relation};
use pgsqlite_types::work;
use pgsqlite_types::Oid;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where a column or a constraint of a child comes from: `attinhcount` and `attislocal`, `coninhcount` and `conislocal`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Inherited {
    /// how many parents have it
    pub count: u16,
    /// it was not defined for the table itself
    #[serde(default)]
    pub merely: bool,
    /// the key, foreign key of the partitioned table that it belongs to (`conparentid`); 0: none
    #[serde(default)]
    pub parent: Oid,
}

impl Inherited {
    /// It comes from one parent alone.
    pub const ONCE: Inherited = Inherited { count: 1, merely: true, parent: 0 };

    pub fn is_none(&self) -> bool {
        *self == Inherited::default()
    }

    /// A parent has it no longer. True: nothing keeps it, so it goes from the child, too. `only`: the parent alone loses it, and it
    /// becomes the child's own.
    pub fn lose_parent(&mut self, only: bool) -> bool {
        if !only && self.count == 1 && self.merely {
            return true;
        }
        self.count -= 1;
        self.merely &= !only;
        false
    }
}

/// A relation's place among others: tables and their children, partitions, and the indexes of both.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Inheritance {
    /// in the order of `inhseqno`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<Oid>,
    /// PARTITION BY
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PartitionKey>,
    /// FOR VALUES …: the relation is a partition of its parent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<PartitionBound>,
    /// DETACH PARTITION … CONCURRENTLY has begun and not ended: for its parent the partition is none any more
    #[serde(default, skip_serializing_if = "is_false")]
    pub detaching: bool,
    /// OF: the composite type that the columns are those of; 0: none
    #[serde(default, skip_serializing_if = "is_none")]
    pub of_type: Oid,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_none(oid: &Oid) -> bool {
    *oid == 0
}

impl Inheritance {
    pub fn is_default(&self) -> bool {
        *self == Inheritance::default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartitionStrategy {
    List,
    Range,
    Hash,
}

impl PartitionStrategy {
    /// `pg_partitioned_table.partstrat`
    pub fn letter(self) -> u8 {
        match self {
            PartitionStrategy::List => b'l',
            PartitionStrategy::Range => b'r',
            PartitionStrategy::Hash => b'h',
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            PartitionStrategy::List => "LIST",
            PartitionStrategy::Range => "RANGE",
            PartitionStrategy::Hash => "HASH",
        }
    }
}

/// A column of a partition key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartitionKeyColumn {
    pub part: KeyPart,
    pub type_oid: Oid,
    pub typmod: i32,
    #[serde(default)]
    pub collation: Oid,
    pub opclass: Oid,
}

/// PARTITION BY of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartitionKey {
    pub strategy: PartitionStrategy,
    pub columns: Vec<PartitionKeyColumn>,
}

/// A value in the bound of a range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RangeDatum {
    MinValue,
    /// as the type's output function writes it
    Value(String),
    MaxValue,
}

/// What a partition holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartitionBound {
    Default,
    /// the values as the type's output function writes them; None: NULL
    List(Vec<Option<String>>),
    /// from the first (inclusive) to the second (exclusive)
    Range {
        from: Vec<RangeDatum>,
        to: Vec<RangeDatum>,
    },
    Hash {
        modulus: i32,
        remainder: i32,
    },
}

impl Relation {
    pub fn is_partitioned(&self) -> bool {
        self.inheritance.key.is_some()
    }

    pub fn is_partition(&self) -> bool {
        self.inheritance.bound.is_some()
    }
}

impl Catalog {
    /// The tables that inherit from a table directly, or its partitions, by OID.
    pub fn children(&self, table: Oid) -> &[Oid] {
        self.children.get(&table).map_or(&[], |c| &c[..])
    }

    /// The partitions that are being detached from a table. (They are not among its children.)
    pub fn detaching(&self, table: Oid) -> impl Iterator<Item = &Arc<Relation>> {
        let of_table = move |r: &&Arc<Relation>| r.inheritance.detaching && r.inheritance.parents.contains(&table);
        self.relations.values().filter(of_table)
    }

    pub fn has_children(&self, table: Oid) -> bool {
        self.children.contains_key(&table)
    }

    /// Whether a statement that names the table without ONLY means other tables, too.
    pub fn stands_for_several(&self, table: &Relation) -> bool {
        table.is_partitioned() || self.has_children(table.oid)
    }

    /// A table and, if it is partitioned, its partitions and theirs.
    pub fn with_partitions(&self, table: &Relation) -> Vec<Oid> {
        match table.is_partitioned() {
            true => self.with_descendants(table.oid),
            false => vec![table.oid],
        }
    }

    /// A table and all that inherit from it, each once, nearer ones first.
    pub fn with_descendants(&self, table: Oid) -> Vec<Oid> {
        let mut all = vec![table];
        let mut at = 0;
        while at < all.len() {
            work::visit();
            for child in self.children(all[at]) {
                work::visit();
                if !all.contains(child) {
                    all.push(*child);
                }
            }
            at += 1;
        }
        all
    }

    /// The tables whose rows a statement means that names the table without ONLY: itself and its descendants, but
    /// partitioned tables, which have no rows.
    pub fn tables_with_rows(&self, table: Oid) -> Vec<Arc<Relation>> {
        let all = self.with_descendants(table);
        all.iter().filter_map(|oid| self.relation(*oid)).filter(|r| !r.is_partitioned()).cloned().collect()
    }

    /// The tables that a table inherits from, near and far.
    pub fn ancestors(&self, table: Oid) -> Vec<Oid> {
        let mut all: Vec<Oid> = Vec::new();
        let mut open = vec![table];
        while let Some(oid) = open.pop() {
            work::visit();
            for parent in self.relation(oid).map_or(&[][..], |r| &r.inheritance.parents[..]) {
                work::visit();
                if !all.contains(parent) {
                    all.push(*parent);
                    open.push(*parent);
                }
            }
        }
        all
    }

    /// The partitions of a table, the DEFAULT one last.
    pub fn partitions(&self, table: Oid) -> Vec<&Arc<Relation>> {
        let mut all: Vec<&Arc<Relation>> =
            self.children(table).iter().filter_map(|oid| self.relation(*oid)).filter(|r| r.is_partition()).collect();
        all.sort_by_key(|r| (r.inheritance.bound == Some(PartitionBound::Default), r.oid));
        all
    }
}
