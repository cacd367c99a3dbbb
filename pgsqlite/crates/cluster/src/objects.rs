//! What a command makes of the objects. It depends on the commands before it alone.

use crate::command::{Change, Command, Condition};
use crate::disk::{Object, Objects, Part};
use crate::Result;

/// An upload whose process has ended is given up when so many entries have come after its part.
const LATE: u64 = 10_000_000;

/// What has become of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The object has been put, and has this tag.
    Put(u64),
    /// The condition does not hold. Nothing has changed.
    Refused,
    /// It has been done.
    Done,
    /// Parts of the upload are missing. Nothing has changed.
    Incomplete,
}

fn holds(condition: Condition, object: Option<&Object>) -> bool {
    match condition {
        Condition::Any => true,
        Condition::Absent => object.is_none(),
        Condition::Tag(tag) => object.is_some_and(|object| object.tag == tag),
    }
}

/// Applies the command of entry `entry`, whose data has so many bytes.
pub fn apply(objects: &mut dyn Objects, entry: u64, bytes: usize, command: Command) -> Result<Outcome> {
    // (a content is at the end)
    let part = |length: usize| Part { entry, at: (bytes - length) as u64, length: length as u64 };
    let time = command.time;
    Ok(match command.change {
        Change::Put { name, condition, attributes, content } => {
            if !holds(condition, objects.object(&name)?.as_ref()) {
                return Ok(Outcome::Refused);
            }
            let size = content.len() as u64;
            let parts: Vec<Part> = (size > 0).then(|| part(content.len())).into_iter().collect();
            objects.set(&name, &Object { tag: entry, time, size, attributes }, &parts)?;
            Outcome::Put(entry)
        }
        Change::Part { upload, number, content } => {
            if number == 0 && entry > LATE {
                objects.forget_uploads_before(entry - LATE)?;
            }
            objects.add_part(upload, number, part(content.len()))?;
            Outcome::Done
        }
        Change::Complete { upload, parts: count, name, condition, attributes } => {
            let parts = objects.parts(upload)?;
            if parts.len() != count as usize || parts.iter().zip(0..).any(|((number, _), i)| *number != i) {
                return Ok(Outcome::Incomplete);
            }
            if !holds(condition, objects.object(&name)?.as_ref()) {
                return Ok(Outcome::Refused);
            }
            let parts: Vec<Part> = parts.into_iter().map(|(_, part)| part).collect();
            let size = parts.iter().map(|part| part.length).sum();
            objects.forget_upload(upload)?;
            objects.set(&name, &Object { tag: entry, time, size, attributes }, &parts)?;
            Outcome::Put(entry)
        }
        Change::Abort { upload } => {
            objects.forget_upload(upload)?;
            Outcome::Done
        }
        Change::Delete { name } => {
            objects.remove(&name)?;
            Outcome::Done
        }
    })
}
