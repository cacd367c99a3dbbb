//! The objects of a database: [`ddl`] carries out the statements that define, change and drop them, [`pg_catalog`] makes the rows that show them,
//! and [`vtab`] has SQLite read those rows as tables. [`exclusion_violation`] has the errors of EXCLUDE constraints.

pub mod ddl;
pub mod exclusion_violation;
mod function_references;
pub mod pg_catalog;
pub mod vtab;
