//! Window functions, windows and their frames.

use super::connectives::waits;
use super::expr::direction;
use super::{support, Lowerer};
use crate::builtins::catalog as builtin;
use crate::typed::{Aggregate, Expr, ExprKind, Frame, FrameBound, FrameExclusion, FrameMode, Window};
use crate::volatility;
use crate::walk;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result};

impl Lowerer<'_> {
    pub(super) fn window_call(&mut self, call: &Aggregate, window: &Window, whole: &Expr) -> Result<String> {
        if let (Some("window_ntile"), [Expr { kind: ExprKind::Const(Datum::Null), .. }]) =
            (builtin::proc_by_oid(call.proc).and_then(|p| p.src), &call.args[..])
        {
            // (SQLite takes a number only; the rows come in the window's order all the same)
            return Ok(format!("(row_number(){} + NULL)", self.over(window)?));
        }
        if let Some(value) = self.of_place_or_null(call, window, whole)? {
            return Ok(value);
        }
        let guarded = guarded_arguments(call);
        let call = guarded.as_ref().unwrap_or(call);
        // (SQLite computes the filter as a value, with the rows that the window is over)
        let filter = match &call.filter {
            Some(filter) => format!(" FILTER (WHERE {})", self.expr(filter)?),
            None => String::new(),
        };
        let over = self.over(window)?;
        if self.env.catalog.function(call.proc).is_some_and(|f| f.aggregate.is_some())
            && self.stands_for(call.proc, whole)? == call.proc
        {
            let frame = self.moving_frame(call, window);
            return self.user_aggregate(call, whole, frame, &format!("{filter}{over}"));
        }
        // (a frame that loses rows is sorted by the collation, which has to be an order)
        let grows = window
            .frame
            .as_ref()
            .is_none_or(|f| f.start == FrameBound::UnboundedPreceding && f.exclusion == FrameExclusion::NoOthers);
        if let (true, Some(text)) = (grows, self.last_extreme(call)?) {
            return Ok(text + &filter + &over);
        }
        Ok(self.aggregate_core(call, whole)? + &filter + &over)
    }

    /// How the frame of an aggregate of the user moves, as PostgreSQL decides it (see [`support::AGGREGATE`]).
    fn moving_frame(&self, call: &Aggregate, window: &Window) -> u8 {
        let head_moves = match &window.frame {
            Some(frame) => frame.start != FrameBound::UnboundedPreceding,
            None => false,
        };
        let Some(aggregate) = self.env.catalog.aggregate(call.proc) else { return b'f' };
        let fixed = if head_moves { b'm' } else { b'f' };
        let Some(moving) = &aggregate.moving else { return fixed };
        if moving.finish_modify == b'r' && aggregate.plain.finish_modify != b'r' {
            return b'i';
        }
        let by_itself = |e: &Expr| {
            let mut volatile = false;
            walk::deep(e, 0, &mut |_, e| {
                volatile |= matches!(e.kind, ExprKind::SubLink { .. }) || volatility::is_volatile(self.env.catalog, e)
            });
            volatile
        };
        if !head_moves || call.args.iter().chain(&call.filter).any(by_itself) {
            return fixed;
        }
        b'i'
    }

    /// ` OVER (…)`
    pub(super) fn over(&mut self, window: &Window) -> Result<String> {
        let mut spec = Vec::new();
        if !window.partition_by.is_empty() {
            let mut keys = Vec::new();
            for key in &window.partition_by {
                keys.push(self.collated(key)?);
            }
            spec.push(format!("PARTITION BY {}", keys.join(", ")));
        }
        // SQLite's RANGE adds the offset to a number: other types are counted in microseconds or millionths
        let counted = match (&window.frame, &window.order_by[..]) {
            (Some(Frame { mode: FrameMode::Range, start, end, .. }), [key]) if has_offset(start) || has_offset(end) => {
                let ty = self.env.catalog.base_type(key.expr.ty);
                let number = matches!(ty, oid::INT2 | oid::INT4 | oid::INT8 | oid::FLOAT4 | oid::FLOAT8);
                (!number).then_some((ty, key))
            }
            _ => None,
        };
        if let Some((ty, key)) = counted {
            let value = self.expr(&key.expr)?;
            spec.push(format!("ORDER BY {}({ty}, {value}){}", support::RANGE_KEY, direction(key)));
        } else if !window.order_by.is_empty() {
            spec.push(format!("ORDER BY {}", self.sort_keys(&window.order_by)?));
        }
        if let Some(frame) = &window.frame {
            spec.push(self.frame(frame, counted.map(|(ty, _)| ty))?);
        }
        Ok(format!(" OVER ({})", spec.join(" ")))
    }

    /// `ntile` and `nth_value` of a number that may be NULL: NULL then, where SQLite reports an error.
    fn of_place_or_null(&mut self, call: &Aggregate, window: &Window, whole: &Expr) -> Result<Option<String>> {
        let place = match (builtin::proc_by_oid(call.proc).and_then(|p| p.src), &call.args[..]) {
            // (SQLite reads it at the first row alone)
            (Some("window_ntile"), [n]) if !walk::any(n, &|e| matches!(e.kind, ExprKind::Var(_))) => n,
            (Some("window_nth_value"), [_, n]) => n,
            _ => return Ok(None),
        };
        let is_told = |e: &Expr| matches!(e.kind, ExprKind::Const(Datum::Int(_)));
        let is_never_null = match &place.kind {
            ExprKind::Coalesce(values) => values.iter().any(is_told),
            _ => is_told(place),
        };
        if is_never_null || !volatility::is_repeatable(place) {
            return Ok(None);
        }
        let null = self.expr(place)?;
        let one = Expr::new(ExprKind::Const(Datum::Int(1)), place.ty, -1);
        let mut told = call.clone();
        if let Some(last) = told.args.last_mut() {
            *last = Expr::new(ExprKind::Coalesce(vec![place.clone(), one]), place.ty, place.location);
        }
        let value = self.window_call(&told, window, whole)?;
        Ok(Some(format!("(CASE WHEN {null} IS NOT NULL THEN {value} END)")))
    }

    pub(super) fn frame(&mut self, frame: &Frame, counted: Option<Oid>) -> Result<String> {
        let mode = match frame.mode {
            FrameMode::Range => "RANGE",
            FrameMode::Rows => "ROWS",
            FrameMode::Groups => "GROUPS",
        };
        let start = self.frame_bound(&frame.start, counted)?;
        let end = self.frame_bound(&frame.end, counted)?;
        let exclusion = match frame.exclusion {
            FrameExclusion::NoOthers => "",
            FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
            FrameExclusion::Group => " EXCLUDE GROUP",
            FrameExclusion::Ties => " EXCLUDE TIES",
        };
        Ok(format!("{mode} BETWEEN {start} AND {end}{exclusion}"))
    }

    /// A constant offset of RANGE in the unit in which [`support::RANGE_KEY`] counts; None: it cannot be counted so.
    pub(super) fn counted_offset(&self, ty: Oid, offset: &Expr) -> Option<i64> {
        use pgsqlite_types::datetime::Interval;
        const MICROS_PER_DAY: i64 = 86_400_000_000;
        let value = match &offset.kind {
            ExprKind::Const(value) => value,
            ExprKind::Cast { arg, .. } => match &arg.kind {
                ExprKind::Const(value) => value,
                _ => return None,
            },
            _ => return None,
        };
        let Datum::Text(text) = value else { return None };
        let interval = Interval::from_storage(text)?;
        match ty {
            // the time of day disregards months and days
            oid::TIME => Some(interval.micros),
            oid::INTERVAL => i64::try_from(interval.span()).ok(),
            oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ if interval.span() < 0 => Some(-1),
            // months differ in length, and days in time zones
            oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ if interval.months != 0 => None,
            oid::TIMESTAMPTZ
                if interval.days != 0
                    && !matches!(self.env.settings.time_zone_name.as_str(), "UTC" | "GMT" | "Etc/UTC") =>
            {
                None
            }
            oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ => {
                i64::from(interval.days).checked_mul(MICROS_PER_DAY)?.checked_add(interval.micros)
            }
            _ => None,
        }
    }

    fn frame_bound(&mut self, bound: &FrameBound, counted: Option<Oid>) -> Result<String> {
        let uncounted = || PgError::internal("a frame's offset that cannot be counted");
        // (a negative one is an error of the running query)
        let mut offset = |e: &Expr| match counted {
            Some(ty) => Ok(self.counted_offset(ty, e).ok_or_else(uncounted)?.to_string()),
            // SQLite takes no call for an offset, but a number
            None => match super::frames::constant_integer(e) {
                Some(i) => Ok(i.to_string()),
                None => self.expr(e),
            },
        };
        Ok(match bound {
            FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".into(),
            FrameBound::Preceding(e) => format!("{} PRECEDING", offset(e)?),
            FrameBound::CurrentRow => "CURRENT ROW".into(),
            FrameBound::Following(e) => format!("{} FOLLOWING", offset(e)?),
            FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".into(),
        })
    }
}

/// The call with arguments that are not computed for the rows that its FILTER leaves out, if that can be noticed: SQLite computes them with the
/// rows that the window is over.
fn guarded_arguments(call: &Aggregate) -> Option<Aggregate> {
    let filter = call.filter.as_ref().filter(|filter| volatility::is_repeatable(filter))?;
    if !call.args.iter().any(waits) {
        return None;
    }
    let mut guarded = call.clone();
    for arg in guarded.args.iter_mut().filter(|arg| waits(arg)) {
        let whens = vec![(filter.clone(), arg.clone())];
        arg.kind = ExprKind::Case { whens, otherwise: None };
    }
    Some(guarded)
}

fn has_offset(bound: &FrameBound) -> bool {
    matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_))
}
