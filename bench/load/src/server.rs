//! Load on a server: all clients of a target in one thread, as pgbench does it, so that the generator takes the same little
//! share of the machine for every target.

use crate::job::{Job, Mode, Place, Values};
use crate::record::{Record, Slice};
use crate::wire::{self, Answer};
use anyhow::{bail, Context, Result};
use mio::{Events, Interest, Poll, Token};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

/// A client that gets no answer for this long is given up.
const PATIENCE: Duration = Duration::from_secs(120);

enum Stream {
    Unix(mio::net::UnixStream),
    Tcp(mio::net::TcpStream),
}

impl Stream {
    fn connect(host: &str, port: u16) -> Result<Stream> {
        Ok(if host.starts_with('/') {
            let stream = std::os::unix::net::UnixStream::connect(format!("{host}/.s.PGSQL.{port}"))?;
            stream.set_nonblocking(true)?;
            Stream::Unix(mio::net::UnixStream::from_std(stream))
        } else {
            let stream = std::net::TcpStream::connect((host, port))?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            Stream::Tcp(mio::net::TcpStream::from_std(stream))
        })
    }

    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Stream::Unix(s) => s.read(into),
            Stream::Tcp(s) => s.read(into),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Stream::Unix(s) => s.write(bytes),
            Stream::Tcp(s) => s.write(bytes),
        }
    }

    fn register(&mut self, poll: &Poll, token: Token) -> std::io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match self {
            Stream::Unix(s) => poll.registry().register(s, token, both),
            Stream::Tcp(s) => poll.registry().register(s, token, both),
        }
    }
}

/// A session with one operation under way at most.
struct Client {
    stream: Stream,
    request: Vec<u8>,
    /// how much of the request is written
    written: usize,
    answer: Answer,
    /// the statement under way, and since when its time counts
    running: Option<(usize, Instant)>,
}

pub struct Server<'a> {
    job: &'a Job,
    poll: Poll,
    events: Events,
    clients: Vec<Client>,
    values: Values,
    buffer: Vec<u8>,
}

/// The seed differs from job to job: where all connections are one session, names must not meet.
fn statement_name(job: &Job, number: usize) -> String {
    format!("s{number}_{}", job.seed)
}

impl<'a> Server<'a> {
    pub fn open(job: &'a Job, place: &Place) -> Result<Server<'a>> {
        let Place::Server { host, port, user, database } = place else { bail!("not a server") };
        let mut server = Server {
            job,
            poll: Poll::new()?,
            events: Events::with_capacity(1024),
            clients: Vec::new(),
            values: Values::new(&job.statements, job.seed),
            buffer: vec![0; 256 * 1024],
        };
        // one after the other: a server is not asked for more than one session at once
        for number in 0..job.clients {
            let mut stream = Stream::connect(host, *port).with_context(|| format!("connecting to {host}"))?;
            stream.register(&server.poll, Token(number))?;
            let request = wire::startup(user, database);
            server.clients.push(Client { stream, request, written: 0, answer: Answer::default(), running: None });
            server.ask(number).with_context(|| format!("session {number} of {host}"))?;
            if matches!(job.mode, Mode::PreparedText | Mode::PreparedBinary) {
                for (i, statement) in job.statements.iter().enumerate() {
                    // the types of the arguments, not their values, are wanted: numbers are not used up
                    let (_, values) =
                        Values::new(std::slice::from_ref(statement), 0).next(std::slice::from_ref(statement));
                    let client = &mut server.clients[number];
                    client.request = wire::prepare(&statement_name(job, i), statement, &values);
                    client.written = 0;
                    server.ask(number).with_context(|| format!("preparing {}", statement.sql))?;
                }
            }
        }
        Ok(server)
    }

    /// Writes a client's request and waits for the answer; an error in it is one of ours.
    fn ask(&mut self, number: usize) -> Result<()> {
        self.clients[number].answer.reset();
        let deadline = Instant::now() + PATIENCE;
        loop {
            if self.write(number)? && self.read(number)? {
                break;
            }
            if Instant::now() > deadline {
                bail!("no answer within {} s", PATIENCE.as_secs());
            }
            self.poll.poll(&mut self.events, Some(Duration::from_millis(100)))?;
        }
        match &self.clients[number].answer.error {
            Some((state, message)) => bail!("{state} {message}"),
            None => Ok(()),
        }
    }

    /// Writes what is left of the request. True: all is written.
    fn write(&mut self, number: usize) -> Result<bool> {
        let client = &mut self.clients[number];
        while client.written < client.request.len() {
            match client.stream.write(&client.request[client.written..]) {
                Ok(0) => bail!("the server closed the connection"),
                Ok(n) => client.written += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(true)
    }

    /// Reads what is there. True: the answer is complete.
    fn read(&mut self, number: usize) -> Result<bool> {
        let client = &mut self.clients[number];
        loop {
            match client.stream.read(&mut self.buffer) {
                Ok(0) => bail!("the server closed the connection"),
                Ok(n) => {
                    if client.answer.feed(&self.buffer[..n]) {
                        return Ok(true);
                    }
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Begins an operation on an idle client; its time counts from `due`, or from now.
    fn begin(&mut self, number: usize, due: Option<Instant>) -> Result<()> {
        let (chosen, values) = self.values.next(&self.job.statements);
        let client = &mut self.clients[number];
        let name = statement_name(self.job, chosen);
        wire::request(&mut client.request, self.job.mode, &name, &self.job.statements[chosen], &values);
        client.written = 0;
        client.answer.reset();
        client.running = Some((chosen, due.unwrap_or_else(Instant::now)));
        self.write(number)?;
        Ok(())
    }

    /// An answer is complete: it is timed, or counted as an error.
    fn end(&mut self, number: usize, record: &mut Record) {
        let now = Instant::now();
        let client = &mut self.clients[number];
        let Some((chosen, began)) = client.running.take() else {
            return;
        };
        let statement = &self.job.statements[chosen];
        let answer = &client.answer;
        if let Some((state, _)) = &answer.error {
            record.failed(state);
        } else if answer.rows != statement.rows {
            record.failed(&format!("{} rows instead of {}", answer.rows, statement.rows));
        } else if statement.affected.is_some() && answer.affected != statement.affected {
            record.failed(&format!("{} rows affected", answer.affected.unwrap_or(0)));
        } else {
            record.took(now.saturating_duration_since(began));
        }
    }

    /// One turn: `operations` or `time`, with at most `clients` of the sessions.
    pub fn slice(&mut self, record: &mut Record, operations: u64, time: Duration, clients: usize) -> Result<()> {
        let clients = clients.min(self.clients.len());
        let began = Instant::now();
        let until = began + time;
        let interval = self.job.rate.map(|rate| Duration::from_secs_f64(1.0 / rate));
        let (mut begun, mut ended) = (0, 0);
        // of the open loop: what is due and finds no idle client
        let mut waiting: VecDeque<Instant> = VecDeque::new();
        let mut next_due = began;
        let mut idle: Vec<usize> = (0..clients).collect();
        loop {
            let now = Instant::now();
            match interval {
                None => {
                    while begun < operations && now < until {
                        let Some(number) = idle.pop() else { break };
                        self.begin(number, None)?;
                        begun += 1;
                    }
                }
                Some(interval) => {
                    while next_due <= now && next_due < until && begun + (waiting.len() as u64) < operations {
                        waiting.push_back(next_due);
                        next_due += interval;
                    }
                    while let (Some(due), Some(number)) = (waiting.front().copied(), idle.last().copied()) {
                        waiting.pop_front();
                        idle.pop();
                        self.begin(number, Some(due))?;
                        begun += 1;
                    }
                }
            }
            let over = begun >= operations || now >= until || (interval.is_some() && next_due >= until);
            if over && waiting.is_empty() && ended == begun {
                break;
            }
            if now > until + PATIENCE {
                bail!("{} operations got no answer within {} s", begun - ended, PATIENCE.as_secs());
            }
            let wait = match interval {
                // epoll counts in milliseconds: the last one is waited for by looking again
                Some(_) if !over && !idle.is_empty() => {
                    let left = next_due.saturating_duration_since(Instant::now());
                    if left < Duration::from_millis(2) {
                        Duration::ZERO
                    } else {
                        left - Duration::from_millis(1)
                    }
                }
                _ => Duration::from_secs(1),
            };
            match self.poll.poll(&mut self.events, Some(wait)) {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(e.into()),
            }
            let ready: Vec<usize> = self.events.iter().map(|e| e.token().0).collect();
            for number in ready {
                if self.clients[number].running.is_none() {
                    continue;
                }
                if self.write(number)? && self.read(number)? {
                    self.end(number, record);
                    ended += 1;
                    idle.push(number);
                }
            }
        }
        record.slices.push(Slice { operations: ended, seconds: began.elapsed().as_secs_f64() });
        Ok(())
    }
}
