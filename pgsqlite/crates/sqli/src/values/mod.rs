//! Informix's types and how their values travel.
//!
//! * [`types`]: Informix types, what PostgreSQL type stores each, and how a column's Informix type is found again
//! * [`qualifier`]: `YEAR TO FRACTION(3)` and the like; [`base100`]: the numbers that DECIMAL, DATETIME and INTERVAL are made of
//! * [`encode`]: stored value → bytes of a row; [`bind`]: bound value → text that PostgreSQL's input functions take
//! * [`complex`]: collections and rows, and their literals; [`complex_bytes`]: their other forms
//! * [`codeset`]: the client's character set

pub mod base100;
pub mod bind;
pub mod codeset;
pub mod complex;
pub mod complex_bytes;
pub mod dates;
pub mod encode;
pub mod money;
pub mod qualifier;
pub mod types;
