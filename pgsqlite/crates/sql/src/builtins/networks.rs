//! Functions of network and hardware addresses.

use super::imp::{row, Imp, Row};
use Imp::{Inline, InlineAggregate, Native, Sql};

pub const ROWS: &[Row] = &[
    // under the collation of inet
    row("network_eq macaddr_eq macaddr8_eq", Inline("$1 = $2")),
    row("network_ne macaddr_ne macaddr8_ne", Inline("$1 <> $2")),
    row("network_lt macaddr_lt macaddr8_lt", Inline("$1 < $2")),
    row("network_le macaddr_le macaddr8_le", Inline("$1 <= $2")),
    row("network_gt macaddr_gt macaddr8_gt", Inline("$1 > $2")),
    row("network_ge macaddr_ge macaddr8_ge", Inline("$1 >= $2")),
    row("min(inet)", InlineAggregate("min($1)")),
    row("max(inet)", InlineAggregate("max($1)")),
    row(
        "network_cmp network_larger network_smaller network_sub network_subeq network_sup network_supeq network_overlap \
         inet_abbrev cidr_abbrev inet_set_masklen cidr_set_masklen network_network network_netmask network_masklen \
         network_broadcast network_host network_family network_show network_hostmask inet_to_cidr inetnot inetand \
         inetor inetpl inetmi_int8 inetmi inet_merge inet_same_family",
        Native,
    ),
    row("int8pl_inet(int8,inet)", Sql("$2 + $1")),
    row(
        "macaddr_cmp macaddr_trunc macaddr_not macaddr_and macaddr_or macaddrtomacaddr8 macaddr8_cmp macaddr8_trunc \
         macaddr8_not macaddr8_and macaddr8_or macaddr8tomacaddr macaddr8_set7bit",
        Native,
    ),
];
