//! Native functions about what the system catalogs show.

pub(crate) mod catalogs;
pub(crate) mod input;
pub(crate) mod objects;
pub(crate) mod privileges;
pub(crate) mod recovery;
pub(crate) mod routines;
pub(crate) mod server;
pub(crate) mod sizes;
pub(crate) mod system;

pub(crate) use objects::bare_type_name;

use pgsqlite_natives::udf::shim::Scalar;

/// The functions of all areas, by PostgreSQL's names for them.
pub const SCALARS: &[&[(&str, Scalar)]] = &[
    system::FUNCTIONS,
    catalogs::FUNCTIONS,
    server::FUNCTIONS,
    recovery::FUNCTIONS,
    sizes::FUNCTIONS,
    privileges::FUNCTIONS,
    input::FUNCTIONS,
    objects::FUNCTIONS,
    routines::FUNCTIONS,
];
