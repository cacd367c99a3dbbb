//! The same statements on SQLite in this process, a connection and a thread per client: what is possible without a server.

use crate::job::{Job, Place, Statement, Value, Values};
use crate::record::{Record, Slice};
use anyhow::{bail, Context, Result};
use rusqlite::{types::ValueRef, Connection};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

pub struct Sqlite<'a> {
    job: &'a Job,
    connections: Vec<Connection>,
    values: Mutex<Values>,
}

impl<'a> Sqlite<'a> {
    pub fn open(job: &'a Job, place: &Place) -> Result<Sqlite<'a>> {
        let Place::Sqlite { path } = place else { bail!("not a SQLite file") };
        let open = || -> Result<Connection> {
            let connection = Connection::open(path).with_context(|| format!("opening {path}"))?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            // every commit is on disk before it returns, as with synchronous_commit = on
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.busy_timeout(Duration::from_secs(60))?;
            Ok(connection)
        };
        Ok(Sqlite {
            job,
            connections: (0..job.clients).map(|_| open()).collect::<Result<_>>()?,
            values: Mutex::new(Values::new(&job.statements, job.seed)),
        })
    }

    pub fn slice(&mut self, record: &mut Record, operations: u64, time: Duration, clients: usize) -> Result<()> {
        if self.job.rate.is_some() {
            bail!("SQLite in the process has no open loop");
        }
        let began = Instant::now();
        let (left, ended) = (AtomicU64::new(operations), AtomicU64::new(0));
        let (statements, values) = (&self.job.statements, &self.values);
        let records = std::thread::scope(|scope| {
            let threads: Vec<_> = self.connections[..clients.min(self.job.clients)]
                .iter_mut()
                .map(|connection| {
                    let (left, ended) = (&left, &ended);
                    scope.spawn(move || -> Result<Record> {
                        let mut record = Record::new()?;
                        while began.elapsed() < time
                            && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok()
                        {
                            let (chosen, arguments) =
                                values.lock().map_err(|_| anyhow::anyhow!("a client panicked"))?.next(statements);
                            run(connection, &statements[chosen], &arguments, &mut record)?;
                            ended.fetch_add(1, Ordering::Relaxed);
                        }
                        Ok(record)
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|t| t.join().map_err(|_| anyhow::anyhow!("a client panicked"))?)
                .collect::<Result<Vec<_>>>()
        })?;
        for part in records {
            record.merge(part)?;
        }
        record.slices.push(Slice { operations: ended.into_inner(), seconds: began.elapsed().as_secs_f64() });
        Ok(())
    }
}

/// One operation: the statement is prepared once per connection, every value of every row is read.
fn run(connection: &Connection, statement: &Statement, arguments: &[Value], record: &mut Record) -> Result<()> {
    let began = Instant::now();
    let work = || -> rusqlite::Result<u64> {
        let mut prepared = connection.prepare_cached(&statement.sql)?;
        for (i, value) in arguments.iter().enumerate() {
            match value {
                Value::Int(n) => prepared.raw_bind_parameter(i + 1, n)?,
                Value::Text(t) => prepared.raw_bind_parameter(i + 1, t)?,
            }
        }
        let columns = prepared.column_count();
        let mut rows = prepared.raw_query();
        let mut count = 0;
        while let Some(row) = rows.next()? {
            for i in 0..columns {
                std::hint::black_box(matches!(row.get_ref(i)?, ValueRef::Null));
            }
            count += 1;
        }
        Ok(count)
    };
    let result = work();
    let took = began.elapsed();
    match result {
        Ok(rows) if rows != statement.rows => record.failed(&format!("{rows} rows instead of {}", statement.rows)),
        Ok(_) if statement.affected.is_some_and(|n| statement.rows == 0 && n != connection.changes()) => {
            record.failed(&format!("{} rows affected", connection.changes()));
        }
        Ok(_) => record.took(took),
        Err(rusqlite::Error::SqliteFailure(e, _)) => record.failed(&format!("SQLite {}", e.extended_code)),
        Err(e) => return Err(e.into()),
    }
    Ok(())
}
