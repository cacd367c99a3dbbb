//! Where a session runs: among others, or on a thread of its own.
//!
//! A session whose client is silent is a task, one of thousands on a few threads, and costs next to nothing. While its
//! client sends one statement after the other it has a thread of its own, which waits for the next message itself
//! ([`crate::socket`]): then no other thread is woken for it, a long statement holds up nobody, and what the engine does
//! in `block_in_place` costs nothing. When nothing has come for a moment, the session is a task again.
//!
//! It also is one while it commits beside others: each of those waits for the slot of the writer and for the disk, and to go on with
//! another task costs a fraction of waking another thread.

use crate::client::End;
use crate::conversation::Conversation;
use crate::shared::Shared;
use crate::socket::PATIENCE;
use pgsqlite_memory::Account;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

/// So many sessions may have a thread of their own at a time; the others remain tasks. More threads than processors take turns,
/// which costs more than the tasks of a thread taking theirs.
pub fn most() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs the conversation to its end. None: it broke down (a panic, which has been reported).
pub async fn run(shared: &Arc<Shared>, mut conversation: Box<Conversation>) -> Option<(Box<Conversation>, End)> {
    loop {
        let permit = {
            let among_others = unhurried(shared, &mut conversation);
            tokio::select! {
                biased;
                () = shared.abandoned() => Err(End::Gone),
                permit = among_others => permit,
            }
        };
        let permit = match permit {
            Ok(permit) => permit,
            Err(end) => return Some((conversation, end)),
        };
        let (runtime, of_thread, account) = (Handle::current(), shared.clone(), Account::current());
        let hurried = tokio::task::spawn_blocking(move || {
            conversation.client.stream.be_patient();
            conversation.set_own_thread(true);
            let converse = async {
                tokio::select! {
                    biased;
                    () = of_thread.abandoned() => Err(End::Gone),
                    end = hurried(&mut conversation) => end,
                }
            };
            let end = match account {
                Some(account) => runtime.block_on(account.track(converse)),
                None => runtime.block_on(converse),
            };
            drop(permit);
            (conversation, end)
        });
        match hurried.await {
            Ok((back, Ok(()))) => conversation = back,
            Ok((back, Err(end))) => return Some((back, end)),
            Err(_panic) => return None,
        }
    }
}

/// Among other tasks, until the client is in the midst of work and there is a thread for it. What an answer needs is allocated
/// for as long as it takes: it is several times what is left of a session that waits.
async fn unhurried(shared: &Arc<Shared>, conversation: &mut Conversation) -> Result<OwnedSemaphorePermit, End> {
    conversation.client.stream.be_impatient();
    conversation.set_own_thread(false);
    loop {
        Box::pin(conversation.answer_all()).await?;
        let answered = Instant::now();
        conversation.rest();
        if !conversation.wait().await? {
            continue;
        }
        if answered.elapsed() < PATIENCE && !conversation.commits_beside_others() {
            if let Ok(permit) = shared.threads.clone().try_acquire_owned() {
                return Ok(permit);
            }
        }
    }
}

/// On its own thread, until the client has been silent for a moment, or others commit, too.
async fn hurried(conversation: &mut Conversation) -> Result<(), End> {
    loop {
        conversation.answer_all().await?;
        if conversation.commits_beside_others() {
            return Ok(());
        }
        // patience may also have ended in the midst of COPY's data
        if !conversation.wait().await? || !conversation.client.stream.is_patient() {
            return Ok(());
        }
    }
}
