//! Files of the client: `lotofile(…, 'client')` writes one there, `filetoblob(…, 'client')` reads one.
//!
//! While it answers a group the server sends FILE requests, each of which the client answers with a group of its own. So what
//! the client has sent behind the message that is being carried out is read first, and carried out afterwards.

use super::{Conversation, Step, Wrong};
use crate::client::End;
use crate::errors::Failure;
use crate::wire::code;
use crate::wire::input::LONGEST;
use crate::wire::messages::{self, FileAnswer, Message};

/// Bytes of one request, and of one chunk in it.
const PIECE: usize = 32 * 1000;
const CHUNK: usize = 8000;
/// Messages that wait until a file is there.
const MOST_PENDING: usize = 65536;

/// What FILE asks for.
const OPEN: i16 = 0;
const CLOSE: i16 = 1;
const READ: i16 = 2;
const WRITE: i16 = 3;

impl Conversation<'_> {
    /// Takes what the client has sent of the group that is being answered.
    async fn read_group(&mut self) -> Step {
        while self.pending.back() != Some(&Message::EndOfGroup) {
            let message = self.receive_next().await?;
            if self.pending.len() >= MOST_PENDING {
                return Err(Wrong::End(End::Malformed("a group that is too long".into())));
            }
            self.pending.push_back(message);
        }
        Ok(())
    }

    /// Sends the request that is written and waits for its answer.
    async fn ask_for_file(&mut self) -> Step<FileAnswer> {
        self.client.out.eot();
        self.flush().await?;
        loop {
            match self.client.take(messages::decode_file_answer)? {
                Some(FileAnswer::Other) => {
                    // a group that was sent before the request arrived
                    let message = self.receive_next().await?;
                    self.pending.push_back(message);
                    self.read_group().await?;
                }
                Some(answer) => return Ok(answer),
                None => tokio::select! {
                    biased;
                    () = self.shared.stopped() => return Err(Wrong::End(End::Gone)),
                    filled = self.client.fill() => filled?,
                },
            }
        }
    }

    async fn open_file(&mut self, path: &str) -> Step {
        self.read_group().await?;
        let mut name = Vec::new();
        self.identity.codeset.encode(path, &mut name)?;
        let out = &mut self.client.out;
        out.shorts(&[code::FILE, OPEN]);
        out.char(&name);
        // mode, flags, offset
        for n in [0, 0, 0] {
            out.int(n);
        }
        match self.ask_for_file().await? {
            FileAnswer::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    async fn close_file(&mut self) -> Step {
        self.client.out.shorts(&[code::FILE, CLOSE]);
        match self.ask_for_file().await? {
            FileAnswer::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// The content of a file of the client.
    pub(super) async fn read_client_file(&mut self, path: &str) -> Step<Vec<u8>> {
        self.open_file(path).await?;
        let mut content = Vec::new();
        loop {
            let out = &mut self.client.out;
            out.shorts(&[code::FILE, READ, CHUNK as i16]);
            out.int(PIECE as i32);
            match self.ask_for_file().await? {
                FileAnswer::Content(piece) if piece.is_empty() => break,
                FileAnswer::Content(piece) => content.extend_from_slice(&piece),
                other => return Err(unexpected(&other)),
            }
            if content.len() > LONGEST {
                self.close_file().await?;
                return Err(Failure::too_long("a file of the client").into());
            }
        }
        self.close_file().await?;
        Ok(content)
    }

    pub(super) async fn write_client_file(&mut self, path: &str, content: &[u8]) -> Step {
        self.open_file(path).await?;
        for piece in content.chunks(PIECE) {
            let out = &mut self.client.out;
            out.shorts(&[code::FILE, WRITE]);
            for chunk in piece.chunks(CHUNK) {
                out.short(code::FILE_WRITE);
                out.char(chunk);
            }
            match self.ask_for_file().await? {
                FileAnswer::Written(n) if n as usize == piece.len() => {}
                FileAnswer::Written(_) => {
                    return Err(Failure::text("the client could not write the whole of a file").into())
                }
                other => return Err(unexpected(&other)),
            }
        }
        self.close_file().await
    }
}

fn unexpected(answer: &FileAnswer) -> Wrong {
    Wrong::End(End::Malformed(format!("an answer about a file that was not asked for ({answer:?})")))
}
