// Written by gen/parse_nodes.py: do not edit.
//! Tags, and offsets in bytes, of the nodes that `c_tree` reads by hand (PostgreSQL's nodes/nodes.h, pg_list.h, value.h).

pub(super) const TAG_A_CONST: u32 = 72;
pub(super) const TAG_BITSTRING: u32 = 469;
pub(super) const TAG_BOOLEAN: u32 = 467;
pub(super) const TAG_FLOAT: u32 = 466;
pub(super) const TAG_INTEGER: u32 = 465;
pub(super) const TAG_LIST: u32 = 1;
pub(super) const TAG_STRING: u32 = 468;

pub(super) const LIST_LENGTH: usize = 4;
pub(super) const LIST_ELEMENTS: usize = 16;
pub(super) const INTEGER_IVAL: usize = 4;
pub(super) const FLOAT_FVAL: usize = 8;
pub(super) const BOOLEAN_BOOLVAL: usize = 4;
pub(super) const STRING_SVAL: usize = 8;
pub(super) const BITSTRING_BSVAL: usize = 8;
pub(super) const A_CONST_VAL: usize = 8;
pub(super) const A_CONST_ISNULL: usize = 24;
pub(super) const A_CONST_LOCATION: usize = 28;
