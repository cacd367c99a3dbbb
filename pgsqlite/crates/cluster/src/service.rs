//! A node of the cluster in this process: a thread that runs it, one for each other node that sends to it, and those that read what others send.

use crate::command::Change;
use crate::file::{copy_is_at, write_copy, FileDisk, Shelf};
use crate::link::{cluster_of, Certificates, Frame, Incoming, Member, Outgoing, Tls};
use crate::node::{Answer, Lengths, Node};
use crate::objects::Outcome;
use crate::{wire, Error, Result};
use raft::eraftpb::{Message, MessageType};
use std::collections::{BTreeMap, HashMap};
use std::io::{BufWriter, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{channel, sync_channel, Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time between two ticks: a node that hears nothing of its leader for ten to twenty looks for another one.
const TICK: Duration = Duration::from_millis(40);
/// So many messages wait for a node that takes none.
const QUEUE: usize = 4096;
/// So many things are taken up before the node works on them.
const TOGETHER: usize = 1024;
/// So many connections are read at once.
const CONNECTIONS: usize = 64;
/// So many of them are one node's: those before them have been lost without a word. (One is for messages, and one may bring a copy.)
const OF_A_NODE: usize = 4;
/// What the name of a copy that comes begins with, in the place of the memory's own end.
const COPY: &str = "copy-";
/// Between two attempts to connect.
const AGAIN: Duration = Duration::from_millis(100);
/// A node that has failed begins again after so long.
const REST: Duration = Duration::from_secs(5);
/// A piece of a copy comes within this time.
const PIECE: Duration = Duration::from_secs(30);
/// That another node cannot be reached, or a connection is refused, is logged so often.
const OFTEN: Duration = Duration::from_secs(60);

/// What a node needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// the name of this node
    pub name: String,
    /// all nodes, in the same order everywhere
    pub members: Vec<Member>,
    /// the node's memory
    pub file: PathBuf,
    /// how nodes know each other; None: they are all on this machine
    pub certificates: Option<Certificates>,
    /// a number that no other process has
    pub process: u64,
}

/// It is not known whether it has been done. It may have been, or be done yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown(pub String);

/// What the node's thread is told.
enum Event {
    Message(Message),
    Ask(Ask),
    Unreachable(u64),
    CopyEnded(u64, bool),
    WantsToLead,
    HandsOver,
    Stop,
}

/// What is asked for.
struct Ask {
    /// with when it was asked for; None: to be told when the node is up to date
    change: Option<(u64, Change)>,
    reply: SyncSender<std::result::Result<Answer, Unknown>>,
    until: Instant,
    /// the node's numbers for it: it is asked again where the question may have got lost, and the first answer counts
    tickets: Vec<u64>,
    /// when it was asked last
    asked: Option<Instant>,
}

impl Ask {
    /// After so long it is asked again. (What changes something may be done twice then, so that it is not asked early.)
    fn patience(&self) -> Duration {
        if self.change.is_some() {
            TICK * 50
        } else {
            TICK * 3
        }
    }
}

/// What the node is, for who looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// the name of the leader, if there is one
    pub leader: Option<String>,
    /// Raft's term
    pub term: u64,
    /// the number of the last entry that is agreed upon and applied
    pub applied: u64,
    /// why the node is not there
    pub failed: Option<String>,
}

/// A running node.
pub struct Cluster {
    events: Sender<Event>,
    file: PathBuf,
    /// readers that nobody uses
    shelves: Mutex<Vec<Shelf>>,
    status: Arc<Mutex<Status>>,
    stops: Arc<AtomicBool>,
    listens: SocketAddr,
    threads: Mutex<Vec<JoinHandle<()>>>,
    process: u64,
    uploads: AtomicU64,
    founds: bool,
    /// the node's
    name: String,
    /// locked as long as it is open
    _alone: std::fs::File,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cluster({:?})", self.file)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// The nodes of `NAME=HOST:PORT,NAME=HOST:PORT,…`. Errors: fewer than three, or two with one name or address.
pub fn members(text: &str) -> Result<Vec<Member>> {
    let mut found: Vec<Member> = Vec::new();
    for (number, part) in (1..).zip(text.split(',')) {
        let Some((name, address)) = part.trim().split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Error::new(format!("\"{part}\" is no node of a cluster: NAME=HOST:PORT is")));
        };
        if address.rsplit_once(':').is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err()) {
            return Err(Error::new(format!("\"{address}\" is no address of a node: HOST:PORT is")));
        }
        if found.iter().any(|other| other.name == name || other.address == address) {
            return Err(Error::new(format!("two nodes of the cluster are \"{part}\"")));
        }
        found.push(Member { number, name: name.into(), address: address.into() });
    }
    match found.len() {
        0..3 => Err(Error::new("a cluster has at least three nodes: with two, none may fail")),
        _ => Ok(found),
    }
}

/// Whether an address is one of this machine alone.
fn is_loopback(address: &str) -> bool {
    address.to_socket_addrs().is_ok_and(|mut all| all.all(|a| matches!(a.ip(), ip if ip.is_loopback())))
}

impl Cluster {
    /// Makes the memory of a node of a new cluster. Each node does so once. Errors: there is one.
    /// `founds`: what the cluster keeps begins with this node. `id`: the cluster's number, the same on each node and of no other cluster.
    pub fn create(config: &Config, founds: bool, id: u64) -> Result<()> {
        let own = own(config)?;
        let voters: Vec<u64> = config.members.iter().map(|member| member.number).collect();
        FileDisk::create(&config.file, own.number, &voters, founds, id)
    }

    /// Starts the node, whose memory is there. It returns at once: the others may not be there yet.
    pub fn start(config: &Config) -> Result<Arc<Cluster>> {
        let own = own(config)?;
        let tls = config.certificates.as_ref().map(Tls::new).transpose()?;
        if let (None, Some(other)) = (&tls, config.members.iter().find(|member| !is_loopback(&member.address))) {
            let message = "the nodes of a cluster need certificates where they are on several machines";
            return Err(Error::new(format!("{message}: \"{}\" is not an address of this one alone", other.address)));
        }
        let alone = alone(&config.file)?;
        let voters: Vec<u64> = config.members.iter().map(|member| member.number).collect();
        remove_copies(&config.file);
        let (founds, id) = {
            let disk = FileDisk::open(&config.file, own.number, &voters)?;
            (disk.founds(), disk.id())
        };
        let listener = TcpListener::bind(&own.address)
            .map_err(|e| Error::new(format!("node \"{}\" cannot listen on {}: {e}", own.name, own.address)))?;
        let listens = listener.local_addr().map_err(|e| Error::new(e.to_string()))?;
        let (events, inbox) = channel();
        let (stops, status) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Status::default())));
        let context = Context {
            config: config.clone(),
            cluster: cluster_of(id, &config.members),
            own: own.clone(),
            tls,
            events: events.clone(),
            stops: stops.clone(),
        };
        let context = Arc::new(context);
        let node = context.node(0)?;
        let mut peers = HashMap::new();
        let mut threads = Vec::new();
        for member in config.members.iter().filter(|member| member.number != own.number) {
            let (queue, waiting) = sync_channel(QUEUE);
            peers.insert(member.number, (member.clone(), queue));
            let (context, member) = (context.clone(), member.clone());
            threads.push(thread("cluster-send", move || context.send(&member, &waiting))?);
        }
        let of_listener = context.clone();
        threads.push(thread("cluster-accept", move || of_listener.accept(&listener))?);
        let runner = Runner {
            node,
            peers,
            context,
            inbox,
            status: status.clone(),
            asks: HashMap::new(),
            count: 0,
            tickets: HashMap::new(),
            waiting: Vec::new(),
        };
        threads.push(thread("cluster-node", move || runner.run())?);
        let (file, shelves, threads) = (config.file.clone(), Mutex::default(), Mutex::new(threads));
        let (process, uploads) = (config.process, AtomicU64::new(0));
        Ok(Arc::new(Cluster {
            events,
            file,
            shelves,
            status,
            stops,
            listens,
            threads,
            process,
            uploads,
            founds,
            name: own.name,
            _alone: alone,
        }))
    }

    fn ask(&self, change: Option<(u64, Change)>, patience: Duration) -> std::result::Result<Answer, Unknown> {
        let (reply, answer) = sync_channel(1);
        let ended = || Unknown("the node of the cluster has ended".into());
        let ask = Ask { change, reply, until: Instant::now() + patience, tickets: Vec::new(), asked: None };
        self.events.send(Event::Ask(ask)).map_err(|_| ended())?;
        match answer.recv_timeout(patience + TICK) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
            Err(RecvTimeoutError::Timeout) => Err(Unknown("the cluster does not answer".into())),
        }
    }

    /// Changes the objects. When this returns, a majority of the nodes has the change for good, and this node shows it. It waits for a leader for so long.
    pub fn change(&self, change: Change, patience: Duration) -> std::result::Result<Outcome, Unknown> {
        match self.ask(Some((now(), change)), patience)? {
            Answer::Changed(outcome) => Ok(outcome),
            Answer::UpToDate => Err(Unknown("the node has answered another question".into())),
        }
    }

    /// When this returns, the node shows all that any node has been told to be done before it was called.
    pub fn catch_up(&self, patience: Duration) -> std::result::Result<(), Unknown> {
        self.ask(None, patience).map(|_| ())
    }

    /// Reads objects of this node's memory, which may be behind that of others: see [`Cluster::catch_up`].
    pub fn read<R>(&self, work: impl FnOnce(&mut Shelf) -> Result<R>) -> Result<R> {
        let free = lock(&self.shelves).pop();
        let mut shelf = match free {
            Some(shelf) => shelf,
            None => Shelf::open(&self.file)?,
        };
        let done = work(&mut shelf);
        lock(&self.shelves).push(shelf);
        done
    }

    /// A number for an upload that no other one has.
    pub fn new_upload(&self) -> u64 {
        self.process.wrapping_add(self.uploads.fetch_add(1, Ordering::Relaxed))
    }

    /// This node would rather be the leader: its process has much to ask for.
    pub fn wants_to_lead(&self) {
        // (a node that has ended leads nothing)
        let _ = self.events.send(Event::WantsToLead);
    }

    /// Whether what the cluster keeps begins with this node.
    pub fn founds(&self) -> bool {
        self.founds
    }

    /// Another node is to lead, because this one is about to end: who waits need not find that out. Returns when it is so, or after a short time.
    pub fn hands_over(&self) {
        let began = Instant::now();
        let leads = || self.status().leader.as_ref() == Some(&self.name);
        while leads() && began.elapsed() < TICK * 12 {
            let _ = self.events.send(Event::HandsOver);
            std::thread::sleep(TICK / 2);
        }
    }

    /// What the node is.
    pub fn status(&self) -> Status {
        lock(&self.status).clone()
    }

    /// Ends the node and waits for its threads.
    pub fn stop(&self) {
        self.stops.store(true, Ordering::Release);
        let _ = self.events.send(Event::Stop);
        // (the one that accepts waits for a connection)
        let _ = TcpStream::connect_timeout(&self.listens, Duration::from_secs(1));
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            let _ = thread.join();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Locks a node's memory: two processes with one memory would each vote. Errors: another one has it.
pub fn alone(memory: &Path) -> Result<std::fs::File> {
    let mut name = memory.as_os_str().to_os_string();
    name.push(".lock");
    let failed = |e: &dyn std::fmt::Display| Error::new(format!("\"{}\": {e}", Path::new(&name).display()));
    let file = std::fs::File::options().create(true).truncate(false).write(true).open(&name).map_err(|e| failed(&e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(failed(&"another server runs this node")),
        Err(std::fs::TryLockError::Error(e)) => Err(failed(&e)),
    }
}

/// Removes copies that an earlier process has not taken.
fn remove_copies(memory: &Path) {
    let (Some(folder), Some(stem)) = (memory.parent(), memory.file_stem().and_then(|stem| stem.to_str())) else {
        return;
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(listed) = std::fs::read_dir(folder) else { return };
    for entry in listed.flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(&format!("{stem}.{COPY}"))) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn own(config: &Config) -> Result<Member> {
    let own = config.members.iter().find(|member| member.name == config.name);
    own.cloned().ok_or_else(|| Error::new(format!("the cluster has no node \"{}\"", config.name)))
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).spawn(work).map_err(|e| Error::new(format!("no thread: {e}")))
}

/// The connections that are read, and whose each is, once that is known. A stranger who opens many takes nobody's place but another stranger's.
#[derive(Default)]
struct Reading {
    open: BTreeMap<u64, (TcpStream, Option<u64>)>,
    /// when it was logged that one was refused
    reported: Option<Instant>,
}

impl Reading {
    fn end(&mut self, number: u64) {
        if let Some((tcp, _)) = self.open.remove(&number) {
            // (its thread notices)
            let _ = tcp.shutdown(Shutdown::Both);
        }
    }

    fn add(&mut self, number: u64, tcp: TcpStream) {
        if self.open.len() >= CONNECTIONS {
            let stranger = self.open.iter().find(|(_, (_, node))| node.is_none()).map(|(number, _)| *number);
            stranger.into_iter().for_each(|number| self.end(number));
        }
        self.open.insert(number, (tcp, None));
    }

    /// The connection is that node's.
    fn knows(&mut self, number: u64, node: u64) {
        if let Some((_, of)) = self.open.get_mut(&number) {
            *of = Some(node);
        }
        let its: Vec<u64> =
            self.open.iter().filter(|(_, (_, of))| *of == Some(node)).map(|(number, _)| *number).collect();
        its.iter().rev().skip(OF_A_NODE).for_each(|number| self.end(*number));
    }
}

/// What all threads of a node know.
struct Context {
    config: Config,
    /// what tells the cluster from others
    cluster: Vec<u8>,
    own: Member,
    tls: Option<Tls>,
    events: Sender<Event>,
    stops: Arc<AtomicBool>,
}

impl Context {
    fn stops(&self) -> bool {
        self.stops.load(Ordering::Acquire)
    }

    /// The node, from its memory. `generation`: how often it has begun again.
    fn node(&self, generation: u64) -> Result<Node<FileDisk>> {
        let voters: Vec<u64> = self.config.members.iter().map(|member| member.number).collect();
        let disk = FileDisk::open(&self.config.file, self.own.number, &voters)?;
        // (the numbers of its requests begin anew: they must not be taken for earlier ones)
        let process = self.config.process.wrapping_add(generation.rotate_right(8));
        Node::new(self.own.number, process, disk, Lengths::default())
    }

    fn connect(&self, to: &Member) -> Result<Outgoing> {
        Outgoing::connect(&self.own, to, &self.cluster, self.tls.as_ref())
    }

    /// Sends to another node what is put into its queue. What comes while it cannot be reached is dropped: Raft sends again.
    fn send(&self, to: &Member, queue: &Receiver<Vec<u8>>) {
        let mut link: Option<Outgoing> = None;
        let (mut tried, mut reported): (Option<Instant>, Option<Instant>) = (None, None);
        while let Ok(message) = queue.recv() {
            if self.stops() {
                return;
            }
            if link.is_none() && tried.is_none_or(|at| at.elapsed() >= AGAIN) {
                tried = Some(Instant::now());
                match self.connect(to) {
                    Ok(connected) => {
                        if reported.take().is_some() {
                            tracing::info!("node \"{}\" of the cluster is there again", to.name);
                        }
                        link = Some(connected);
                    }
                    Err(e) if reported.is_none_or(|at| at.elapsed() >= OFTEN) => {
                        reported = Some(Instant::now());
                        tracing::warn!("node \"{}\" of the cluster cannot be reached at {}: {e}", to.name, to.address);
                    }
                    Err(_) => {}
                }
            }
            let sent = link.as_mut().is_some_and(|link| {
                let all = || queue.try_iter().take(TOGETHER);
                let sent = std::iter::once(message).chain(all()).try_for_each(|message| link.message(&message));
                sent.and_then(|()| link.flush()).is_ok()
            });
            if !sent {
                link = None;
                let _ = self.events.send(Event::Unreachable(to.number));
            }
        }
    }

    /// Brings a copy of the objects to another node, and then the message that has it take the copy.
    fn bring_copy(&self, to: &Member, mut message: Message) -> Result<()> {
        let mut link = BufWriter::with_capacity(1 << 20, self.connect(to)?);
        let (index, term) = write_copy(&self.config.file, &mut link)?;
        let metadata = message.mut_snapshot().mut_metadata();
        (metadata.index, metadata.term) = (index, term);
        let failed = |e: std::io::Error| Error::new(e.to_string());
        let mut link = link.into_inner().map_err(|e| failed(e.into_error()))?;
        link.message(&wire::encode(&message)).and_then(|()| link.flush()).map_err(failed)
    }

    fn accept(self: Arc<Self>, listener: &TcpListener) {
        let reading = Arc::new(Mutex::new(Reading::default()));
        for number in 0u64.. {
            let accepted = listener.accept();
            if self.stops() {
                break;
            }
            let Ok((tcp, peer)) = accepted else {
                std::thread::sleep(AGAIN);
                continue;
            };
            let Ok(own) = tcp.try_clone() else { continue };
            lock(&reading).add(number, own);
            let (context, all) = (self.clone(), reading.clone());
            let read = move || {
                context.receive(tcp, peer.ip(), number, &all);
                lock(&all).open.remove(&number);
            };
            if thread("cluster-read", read).is_err() {
                lock(&reading).open.remove(&number);
            }
        }
        for (tcp, _) in lock(&reading).open.values() {
            let _ = tcp.shutdown(Shutdown::Both);
        }
    }

    fn receive(&self, tcp: TcpStream, peer: IpAddr, number: u64, all: &Mutex<Reading>) {
        let incoming =
            match Incoming::accept(tcp, self.own.number, &self.cluster, &self.config.members, self.tls.as_ref()) {
                Ok(incoming) => incoming,
                Err(e) => {
                    let mut all = lock(all);
                    if !self.stops() && all.reported.is_none_or(|at| at.elapsed() >= OFTEN) {
                        all.reported = Some(Instant::now());
                        tracing::warn!("a connection from {peer} to this node of the cluster is refused: {e}");
                    }
                    return;
                }
            };
        lock(all).knows(number, incoming.from);
        let copy = self.config.file.with_extension(format!("{COPY}{}-{number}", incoming.from));
        let _ = self.read(incoming, &copy);
    }

    fn read(&self, mut incoming: Incoming, copy: &Path) -> Result<()> {
        let mut file: Option<BufWriter<std::fs::File>> = None;
        let failed = |e: std::io::Error| Error::new(format!("\"{}\": {e}", copy.display()));
        let ended = loop {
            match incoming.next() {
                Ok(Frame::Piece(piece)) => {
                    let to = match &mut file {
                        Some(file) => file,
                        none => {
                            incoming.waits_for(Some(PIECE))?;
                            none.insert(BufWriter::new(std::fs::File::create(copy).map_err(failed)?))
                        }
                    };
                    to.write_all(&piece).map_err(failed)?;
                }
                Ok(Frame::Message(bytes)) => {
                    let Some(mut message) = wire::decode(bytes) else { break Err(Error::new("nonsense")) };
                    if message.from != incoming.from || message.to != self.own.number {
                        break Err(Error::new("a message of another node"));
                    }
                    if message.get_msg_type() == MessageType::MsgSnapshot {
                        let Some(file) = file.take() else { break Err(Error::new("no copy")) };
                        file.into_inner().map_err(|e| failed(e.into_error()))?;
                        let metadata = message.get_snapshot().get_metadata();
                        if copy_is_at(copy)? != (metadata.index, metadata.term) {
                            break Err(Error::new("another copy"));
                        }
                        message.mut_snapshot().data = copy.to_string_lossy().into_owned().into_bytes().into();
                    }
                    if self.events.send(Event::Message(message)).is_err() {
                        break Ok(());
                    }
                }
                Err(e) => break Err(e),
            }
        };
        if file.is_some() {
            let _ = std::fs::remove_file(copy);
        }
        ended
    }
}

/// The node's thread.
struct Runner {
    node: Node<FileDisk>,
    peers: HashMap<u64, (Member, SyncSender<Vec<u8>>)>,
    context: Arc<Context>,
    inbox: Receiver<Event>,
    status: Arc<Mutex<Status>>,
    /// what has been asked for
    asks: HashMap<u64, Ask>,
    /// how many have been
    count: u64,
    /// which of them the node's numbers stand for
    tickets: HashMap<u64, u64>,
    /// what is to be asked, now or when there is a leader
    waiting: Vec<u64>,
}

impl Runner {
    /// Runs the node, and begins again with what is in its memory after a failure: a full disk may have room again.
    fn run(mut self) {
        for generation in 1u64.. {
            // (Raft's library panics where it finds that it has been lied to)
            let ended = catch_unwind(AssertUnwindSafe(|| self.turn()));
            let failed = match ended.unwrap_or_else(|_| Err(Error::new("it has panicked"))) {
                Ok(()) => return self.fails("it has been stopped"),
                Err(e) => e.to_string(),
            };
            tracing::error!("the node of the cluster has failed, and begins again in {} s: {failed}", REST.as_secs());
            self.fails(&failed);
            loop {
                if self.rests() {
                    return;
                }
                match self.context.node(generation) {
                    Ok(node) => {
                        self.node = node;
                        break;
                    }
                    Err(e) => self.fails(&e.to_string()),
                }
            }
            lock(&self.status).failed = None;
        }
    }

    /// The node is not there: whoever asks is told so.
    fn fails(&mut self, why: &str) {
        let why = format!("the node of the cluster is not there: {why}");
        lock(&self.status).failed = Some(why.clone());
        for (_, ask) in self.asks.drain() {
            let _ = ask.reply.send(Err(Unknown(why.clone())));
        }
        self.tickets.clear();
        self.waiting.clear();
    }

    /// Waits before the node begins again. What comes meanwhile is lost. True: it is to stop.
    fn rests(&mut self) -> bool {
        let until = Instant::now() + REST;
        loop {
            match self.inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return true,
                Ok(Event::Ask(ask)) => {
                    let why = lock(&self.status).failed.clone().unwrap_or_default();
                    let _ = ask.reply.send(Err(Unknown(why)));
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }

    fn turn(&mut self) -> Result<()> {
        let mut next = Instant::now() + TICK;
        let mut led = (None, 0);
        loop {
            match self.inbox.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(event) => {
                    let mut event = Some(event);
                    for _ in 0..TOGETHER {
                        match event.or_else(|| self.inbox.try_recv().ok()) {
                            Some(Event::Stop) => return Ok(()),
                            Some(e) => self.take(e),
                            None => break,
                        }
                        event = None;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let now = Instant::now();
            if now >= next {
                // (a process that stood still has missed ticks: they are not made up for)
                next = (next + TICK).max(now);
                self.node.tick();
                self.look_at_late(now);
            }
            let leads = (self.node.leader(), self.node.term());
            if leads != led {
                led = leads;
                self.show_leader();
                // (what was asked of an earlier leader may have got lost)
                self.waiting = self.asks.keys().copied().collect();
            }
            self.ask_waiting(now);
            self.work()?;
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Message(message) => {
                let copy =
                    (message.get_msg_type() == MessageType::MsgSnapshot).then(|| message.get_snapshot().data.clone());
                self.node.step(message);
                if let Some(copy) = copy.filter(|copy| !self.node.takes(copy)) {
                    // (it came too late)
                    let _ = std::fs::remove_file(&*String::from_utf8_lossy(&copy));
                }
            }
            Event::Ask(ask) => {
                self.count += 1;
                self.asks.insert(self.count, ask);
                self.waiting.push(self.count);
            }
            Event::Unreachable(node) => self.node.is_unreachable(node),
            Event::CopyEnded(node, well) => self.node.copy_ended(node, well),
            Event::WantsToLead => self.node.wants_to_lead(),
            Event::HandsOver => self.node.hands_over(),
            Event::Stop => {}
        }
    }

    fn ask_waiting(&mut self, now: Instant) {
        for number in std::mem::take(&mut self.waiting) {
            let Some(ask) = self.asks.get_mut(&number) else { continue };
            let asked = match &ask.change {
                Some((time, change)) => self.node.propose(*time, change.clone()),
                None => self.node.catch_up(),
            };
            match asked {
                Ok(ticket) => {
                    self.tickets.insert(ticket, number);
                    ask.tickets.push(ticket);
                    ask.asked = Some(now);
                }
                Err(_) => self.waiting.push(number),
            }
        }
    }

    /// Nobody waits for it any more.
    fn remove(&mut self, number: u64) -> Option<Ask> {
        let ask = self.asks.remove(&number)?;
        for ticket in &ask.tickets {
            self.tickets.remove(ticket);
            self.node.forget(*ticket);
        }
        Some(ask)
    }

    /// Ends what has waited for too long, and asks again what may have got lost.
    fn look_at_late(&mut self, now: Instant) {
        let is_over = |ask: &Ask| ask.until <= now;
        let over: Vec<u64> = self.asks.iter().filter(|(_, ask)| is_over(ask)).map(|(number, _)| *number).collect();
        for number in over {
            if let Some(ask) = self.remove(number) {
                let _ = ask.reply.send(Err(Unknown("the cluster has no leader, or does not answer".into())));
            }
        }
        let is_late = |ask: &Ask| ask.asked.is_some_and(|asked| now >= asked + ask.patience());
        self.waiting.extend(self.asks.iter_mut().filter(|(_, ask)| is_late(ask)).map(|(number, ask)| {
            ask.asked = None;
            *number
        }));
    }

    fn show_leader(&self) {
        let name =
            |number: u64| self.context.config.members.iter().find(|m| m.number == number).map(|m| m.name.clone());
        let leader = self.node.leader().and_then(name);
        match &leader {
            Some(leader) => tracing::info!("node \"{leader}\" leads the cluster, term {}", self.node.term()),
            None => tracing::info!("the cluster has no leader, term {}", self.node.term()),
        }
        let mut status = lock(&self.status);
        (status.leader, status.term) = (leader, self.node.term());
    }

    fn work(&mut self) -> Result<()> {
        let (mut unreachable, mut copies) = (Vec::new(), Vec::new());
        let peers = &self.peers;
        let answers = self.node.work(&mut |message| {
            let Some((member, queue)) = peers.get(&message.to) else { return };
            if message.get_msg_type() == MessageType::MsgSnapshot {
                copies.push((member.clone(), message));
            } else if let Err(TrySendError::Full(_)) = queue.try_send(wire::encode(&message)) {
                unreachable.push(message.to);
            }
        })?;
        unreachable.into_iter().for_each(|node| self.node.is_unreachable(node));
        for (member, message) in copies {
            let context = self.context.clone();
            let number = member.number;
            let bring = move || {
                tracing::info!("node \"{}\" of the cluster is brought a copy: it is far behind", member.name);
                let brought = context.bring_copy(&member, message);
                if let Err(e) = &brought {
                    tracing::warn!("node \"{}\" of the cluster has not got its copy: {e}", member.name);
                }
                let _ = context.events.send(Event::CopyEnded(member.number, brought.is_ok()));
            };
            if thread("cluster-copy", bring).is_err() {
                self.node.copy_ended(number, false);
            }
        }
        for (ticket, answer) in answers {
            if let Some(ask) = self.tickets.get(&ticket).copied().and_then(|number| self.remove(number)) {
                let _ = ask.reply.send(Ok(answer));
            }
        }
        lock(&self.status).applied = self.node.disk_marks().applied;
        Ok(())
    }
}
