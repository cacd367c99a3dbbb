//! Objects by schema and name. A look-up makes no copy of the name.

use foldhash::HashMap;
use pgsqlite_types::Oid;

/// OIDs of objects by the schema that they are in and their name there.
#[derive(Debug, Clone, Default)]
pub(super) struct NamesInSchemas(HashMap<Oid, HashMap<String, Oid>>);

impl NamesInSchemas {
    /// The object of this name in a schema.
    pub fn get(&self, schema: Oid, name: &str) -> Option<Oid> {
        self.0.get(&schema)?.get(name).copied()
    }

    /// The name means this object from now on.
    pub fn insert(&mut self, schema: Oid, name: String, object: Oid) {
        self.0.entry(schema).or_default().insert(name, object);
    }

    /// The name means nothing from now on.
    pub fn remove(&mut self, schema: Oid, name: &str) {
        if let Some(names) = self.0.get_mut(&schema) {
            names.remove(name);
        }
    }
}
