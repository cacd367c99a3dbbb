//! FROM, printed.

use super::query::{looks_like_call, JOIN, STD, VAR};
use super::{quote_identifier, Printer, Style};
use crate::typed::*;
use pgsqlite_types::{work, PgError, Result};

impl<'a> Printer<'a> {
    /// FROM, or USING of DELETE.
    pub(super) fn from_clause(
        &mut self,
        entries: &'a [RangeTableEntry],
        items: &'a [FromItem],
        word: &str,
    ) -> Result<()> {
        for (i, item) in items.iter().enumerate() {
            work::visit();
            if i == 0 {
                self.keyword(word, -STD, STD, 2);
            } else {
                self.out.push_str(", ");
                self.keyword("", -STD, STD, VAR);
            }
            self.from_item(entries, item)?;
        }
        Ok(())
    }

    fn from_item(&mut self, entries: &'a [RangeTableEntry], item: &'a FromItem) -> Result<()> {
        match item {
            FromItem::Entry(i) => self.entry(entries, *i),
            FromItem::Join { kind, left, right, on, using, using_alias, entry } => {
                let own = entry.and_then(|e| Some((e, entries.get(e)?)));
                let alias = own.filter(|(_, e)| e.has_alias);
                let parentheses = self.style == Style::Full || alias.is_some();
                if parentheses {
                    self.out.push('(');
                }
                self.from_item(entries, left)?;
                let word = match kind {
                    JoinKind::Inner if on.is_none() => " CROSS JOIN ",
                    JoinKind::Inner => " JOIN ",
                    JoinKind::Left => " LEFT JOIN ",
                    JoinKind::Right => " RIGHT JOIN ",
                    JoinKind::Full => " FULL JOIN ",
                    JoinKind::Cross => " CROSS JOIN ",
                };
                self.keyword(word, -STD, STD, JOIN);
                let named = |item: &FromItem| match item {
                    FromItem::Join { entry, .. } => entry.and_then(|e| entries.get(e)).is_some_and(|e| e.has_alias),
                    FromItem::Entry(_) => true,
                };
                let right_join = self.style == Style::Pretty && !named(right);
                if right_join {
                    self.out.push('(');
                }
                self.from_item(entries, right)?;
                if right_join {
                    self.out.push(')');
                }
                let names: Vec<String> = match (own, self.levels.last()) {
                    (Some((index, _)), Some(level)) => level
                        .columns
                        .get(index)
                        .map_or(vec![], |c| c.using.iter().map(|n| quote_identifier(n)).collect()),
                    _ => vec![],
                };
                if !using.is_empty() && !names.is_empty() {
                    self.out.push_str(&format!(" USING ({})", names.join(", ")));
                    if let Some(alias) = using_alias {
                        self.out.push_str(&format!(" AS {}", quote_identifier(alias)));
                    }
                } else if let Some(on) = on {
                    self.out.push_str(" ON ");
                    if self.style == Style::Full {
                        self.out.push('(');
                    }
                    self.expr(on, false)?;
                    if self.style == Style::Full {
                        self.out.push(')');
                    }
                } else if !matches!(kind, JoinKind::Inner | JoinKind::Cross) {
                    self.out.push_str(" ON TRUE");
                }
                if parentheses {
                    self.out.push(')');
                }
                if let Some((index, _)) = alias {
                    let name = self.levels.last().and_then(|l| l.aliases.get(index)).cloned().unwrap_or_default();
                    self.out.push_str(&format!(" {}", quote_identifier(&name)));
                    self.column_list(index);
                }
                Ok(())
            }
        }
    }

    /// The list of an entry's columns, where its text needs one.
    fn column_list(&mut self, index: usize) {
        let Some(columns) = self.levels.last().map(|l| l.columns.clone()) else { return };
        if let Some(own) = columns.get(index).filter(|c| c.listed) {
            let names: Vec<String> = own.shown.iter().map(|n| quote_identifier(n)).collect();
            self.out.push_str(&format!("({})", names.join(", ")));
        }
    }

    pub(super) fn entry(&mut self, entries: &'a [RangeTableEntry], index: usize) -> Result<()> {
        let entry = &entries[index];
        let alias = self.levels.last().and_then(|l| l.aliases.get(index)).cloned().unwrap_or_default();
        let mut show_alias = entry.has_alias;
        // a function's column definition list
        let mut definitions: Option<String> = None;
        match &entry.kind {
            RteKind::Relation(relation) => {
                let name = self.names.relation(relation.oid);
                if entry.only {
                    self.out.push_str("ONLY ");
                }
                self.out.push_str(&name);
                let now = self.names.catalog.relation(relation.oid).unwrap_or(relation);
                // The alias is needed, too, where it was made unique.
                show_alias |= alias != now.name;
            }
            RteKind::Subquery { query, lateral } => {
                if *lateral {
                    self.out.push_str("LATERAL ");
                }
                self.out.push('(');
                self.visible_query(query, true)?;
                self.out.push(')');
                show_alias = true;
            }
            RteKind::Cte { levels_up, index, .. } => {
                let at = self.levels.len().checked_sub(1 + levels_up);
                let name = at
                    .and_then(|a| self.levels[a].ctes.get(*index))
                    .map(|c| c.0.clone())
                    .ok_or_else(|| PgError::internal("no such WITH query"))?;
                self.out.push_str(&quote_identifier(&name));
                show_alias |= alias != name;
            }
            RteKind::Function { functions, ordinality, lateral } => {
                if *lateral {
                    self.out.push_str("LATERAL ");
                }
                // several plain unnest() are printed as one of several arrays
                let arrays: Option<Vec<&Expr>> = functions.iter().map(|f| unnested_array(&f.call)).collect();
                let arrays = arrays.filter(|a| a.len() > 1).unwrap_or_default();
                let several = functions.len() > 1;
                if several {
                    self.out.push_str(if arrays.is_empty() { "ROWS FROM(" } else { "UNNEST(" });
                }
                for (i, array) in arrays.iter().enumerate() {
                    work::visit();
                    if i > 0 {
                        self.out.push_str(", ");
                    }
                    self.expr(array, true)?;
                }
                let mut column = 0;
                for (i, f) in functions.iter().enumerate().filter(|_| arrays.is_empty()) {
                    work::visit();
                    if i > 0 {
                        self.out.push_str(", ");
                    }
                    let defined = defined_call(self.names.catalog, &f.call);
                    let call = defined.as_ref().unwrap_or(&f.call);
                    if looks_like_call(call) {
                        self.expr(call, true)?;
                    } else {
                        // the grammar takes no other expression here
                        self.out.push_str("CAST(");
                        self.expr(call, false)?;
                        self.out.push_str(&format!(" AS {})", self.names.type_name(call.ty, call.typmod)));
                    }
                    if defined.is_some() {
                        let columns: Vec<String> = entry.columns[column..column + f.width]
                            .iter()
                            .enumerate()
                            .map(|(i, c)| {
                                // one of several keeps the names of its list beside those of the alias
                                let own = f.defined_names.get(i).filter(|_| several).unwrap_or(&c.name);
                                format!("{} {}", quote_identifier(own), self.names.type_name(c.ty, c.typmod))
                            })
                            .collect();
                        let columns = format!("({})", columns.join(", "));
                        if several {
                            self.out.push_str(&format!(" AS {columns}"));
                        } else {
                            definitions = Some(columns);
                        }
                    }
                    column += f.width;
                }
                if several {
                    self.out.push(')');
                }
                if *ordinality {
                    self.out.push_str(" WITH ORDINALITY");
                }
                show_alias = true;
            }
            RteKind::Values { rows, .. } => {
                self.out.push_str("( ");
                self.values(rows)?;
                self.out.push(')');
                show_alias = true;
            }
            RteKind::Join { .. } | RteKind::Returned => {
                return Err(PgError::internal("a join, or a row of RETURNING, among the tables of FROM"));
            }
        }
        // a list of columns needs an alias before it
        show_alias |= self.levels.last().and_then(|l| l.columns.get(index)).is_some_and(|c| c.listed);
        if show_alias {
            self.out.push_str(&format!(" {}", quote_identifier(&alias)));
        }
        if let Some(definitions) = definitions {
            self.out.push_str(&definitions);
            return Ok(());
        }
        self.column_list(index);
        if let Some(sample) = &entry.sample {
            self.out.push_str(&format!(" TABLESAMPLE {} (", sample.method));
            self.expr(&sample.percent, false)?;
            self.out.push(')');
            if let Some(seed) = &sample.seed {
                self.out.push_str(" REPEATABLE (");
                self.expr(seed, false)?;
                self.out.push(')');
            }
        }
        Ok(())
    }
}

/// The argument of `unnest(anyarray)`.
fn unnested_array(call: &Expr) -> Option<&Expr> {
    const UNNEST: pgsqlite_types::Oid = 2331;
    match &call.kind {
        ExprKind::SetFunc { proc: UNNEST, args, .. } if args.len() == 1 => args.first(),
        _ => None,
    }
}

/// json_to_record and its like as they were written: without the definitions that analysis hands to them.
fn defined_call(catalog: &crate::catalog::Catalog, call: &Expr) -> Option<Expr> {
    let ExprKind::SetFunc { proc, args, variadic } = &call.kind else { return None };
    // (what the columns are stands behind the arguments)
    let given = match catalog.function(*proc) {
        Some(f) => f.inputs().count(),
        None => 1,
    };
    let takes = crate::analyze::JSON_TO_RECORD.contains(proc)
        || catalog.function(*proc).is_some_and(|f| f.returns == pgsqlite_types::oid::RECORD);
    if !takes || args.len() != given + 1 {
        return None;
    }
    let kind = ExprKind::SetFunc { proc: *proc, args: args[..given].to_vec(), variadic: *variadic };
    Some(Expr { kind, ..call.clone() })
}
