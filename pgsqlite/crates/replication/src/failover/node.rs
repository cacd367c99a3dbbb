//! What one node knows of the lease and of the entry that it puts, and what it does next.
//!
//! A node follows, or holds the lease. A holder first reads the log to its end, then puts an entry that says nothing (so that no late request of an earlier holder can come between), and leads
//! from then on. A holder that has lost the lease is deposed for good: it forgets what the log has not, and begins again as another node.
//!
//! Moments are those of one machine's clock, which never goes back and runs while the machine sleeps.

pub use crate::entry::Appended;
use std::time::Duration;

/// A time of the machine's own clock.
pub type Moment = Duration;

/// A lease that lasts for so long is the last one.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// What the object of the lease says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// one more with each holder
    pub epoch: u64,
    /// the name of the holder
    pub holder: String,
    /// tells processes apart
    pub nonce: u64,
    /// one more each time that the holder renews it
    pub renewal: u64,
    /// for how long others leave it alone
    pub lasts: Duration,
    /// its holder needs it no more
    pub released: bool,
}

/// A request about the lease. `T` is what tells two states of its object apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask<T> {
    /// Read it.
    Look,
    /// Put it, if the object is still the one with this tag; if there is none: create it.
    Put(Option<T>, Lease),
    /// Ask nothing before this moment.
    Rest(Moment),
    /// The node is deposed: there is nothing to ask any more.
    Nothing,
}

/// What has become of a request about the lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<T> {
    /// What there is.
    Is(Option<(T, Lease)>),
    /// It was put, and has this tag.
    Put(T),
    /// There is another object.
    Refused,
    /// No answer has come: it may have happened, or happen yet.
    Unknown,
}

/// What follows from that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is in the log for good, and may be acknowledged.
    Acknowledged,
    /// The same entry is to be put again, with the same number.
    Again,
    /// Another node has written meanwhile: the log is to be read to its end again.
    Behind,
    /// The node is deposed. Nobody knows whether the entry is in the log.
    Deposed,
}

/// The node may not write: it is none that leads, or has been deposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotLeading;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It follows the log.
    Follows,
    /// It has the lease, and reads the log to its end.
    Reads,
    /// It has read the log, and puts its first entry.
    Begins,
    /// It writes to the log.
    Leads,
    /// It has had the lease.
    Deposed,
}

/// What has been left out, for the test that shows what each rule is for.
#[cfg(test)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Without {
    /// the third rule
    pub look: bool,
    /// the first rule
    pub one: bool,
    /// the fourth rule
    pub fence: bool,
}

/// One node.
#[derive(Debug)]
pub struct Node<T> {
    name: String,
    nonce: u64,
    /// an earlier process, which has ended, and whose lease is taken at once
    before: Option<u64>,
    lasts: Duration,
    role: Role,
    /// the lease, as it was seen last, with its tag, and since when it has been the same; none: there was none
    seen: Option<(T, Lease, Moment)>,
    /// nothing is known to have happened to it since
    is_sure: bool,
    /// the lease that was put last, and when it was sent for the first time
    put: Option<(Lease, Moment)>,
    /// its holder may rely on it until then
    until: Moment,
    /// when the next request is due
    due: Moment,
    /// the number of the last entry
    last: u64,
    /// how many entries are being put
    under_way: u64,
    /// it gives the lease away
    releases: bool,
    /// it keeps the lease, and nobody has it after it
    is_last: bool,
    #[cfg(test)]
    pub(super) without: Without,
}

impl<T: Clone + PartialEq> Node<T> {
    /// A node that follows. `nonce`: a number that no other process has. `lasts`: for how long a lease is left alone.
    pub fn new(name: &str, nonce: u64, lasts: Duration) -> Node<T> {
        Node {
            name: name.to_string(),
            nonce,
            before: None,
            lasts,
            role: Role::Follows,
            seen: None,
            is_sure: false,
            put: None,
            until: Moment::ZERO,
            due: Moment::ZERO,
            last: 0,
            under_way: 0,
            releases: false,
            is_last: false,
            #[cfg(test)]
            without: Without::default(),
        }
    }

    /// The same node, which goes on where an earlier process of its own has ended, if nobody has held the lease since.
    pub fn resumes(self, before: u64) -> Node<T> {
        Node { before: Some(before), ..self }
    }

    /// What it is.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Whether it has the lease, as far as it can know.
    pub fn holds(&self) -> bool {
        matches!(self.role, Role::Reads | Role::Begins | Role::Leads)
    }

    /// The lease, as it was seen last.
    pub fn lease(&self) -> Option<&Lease> {
        self.seen.as_ref().map(|(_, lease, _)| lease)
    }

    /// The number by which the bucket knows the process.
    pub fn nonce(&self) -> u64 {
        self.nonce
    }

    /// Whether the node leads now, so that it may show clients what it has, and remove entries.
    pub fn leads(&self, now: Moment) -> bool {
        self.role == Role::Leads && now < self.until
    }

    /// Until when the lease is the node's, if nothing is heard any more.
    pub fn until(&self) -> Moment {
        self.until
    }

    /// For so long the holder relies on a lease: less than others leave it alone, for clocks that differ by a little.
    fn relied(&self) -> Duration {
        self.lasts * 7 / 8
    }

    /// Between two looks of one who waits.
    fn pause(&self) -> Duration {
        (self.lasts / 20).clamp(Duration::from_millis(20), Duration::from_millis(250)).min(self.lasts / 4)
    }

    fn depose(&mut self) {
        self.role = Role::Deposed;
    }

    /// The next request about the lease. There is one at a time: the next one is asked for after its answer, or after it is known that none comes.
    pub fn next(&mut self, now: Moment) -> Ask<T> {
        let holds = self.holds();
        if holds && now >= self.until && !self.is_without_fence() {
            self.depose();
        }
        if self.role == Role::Deposed {
            return Ask::Nothing;
        }
        if now < self.due {
            return Ask::Rest(self.due);
        }
        if !self.is_sure {
            return Ask::Look;
        }
        let lease = match &self.seen {
            None => self.of_epoch(1),
            Some((_, lease, _)) if holds => {
                let lasts = if self.is_last { FOR_EVER } else { lease.lasts };
                Lease { renewal: lease.renewal + 1, released: self.releases, lasts, ..lease.clone() }
            }
            Some((_, lease, since)) if self.is_over(lease, *since, now) => self.of_epoch(lease.epoch + 1),
            Some(_) => return Ask::Look,
        };
        let tag = self.seen.as_ref().map(|(tag, ..)| tag.clone());
        if self.put.as_ref().is_none_or(|(before, _)| *before != lease) {
            self.put = Some((lease.clone(), now));
        }
        Ask::Put(tag, lease)
    }

    fn of_epoch(&self, epoch: u64) -> Lease {
        let (holder, nonce, lasts) = (self.name.clone(), self.nonce, self.lasts);
        Lease { epoch, holder, nonce, renewal: 0, lasts, released: false }
    }

    /// What has become of a request of [`Node::next`].
    pub fn answered(&mut self, now: Moment, answer: Answer<T>) {
        match answer {
            _ if self.role == Role::Deposed => {}
            Answer::Put(tag) => self.has_put(now, tag),
            Answer::Is(found) => self.has_seen(now, found),
            Answer::Refused => (self.is_sure, self.due) = (false, now),
            Answer::Unknown => (self.is_sure, self.due) = (false, now + self.pause()),
        }
    }

    /// Whether others may take this lease, which has been the same since then.
    fn is_over(&self, lease: &Lease, since: Moment, now: Moment) -> bool {
        lease.released || self.before == Some(lease.nonce) || now >= since + lease.lasts
    }

    /// What was put last is what there is.
    fn has_put(&mut self, now: Moment, tag: T) {
        let Some((lease, sent)) = self.put.clone() else { return };
        self.due = sent + self.lasts / 4;
        if lease.released || lease.lasts == FOR_EVER {
            return self.depose();
        }
        self.until = sent + self.relied();
        self.sees(now, tag, lease);
        if self.role == Role::Follows {
            // (a request that was late may have been sent so long ago that it is of no use)
            match now < self.until {
                true => self.role = Role::Reads,
                false => self.due = now + self.pause(),
            }
        }
    }

    fn sees(&mut self, now: Moment, tag: T, lease: Lease) {
        let since = self.seen.as_ref().filter(|(known, ..)| *known == tag).map_or(now, |(_, _, since)| *since);
        (self.seen, self.is_sure) = (Some((tag, lease, since)), true);
    }

    fn has_seen(&mut self, now: Moment, found: Option<(T, Lease)>) {
        let Some((tag, lease)) = found else {
            (self.seen, self.is_sure, self.due) = (None, true, now);
            if self.holds() {
                self.depose();
            }
            return;
        };
        let is_put = self.put.as_ref().is_some_and(|(put, _)| *put == lease);
        if lease.nonce == self.nonce && is_put {
            return self.has_put(now, tag);
        }
        if self.holds() && lease.nonce != self.nonce {
            if !self.is_without_fence() {
                return self.depose();
            }
            let own = Lease { renewal: lease.renewal, ..self.of_epoch(lease.epoch) };
            self.due = now;
            return self.sees(now, tag, own);
        }
        self.sees(now, tag, lease);
        let is_over = self.seen.as_ref().is_some_and(|(_, lease, since)| self.is_over(lease, *since, now));
        // (what is the holder's own is an earlier one: a renewal is due)
        self.due = if is_over || self.holds() { now } else { now + self.pause() };
    }

    /// The log has been read to its end, since the lease was taken or since the last [`Verdict::Behind`]: to this entry.
    pub fn has_read(&mut self, last: u64) {
        if self.role == Role::Reads {
            (self.role, self.last) = (Role::Begins, last);
        }
    }

    /// The number of the next entry, which is to be put now. The first one says nothing. Errors: also if the lease has expired.
    pub fn append(&mut self, now: Moment) -> Result<u64, NotLeading> {
        let may = matches!(self.role, Role::Begins | Role::Leads) && (self.under_way == 0 || self.is_without_one());
        if !may || now >= self.until && !self.is_without_look() {
            return Err(NotLeading);
        }
        self.under_way += 1;
        Ok(self.last + self.under_way)
    }

    /// What has become of the entry that was put last.
    pub fn appended(&mut self, now: Moment, outcome: Appended) -> Verdict {
        if self.role == Role::Deposed && !self.is_without_look() || self.under_way == 0 {
            return Verdict::Deposed;
        }
        // the look: after the entry is in the log, and before anybody is told
        if now >= self.until && !self.is_without_look() {
            self.depose();
            return Verdict::Deposed;
        }
        match outcome {
            Appended::Unknown => Verdict::Again,
            Appended::Taken if self.role == Role::Begins => {
                (self.role, self.under_way) = (Role::Reads, 0);
                Verdict::Behind
            }
            Appended::Taken => {
                self.depose();
                Verdict::Deposed
            }
            Appended::Done => {
                (self.last, self.under_way) = (self.last + 1, self.under_way - 1);
                if self.role == Role::Begins {
                    self.role = Role::Leads;
                }
                Verdict::Acknowledged
            }
        }
    }

    /// Asks that the lease is given away with the next request. Nothing is to be put from now on.
    pub fn release(&mut self) {
        (self.releases, self.due) = (true, Moment::ZERO);
    }

    /// Asks that nobody ever has the lease after this holder, with the next request: the database leaves the log. Nothing is to be put from now on.
    pub fn leave(&mut self) {
        (self.is_last, self.due) = (true, Moment::ZERO);
    }

    /// Whether its lease is the last one.
    pub fn has_left(&self) -> bool {
        self.role == Role::Deposed
            && self.put.as_ref().is_some_and(|(lease, _)| lease.lasts == FOR_EVER && self.is_sure)
    }

    #[cfg(test)]
    fn is_without_look(&self) -> bool {
        self.without.look
    }

    #[cfg(test)]
    fn is_without_one(&self) -> bool {
        self.without.one && self.under_way < 4
    }

    #[cfg(test)]
    fn is_without_fence(&self) -> bool {
        self.without.fence
    }

    #[cfg(not(test))]
    const fn is_without_look(&self) -> bool {
        false
    }

    #[cfg(not(test))]
    const fn is_without_one(&self) -> bool {
        false
    }

    #[cfg(not(test))]
    const fn is_without_fence(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LASTS: Duration = Duration::from_secs(8);

    fn at(milliseconds: u64) -> Moment {
        Duration::from_millis(milliseconds)
    }

    fn node(nonce: u64) -> Node<u64> {
        Node::new("n", nonce, LASTS)
    }

    /// A node that has taken the lease of a bucket without one, at the moment 100, and leads.
    fn leader() -> Node<u64> {
        let mut node = node(7);
        assert_eq!(node.next(at(100)), Ask::Look);
        node.answered(at(100), Answer::Is(None));
        let Ask::Put(None, lease) = node.next(at(100)) else { panic!("it takes what is free") };
        assert_eq!((lease.epoch, lease.nonce), (1, 7));
        assert!(node.append(at(100)).is_err(), "it has no lease yet");
        node.answered(at(120), Answer::Put(1));
        assert_eq!(node.role(), Role::Reads);
        assert!(node.append(at(120)).is_err(), "it has not read the log");
        node.has_read(41);
        assert_eq!(node.append(at(130)), Ok(42));
        assert!(node.append(at(130)).is_err(), "there is one under way");
        assert!(!node.leads(at(130)));
        assert_eq!(node.appended(at(140), Appended::Done), Verdict::Acknowledged);
        assert!(node.leads(at(140)));
        node
    }

    #[test]
    fn a_lease_counts_from_when_it_was_asked_for() {
        let mut node = leader();
        // (a part of it is left for clocks that differ)
        assert!(node.leads(at(100 + 6999)) && !node.leads(at(100 + 7000)));
        assert_eq!(node.append(at(7000)), Ok(43));
        // the look: the entry is in the log, and nobody is told so
        assert_eq!(node.appended(at(7100), Appended::Done), Verdict::Deposed);
        assert_eq!(node.next(at(7100)), Ask::Nothing);
    }

    #[test]
    fn a_lease_is_left_alone_as_long_as_it_changes() {
        let mut node = node(8);
        let lease =
            |renewal| Lease { epoch: 3, holder: "other".into(), nonce: 1, renewal, lasts: LASTS, released: false };
        for (moment, tag) in [(0, 1), (4000, 1), (7900, 2), (15_800, 2)] {
            assert_eq!(node.next(at(moment)), Ask::Look, "{moment}");
            node.answered(at(moment), Answer::Is(Some((tag, lease(tag)))));
        }
        let Ask::Put(Some(2), taken) = node.next(at(15_900 + 8000)) else { panic!("it has expired") };
        assert_eq!((taken.epoch, taken.renewal), (4, 0));
        // the answer is lost; the lease that is there is its own
        node.answered(at(24_000), Answer::Unknown);
        assert_eq!(node.next(at(24_500)), Ask::Look);
        node.answered(at(24_500), Answer::Is(Some((3, taken))));
        assert_eq!(node.role(), Role::Reads);
    }

    #[test]
    fn another_ones_entry_or_lease_ends_a_holders_time() {
        let mut node = leader();
        assert_eq!(node.append(at(200)), Ok(43));
        assert_eq!(node.appended(at(210), Appended::Unknown), Verdict::Again);
        assert_eq!(node.appended(at(220), Appended::Taken), Verdict::Deposed);
        let mut node = leader();
        let Ask::Put(Some(1), renewed) = node.next(at(2200)) else { panic!("a renewal is due") };
        assert_eq!((renewed.epoch, renewed.renewal), (1, 1));
        node.answered(at(2300), Answer::Refused);
        assert_eq!(node.next(at(2300)), Ask::Look);
        let other = Lease { epoch: 2, nonce: 9, ..renewed };
        node.answered(at(2310), Answer::Is(Some((2, other))));
        assert_eq!((node.role(), node.append(at(2310))), (Role::Deposed, Err(NotLeading)));
    }

    #[test]
    fn what_an_earlier_process_has_had_or_somebody_gives_away_is_taken_at_once() {
        let old = Lease { epoch: 5, holder: "n".into(), nonce: 1, renewal: 2, lasts: LASTS, released: false };
        for (mut node, lease) in [(node(8).resumes(1), old.clone()), (node(8), Lease { released: true, ..old.clone() })]
        {
            assert_eq!(node.next(at(0)), Ask::Look);
            node.answered(at(0), Answer::Is(Some((1, lease))));
            assert!(matches!(node.next(at(0)), Ask::Put(Some(1), Lease { epoch: 6, .. })));
        }
        let mut node = leader();
        node.leave();
        let Ask::Put(Some(1), last) = node.next(at(300)) else { panic!("it puts the last lease") };
        node.answered(at(310), Answer::Put(2));
        assert!(node.has_left() && node.append(at(310)).is_err());
        let mut other = self::node(9);
        assert_eq!(other.next(at(0)), Ask::Look);
        other.answered(at(0), Answer::Is(Some((2, last))));
        assert_eq!(other.next(at(1_000_000_000_000)), Ask::Look, "nobody takes it");
        let mut node = leader();
        node.release();
        assert!(matches!(node.next(at(300)), Ask::Put(Some(1), Lease { released: true, .. })));
        node.answered(at(310), Answer::Put(2));
        assert_eq!(node.role(), Role::Deposed);
    }
}
