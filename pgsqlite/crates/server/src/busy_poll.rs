//! Asking a socket again and again for a moment before its thread sleeps.
//!
//! A client that sends one short statement after the other has its next one ready a few microseconds after it has read an answer.
//! To put the server's thread and its processor to sleep for that time, and to wake both, takes several times as long as the
//! statement itself. So a session that has a thread of its own (`crate::own_thread`) polls for its next message first, where that
//! is likely to be worth while and takes nothing from anybody:
//!
//! * the last statement was answered within the same limit. One that waited for the disk has let the client's processor fall
//!   asleep, too: the client is not back so soon, and mostly goes on where the server's thread is, if that sleeps.
//!   A session whose transaction keeps other writers waiting polls after long statements, too: until it ends, nobody writes;
//! * polling has not been in vain lately: each time it is, twice as many messages are waited for without;
//! * at most half of the processors poll, and none where there is only one;
//! * whoever else wants the processor gets it after each look. Then the thread looks once more, because that may have been the client, and
//!   sleeps.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Who gives way to another thread gets the processor back after at least so long; a `sched_yield` that finds nobody takes less than
/// one microsecond.
const GAVE_WAY: Duration = Duration::from_micros(5);
/// After so many polls in vain, one after the other, the number of messages that are waited for without grows no more.
const MOST_MISSES: u32 = 10;

/// How many threads of a process may poll, and do.
struct Places {
    most: usize,
    taken: AtomicUsize,
}

impl Places {
    const fn new(most: usize) -> Places {
        Places { most, taken: AtomicUsize::new(0) }
    }

    fn of_process() -> &'static Places {
        static PLACES: LazyLock<Places> =
            LazyLock::new(|| Places::new(std::thread::available_parallelism().map_or(0, |n| usize::from(n) / 2)));
        &PLACES
    }

    fn take(&self) -> Option<Place<'_>> {
        let taken = self.taken.fetch_add(1, Ordering::Relaxed);
        let place = Place(self); // gives it back
        (taken < self.most).then_some(place)
    }
}

/// A place that is taken, until it is dropped.
struct Place<'a>(&'a Places);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The state of one socket.
pub struct BusyPoll {
    /// so long at most; zero: never
    limit: Duration,
    places: &'static Places,
    /// when the last message came
    heard: Option<Instant>,
    /// polls in vain since the last one that was not
    misses: u32,
    /// so many messages are waited for without polling
    skip: u32,
}

impl BusyPoll {
    pub fn new(limit: Duration) -> BusyPoll {
        BusyPoll { limit, places: Places::of_process(), heard: None, misses: 0, skip: 0 }
    }

    /// A message has come.
    pub fn heard(&mut self) {
        if !self.limit.is_zero() {
            self.heard = Some(Instant::now());
        }
    }

    /// Calls `receive`, which must not wait, until it has something or an error other than WouldBlock. None: polling is not worth
    /// while, or was in vain. `urgent`: others wait for what this client sends next.
    pub fn poll<T>(&mut self, urgent: bool, mut receive: impl FnMut() -> io::Result<T>) -> Option<io::Result<T>> {
        let heard = self.heard.take();
        let began = Instant::now();
        if self.limit.is_zero() || !urgent && heard.is_none_or(|heard| began - heard > self.limit) {
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        let _place = self.places.take()?;
        let mut now = began;
        let mut gave_way = false;
        loop {
            match receive() {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                other => {
                    self.misses = 0;
                    return Some(other);
                }
            }
            if gave_way || now - began > self.limit {
                break;
            }
            let before = now;
            std::thread::yield_now();
            now = Instant::now();
            // (who had the processor may have been the client: one more look)
            gave_way = now - before > GAVE_WAY;
        }
        if gave_way && urgent {
            return None;
        }
        self.misses = (self.misses + 1).min(MOST_MISSES);
        self.skip = (1 << self.misses) - 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn state(limit: Duration, places: &'static Places) -> BusyPoll {
        BusyPoll { limit, places, heard: None, misses: 0, skip: 0 }
    }

    fn nothing() -> io::Result<u8> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// How often a socket is asked that has been heard just now and says nothing.
    fn asked(poll: &mut BusyPoll) -> usize {
        let mut asked = 0;
        poll.heard();
        let answer = poll.poll(false, || {
            asked += 1;
            nothing()
        });
        assert!(answer.is_none());
        asked
    }

    #[test]
    fn a_limit_of_zero_never_asks() {
        static PLACES: Places = Places::new(1);
        assert_eq!(asked(&mut state(Duration::ZERO, &PLACES)), 0);
    }

    #[test]
    fn nothing_is_asked_before_a_message_or_after_a_long_statement() {
        static PLACES: Places = Places::new(1);
        let mut poll = state(Duration::from_micros(50), &PLACES);
        assert!(poll.poll(false, || -> io::Result<()> { panic!("asked before any message") }).is_none());
        poll.heard();
        std::thread::sleep(Duration::from_millis(2));
        assert!(poll.poll(false, || -> io::Result<()> { panic!("asked after a long statement") }).is_none());
    }

    #[test]
    fn polls_in_vain_become_rare_until_one_is_not() {
        static PLACES: Places = Places::new(1);
        let mut poll = state(Duration::from_millis(100), &PLACES);
        assert!(asked(&mut poll) > 0);
        assert_eq!((poll.misses, poll.skip), (1, 1));
        assert_eq!((asked(&mut poll), poll.skip), (0, 0));
        assert!(asked(&mut poll) > 0);
        assert_eq!((poll.misses, poll.skip), (2, 3));
        poll.skip = 0;
        poll.heard();
        assert_eq!(poll.poll(false, || Ok(7)).unwrap().unwrap(), 7);
        assert!(asked(&mut poll) > 0);
        assert_eq!((poll.misses, poll.skip), (1, 1));
    }

    #[test]
    fn an_error_of_the_socket_is_handed_on() {
        static PLACES: Places = Places::new(1);
        let mut poll = state(LONG, &PLACES);
        poll.heard();
        let gone = poll.poll(false, || -> io::Result<()> { Err(io::ErrorKind::ConnectionReset.into()) });
        assert_eq!(gone.unwrap().unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn while_others_wait_a_long_statement_is_followed_by_polling_too() {
        static PLACES: Places = Places::new(1);
        let mut poll = state(Duration::from_millis(1), &PLACES);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(poll.poll(true, || Ok(7)).unwrap().unwrap(), 7);
        assert!(state(Duration::ZERO, &PLACES).poll(true, || Ok(7)).is_none());
    }

    #[test]
    fn no_more_than_the_places_poll() {
        static PLACES: Places = Places::new(1);
        let (mut one, mut other) = (state(LONG, &PLACES), state(LONG, &PLACES));
        one.heard();
        let answer = one.poll(false, || {
            assert_eq!(asked(&mut other), 0);
            Ok(())
        });
        answer.unwrap().unwrap();
        other.heard();
        other.poll(false, || Ok(())).unwrap().unwrap();
        static NONE: Places = Places::new(0);
        assert_eq!(asked(&mut state(LONG, &NONE)), 0);
    }
}
