//! Window functions and windows.

use super::{Analyzer, Clause};
use crate::builtins::catalog::CastContext;
use crate::parse::{ast, NodeEnum};
use crate::typed::{Aggregate, Expr, ExprKind, Frame, FrameBound, FrameExclusion, FrameMode, Window};
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

/// Bits of WindowDef.frame_options (PostgreSQL's parsenodes.h).
mod frame_option {
    pub const NONDEFAULT: i32 = 0x1;
    pub const RANGE: i32 = 0x2;
    pub const ROWS: i32 = 0x4;
    pub const GROUPS: i32 = 0x8;
    pub const START_UNBOUNDED_PRECEDING: i32 = 0x20;
    pub const END_UNBOUNDED_FOLLOWING: i32 = 0x100;
    pub const START_CURRENT_ROW: i32 = 0x200;
    pub const END_CURRENT_ROW: i32 = 0x400;
    pub const START_PRECEDING: i32 = 0x800;
    pub const END_PRECEDING: i32 = 0x1000;
    pub const START_FOLLOWING: i32 = 0x2000;
    pub const END_FOLLOWING: i32 = 0x4000;
    pub const EXCLUDE_CURRENT_ROW: i32 = 0x8000;
    pub const EXCLUDE_GROUP: i32 = 0x10000;
    pub const EXCLUDE_TIES: i32 = 0x20000;
}

impl<'a> Analyzer<'a> {
    pub(super) fn window_call(
        &mut self,
        over: &ast::WindowDef,
        call: Aggregate,
        ret: Oid,
        location: i32,
    ) -> Result<Expr> {
        let clause = self.level().clause;
        if !matches!(clause, Clause::SelectTarget | Clause::OrderBy) {
            return Err(PgError::new(
                SqlState::WINDOWING_ERROR,
                format!("window functions are not allowed in {}", clause.name()),
            )
            .at(location));
        }
        if call.args.iter().any(crate::walk::contains_window) {
            return Err(PgError::new(SqlState::WINDOWING_ERROR, "window function calls cannot be nested").at(location));
        }
        let window = self.window_reference(over)?;
        Ok(Expr::new(ExprKind::Window { call: Box::new(call), window }, ret, location))
    }

    /// OVER name, OVER (…): the index in the query's windows.
    fn window_reference(&mut self, over: &ast::WindowDef) -> Result<usize> {
        if !over.name.is_empty() {
            return self.level().windows.iter().position(|w| w.name.as_deref() == Some(&over.name)).ok_or_else(|| {
                PgError::new(SqlState::UNDEFINED_OBJECT, format!("window \"{}\" does not exist", over.name))
                    .at(over.location)
            });
        }
        let window = self.window_definition(over)?;
        if let Some(i) = self.level().windows.iter().position(|w| *w == window) {
            return Ok(i);
        }
        self.level().windows.push(window);
        Ok(self.level().windows.len() - 1)
    }

    /// A window specification; one that names another copies its partition and order.
    pub(crate) fn window_definition(&mut self, def: &ast::WindowDef) -> Result<Window> {
        let saved = std::mem::replace(&mut self.level().clause, Clause::Window);
        let result = self.window_definition_inner(def);
        self.level().clause = saved;
        result
    }

    fn window_definition_inner(&mut self, def: &ast::WindowDef) -> Result<Window> {
        let mut window = Window::default();
        if !def.refname.is_empty() {
            let base =
                self.level().windows.iter().find(|w| w.name.as_deref() == Some(&def.refname)).cloned().ok_or_else(
                    || {
                        PgError::new(SqlState::UNDEFINED_OBJECT, format!("window \"{}\" does not exist", def.refname))
                            .at(def.location)
                    },
                )?;
            if !def.partition_clause.is_empty() {
                return Err(PgError::new(
                    SqlState::WINDOWING_ERROR,
                    format!("cannot override PARTITION BY clause of window \"{}\"", def.refname),
                )
                .at(def.location));
            }
            if !def.order_clause.is_empty() && !base.order_by.is_empty() {
                return Err(PgError::new(
                    SqlState::WINDOWING_ERROR,
                    format!("cannot override ORDER BY clause of window \"{}\"", def.refname),
                )
                .at(def.location));
            }
            if base.frame.is_some() {
                return Err(PgError::new(
                    SqlState::WINDOWING_ERROR,
                    format!("cannot copy window \"{}\" because it has a frame clause", def.refname),
                )
                .at(def.location));
            }
            window.partition_by = base.partition_by;
            window.order_by = base.order_by;
        }
        for node in &def.partition_clause {
            let expr = self.expr(node)?;
            let expr = self.resolve_unknown(expr)?;
            self.check_comparable(expr.ty, expr.location)?;
            window.partition_by.push(expr);
        }
        for node in &def.order_clause {
            let Some(NodeEnum::SortBy(sort)) = &node.node else { return Err(PgError::internal("SortBy expected")) };
            let expr = self.expr_opt(sort.node.as_deref())?;
            let expr = self.resolve_unknown(expr)?;
            let key = self.sort_key(expr, sort, None)?;
            window.order_by.push(key);
        }
        let options = def.frame_options;
        if options & frame_option::NONDEFAULT != 0 {
            let mode = if options & frame_option::ROWS != 0 {
                FrameMode::Rows
            } else if options & frame_option::GROUPS != 0 {
                FrameMode::Groups
            } else {
                debug_assert!(options & frame_option::RANGE != 0);
                FrameMode::Range
            };
            if mode == FrameMode::Groups && window.order_by.is_empty() {
                return Err(
                    PgError::new(SqlState::WINDOWING_ERROR, "GROUPS mode requires an ORDER BY clause").at(def.location)
                );
            }
            let start_offset = self.frame_offset(def.start_offset.as_deref(), mode, &window, def.location)?;
            let end_offset = self.frame_offset(def.end_offset.as_deref(), mode, &window, def.location)?;
            let missing = || PgError::internal("frame bound without offset");
            let start = if options & frame_option::START_UNBOUNDED_PRECEDING != 0 {
                FrameBound::UnboundedPreceding
            } else if options & frame_option::START_CURRENT_ROW != 0 {
                FrameBound::CurrentRow
            } else if options & frame_option::START_PRECEDING != 0 {
                FrameBound::Preceding(start_offset.ok_or_else(missing)?)
            } else if options & frame_option::START_FOLLOWING != 0 {
                FrameBound::Following(start_offset.ok_or_else(missing)?)
            } else {
                return Err(PgError::internal("frame start"));
            };
            let end = if options & frame_option::END_UNBOUNDED_FOLLOWING != 0 {
                FrameBound::UnboundedFollowing
            } else if options & frame_option::END_CURRENT_ROW != 0 {
                FrameBound::CurrentRow
            } else if options & frame_option::END_PRECEDING != 0 {
                FrameBound::Preceding(end_offset.ok_or_else(missing)?)
            } else if options & frame_option::END_FOLLOWING != 0 {
                FrameBound::Following(end_offset.ok_or_else(missing)?)
            } else {
                return Err(PgError::internal("frame end"));
            };
            let exclusion = if options & frame_option::EXCLUDE_CURRENT_ROW != 0 {
                FrameExclusion::CurrentRow
            } else if options & frame_option::EXCLUDE_GROUP != 0 {
                FrameExclusion::Group
            } else if options & frame_option::EXCLUDE_TIES != 0 {
                FrameExclusion::Ties
            } else {
                FrameExclusion::NoOthers
            };
            window.frame = Some(Frame { mode, start, end, exclusion });
        }
        Ok(window)
    }

    fn frame_offset(
        &mut self,
        node: Option<&ast::Node>,
        mode: FrameMode,
        window: &Window,
        definition: i32,
    ) -> Result<Option<Expr>> {
        let Some(node) = node else { return Ok(None) };
        let expr = self.expr(node)?;
        let location = expr.location;
        let what = match mode {
            FrameMode::Rows => "ROWS",
            FrameMode::Groups => "GROUPS",
            FrameMode::Range => "RANGE",
        };
        let own = |k: &ExprKind| matches!(k, ExprKind::Var(v) if v.levels_up == 0);
        if let Some(var) = crate::walk::find(std::slice::from_ref(&expr), own) {
            return Err(PgError::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                format!("argument of {what} must not contain variables"),
            )
            .at(var.location));
        }
        if mode != FrameMode::Range {
            return self.coerce_to_bigint(expr, what).map(Some);
        }
        let [key] = &window.order_by[..] else {
            return Err(PgError::new(
                SqlState::WINDOWING_ERROR,
                "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
            )
            .at(definition));
        };
        let (key_type, given) = (self.base_type(key.expr.ty), expr.ty);
        let wanted = match key_type {
            oid::INT2 | oid::INT4 | oid::INT8 => oid::INT8,
            oid::FLOAT8 | oid::FLOAT4 => oid::FLOAT8,
            oid::NUMERIC => oid::NUMERIC,
            oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ | oid::TIME | oid::TIMETZ | oid::INTERVAL => oid::INTERVAL,
            other => {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!(
                        "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {}",
                        self.type_display(other)
                    ),
                )
                .at(location))
            }
        };
        if !self.can_coerce(given, wanted, CastContext::Implicit) {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!(
                    "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {} and offset type {}",
                    self.type_display(key_type),
                    self.type_display(given)
                ),
            )
            .hint("Cast the offset value to an appropriate type.")
            .at(location));
        }
        // (one without a type has that of an integer column)
        let expr = match (given, key_type) {
            (oid::UNKNOWN, oid::INT2 | oid::INT4) => self.coerce_implicit(expr, key_type)?,
            _ => expr,
        };
        Ok(Some(self.coerce_implicit(expr, wanted)?))
    }
}
