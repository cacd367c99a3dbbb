//! The lease as an object of a bucket: `lock.json` beside the log.

use super::node::{Answer, Ask, Lease};
use crate::bucket::{Bucket, Tag, LEASE};
use crate::place::Place;
use crate::{Error, Result};
use serde_json::{json, Value};
use std::time::Duration;

/// An object by which a bucket is tried.
const TRIAL: &str = "lock.trial";

/// The object of a database's lease.
#[derive(Debug, Clone)]
pub struct LeaseObject(Bucket);

/// The lease, as its object has it.
fn encode(lease: &Lease) -> Vec<u8> {
    let value = json!({
        "epoch": lease.epoch,
        "holder": lease.holder,
        "process": format!("{:016x}", lease.nonce),
        "renewal": lease.renewal,
        "milliseconds": lease.lasts.as_millis() as u64,
        "released": lease.released,
    });
    format!("{value}\n").into_bytes()
}

fn decode(content: &[u8]) -> Option<Lease> {
    let value: Value = serde_json::from_slice(content).ok()?;
    let number = |name: &str| value.get(name)?.as_u64();
    Some(Lease {
        epoch: number("epoch")?,
        holder: value.get("holder")?.as_str()?.to_string(),
        nonce: u64::from_str_radix(value.get("process")?.as_str()?, 16).ok()?,
        renewal: number("renewal")?,
        lasts: Duration::from_millis(number("milliseconds")?),
        released: value.get("released")?.as_bool()?,
    })
}

impl LeaseObject {
    /// That of the archive at this place. Errors: a folder cannot replace a file on a condition.
    pub fn at(place: &Place) -> Result<LeaseObject> {
        match place {
            Place::Bucket(bucket) => Ok(LeaseObject(bucket.clone())),
            Place::Folder(folder) => {
                let message = format!("a lease needs a bucket, and not the folder \"{}\"", folder.display());
                Err(Error::new(message))
            }
        }
    }

    /// Whether the bucket refuses what is put on a condition that does not hold: not all that speak S3's protocol do. `nonce`: a number that no other process has.
    /// Errors: also if it does not.
    pub fn check(&self, nonce: u64) -> Result<()> {
        let content = |what: &str| format!("{what} {nonce:016x}\n").into_bytes();
        // (other nodes may do the same at this moment: then more is refused)
        self.0.put_if(TRIAL, None, content("first"))?;
        let is_created_twice = self.0.put_if(TRIAL, None, content("second"))?.is_some();
        let Some((tag, _)) = self.0.look(TRIAL)? else {
            return Err(Error::new("the bucket does not have what was put"));
        };
        self.0.put_if(TRIAL, Some(tag.clone()), content("third"))?;
        let is_replaced_twice = self.0.put_if(TRIAL, Some(tag), content("fourth"))?.is_some();
        match is_created_twice || is_replaced_twice {
            false => Ok(()),
            true => Err(Error::new(format!(
                "\"{}\" takes what it should refuse: a lease needs a bucket with conditional writes (If-None-Match and If-Match)",
                self.0
            ))),
        }
    }

    /// The lease that there is, with what tells its states apart. Errors: also for an object that is no lease.
    pub fn look(&self) -> Result<Option<(Tag, Lease)>> {
        let Some((tag, content)) = self.0.look(LEASE)? else { return Ok(None) };
        let lease = decode(&content).ok_or_else(|| Error::new(format!("lock.json of \"{}\" is no lease", self.0)))?;
        Ok(Some((tag, lease)))
    }

    /// Asks the bucket. Returns what it has answered, and why it did not. None: there is nothing to ask.
    pub fn ask(&self, ask: Ask<Tag>) -> Option<(Answer<Tag>, Option<Error>)> {
        let answer = match ask {
            Ask::Look => self.look().map(Answer::Is),
            Ask::Put(tag, lease) => {
                let put = self.0.put_if(LEASE, tag, encode(&lease));
                put.map(|tag| tag.map_or(Answer::Refused, Answer::Put))
            }
            Ask::Rest(_) | Ask::Nothing => return None,
        };
        Some(match answer {
            Ok(answer) => (answer, None),
            Err(e) => (Answer::Unknown, Some(e)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_read_as_it_was_written() {
        let lease = Lease {
            epoch: 7,
            holder: "a \"node\"".into(),
            nonce: u64::MAX,
            renewal: 3,
            lasts: Duration::from_millis(1500),
            released: true,
        };
        assert_eq!(decode(&encode(&lease)), Some(lease));
        assert_eq!(decode(b"{}"), None);
    }

    #[test]
    fn a_folder_has_no_lease() {
        assert!(LeaseObject::at(&Place::Folder("a".into())).is_err_and(|e| e.to_string().contains("needs a bucket")));
    }
}
