//! Cursors: DECLARE, FETCH, MOVE, CLOSE.
//!
//! A cursor is a portal with a [`Cursor`]. It stands on a row, before the first or behind the last; going forward reads on (or takes
//! what was read ahead), going back takes rows that its spool has kept.

use crate::plans::{Body, Prepared};
use crate::session::context::SessionContext;
use crate::session::execution::portal::{Portal, Unwanted};
use crate::session::execution::spool::{Keep, Spool, Spooled};
use crate::session::execution::work::Begins;
use crate::session::executor::Executor;
use crate::session::{Execution, Flow, Format, OutputColumn, RowSink, Session};
use pgsqlite_sql::parse::{ast, NodeEnum, RawStatement};
use pgsqlite_sql::plan::Tag;
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, PgError, Result, SqlState};
use std::sync::Arc;

/// What DECLARE said.
pub(in crate::session) struct Cursor {
    /// None: neither SCROLL nor NO SCROLL
    pub scroll: Option<bool>,
    /// WITH HOLD
    pub hold: bool,
    /// BINARY: FETCH of the simple protocol gives binary values
    pub binary: bool,
    /// its transaction has committed: it stays until it is closed
    pub held: bool,
    /// the text of the DECLARE statement
    pub statement: String,
    /// microseconds since 2000-01-01 UTC
    pub created: i64,
}

/// The options' bits in the parse tree.
const BINARY: i32 = 0x1;
const SCROLL: i32 = 0x2;
const NO_SCROLL: i32 = 0x4;
const INSENSITIVE: i32 = 0x8;
const ASENSITIVE: i32 = 0x10;
const HOLD: i32 = 0x20;

/// The rows that a FETCH still has to give, after the sink asked for a pause.
pub(in crate::session) struct Fetching {
    backward: bool,
    /// None: all
    left: Option<u64>,
    given: u64,
}

/// Where a FETCH goes once its direction is made plain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward(Option<u64>),
    Backward(Option<u64>),
    /// the present row again
    Here,
    Absolute(i64),
    Relative(i64),
}

fn direction(f: &ast::FetchStmt) -> Result<Direction> {
    use ast::FetchDirection as D;
    let count = |n: i64| (n != i64::MAX).then_some(n.unsigned_abs());
    Ok(match D::try_from(f.direction) {
        Ok(D::FetchForward) if f.how_many == 0 => Direction::Here,
        Ok(D::FetchBackward) if f.how_many == 0 => Direction::Backward(Some(0)),
        Ok(D::FetchForward) if f.how_many > 0 => Direction::Forward(count(f.how_many)),
        Ok(D::FetchForward) => Direction::Backward(count(f.how_many)),
        Ok(D::FetchBackward) if f.how_many > 0 => Direction::Backward(count(f.how_many)),
        Ok(D::FetchBackward) => Direction::Forward(count(f.how_many)),
        Ok(D::FetchAbsolute) => Direction::Absolute(f.how_many),
        Ok(D::FetchRelative) if f.how_many == 0 => Direction::Here,
        Ok(D::FetchRelative) => Direction::Relative(f.how_many),
        _ => return Err(PgError::internal("unknown FETCH direction")),
    })
}

pub(in crate::session) fn no_cursor(name: &str) -> PgError {
    PgError::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}

fn forward_only() -> PgError {
    PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
        .hint("Declare it with SCROLL option to enable backward scan.")
}

/// 42P11 and 0A000: options that exclude each other, or the query.
fn check_options(options: i32, query: &NodeEnum) -> Result<()> {
    let definition = |message: &str| Err(PgError::new(SqlState::INVALID_CURSOR_DEFINITION, message));
    if options & SCROLL != 0 && options & NO_SCROLL != 0 {
        return definition("cannot specify both SCROLL and NO SCROLL");
    }
    if options & ASENSITIVE != 0 && options & INSENSITIVE != 0 {
        return definition("cannot specify both ASENSITIVE and INSENSITIVE");
    }
    let NodeEnum::SelectStmt(select) = query else {
        return Err(PgError::internal("a cursor's query is a SELECT"));
    };
    if let Some(into) = &select.into_clause {
        return Err(pgsqlite_sql::analyze::into_not_allowed(into));
    }
    if let Some(lock) = select.locking_clause.first().and_then(|l| match &l.node {
        Some(NodeEnum::LockingClause(l)) => Some(l),
        _ => None,
    }) {
        use ast::LockClauseStrength as S;
        let strength = match S::try_from(lock.strength) {
            Ok(S::LcsForkeyshare) => "FOR KEY SHARE",
            Ok(S::LcsForshare) => "FOR SHARE",
            Ok(S::LcsFornokeyupdate) => "FOR NO KEY UPDATE",
            _ => "FOR UPDATE",
        };
        let refuse = |code: SqlState, what: &str, kind: &str| {
            let verdict = if code == SqlState::FEATURE_NOT_SUPPORTED { "supported" } else { "valid" };
            Err(PgError::new(code, format!("DECLARE {what} ... {strength} is not {verdict}"))
                .detail(format!("{kind} cursors must be READ ONLY.")))
        };
        if options & HOLD != 0 {
            return refuse(SqlState::FEATURE_NOT_SUPPORTED, "CURSOR WITH HOLD", "Holdable");
        }
        if options & SCROLL != 0 {
            return refuse(SqlState::FEATURE_NOT_SUPPORTED, "SCROLL CURSOR", "Scrollable");
        }
        if options & INSENSITIVE != 0 {
            return refuse(SqlState::INVALID_CURSOR_DEFINITION, "INSENSITIVE CURSOR", "Insensitive");
        }
    }
    Ok(())
}

/// The query of a DECLARE.
pub(in crate::session) fn cursor_query(d: &ast::DeclareCursorStmt, raw: &RawStatement) -> Result<Arc<RawStatement>> {
    let node = d.query.as_ref().and_then(|q| q.node.clone());
    let node = node.ok_or_else(|| PgError::internal("DECLARE without a query"))?;
    Ok(Arc::new(raw.within(node, "cursor")))
}

impl SessionContext {
    /// Whether the row that the position names exists (it does not behind the last).
    fn is_on_row(&self, portal: &Portal) -> bool {
        portal.position <= portal.spool.end()
    }

    /// To an earlier row (0: before the first). 55000 if the rows after it are not kept any more.
    fn back_to(&mut self, portal: &mut Portal, target: u64) -> Result<()> {
        if target < portal.position && target < portal.spool.end() && portal.spool.get(target + 1).is_none() {
            return Err(forward_only());
        }
        portal.position = target;
        Ok(())
    }

    fn give_backward(
        &mut self,
        portal: &mut Portal,
        fetching: &mut Fetching,
        is_move: bool,
        sink: &mut dyn RowSink,
    ) -> Result<Flow> {
        let view = self.view();
        let context = Context { settings: &self.gucs.typed, names: &*view };
        while fetching.left != Some(0) {
            if portal.position <= 1 {
                // from the first row to before it; rows that were let go cannot come again
                if portal.position == 1 && portal.spool.end() > 0 && portal.spool.get(1).is_none() {
                    return Err(forward_only());
                }
                portal.position = 0;
                break;
            }
            let target = portal.position - 1;
            let Some(row) = portal.spool.get(target) else { return Err(forward_only()) };
            let flow = if is_move { Flow::Continue } else { sink.row(&Spooled(row), &context)? };
            portal.position = target;
            fetching.given += 1;
            if let Some(left) = &mut fetching.left {
                *left -= 1;
            }
            if flow == Flow::Pause {
                return Ok(Flow::Pause);
            }
        }
        Ok(Flow::Continue)
    }
}

impl Executor {
    pub(in crate::session) fn close_cursor(&mut self, name: &str) -> Result<String> {
        if name.is_empty() {
            let names: Vec<String> =
                self.portals.iter().filter(|(_, p)| p.cursor.is_some()).map(|(n, _)| n.clone()).collect();
            names.iter().for_each(|n| self.drop_portal(n));
            return Ok("CLOSE CURSOR ALL".into());
        }
        if !self.portals.contains_key(name) {
            return Err(no_cursor(name));
        }
        self.drop_portal(name);
        Ok("CLOSE CURSOR".into())
    }

    fn fetch_from(&mut self, portal: &mut Portal, f: &ast::FetchStmt, sink: &mut dyn RowSink) -> Result<Execution> {
        let Some(columns) = portal.columns() else {
            // (this is PostgreSQL's code and text for it)
            return Err(PgError::new(SqlState::INTERNAL_ERROR, "unsupported portal strategy"));
        };
        let (mut fetching, resumed) = match self.fetching.take() {
            Some(fetching) => (fetching, true),
            None => (self.go(portal, direction(f)?, f.ismove)?, false),
        };
        let mut rows =
            Fetched { sink, columns: (!f.ismove && !resumed).then_some(columns), rows: 0, discard: f.ismove };
        let outcome = if fetching.backward {
            self.context.give_backward(portal, &mut fetching, f.ismove, &mut rows)?
        } else {
            self.give_forward(portal, &mut fetching, &mut rows)?
        };
        rows.tell_columns()?;
        if outcome == Flow::Pause {
            self.fetching = Some(fetching);
            return Ok(Execution::Paused);
        }
        let word = if f.ismove { "MOVE" } else { "FETCH" };
        Ok(Execution::Complete(format!("{word} {}", fetching.given)))
    }

    /// Goes to where the rows to be given begin.
    fn go(&mut self, portal: &mut Portal, direction: Direction, is_move: bool) -> Result<Fetching> {
        let fetching = |backward, left, given| Ok(Fetching { backward, left, given });
        let one = Some(1);
        match direction {
            Direction::Forward(count) => fetching(false, count, 0),
            // from before the first row all rows behind it are none, wherever the cursor may go
            Direction::Backward(None) if is_move && portal.position == 0 => fetching(false, Some(0), 0),
            Direction::Backward(Some(0)) if is_move || portal.position > 0 && self.context.is_on_row(portal) => {
                self.go(portal, Direction::Here, is_move)
            }
            Direction::Backward(count) => {
                check_backward(portal)?;
                fetching(true, count, 0)
            }
            Direction::Here => {
                let on_row = portal.position > 0 && self.context.is_on_row(portal);
                if is_move || !on_row {
                    return fetching(false, Some(0), on_row as u64);
                }
                check_backward(portal)?;
                self.context.back_to(portal, portal.position - 1)?;
                fetching(false, one, 0)
            }
            Direction::Absolute(n) if n > 0 => {
                let before = n.unsigned_abs() - 1;
                if before < portal.position {
                    check_backward(portal)?;
                    self.context.back_to(portal, before)?;
                } else {
                    self.skip(portal, before - portal.position)?;
                }
                fetching(false, one, 0)
            }
            Direction::Absolute(0) => {
                if portal.position > 0 {
                    check_backward(portal)?;
                    self.context.back_to(portal, 0)?;
                }
                fetching(false, Some(0), 0)
            }
            Direction::Absolute(n) => {
                // to the end, and back from there
                let from_end = n.unsigned_abs() - 1;
                self.skip_all(portal)?;
                check_backward(portal)?;
                let end = portal.position;
                self.context.back_to(portal, end.saturating_sub(from_end))?;
                fetching(true, one, 0)
            }
            Direction::Relative(n) if n > 0 => {
                self.skip(portal, n.unsigned_abs() - 1)?;
                fetching(false, one, 0)
            }
            Direction::Relative(n) => {
                check_backward(portal)?;
                let target = portal.position.saturating_sub(n.unsigned_abs() - 1);
                self.context.back_to(portal, target)?;
                fetching(true, one, 0)
            }
        }
    }

    fn skip(&mut self, portal: &mut Portal, rows: u64) -> Result<()> {
        if rows > 0 {
            self.give_rows(portal, Tag::Select, rows, &mut Unwanted)?;
        }
        Ok(())
    }

    fn skip_all(&mut self, portal: &mut Portal) -> Result<()> {
        self.give_rows(portal, Tag::Select, 0, &mut Unwanted).map(|_| ())
    }

    fn give_forward(&mut self, portal: &mut Portal, fetching: &mut Fetching, rows: &mut Fetched) -> Result<Flow> {
        let limit = match fetching.left {
            Some(0) => return Ok(Flow::Continue),
            Some(n) => n,
            None => 0,
        };
        let execution = self.give_rows(portal, Tag::Select, limit, rows)?;
        fetching.given += rows.rows;
        // a paused portal remembers how many of its limit it has given
        Ok(if matches!(execution, Execution::Paused) { Flow::Pause } else { Flow::Continue })
    }

    pub(in crate::session) fn close_portals(&mut self, which: impl Fn(&Portal) -> bool) {
        let names: Vec<String> = self.portals.iter().filter(|(_, p)| which(p)).map(|(n, _)| n.clone()).collect();
        for name in names {
            self.drop_portal(&name);
        }
    }

    /// At COMMIT: cursors WITH HOLD read the rest of their rows and stay, all other portals are closed.
    pub(in crate::session) fn hold_cursors(&mut self) -> Result<()> {
        if self.portals.values().all(|p| p.cursor.is_none()) {
            let mut portals = std::mem::take(&mut self.portals);
            portals.drain().for_each(|(_, portal)| self.close(portal));
            self.portals = portals;
            return Ok(());
        }
        self.close_portals(|p| !p.cursor.as_ref().is_some_and(|c| c.hold));
        let mut portals = std::mem::take(&mut self.portals);
        let mut result = Ok(());
        for (name, portal) in &mut portals {
            if portal.cursor.as_ref().is_some_and(|c| !c.held) {
                self.context.transaction.holds(name.clone());
            }
            result = result.and_then(|()| {
                self.on_sqlite(portal, Begins::Apart, |session, portal| {
                    session.read_ahead(portal);
                    portal.take_error()
                })
            });
            if let Some(cursor) = &mut portal.cursor {
                cursor.held |= result.is_ok();
            }
        }
        self.portals = portals;
        result
    }

    /// At PREPARE TRANSACTION: all portals are closed.
    pub(in crate::session) fn close_cursors(&mut self) {
        self.close_portals(|p| !p.is_held());
    }
}

impl Session {
    pub(in crate::session) async fn declare(
        &mut self,
        d: &ast::DeclareCursorStmt,
        prepared: &Prepared,
        parameters: &[Datum],
    ) -> Result<String> {
        let raw = &prepared.statement;
        let inner = cursor_query(d, raw)?;
        check_options(d.options, &inner.node)?;
        let hold = d.options & HOLD != 0;
        if !hold && !self.executor.context.transaction.block().is_block() {
            return Err(PgError::new(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "DECLARE CURSOR can only be used in transaction blocks",
            ));
        }
        if d.portalname.is_empty() {
            return Err(PgError::new(SqlState::INVALID_CURSOR_NAME, "invalid cursor name: must not be empty"));
        }
        let (mut query, _) = self.plan(&inner, &prepared.parameters)?;
        let Body::Plan(plan) = &query.body else { return Err(PgError::internal("a cursor over no plan")) };
        if !plan.query.modifies.is_empty() {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "DECLARE CURSOR must not contain data-modifying statements in WITH",
            ));
        }
        let locks = plan.query.locks_rows;
        if self.executor.portals.contains_key(&d.portalname) {
            return Err(PgError::new(
                SqlState::DUPLICATE_CURSOR,
                format!("cursor \"{}\" already exists", d.portalname),
            ));
        }
        let formats = vec![Format::Text; query.columns.as_ref().map_or(0, |c| c.len())];
        let (cursor_position, hidden) = match self.cursor_position(&inner, &prepared.parameters)? {
            Some((cursor_position, None)) => (cursor_position, 0),
            Some((cursor_position, Some(extended))) => {
                let shown = query.columns.as_ref().map_or(0, |c| c.len());
                query = extended;
                (cursor_position, query.columns.as_ref().map_or(0, |c| c.len()) - shown)
            }
            None => Default::default(),
        };
        let mut portal = Portal::new(Some(query.clone()), parameters.to_vec(), formats);
        portal.hidden = hidden;
        portal.cursor_position = cursor_position;
        let scroll = match d.options & (SCROLL | NO_SCROLL) {
            SCROLL => Some(true),
            NO_SCROLL => Some(false),
            // rows that are locked come once
            _ if locks => Some(false),
            _ if matches!(&inner.node, NodeEnum::SelectStmt(s) if !crate::cursor_position::goes_back(s)) => Some(false),
            _ => None,
        };
        portal.spool = Spool::new(match scroll {
            Some(true) => Keep::All,
            // (the row that it stands on is kept for WHERE CURRENT OF)
            Some(false) if hidden == 0 => Keep::Nothing,
            _ => Keep::Recent,
        });
        portal.cursor = Some(Cursor {
            scroll,
            hold,
            binary: d.options & BINARY != 0,
            held: false,
            statement: self.executor.context.source.to_string(),
            created: pgsqlite_metadata::clock::now(),
        });
        portal.depth = self.executor.context.transaction.savepoints().len();
        let mut query = query;
        let opened = self.begin_and_open(&mut portal, &mut query).await;
        let opened = opened.and_then(|()| self.executor.watch_position(&mut portal.cursor_position));
        if let Err(e) = opened {
            self.executor.close(portal);
            return Err(e);
        }
        self.executor.portals.insert(d.portalname.clone(), portal);
        Ok("DECLARE CURSOR".into())
    }

    /// FETCH and MOVE. After a pause it is called again with the same statement.
    pub(in crate::session) async fn fetch(&mut self, f: &ast::FetchStmt, sink: &mut dyn RowSink) -> Result<Execution> {
        if self.executor.portals.get(&f.portalname).is_some_and(|p| p.failed) {
            return Err(PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("portal \"{}\" cannot be run", f.portalname),
            ));
        }
        let mut portal = self.executor.portals.remove(&f.portalname).ok_or_else(|| no_cursor(&f.portalname))?;
        if let Err(e) = self.open_bound(&mut portal).await {
            self.executor.close(portal);
            return Err(e);
        }
        let result = self
            .executor
            .on_sqlite(&mut portal, Begins::Apart, |executor, portal| executor.fetch_from(portal, f, sink));
        let result = self.executor.statement_result(result);
        match &result {
            Ok(_) => {
                self.executor.portals.insert(f.portalname.clone(), portal);
            }
            Err(_) if portal.cursor.is_some() => {
                self.executor.fetching = None;
                self.executor.fail(&mut portal);
                self.executor.portals.insert(f.portalname.clone(), portal);
            }
            Err(_) => {
                self.executor.fetching = None;
                self.executor.close(portal);
            }
        }
        result
    }

    /// A portal that Bind made and nobody has executed begins here: the names of portals and cursors are the same.
    async fn open_bound(&mut self, portal: &mut Portal) -> Result<()> {
        let Some(mut prepared) = portal.prepared.clone().filter(|_| portal.is_new() && portal.cursor.is_none()) else {
            return Ok(());
        };
        let Body::Plan(plan) = &prepared.body else { return Ok(()) };
        if !plan.query.modifies.is_empty() {
            return Err(PgError::not_supported("FETCH from a portal that changes data"));
        }
        self.begin_and_open(portal, &mut prepared).await
    }
}

/// 55000 for a cursor that cannot go back.
fn check_backward(portal: &Portal) -> Result<()> {
    match &portal.cursor {
        Some(cursor) if cursor.scroll != Some(false) => Ok(()),
        _ => Err(forward_only()),
    }
}

/// Counts the rows of a FETCH and passes them on (or drops them, for MOVE). The columns are told with the first row, so that an
/// error before it comes alone.
struct Fetched<'a> {
    sink: &'a mut dyn RowSink,
    /// still to be told
    columns: Option<Arc<[OutputColumn]>>,
    rows: u64,
    discard: bool,
}

impl Fetched<'_> {
    fn tell_columns(&mut self) -> Result<()> {
        match self.columns.take() {
            Some(columns) => self.sink.columns(&columns),
            None => Ok(()),
        }
    }
}

impl RowSink for Fetched<'_> {
    fn columns(&mut self, _columns: &Arc<[OutputColumn]>) -> Result<()> {
        Ok(())
    }
    fn takes_notices(&self) -> bool {
        self.sink.takes_notices()
    }

    fn notice(&mut self, notice: &PgError) {
        self.sink.notice(notice);
    }

    fn row(&mut self, row: &dyn crate::session::Row, context: &Context) -> Result<Flow> {
        self.tell_columns()?;
        self.rows += 1;
        if self.discard {
            return Ok(Flow::Continue);
        }
        self.sink.row(row, context)
    }
}
