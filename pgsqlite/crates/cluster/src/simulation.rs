//! Nodes in one process with a network, disks and a clock that are made up: a seed gives one run, with messages that are lost, late, doubled or out of order, nodes that crash, stand still or are
//! cut off (also one way), and copies for nodes that are far behind. The seed of a run that fails is printed; `PGSQLITE_SEED` and `PGSQLITE_SCHEDULES` choose others and more of them.
//!
//! What must hold: no two nodes apply different commands under one number; what was acknowledged is there in the end, on each node; an object that is put on the condition that there is none is
//! put once; a node that was told to be up to date has what anybody was acknowledged before it asked; and a cluster that is left in peace goes on.

use crate::command::{Change, Command, Condition};
use crate::disk::{Disk, Marks, Object, Objects, Part};
use crate::node::{Answer, Lengths, Node, ELECTION};
use crate::objects::Outcome;
use crate::{wire, Result};
use bytes::Bytes;
use raft::eraftpb::{Entry, HardState, Message, MessageType};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// What is on a disk.
#[derive(Debug, Clone, Default)]
struct Content {
    marks: Marks,
    log: BTreeMap<u64, Entry>,
    objects: BTreeMap<String, (Object, Vec<Part>)>,
    uploads: BTreeMap<(u64, u32), Part>,
}

/// A disk, which outlives its node: what there is, and what would be left of it if the machine failed.
#[derive(Debug, Default)]
struct Plate {
    now: Content,
    synced: Content,
    /// for the test of the test: nothing is ever synced but at the beginning of a run and now and then
    forgets: bool,
    writes: u64,
}

#[derive(Clone)]
struct ModelDisk {
    plate: Arc<Mutex<Plate>>,
    /// as `plate` has it
    marks: Marks,
    copies: Copies,
}

/// Copies under way, by their names.
type Copies = Arc<Mutex<HashMap<Vec<u8>, Content>>>;

impl Objects for Content {
    fn object(&self, name: &str) -> Result<Option<Object>> {
        Ok(self.objects.get(name).map(|(object, _)| object.clone()))
    }
    fn set(&mut self, name: &str, object: &Object, parts: &[Part]) -> Result<()> {
        self.objects.insert(name.into(), (object.clone(), parts.to_vec()));
        Ok(())
    }
    fn remove(&mut self, name: &str) -> Result<()> {
        self.objects.remove(name);
        Ok(())
    }
    fn add_part(&mut self, upload: u64, number: u32, part: Part) -> Result<()> {
        self.uploads.insert((upload, number), part);
        Ok(())
    }
    fn parts(&self, upload: u64) -> Result<Vec<(u32, Part)>> {
        Ok(self.uploads.range((upload, 0)..=(upload, u32::MAX)).map(|((_, n), part)| (*n, *part)).collect())
    }
    fn forget_upload(&mut self, upload: u64) -> Result<()> {
        self.uploads.retain(|(of, _), _| *of != upload);
        Ok(())
    }
    fn forget_uploads_before(&mut self, entry: u64) -> Result<()> {
        self.uploads.retain(|_, part| part.entry >= entry);
        Ok(())
    }
}

impl ModelDisk {
    fn open(plate: &Arc<Mutex<Plate>>, copies: &Copies) -> ModelDisk {
        let marks = plate.lock().unwrap().now.marks.clone();
        ModelDisk { plate: plate.clone(), marks, copies: copies.clone() }
    }

    fn change<R>(&mut self, syncs: bool, change: impl FnOnce(&mut Content) -> Result<R>) -> Result<R> {
        let mut plate = self.plate.lock().unwrap();
        let done = change(&mut plate.now)?;
        self.marks = plate.now.marks.clone();
        plate.writes += 1;
        if syncs && (!plate.forgets || plate.writes.is_multiple_of(7)) {
            plate.synced = plate.now.clone();
        }
        Ok(done)
    }
}

impl Disk for ModelDisk {
    fn marks(&self) -> &Marks {
        &self.marks
    }
    fn last_index(&self) -> u64 {
        let plate = self.plate.lock().unwrap();
        plate.now.log.last_key_value().map_or(0, |(index, _)| *index).max(self.marks.compacted)
    }
    fn term(&self, index: u64) -> Result<Option<u64>> {
        if index == self.marks.compacted {
            return Ok(Some(self.marks.compacted_term));
        }
        Ok(self.plate.lock().unwrap().now.log.get(&index).map(|entry| entry.term))
    }
    fn entries(&self, low: u64, high: u64, most: u64) -> Result<Vec<Entry>> {
        let (mut bytes, plate) = (0, self.plate.lock().unwrap());
        let fits = |(i, (_, entry)): &(usize, (&u64, &Entry))| {
            bytes += entry.data.len() as u64;
            *i == 0 || bytes <= most
        };
        Ok(plate.now.log.range(low..high).enumerate().take_while(fits).map(|(_, (_, e))| e.clone()).collect())
    }
    fn write(&mut self, entries: &[Entry], hard: Option<&HardState>) -> Result<()> {
        self.change(true, |now| {
            if let Some(first) = entries.first() {
                now.log.split_off(&first.index);
            }
            now.log.extend(entries.iter().map(|entry| (entry.index, entry.clone())));
            now.marks.hard = hard.cloned().unwrap_or_else(|| now.marks.hard.clone());
            Ok(())
        })
    }
    fn apply(&mut self, applied: (u64, u64), work: &mut dyn FnMut(&mut dyn Objects) -> Result<()>) -> Result<()> {
        self.change(false, |now| {
            work(now)?;
            (now.marks.applied, now.marks.applied_term) = applied;
            Ok(())
        })
    }
    fn compact(&mut self, index: u64) -> Result<()> {
        let term = self.term(index)?.unwrap();
        self.change(false, |now| {
            now.log.retain(|entry, _| *entry > index);
            (now.marks.compacted, now.marks.compacted_term) = (index, term);
            Ok(())
        })
    }
    fn install(&mut self, index: u64, term: u64, copy: &[u8]) -> Result<()> {
        let copy = self.copies.lock().unwrap()[copy].clone();
        assert_eq!((copy.marks.applied, copy.marks.applied_term), (index, term));
        self.change(true, |now| {
            let hard = HardState { commit: now.marks.hard.commit.max(index), ..now.marks.hard.clone() };
            let marks = Marks { hard, compacted: index, compacted_term: term, ..copy.marks };
            *now = Content { marks, log: BTreeMap::new(), ..copy };
            Ok(())
        })
    }
}

/// What is different from what must be.
type Wrong = String;

/// A machine with a node, or without one while it is down.
struct Machine {
    plate: Arc<Mutex<Plate>>,
    node: Option<Node<ModelDisk>>,
    /// until this tick it stands still, or is down
    until: u64,
    /// what its process waits for: the name that it puts, or what must be there
    asked: HashMap<u64, Asked>,
}

enum Asked {
    Put(String),
    /// the node has this entry then
    Has(u64),
}

struct Run {
    random: StdRng,
    machines: Vec<Machine>,
    /// when they arrive, and what
    network: Vec<(u64, Vec<u8>)>,
    /// from, to
    cut: Vec<(usize, usize)>,
    copies: Copies,
    now: u64,
    processes: u64,
    /// the command of each entry that was applied anywhere
    applied: BTreeMap<u64, Bytes>,
    /// up to which entry each machine's log was compared with it
    compared: Vec<u64>,
    acknowledged: Vec<(String, u64)>,
    last_acknowledged: u64,
    lengths: Lengths,
}

impl Run {
    fn new(seed: u64, nodes: usize, forgets: bool) -> Run {
        let voters: Vec<u64> = (1..=nodes as u64).collect();
        let machine = |_| {
            let mut plate = Plate { forgets, ..Default::default() };
            plate.now.marks.voters = voters.clone();
            plate.synced = plate.now.clone();
            let plate = Arc::new(Mutex::new(plate));
            Machine { plate, node: None, until: 0, asked: HashMap::new() }
        };
        let mut random = StdRng::seed_from_u64(seed);
        let kept = random.random_range(2..30);
        Run {
            machines: (0..nodes).map(machine).collect(),
            network: Vec::new(),
            cut: Vec::new(),
            copies: Copies::default(),
            now: 0,
            processes: 0,
            applied: BTreeMap::new(),
            compared: vec![0; nodes],
            acknowledged: Vec::new(),
            last_acknowledged: 0,
            lengths: Lengths { long: kept + random.random_range(1..40), kept },
            random,
        }
    }

    fn start(&mut self, at: usize) {
        self.processes += 1;
        let machine = &mut self.machines[at];
        let disk = ModelDisk::open(&machine.plate, &self.copies);
        machine.asked.clear();
        machine.node = Some(Node::new(at as u64 + 1, self.processes, disk, self.lengths).unwrap());
    }

    /// The machine fails: what was not synced is gone, or, if only the process has ended, it is there.
    fn crash(&mut self, at: usize, of_machine: bool) {
        let machine = &mut self.machines[at];
        machine.node = None;
        let mut plate = machine.plate.lock().unwrap();
        if of_machine {
            plate.now = plate.synced.clone();
        }
        self.compared[at] = self.compared[at].min(plate.now.marks.applied);
    }

    /// Lets a node do what is due.
    fn work(&mut self, at: usize) -> std::result::Result<(), Wrong> {
        let Some(node) = &mut self.machines[at].node else { return Ok(()) };
        let mut messages = Vec::new();
        let answers = node.work(&mut |message| messages.push(message)).map_err(|e| e.to_string())?;
        for message in messages {
            self.send(at, message);
        }
        self.compare(at)?;
        for (ticket, answer) in answers {
            match (self.machines[at].asked.remove(&ticket), answer) {
                (Some(Asked::Put(name)), Answer::Changed(Outcome::Put(tag))) => {
                    self.acknowledged.push((name, tag));
                    self.last_acknowledged = self.last_acknowledged.max(tag);
                }
                (Some(Asked::Put(_)), Answer::Changed(Outcome::Refused)) => {}
                (Some(Asked::Has(entry)), Answer::UpToDate) => {
                    let applied = self.machines[at].plate.lock().unwrap().now.marks.applied;
                    if applied < entry {
                        return Err(format!("node {at} was told to have entry {entry}, and has {applied}"));
                    }
                }
                (_, answer) => return Err(format!("an answer that nobody waits for: {ticket} {answer:?}")),
            }
        }
        Ok(())
    }

    /// No two nodes apply different commands under one number.
    fn compare(&mut self, at: usize) -> std::result::Result<(), Wrong> {
        let plate = self.machines[at].plate.lock().unwrap();
        let applied = plate.now.marks.applied;
        for (index, entry) in plate.now.log.range(self.compared[at] + 1..applied.max(self.compared[at]) + 1) {
            let first = self.applied.entry(*index).or_insert_with(|| entry.data.clone());
            if *first != entry.data {
                let shown = |data| Command::decode(data);
                return Err(format!("entry {index} is {:?} and {:?}", shown(first), shown(&entry.data)));
            }
        }
        self.compared[at] = applied.max(self.compared[at]);
        Ok(())
    }

    fn send(&mut self, at: usize, mut message: Message) {
        let to = message.to as usize - 1;
        if message.get_msg_type() == MessageType::MsgSnapshot {
            // the copy is made now
            let content = self.machines[at].plate.lock().unwrap().now.clone();
            let name = format!("{}", self.copies.lock().unwrap().len()).into_bytes();
            let snapshot = message.mut_snapshot();
            snapshot.data = name.clone().into();
            let metadata = snapshot.mut_metadata();
            (metadata.index, metadata.term) = (content.marks.applied, content.marks.applied_term);
            self.copies.lock().unwrap().insert(name, content);
        }
        let is_copy = message.get_msg_type() == MessageType::MsgSnapshot;
        let is_lost = self.cut.contains(&(at, to)) || self.random.random_bool(0.03);
        if is_copy {
            if let Some(node) = &mut self.machines[at].node {
                node.copy_ended(message.to, !is_lost);
            }
        }
        if is_lost {
            if let Some(node) = self.machines[at].node.as_mut().filter(|_| self.random.random_bool(0.3)) {
                node.is_unreachable(message.to);
            }
            return;
        }
        let bytes = wire::encode(&message);
        for _ in 0..if self.random.random_bool(0.03) { 2 } else { 1 } {
            let late = match self.random.random_range(0..100) {
                0..70 => 0,
                70..97 => self.random.random_range(1..4),
                _ => self.random.random_range(4..40),
            };
            self.network.push((self.now + late, bytes.clone()));
        }
    }

    /// One tick of every machine.
    fn tick(&mut self) -> std::result::Result<(), Wrong> {
        self.now += 1;
        for at in 0..self.machines.len() {
            if self.machines[at].until > self.now {
                continue;
            }
            if self.machines[at].node.is_none() {
                self.start(at);
            }
            if let Some(node) = &mut self.machines[at].node {
                node.tick();
            }
            self.work(at)?;
        }
        // (what is sent meanwhile may arrive in the same tick)
        for _ in 0..6 {
            let (due, later) = std::mem::take(&mut self.network).into_iter().partition(|(at, _)| *at <= self.now);
            self.network = later;
            let mut due: Vec<(u64, Vec<u8>)> = due;
            while !due.is_empty() {
                let (_, bytes) = due.swap_remove(self.random.random_range(0..due.len()));
                let message = wire::decode(bytes.into()).ok_or("a message that is none")?;
                let to = message.to as usize - 1;
                if self.machines[to].until > self.now {
                    continue;
                }
                if let Some(node) = &mut self.machines[to].node {
                    node.step(message);
                    self.work(to)?;
                }
            }
        }
        Ok(())
    }

    /// Something happens.
    fn chance(&mut self) -> std::result::Result<(), Wrong> {
        let nodes = self.machines.len();
        let at = self.random.random_range(0..nodes);
        match self.random.random_range(0..100) {
            0..50 => self.ask(at)?,
            50..53 => {
                let of_machine = self.random.random_bool(0.7);
                self.crash(at, of_machine);
                self.machines[at].until = self.now + self.random.random_range(1..80);
            }
            53..55 => self.machines[at].until = self.now + self.random.random_range(1..60),
            55..57 => {
                for other in (0..nodes).filter(|other| *other != at) {
                    self.cut.extend([(at, other), (other, at)]);
                }
            }
            57..59 => self.cut.push((at, self.random.random_range(0..nodes))),
            59..64 => self.cut.clear(),
            64..66 => {
                if let Some(node) = &mut self.machines[at].node {
                    match self.random.random_bool(0.5) {
                        true => node.wants_to_lead(),
                        false => node.hands_over(),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn ask(&mut self, at: usize) -> std::result::Result<(), Wrong> {
        let (now, has) = (self.now, self.last_acknowledged);
        let machine = &mut self.machines[at];
        let Some(node) = machine.node.as_mut().filter(|_| machine.until <= now) else { return Ok(()) };
        if self.random.random_bool(0.3) {
            if let Ok(ticket) = node.catch_up() {
                machine.asked.insert(ticket, Asked::Has(has));
            }
        } else {
            // (some names are put by several nodes, with the condition that there is none)
            let name = format!("n{}", now / self.random.random_range(1..8));
            let content = Bytes::from(format!("{at} {now}"));
            let put =
                Change::Put { name: name.clone(), condition: Condition::Absent, attributes: Bytes::new(), content };
            if let Ok(ticket) = node.propose(now, put) {
                machine.asked.insert(ticket, Asked::Put(name));
            }
        }
        self.work(at)
    }

    /// Everything is well again: all nodes get to the same objects, with all that was acknowledged, and go on.
    fn end(&mut self) -> std::result::Result<(), Wrong> {
        self.cut.clear();
        self.machines.iter_mut().for_each(|machine| machine.until = 0);
        let (mut acknowledged, before) = (None, self.acknowledged.len());
        for _ in 0..60 * ELECTION {
            self.tick()?;
            if acknowledged.is_none() && self.now.is_multiple_of(5) {
                let at = self.random.random_range(0..self.machines.len());
                self.ask(at)?;
            }
            if self.acknowledged.len() > before {
                acknowledged.get_or_insert(self.now);
            }
            // (the last message must have come)
            let marks = |m: &Machine| m.plate.lock().unwrap().now.marks.applied;
            let first = marks(&self.machines[0]);
            if acknowledged.is_some_and(|at| self.now > at + 5) && self.machines.iter().all(|m| marks(m) == first) {
                break;
            }
        }
        if acknowledged.is_none() {
            let shown = |m: &Machine| {
                m.node
                    .as_ref()
                    .map(|n| (n.leads(), n.leader(), n.term(), n.disk().marks().clone(), n.disk().last_index()))
            };
            let nodes: Vec<_> = self.machines.iter().map(shown).collect();
            return Err(format!("a cluster that is left in peace does not go on: {nodes:?}"));
        }
        let contents: Vec<Content> = self.machines.iter().map(|m| m.plate.lock().unwrap().now.clone()).collect();
        if contents.iter().any(|content| content.objects != contents[0].objects) {
            return Err("the nodes have different objects in the end".into());
        }
        let mut names = HashMap::new();
        for (name, tag) in &self.acknowledged {
            if contents[0].objects.get(name).is_none_or(|(object, _)| object.tag != *tag) {
                return Err(format!(
                    "object {name} was acknowledged as {tag}, and is {:?}",
                    contents[0].objects.get(name)
                ));
            }
            if names.insert(name, tag).is_some() {
                return Err(format!("object {name} was put twice"));
            }
        }
        Ok(())
    }

    fn run(&mut self) -> std::result::Result<(), Wrong> {
        for _ in 0..self.random.random_range(100..500) {
            self.tick()?;
            for _ in 0..self.random.random_range(0..4) {
                self.chance()?;
            }
        }
        self.end()
    }
}

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn nothing_is_lost_and_nobody_disagrees() {
    let (first, runs) = (from_environment("PGSQLITE_SEED", 1), from_environment("PGSQLITE_SCHEDULES", 150));
    let (mut acknowledged, mut copies, mut entries) = (0, 0, 0);
    for seed in first..first + runs {
        let mut run = Run::new(seed, if seed % 4 == 0 { 5 } else { 3 }, false);
        if let Err(wrong) = run.run() {
            panic!("PGSQLITE_SEED={seed} PGSQLITE_SCHEDULES=1: {wrong}");
        }
        acknowledged += run.acknowledged.len();
        copies += run.copies.lock().unwrap().len();
        entries += run.applied.len();
    }
    println!("{runs} runs, {entries} entries, {acknowledged} acknowledged, {copies} copies");
    assert!(acknowledged as u64 > 10 * runs && copies > 0, "the runs have tried nothing: {acknowledged}, {copies}");
}

/// The simulation finds what a disk loses that forgets what it was to keep.
#[test]
fn a_disk_that_forgets_is_found_out() {
    let lost = |seed: &u64| {
        let run = std::panic::AssertUnwindSafe(|| Run::new(*seed, 3, true).run());
        // (Raft's library panics where it finds that it has been lied to)
        std::panic::catch_unwind(run).map_or(true, |end| end.is_err())
    };
    assert!((1..200).any(|seed| lost(&seed)));
}
