//! Network addresses: [`inet`] has `inet` and `cidr`, [`mac`] has `macaddr` and `macaddr8`. All are stored as TEXT, as they
//! print; hardware addresses sort as texts do, the others under the collation `pg_inet`.

pub mod inet;
pub mod mac;
