//! The texts of a table's columns. A virtual column has its expression in its place.

use super::{quote, rowid_name, support, Lowerer};
use crate::catalog::{Column, Relation, RelationKind};
use pgsqlite_types::Result;

impl Lowerer<'_> {
    /// The texts of the target's columns, under a prefix (`"t".`, `excluded.` or none).
    pub(super) fn target_columns(&mut self, relation: &Relation, prefix: &str) -> Result<Vec<String>> {
        let text = |c: &Column| self.column_text(relation, c, [prefix, &quote(&c.name)].concat());
        let mut texts: Vec<String> = relation.live_columns().map(text).collect();
        self.compute_virtual(relation, &mut texts, None)?;
        Ok(texts)
    }

    /// The texts of a table's entry: its columns, and behind them the hidden ones that analysis may have
    /// added: ctid, xmax and tableoid.
    pub(super) fn entry_columns(&mut self, relation: &Relation, prefix: &str) -> Result<Vec<String>> {
        let mut texts = self.target_columns(relation, prefix)?;
        if let (true, false, Ok(rowid)) = (relation.is_stored(), relation.without_rowid, rowid_name(relation)) {
            texts.push([prefix, &rowid].concat());
            texts.push([support::XMAX, "()"].concat());
            texts.push(relation.oid.to_string());
        }
        if relation.kind == RelationKind::System {
            let later = crate::builtins::catalog::later_columns(relation.oid);
            texts.extend(later.iter().map(|c| [prefix, &quote(c.1)].concat()));
        }
        Ok(texts)
    }

    /// Gives the virtual columns of a row their texts. `texts`: those of its live columns; `present`: what is NULL where an outer join
    /// found no row.
    pub(super) fn compute_virtual(
        &mut self,
        relation: &Relation,
        texts: &mut [String],
        present: Option<&str>,
    ) -> Result<()> {
        for (i, column) in relation.live_columns().enumerate().filter(|(_, c)| c.is_virtual) {
            texts[i] = "NULL".into();
            let mut value = self.generated_value(relation, column, texts)?;
            if let Some(present) = present {
                value = format!("CASE WHEN {present} IS NOT NULL THEN {value} END");
            }
            texts[i] = match self.collation_in(column.type_oid, column.collation) {
                Some(collation) => format!("({value} COLLATE {collation})"),
                None if value.contains(super::expr::COLLATE) => format!("({value} COLLATE BINARY)"),
                None => format!("({value})"),
            };
        }
        Ok(())
    }
}
