//! The functions that give values in binary form, as the protocol sends them.

use super::imp::{row, Imp, Row};

/// Their names: crate `engine` registers one function for all of them.
pub const NAMES: &str =
    "array_send bit_send boolsend box_send bpcharsend byteasend cash_send charsend cidr_send cidsend circle_send \
     date_send enum_send float4send float8send inet_send int2send int2vectorsend int4send int8send interval_send \
     json_send jsonb_send jsonpath_send line_send lseg_send macaddr8_send macaddr_send multirange_send namesend \
     numeric_send oidsend oidvectorsend path_send pg_lsn_send pg_snapshot_send point_send poly_send range_send \
     record_send regclasssend regcollationsend regconfigsend regdictionarysend regnamespacesend regoperatorsend \
     regopersend regproceduresend regprocsend regrolesend regtypesend textsend tidsend time_send timestamp_send \
     timestamptz_send timetz_send tsquerysend tsvectorsend unknownsend uuid_send varbit_send varcharsend xid8send \
     xidsend vector_send halfvec_send sparsevec_send";

pub const ROWS: &[Row] = &[row(NAMES, Imp::NativeTyped)];
