//! Cursors that functions have opened and left open: FETCH, MOVE and CLOSE reach them as those that DECLARE has made, until the
//! transaction ends. (`SELECT report('c'); FETCH ALL FROM c` is how functions give several results.)

use crate::plans::{Body, Prepared};
use crate::routine::cursors::Open;
use crate::routine::HasRoutines;
use crate::session::context::SessionContext;
use crate::session::execution::cursor::Cursor;
use crate::session::execution::planning::output_columns;
use crate::session::execution::portal::Portal;
use crate::session::executor::Executor;
use crate::session::Format;
use pgsqlite_natives::statistics::statements::Slot;
use pgsqlite_sql::parse;
use pgsqlite_types::{PgError, Result};
use std::sync::Arc;

impl SessionContext {
    fn portal_of(&self, open: Open) -> Result<Box<Portal>> {
        let view = self.view();
        let statement = parse::parse(&open.text)?.into_iter().next();
        let statement = statement.ok_or_else(|| PgError::internal("a cursor without a query"))?;
        let mut described = open.described;
        let hidden = open.position.as_ref().map_or(0, |cursor_position| cursor_position.hidden());
        // (the portal takes as many away again)
        described.extend((0..hidden).map(|_| pgsqlite_sql::plan::PlanColumn {
            name: String::new(),
            type_oid: pgsqlite_types::oid::INT8,
            typmod: -1,
            table_oid: 0,
            attnum: 0,
        }));
        let columns = output_columns(&view.catalog, &described)?;
        let formats = vec![Format::Text; columns.len()];
        let prepared = Prepared {
            statement: Arc::new(statement),
            body: Body::Utility,
            parameters: vec![],
            codecs: vec![],
            epoch: view.catalog.epoch,
            shows_session: false,
            role: view.role,
            columns: Some(columns),
            entry: Slot::default(),
            indexes: Default::default(),
            row_query: Default::default(),
            lasts: Default::default(),
        };
        let mut portal = Portal::of_rows(Arc::new(prepared), formats, open.rows, open.at as u64);
        portal.hidden = hidden;
        portal.cursor_position = open.position.unwrap_or_default();
        portal.depth = self.transaction.savepoints().len();
        let (scroll, statement, created) = (open.scroll, open.text, pgsqlite_metadata::clock::now());
        portal.cursor = Some(Cursor { scroll, hold: false, binary: false, held: false, statement, created });
        Ok(portal)
    }
}

impl Executor {
    /// After a statement: what its functions have left open.
    pub(in crate::session) fn take_function_cursors(&mut self) -> Result<()> {
        let Some(connection) = &self.connection else { return Ok(()) };
        let opened = connection.cell.routines().cursors.borrow_mut().take();
        let lasts = self.context.transaction.block().is_block();
        for (name, open) in opened.into_iter().filter(|_| lasts) {
            let portal = self.context.portal_of(open)?;
            self.portals.insert(name, portal);
        }
        Ok(())
    }

    /// Before a statement: the names that its functions cannot give to cursors of their own.
    pub(in crate::session) fn tell_cursor_names(&self) {
        let Some(connection) = &self.connection else { return };
        let mut cursors = connection.cell.routines().cursors.borrow_mut();
        cursors.begin();
        if !self.portals.is_empty() || !cursors.of_session.is_empty() {
            cursors.of_session = self.portals.keys().filter(|name| !name.is_empty()).cloned().collect();
        }
    }
}
