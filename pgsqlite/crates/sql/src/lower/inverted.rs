//! Inverted indexes: GIN over full-text vectors, documents and arrays.
//!
//! An index with [`Index::inverted`] has beside its b-tree a table in the file, [`side_table`]: a row for each term of each value,
//! with the number of the value's row. SQLite's own triggers keep it (`objects/src/ddl/inverted.rs`), whoever writes. A condition
//! that such an index can serve (`v @@ query`, `doc @> …`, `array && …`) gets beside it the set of rows with one of the terms
//! that the condition needs: SQLite looks these up, and the condition itself decides. So the answer is the same without.

use super::{quote, rowid_name, support, Lowerer};
use crate::analyze::analyze_expression;
use crate::catalog::{Catalog, Index, KeyPart, Origin, Relation, RelationKind};
use crate::typed::{Expr, ExprKind, FromItem, JoinKind, Query, RteKind, Select};
use crate::volatility::is_repeatable;
use crate::walk;
use pgsqlite_types::inverted::{Kind, Strategy};
use pgsqlite_types::{oid, Oid, Result};

/// What the names of our tables of terms begin with.
pub const SIDE_TABLE: &str = "__pgsqlite_gin_";

/// Of a frequent term's rows no more are counted where one of several terms is to be chosen.
const MOST_COUNTED: u32 = 500;

/// The table of an index's terms.
pub fn side_table(index: Oid) -> String {
    format!("{SIDE_TABLE}{index}")
}

/// What an inverted index over values of this type keeps. None: such an index would be of no use.
pub fn kind_of(catalog: &Catalog, ty: Oid) -> Option<Kind> {
    match catalog.base_type(ty) {
        oid::TSVECTOR => Some(Kind::Vector),
        oid::JSONB => Some(Kind::Document),
        base => match catalog.element_type(base)? {
            oid::TEXT | oid::VARCHAR | oid::UUID => Some(Kind::Texts),
            oid::INT2 | oid::INT4 | oid::INT8 => Some(Kind::Numbers),
            _ => None,
        },
    }
}

/// The operators that an inverted index serves: OID → kind, strategy, and whether the indexed value stands on the right.
fn served(operator: Oid) -> Option<(&'static [Kind], Strategy, bool)> {
    const ARRAYS: &[Kind] = &[Kind::Texts, Kind::Numbers];
    Some(match operator {
        3636 | 3660 => (&[Kind::Vector], Strategy::Matches, false),
        3637 | 3661 => (&[Kind::Vector], Strategy::Matches, true),
        3246 => (&[Kind::Document], Strategy::Contains, false),
        3250 => (&[Kind::Document], Strategy::Contains, true),
        3247 => (&[Kind::Document], Strategy::HasKey, false),
        3248 => (&[Kind::Document], Strategy::HasAnyKey, false),
        3249 => (&[Kind::Document], Strategy::HasAllKeys, false),
        2750 => (ARRAYS, Strategy::Overlaps, false),
        2751 => (ARRAYS, Strategy::Contains, false),
        2752 => (ARRAYS, Strategy::Contains, true),
        _ => return None,
    })
}

/// Whether an outer join within `item` gives rows in which this entry's columns are NULL.
fn may_lack(item: &FromItem, rte: usize) -> bool {
    let FromItem::Join { kind, left, right, .. } = item else { return false };
    let (left_lacks, right_lacks) = match kind {
        JoinKind::Inner | JoinKind::Cross => (false, false),
        JoinKind::Left => (false, true),
        JoinKind::Right => (true, false),
        JoinKind::Full => (true, true),
    };
    left_lacks && has_entry(left, rte)
        || right_lacks && has_entry(right, rte)
        || may_lack(left, rte)
        || may_lack(right, rte)
}

fn has_entry(item: &FromItem, rte: usize) -> bool {
    match item {
        FromItem::Entry(entry) => *entry == rte,
        FromItem::Join { left, right, .. } => has_entry(left, rte) || has_entry(right, rte),
    }
}

impl Lowerer<'_> {
    /// Conditions that follow from the filter and that SQLite can look up, for each of its conjuncts that an index serves.
    pub(super) fn candidates(&mut self, filter: &Expr, select: &Select, query: &Query) -> Result<Vec<String>> {
        let conjuncts = match &filter.kind {
            ExprKind::And(list) => list.as_slice(),
            _ => std::slice::from_ref(filter),
        };
        let mut out = Vec::new();
        for conjunct in conjuncts {
            out.extend(self.candidates_of(conjunct, select, query)?);
        }
        Ok(out)
    }

    fn candidates_of(&mut self, conjunct: &Expr, select: &Select, query: &Query) -> Result<Option<String>> {
        let ExprKind::Op { op, args } = &conjunct.kind else { return Ok(None) };
        let (Some((kinds, strategy, swapped)), [left, right]) = (served(op.oid), &args[..]) else { return Ok(None) };
        let (value, asked) = if swapped { (right, left) } else { (left, right) };
        let Some(kind) = kind_of(self.env.catalog, value.ty).filter(|k| kinds.contains(k)) else { return Ok(None) };
        // what is asked for must be known before a row is read
        let mut known = true;
        let mut of = None;
        walk::deep(asked, 0, &mut |depth, e| match &e.kind {
            ExprKind::Var(v) if v.levels_up == depth => known = false,
            ExprKind::WholeRow { levels_up, .. } if *levels_up == depth => known = false,
            _ => {}
        });
        let mut one = true;
        walk::deep(value, 0, &mut |depth, e| match &e.kind {
            ExprKind::Var(v) if v.levels_up == depth => {
                one &= of.is_none_or(|rte| rte == v.rte);
                of = Some(v.rte);
            }
            ExprKind::WholeRow { levels_up, .. } if *levels_up == depth => one = false,
            _ => {}
        });
        let (true, true, Some(rte)) = (known, one, of) else { return Ok(None) };
        if !is_repeatable(asked) {
            return Ok(None);
        }
        // a row of NULLs for want of a partner has no number, but an expression over it can have a value that satisfies
        if !matches!(value.kind, ExprKind::Var(_)) && select.from.iter().any(|item| may_lack(item, rte)) {
            return Ok(None);
        }
        let Some(entry) = query.range_table.get(rte) else { return Ok(None) };
        let RteKind::Relation(relation) = &entry.kind else { return Ok(None) };
        if relation.kind != RelationKind::Table
            || relation.temporary
            || relation.without_rowid
            || relation.origin == Origin::Foreign
            || entry.sample.is_some()
            || self.stands_for_several(entry, relation)
        {
            return Ok(None);
        }
        let relation = relation.clone();
        let Some(index) = self.inverted_index(&relation, value, rte) else { return Ok(None) };
        // behind the columns of a table's entry stands the number of its row
        let number = self.scope().entries.get(rte).and_then(|e| e.get(relation.live_columns().count())).cloned();
        let (Some(number), Ok(own_number)) = (number, rowid_name(&relation)) else { return Ok(None) };
        let asked = self.expr(asked)?;
        let covers = format!("{}('{}', '{}', {asked})", support::COVERS, kind.name(), strategy.name());
        let side = quote(&side_table(index));
        let [chosen, all, one, seen, exact, range, ranged, any] =
            ["w", "j", "j", "t", "t", "j", "t", "t"].map(|letter| self.unique(letter));
        // Of several covers the one is taken that the fewest terms in the index are of. Without any, all rows are candidates.
        Ok(Some(format!(
            "{number} IN (WITH {chosen}(c) AS MATERIALIZED (SELECT {all}.value FROM json_each({covers}) AS {all} ORDER BY \
             (SELECT count(*) FROM (SELECT 1 FROM json_each({all}.value, '$.exact') AS {one} \
             CROSS JOIN main.{side} AS {seen} ON {seen}.term = {one}.value LIMIT {MOST_COUNTED})) \
             + {MOST_COUNTED} * json_array_length({all}.value, '$.ranges') LIMIT 1) \
             SELECT {exact}.number FROM main.{side} AS {exact} \
             WHERE {exact}.term IN (SELECT value FROM json_each((SELECT c FROM {chosen}), '$.exact')) \
             UNION ALL SELECT {ranged}.number FROM json_each((SELECT c FROM {chosen}), '$.ranges') AS {range} \
             CROSS JOIN main.{side} AS {ranged} ON {ranged}.term >= json_extract({range}.value, '$[0]') \
             AND {ranged}.term < json_extract({range}.value, '$[1]') \
             UNION ALL SELECT {any}.{} FROM {} AS {any} WHERE NOT EXISTS (SELECT 1 FROM {chosen}))",
            own_number,
            self.read_table(&relation),
        )))
    }

    /// An inverted index of the table whose key is this value of its entry.
    fn inverted_index(&self, relation: &Relation, value: &Expr, rte: usize) -> Option<Oid> {
        self.index_of_value(relation, value, rte, &|index| index.method == "gin")
    }

    /// An index with tables of ours, of the kind that is `wanted`, whose key is this value of the table's entry.
    pub(super) fn index_of_value(
        &self,
        relation: &Relation,
        value: &Expr,
        rte: usize,
        wanted: &dyn Fn(&Index) -> bool,
    ) -> Option<Oid> {
        // the value as if the table were alone in FROM
        let alone = walk::map(value, &mut |e| match &e.kind {
            ExprKind::Var(v) if v.rte == rte && v.levels_up == 0 => {
                Some(Expr { kind: ExprKind::Var(crate::typed::Var { rte: 0, ..*v }), ..e.clone() })
            }
            _ => None,
        });
        let is_key = |index: &Index| match &index.columns.first().map(|c| &c.key) {
            Some(KeyPart::Column(attnum)) => match &alone.kind {
                ExprKind::Var(v) => relation.live_columns().nth(v.column).is_some_and(|c| c.attnum == *attnum),
                _ => false,
            },
            Some(KeyPart::Expression(text)) => {
                let environment = crate::analyze::Environment {
                    search_path: crate::names::STORED_PATH,
                    user: crate::catalog::BOOTSTRAP_ROLE,
                    rights: crate::analyze::Rights::AskedNow,
                    ..*self.env
                };
                analyze_expression(&environment, text, Some(relation), None).is_ok_and(|key| key == alone)
            }
            None => false,
        };
        self.env
            .catalog
            .indexes_of(relation.oid)
            .find(|(_, index)| index.inverted && wanted(index) && is_key(index))
            .map(|(relation, _)| relation.oid)
    }
}
