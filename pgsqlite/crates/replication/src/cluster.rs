//! A cluster of servers as the keeper of an archive: what a bucket is for others ([`object_store::ObjectStore`]), served by the node of the cluster in this process.
//!
//! What is put is there when a majority of the nodes has it. What is looked for is looked for behind all that was put before, by whomever; only what is there is read without asking the others, for an
//! object's content never changes.

use async_trait::async_trait;
use bytes::Bytes;
use chrono::DateTime;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use pgsqlite_cluster::command::{Change, Condition};
use pgsqlite_cluster::disk::Object;
use pgsqlite_cluster::objects::Outcome;
use pgsqlite_cluster::service::{Cluster, Unknown};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A content goes to the other nodes in pieces of so many bytes.
const PIECE: usize = 4 << 20;

/// The objects of a cluster.
#[derive(Debug, Clone)]
pub(crate) struct ClusterStore {
    cluster: Arc<Cluster>,
    /// an answer that takes longer does not come
    patience: Duration,
}

fn failed(what: String) -> Error {
    Error::Generic { store: "cluster", source: what.into() }
}

fn unknown(unknown: Unknown) -> Error {
    failed(unknown.0)
}

fn not_found(name: &Path) -> Error {
    Error::NotFound { path: name.to_string(), source: "the cluster has no such object".into() }
}

fn put_result(tag: u64) -> PutResult {
    PutResult { e_tag: Some(tag.to_string()), version: None, extensions: Default::default() }
}

/// The attributes as bytes: a name and a value, again and again, each with a byte of zero behind it. Errors: others than metadata.
fn encode(attributes: &Attributes) -> Result<Bytes> {
    let mut out = Vec::new();
    for (name, value) in attributes {
        let Attribute::Metadata(name) = name else {
            return Err(failed(format!("an object of a cluster has no {name:?}")));
        };
        for text in [name, value.as_ref()] {
            if text.contains('\0') {
                return Err(failed("metadata with a null character".into()));
            }
            out.extend(text.bytes());
            out.push(0);
        }
    }
    Ok(out.into())
}

fn decode(bytes: &[u8]) -> Attributes {
    let mut texts = bytes.split(|b| *b == 0).map(|text| String::from_utf8_lossy(text).into_owned());
    let mut attributes = Attributes::new();
    while let (Some(name), Some(value)) = (texts.next(), texts.next()) {
        attributes.insert(Attribute::Metadata(name.into()), value.into());
    }
    attributes
}

fn condition(mode: &PutMode) -> Result<Condition> {
    Ok(match mode {
        PutMode::Overwrite => Condition::Any,
        PutMode::Create => Condition::Absent,
        PutMode::Update(version) => {
            let tag = version.e_tag.as_ref().and_then(|tag| tag.parse().ok());
            Condition::Tag(tag.ok_or_else(|| failed("a tag that no cluster has given".into()))?)
        }
    })
}

fn refused(name: &Path, condition: Condition) -> Error {
    let (path, source) = (name.to_string(), "the condition does not hold".into());
    match condition {
        Condition::Absent => Error::AlreadyExists { path, source },
        Condition::Any | Condition::Tag(_) => Error::Precondition { path, source },
    }
}

fn meta(name: Path, object: &Object) -> ObjectMeta {
    let last_modified = DateTime::from_timestamp_millis(object.time as i64).unwrap_or_default();
    ObjectMeta { location: name, last_modified, size: object.size, e_tag: Some(object.tag.to_string()), version: None }
}

impl ClusterStore {
    pub(crate) fn new(cluster: Arc<Cluster>, patience: Duration) -> ClusterStore {
        ClusterStore { cluster, patience }
    }

    fn change(&self, change: Change) -> Result<Outcome> {
        self.cluster.change(change, self.patience).map_err(unknown)
    }

    fn catch_up(&self) -> Result<()> {
        self.cluster.catch_up(self.patience).map_err(unknown)
    }

    fn content(&self, name: &Path, from: u64, most: u64) -> Result<Option<(Object, Vec<u8>)>> {
        let found = self.cluster.read(|shelf| shelf.content(name.as_ref(), from, most));
        found.map_err(|e| failed(e.to_string()))
    }

    /// The objects below a prefix that come after a name.
    fn below(&self, prefix: Option<&Path>, after: Option<&Path>) -> Result<Vec<ObjectMeta>> {
        self.catch_up()?;
        let prefix = prefix.map_or(String::new(), |prefix| format!("{prefix}/"));
        let after = after.map_or("", |after| after.as_ref());
        let found = self.cluster.read(|shelf| shelf.list(&prefix, after)).map_err(|e| failed(e.to_string()))?;
        found.into_iter().map(|(name, object)| Ok(meta(Path::parse(name)?, &object))).collect()
    }

    fn put_part(&self, upload: u64, number: u32, content: Bytes) -> Result<()> {
        self.change(Change::Part { upload, number, content }).map(|_| ())
    }

    fn complete(
        &self,
        upload: u64,
        parts: u32,
        name: &Path,
        condition: Condition,
        attributes: Bytes,
    ) -> Result<PutResult> {
        let complete = Change::Complete { upload, parts, name: name.to_string(), condition, attributes };
        let done = self.change(complete)?;
        if !matches!(done, Outcome::Put(_)) {
            self.change(Change::Abort { upload })?;
        }
        match done {
            Outcome::Put(tag) => Ok(put_result(tag)),
            Outcome::Refused => Err(refused(name, condition)),
            Outcome::Done | Outcome::Incomplete => Err(failed("an upload whose parts are missing".into())),
        }
    }
}

impl std::fmt::Display for ClusterStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cluster")
    }
}

#[async_trait]
impl ObjectStore for ClusterStore {
    async fn put_opts(&self, name: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let (condition, attributes) = (condition(&options.mode)?, encode(&options.attributes)?);
        let content = Bytes::from(payload);
        if content.len() > PIECE {
            let (upload, mut number) = (self.cluster.new_upload(), 0);
            for at in (0..content.len()).step_by(PIECE) {
                self.put_part(upload, number, content.slice(at..content.len().min(at + PIECE)))?;
                number += 1;
            }
            return self.complete(upload, number, name, condition, attributes);
        }
        match self.change(Change::Put { name: name.to_string(), condition, attributes, content })? {
            Outcome::Put(tag) => Ok(put_result(tag)),
            _ => Err(refused(name, condition)),
        }
    }

    async fn put_multipart_opts(&self, name: &Path, options: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        let attributes = encode(&options.attributes)?;
        let upload = self.cluster.new_upload();
        Ok(Box::new(Upload { store: self.clone(), name: name.clone(), attributes, upload, parts: 0 }))
    }

    async fn get_opts(&self, name: &Path, options: GetOptions) -> Result<GetResult> {
        if options.version.is_some() {
            return Err(failed("an object of a cluster has no versions".into()));
        }
        let bounds = |size: u64| match &options.range {
            None => Ok(0..size),
            Some(range) => range.as_range(size).map_err(|e| failed(e.to_string())),
        };
        let conditional = options.if_match.is_some()
            || options.if_none_match.is_some()
            || options.if_modified_since.is_some()
            || options.if_unmodified_since.is_some();
        // (a part of what never changes is asked for by its bounds; whoever asks for the whole asks for what there is now)
        let mut is_known = options.range.is_some() && !options.head && !conditional;
        let found = loop {
            if !is_known {
                self.catch_up()?;
            }
            let object = self.content(name, 0, 0)?;
            match object {
                Some((object, _)) => break object,
                None if is_known => is_known = false,
                None => return Err(not_found(name)),
            }
        };
        options.check_preconditions(&meta(name.clone(), &found))?;
        let range = bounds(found.size)?;
        let content = match options.head {
            true => Vec::new(),
            false => match self.content(name, range.start, range.end - range.start)? {
                Some((object, content)) if object.tag == found.tag => content,
                // (it was put again while it was read)
                _ => return self.get_opts(name, options).await,
            },
        };
        let attributes = decode(&found.attributes);
        let payload = stream::once(async move { Ok(Bytes::from(content)) }).boxed();
        Ok(GetResult {
            payload: GetResultPayload::Stream(payload),
            meta: meta(name.clone(), &found),
            range,
            attributes,
            extensions: Default::default(),
        })
    }

    fn delete_stream(&self, names: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        let delete = move |name: Result<Path>| {
            let name = name?;
            store.change(Change::Delete { name: name.to_string() })?;
            Ok(name)
        };
        names.map(delete).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.below(prefix, None) {
            Ok(found) => stream::iter(found.into_iter().map(Ok)).boxed(),
            Err(e) => stream::once(async { Err(e) }).boxed(),
        }
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.below(prefix, Some(offset)) {
            Ok(found) => stream::iter(found.into_iter().map(Ok)).boxed(),
            Err(e) => stream::once(async { Err(e) }).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let (mut objects, mut folders) = (Vec::new(), BTreeSet::new());
        let depth = prefix.map_or(0, |prefix| prefix.parts().count());
        for object in self.below(prefix, None)? {
            let parts: Vec<_> = object.location.parts().collect();
            match parts.len() - depth {
                1 => objects.push(object),
                _ => {
                    folders.insert(Path::from_iter(parts.into_iter().take(depth + 1)));
                }
            }
        }
        Ok(ListResult { common_prefixes: folders.into_iter().collect(), objects, extensions: Default::default() })
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(failed("objects of a cluster are not copied".into()))
    }
}

/// An object that comes in parts.
#[derive(Debug)]
struct Upload {
    store: ClusterStore,
    name: Path,
    attributes: Bytes,
    upload: u64,
    /// how many pieces there are
    parts: u32,
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (store, upload, content) = (self.store.clone(), self.upload, Bytes::from(data));
        let pieces: Vec<(u32, Bytes)> = (self.parts..)
            .zip((0..content.len()).step_by(PIECE))
            .map(|(number, at)| (number, content.slice(at..content.len().min(at + PIECE))))
            .collect();
        self.parts += pieces.len() as u32;
        async move { pieces.into_iter().try_for_each(|(number, piece)| store.put_part(upload, number, piece)) }.boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.store.complete(self.upload, self.parts, &self.name, Condition::Any, self.attributes.clone())
    }

    async fn abort(&mut self) -> Result<()> {
        self.store.change(Change::Abort { upload: self.upload }).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_as_they_were_written() {
        let mut attributes = Attributes::new();
        assert_eq!(decode(&encode(&attributes).unwrap()), attributes);
        attributes.insert(Attribute::Metadata("time".into()), "2026".into());
        attributes.insert(Attribute::Metadata("empty".into()), "".into());
        assert_eq!(decode(&encode(&attributes).unwrap()), attributes);
        attributes.insert(Attribute::ContentType, "text/plain".into());
        assert!(encode(&attributes).is_err());
    }
}
