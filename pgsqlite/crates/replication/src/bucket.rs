//! An archive in an object store: S3 and what speaks its protocol, Google Cloud Storage, Azure Blob Storage.
//!
//! A file is an object that is created once and never changed: it is put on the condition that there is none. Of two servers with one archive, the one that began first
//! notices it ([`Bucket::claim`]). An answer that does not come says nothing of what has happened: the same content is put again under the same name until the bucket has it. A name is used for one content
//! only, whatever is still on its way (see `Archive::first_last`).
//!
//! The thread that calls waits. Nobody else does: each database's archive has a thread.

use crate::cluster::ClusterStore;
use crate::entry::{transactions, Appended, Entry, Made, Published, SNAPSHOTS};
use crate::ltx::{Header, Reader, HEADER};
use crate::patience::Patience;
use crate::{Error, Result};
use futures_util::TryStreamExt;
use object_store::path::Path as Key;
use object_store::{
    Attribute, Attributes, ClientOptions, GetOptions, ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions,
    PutOptions, PutPayload, RetryConfig, UpdateVersion,
};
use pgsqlite_cluster::service::Cluster;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

/// The name of the object of a lease.
pub(crate) const LEASE: &str = "lock.json";

/// What tells two states of an object apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    e_tag: Option<String>,
    version: Option<String>,
}

/// Who keeps the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    S3,
    Google,
    Azure,
    Cluster,
}

/// Up to so many bytes are put at once, with a condition; more are put in parts.
const AT_ONCE: u64 = 8 << 20;
/// A bucket takes so many parts.
const MOST_PARTS: u64 = 9000;
/// An answer to more than that, which is put on a condition nevertheless, may take so long.
const LONG_ANSWER: Duration = Duration::from_secs(600);
/// So many bytes are read at once.
const READ: u64 = 4 << 20;
/// So many headers are read at the same time.
const TOGETHER: usize = 16;
/// How often what is read is asked for.
const READS: u32 = 5;

/// A part of a bucket: all objects with a prefix.
#[derive(Clone)]
pub struct Bucket {
    store: Arc<dyn ObjectStore>,
    /// the same, for what takes long
    patient: Arc<dyn ObjectStore>,
    kind: Kind,
    name: String,
    prefix: String,
    /// where files are made before they are put
    folder: PathBuf,
    known: Arc<Mutex<Known>>,
}

/// What the bucket has, as far as it has been asked for.
#[derive(Default)]
struct Known {
    /// all files; kept by the only one who writes
    entries: Option<Vec<Entry>>,
    /// the number of this process among those who have written; zero: it has not begun
    writer: u64,
    /// what files say of themselves
    headers: HashMap<(u32, u64, u64), Header>,
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Bucket({self})")
    }
}

impl std::fmt::Display for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let scheme = match self.kind {
            Kind::S3 => "s3",
            Kind::Google => "gs",
            Kind::Azure => "az",
            Kind::Cluster => "cluster",
        };
        match self.prefix.as_str() {
            "" => write!(f, "{scheme}://{}", self.name),
            prefix => write!(f, "{scheme}://{}/{prefix}", self.name),
        }
    }
}

/// Runs what waits for the network, on a thread of its own for all archives. Must not be called on a thread of another runtime.
fn wait<R>(work: impl std::future::Future<Output = R>) -> Result<R> {
    static RUNTIME: OnceLock<std::result::Result<tokio::runtime::Runtime, String>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("archive-net").enable_all().build().map_err(|e| e.to_string())
    });
    match runtime {
        Ok(runtime) => Ok(runtime.block_on(work)),
        Err(e) => Err(Error::new(format!("no threads for the archive: {e}"))),
    }
}

/// What the bucket has answered.
type Answer<R> = std::result::Result<R, object_store::Error>;

/// The environment's variables that begin like this, without those that are empty, which are as good as not set.
fn variables(start: &'static str) -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(move |(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        (name.starts_with(start) && !value.is_empty()).then_some((name.to_ascii_lowercase(), value))
    })
}

/// The store that keeps a bucket.
fn store(kind: Kind, name: &str, patience: Patience) -> Answer<Arc<dyn ObjectStore>> {
    let max_retries = if patience.tries.is_zero() { 0 } else { 10 };
    let retry = RetryConfig { max_retries, retry_timeout: patience.tries, ..RetryConfig::default() };
    let connects = patience.answer.min(Duration::from_secs(5));
    let client = || ClientOptions::new().with_timeout(patience.answer).with_connect_timeout(connects);
    match kind {
        Kind::S3 => {
            use object_store::aws::AmazonS3Builder;
            let builder = AmazonS3Builder::new().with_client_options(client());
            let builder = variables("AWS_").fold(builder, |builder, (name, value)| match name.parse() {
                Ok(key) => builder.with_config(key, value),
                Err(_) => builder,
            });
            builder.with_bucket_name(name).with_retry(retry).build().map(|s| Arc::new(s) as Arc<dyn ObjectStore>)
        }
        Kind::Google => {
            use object_store::gcp::GoogleCloudStorageBuilder;
            let builder = GoogleCloudStorageBuilder::new().with_client_options(client());
            let builder = variables("GOOGLE_").fold(builder, |builder, (name, value)| match name.parse() {
                Ok(key) => builder.with_config(key, value),
                Err(_) => builder,
            });
            builder.with_bucket_name(name).with_retry(retry).build().map(|s| Arc::new(s) as Arc<dyn ObjectStore>)
        }
        Kind::Azure => {
            use object_store::azure::MicrosoftAzureBuilder;
            let builder = MicrosoftAzureBuilder::new().with_client_options(client());
            let builder = variables("AZURE_").fold(builder, |builder, (name, value)| match name.parse() {
                Ok(key) => builder.with_config(key, value),
                Err(_) => builder,
            });
            builder.with_container_name(name).with_retry(retry).build().map(|s| Arc::new(s) as Arc<dyn ObjectStore>)
        }
        // (no URL names one)
        Kind::Cluster => {
            Err(object_store::Error::NotImplemented { operation: "cluster".into(), implementer: "a URL".into() })
        }
    }
}

impl Bucket {
    pub(crate) fn open(kind: Kind, name: &str, prefix: &str, patience: Patience) -> Result<Bucket> {
        // (there is one already in a server, or in the second bucket)
        let _ = rustls::crypto::ring::default_provider().install_default();
        let made = |answer: Duration| store(kind, name, Patience { answer, ..patience });
        let (made, patient) = (made(patience.answer), made(LONG_ANSWER.max(patience.answer)));
        let (name, prefix, folder) = (name.to_string(), prefix.to_string(), std::env::temp_dir());
        let store = made.map_err(|e| Error::bucket(&name, &e))?;
        let patient = patient.map_err(|e| Error::bucket(&name, &e))?;
        let bucket = Bucket { store, patient, kind, name, prefix, folder, known: Arc::default() };
        // (whether it can be a key)
        bucket.path(&bucket.key(0, 1, 1))?;
        Ok(bucket)
    }

    /// The objects of a cluster that this process is a node of. `answer`: one that takes longer does not come.
    pub(crate) fn of_cluster(cluster: Arc<Cluster>, answer: Duration) -> Bucket {
        let store = |answer| Arc::new(ClusterStore::new(cluster.clone(), answer)) as Arc<dyn ObjectStore>;
        let (store, patient, kind) = (store(answer), store(LONG_ANSWER.max(answer)), Kind::Cluster);
        let (name, prefix, folder) = ("objects".into(), String::new(), std::env::temp_dir());
        Bucket { store, patient, kind, name, prefix, folder, known: Arc::default() }
    }

    pub(crate) fn within(&self, name: &str) -> Result<Bucket> {
        let prefix = match self.prefix.as_str() {
            "" => name.to_string(),
            prefix => format!("{prefix}/{name}"),
        };
        let bucket = Bucket { prefix, known: Arc::default(), ..self.clone() };
        bucket.path(&bucket.key(0, 1, 1))?;
        Ok(bucket)
    }

    pub(crate) fn made_in(self, folder: &Path) -> Bucket {
        Bucket { folder: folder.to_path_buf(), ..self }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The folder of a level, as Litestream names it: on S3 in another way than elsewhere.
    fn level(&self, level: u32) -> String {
        let folder = match self.kind {
            Kind::S3 | Kind::Cluster => format!("{level:04x}"),
            Kind::Google | Kind::Azure => format!("ltx/{level}"),
        };
        match self.prefix.as_str() {
            "" => folder,
            prefix => format!("{prefix}/{folder}"),
        }
    }

    /// The key of a file.
    pub(crate) fn key(&self, level: u32, first: u64, last: u64) -> String {
        format!("{}/{first:016x}-{last:016x}.ltx", self.level(level))
    }

    fn path(&self, key: &str) -> Result<Key> {
        Key::parse(key).map_err(|e| Error::bucket(&self.to_string(), &e))
    }

    fn failed(&self, error: &object_store::Error) -> Error {
        Error::bucket(&self.to_string(), error)
    }

    /// The names of what a file says beside its content. Azure's may not have a hyphen.
    fn time_name(&self) -> &'static str {
        match self.kind {
            Kind::Azure => "litestreamtimestamp",
            Kind::S3 | Kind::Google | Kind::Cluster => "litestream-timestamp",
        }
    }

    /// A new file without a name.
    pub(crate) fn new_file(&self) -> Result<File> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!(".archive-{}-{number}.new", std::process::id()));
        let failed = |e: std::io::Error| Error::file(&path, &e);
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).map_err(failed)?;
        std::fs::remove_file(&path).map_err(failed)?;
        Ok(file)
    }

    /// What is put with a file beside its content.
    fn attributes(&self, made: &Made, note: &str) -> Attributes {
        let mut attributes = Attributes::new();
        let time = jiff::Timestamp::from_millisecond(made.header.time).map_or(String::new(), |time| time.to_string());
        attributes.insert(Attribute::Metadata(self.time_name().into()), time.into());
        if !note.is_empty() {
            attributes.insert(Attribute::Metadata(NOTE.into()), note.to_string().into());
        }
        attributes
    }

    /// Puts a file, with a text that belongs to it.
    pub(crate) fn put(&self, made: &Made, note: &str) -> Result<Published> {
        let size = made.file.metadata().map_err(|e| Error::new(format!("a file for the archive: {e}")))?.len();
        let key = self.path(&self.key(made.level, made.header.first, made.header.last))?;
        let attributes = self.attributes(made, note);
        let done = match size {
            0..=AT_ONCE => self.put_at_once(&self.store, made, size, &key, attributes)?,
            _ => self.put_in_parts(made, size, &key, attributes)?,
        };
        let done = done || self.same(made, size, &key)?;
        // (looked at afterwards: who came before the file has it in his list, or has files that lead further)
        if !done || !self.is_claimed()? {
            return Ok(Published::Taken);
        }
        self.has_put(made, size, &key);
        Ok(Published::Done)
    }

    /// Puts an entry of a log that several nodes write: at once, however long it is, because it must take nobody's place. A bucket that refuses it because there is one looks
    /// whether that is the same one.
    pub(crate) fn append(&self, made: &Made, note: &str) -> Result<Appended> {
        let size = made.file.metadata().map_err(|e| Error::new(format!("a file for the archive: {e}")))?.len();
        let key = self.path(&self.key(made.level, made.header.first, made.header.last))?;
        let store = if size > AT_ONCE { &self.patient } else { &self.store };
        let is_put = self.put_at_once(store, made, size, &key, self.attributes(made, note))?;
        if !is_put && !self.same(made, size, &key)? {
            return Ok(Appended::Taken);
        }
        self.has_put(made, size, &key);
        Ok(Appended::Done)
    }

    fn has_put(&self, made: &Made, size: u64, key: &Key) {
        let Header { first, last, .. } = made.header;
        let mut known = self.known();
        let entry = Entry { level: made.level, first, last, path: key.to_string().into(), size };
        known.headers.insert((entry.level, first, last), made.header.clone());
        if let Some(entries) = known.entries.as_mut().filter(|entries| !entries.contains(&entry)) {
            entries.push(entry);
            entries.sort_by_key(|entry| (entry.level, entry.first, entry.last));
        }
    }

    fn beside(&self, name: &str) -> Result<Key> {
        self.path(&if self.prefix.is_empty() { name.to_string() } else { format!("{}/{name}", self.prefix) })
    }

    /// A small object beside the log, with what tells its states apart.
    pub(crate) fn look(&self, name: &str) -> Result<Option<(Tag, Vec<u8>)>> {
        let read = async {
            let found = self.store.get(&self.beside(name)?).await;
            let found = match found {
                Ok(found) => found,
                Err(object_store::Error::NotFound { .. }) => return Ok(None),
                Err(e) => return Err(self.failed(&e)),
            };
            let tag = Tag { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
            let content = found.bytes().await.map_err(|e| self.failed(&e))?;
            Ok(Some((tag, content.to_vec())))
        };
        wait(read)?
    }

    /// Puts such an object, if its state is still this one, or if there is none. Returns the new state; None: it is another one.
    pub(crate) fn put_if(&self, name: &str, tag: Option<Tag>, content: Vec<u8>) -> Result<Option<Tag>> {
        let mode = match tag {
            None => PutMode::Create,
            Some(Tag { e_tag, version }) => PutMode::Update(UpdateVersion { e_tag, version }),
        };
        let options = PutOptions { mode, ..PutOptions::default() };
        match wait(self.store.put_opts(&self.beside(name)?, PutPayload::from(content), options))? {
            Ok(put) => Ok(Some(Tag { e_tag: put.e_tag, version: put.version })),
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => Ok(None),
            Err(e) => Err(self.failed(&e)),
        }
    }

    fn writer(&self, number: u64) -> Result<Key> {
        let name = format!("writers/{number:016x}");
        self.path(&if self.prefix.is_empty() { name } else { format!("{}/{name}", self.prefix) })
    }

    /// Becomes the one who writes: whoever did before notices it at the next file. Each has a number, one more than the last one, whose object stays: a request that
    /// arrives late makes nobody the writer again.
    pub(crate) fn claim(&self) -> Result<()> {
        let listed: Answer<Vec<_>> = wait(self.store.list(Some(&self.folder_of_writers()?)).try_collect())?;
        let listed = listed.map_err(|e| self.failed(&e))?;
        let number = |name: &str| u64::from_str_radix(name, 16).ok();
        let last = listed.iter().filter_map(|o| number(o.location.filename()?)).max().unwrap_or(0);
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let content = format!("process {}\n", std::process::id());
        // (an error says nothing of whether it was put: then the next number is taken)
        wait(self.store.put_opts(&self.writer(last + 1)?, PutPayload::from(content), options))?
            .map_err(|e| self.failed(&e))?;
        let mut known = self.known();
        (known.writer, known.entries) = (last + 1, None);
        Ok(())
    }

    fn folder_of_writers(&self) -> Result<Key> {
        self.path(&if self.prefix.is_empty() { "writers".to_string() } else { format!("{}/writers", self.prefix) })
    }

    /// Whether nobody else has begun to write since.
    pub(crate) fn is_claimed(&self) -> Result<bool> {
        let writer = self.known().writer;
        match wait(self.store.head(&self.writer(writer + 1)?))? {
            Ok(_) => Ok(writer == 0),
            Err(object_store::Error::NotFound { .. }) => Ok(true),
            Err(e) => Err(self.failed(&e)),
        }
    }

    /// Asks the bucket again what it has.
    pub(crate) fn forget(&self) {
        self.known().entries = None;
    }

    /// False: there is something by that name already.
    fn put_at_once(
        &self,
        store: &Arc<dyn ObjectStore>,
        made: &Made,
        size: u64,
        key: &Key,
        attributes: Attributes,
    ) -> Result<bool> {
        let mut content = vec![0; size as usize];
        made.file.read_exact_at(&mut content, 0)?;
        let options = PutOptions { mode: PutMode::Create, attributes, ..PutOptions::default() };
        match wait(store.put_opts(key, PutPayload::from(content), options))? {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(e) => Err(self.failed(&e)),
        }
    }

    /// False: there is something by that name already. (Parts cannot be put on a condition everywhere; what comes between is noticed at the next file.)
    fn put_in_parts(&self, made: &Made, size: u64, key: &Key, attributes: Attributes) -> Result<bool> {
        match wait(self.store.head(key))? {
            Ok(_) => return Ok(false),
            Err(object_store::Error::NotFound { .. }) => {}
            Err(e) => return Err(self.failed(&e)),
        }
        let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
        let part = AT_ONCE.max(size / MOST_PARTS + 1);
        let put = async {
            let mut upload = self.store.put_multipart_opts(key, options).await?;
            let mut at = 0;
            while at < size {
                let mut content = vec![0; part.min(size - at) as usize];
                let read = made.file.read_exact_at(&mut content, at);
                let put = match read {
                    Ok(()) => upload.put_part(PutPayload::from(content)).await,
                    Err(e) => Err(object_store::Error::Generic { store: "the file", source: e.into() }),
                };
                if let Err(e) = put {
                    // (a bucket that does not even answer this forgets the parts by a rule of its own)
                    let _ = upload.abort().await;
                    return Err(e);
                }
                at += part;
            }
            upload.complete().await
        };
        let put: Answer<_> = wait(put)?;
        put.map(|_| true).map_err(|e| self.failed(&e))
    }

    /// Whether the bucket has this content by this name.
    fn same(&self, made: &Made, size: u64, key: &Key) -> Result<bool> {
        let there = wait(self.store.head(key))?.map_err(|e| self.failed(&e))?;
        if there.size != size {
            return Ok(false);
        }
        let (mut reader, mut at) = (self.reader(key.clone(), size), 0);
        while at < size {
            let length = READ.min(size - at) as usize;
            let (mut ours, mut theirs) = (vec![0; length], vec![0; length]);
            made.file.read_exact_at(&mut ours, at)?;
            reader.read_exact(&mut theirs)?;
            if ours != theirs {
                return Ok(false);
            }
            at += length as u64;
        }
        Ok(true)
    }

    fn reader(&self, key: Key, size: u64) -> Ranges {
        Ranges { bucket: self.clone(), key, size, at: 0, content: Vec::new(), next: 0 }
    }

    /// Begins to read a file.
    pub(crate) fn read(&self, entry: &Entry) -> Result<impl Read + use<>> {
        Ok(self.reader(self.path(&entry.path.to_string_lossy())?, entry.size))
    }

    fn get(&self, key: &Key, from: u64, to: u64) -> Result<Vec<u8>> {
        let mut tried = 0;
        loop {
            tried += 1;
            match wait(self.store.get_range(key, from..to))? {
                Ok(content) if content.len() as u64 == to - from => return Ok(content.into()),
                Ok(_) => return Err(Error::new("the file ends too early").of(Path::new(key.as_ref()))),
                Err(e @ object_store::Error::NotFound { .. }) => return Err(self.failed(&e)),
                Err(e) if tried == READS => return Err(self.failed(&e)),
                Err(_) => std::thread::sleep(Duration::from_millis(100 << tried)),
            }
        }
    }

    fn header(&self, entry: &Entry) -> Result<Header> {
        let key = self.path(&entry.path.to_string_lossy())?;
        let bytes = self.get(&key, 0, HEADER as u64)?;
        Ok(Reader::new(&bytes[..]).map_err(|e| e.of(&entry.path))?.header().clone())
    }

    /// What these files say of themselves.
    pub(crate) fn headers(&self, entries: &[Entry]) -> Result<Vec<Header>> {
        let name = |e: &Entry| (e.level, e.first, e.last);
        let missing: Vec<&Entry> = {
            let known = self.known();
            entries.iter().filter(|e| !known.headers.contains_key(&name(e))).collect()
        };
        // (the node of a cluster has them in its own file)
        let together = if self.kind == Kind::Cluster { 1 } else { TOGETHER };
        for some in missing.chunks(together) {
            if let [entry] = some {
                let header = self.header(entry)?;
                self.known().headers.insert(name(entry), header);
                continue;
            }
            let found: Vec<Result<(Header, &Entry)>> = std::thread::scope(|scope| {
                let threads: Vec<_> = some.iter().map(|entry| (scope.spawn(|| self.header(entry)), *entry)).collect();
                let done = |(thread, entry): (std::thread::ScopedJoinHandle<Result<Header>>, _)| match thread.join() {
                    Ok(header) => header.map(|header| (header, entry)),
                    Err(_) => Err(Error::new("a thread that read from the archive has panicked")),
                };
                threads.into_iter().map(done).collect()
            });
            let mut known = self.known();
            for found in found {
                let (header, entry) = found?;
                known.headers.insert(name(entry), header);
            }
        }
        let known = self.known();
        let header = |e: &Entry| known.headers.get(&name(e)).cloned().ok_or_else(|| Error::new("a file has no header"));
        entries.iter().map(header).collect()
    }

    /// The text that was put with a file.
    pub(crate) fn note(&self, entry: &Entry) -> Result<String> {
        let key = self.path(&entry.path.to_string_lossy())?;
        let options = GetOptions { head: true, ..GetOptions::default() };
        let found = wait(self.store.get_opts(&key, options))?.map_err(|e| self.failed(&e))?;
        let note = found.attributes.get(&Attribute::Metadata(NOTE.into()));
        Ok(note.map(|note| note.to_string()).unwrap_or_default())
    }

    /// Removes a file, or finds that it is not there.
    pub(crate) fn remove(&self, entry: &Entry) -> Result<()> {
        let key = self.path(&entry.path.to_string_lossy())?;
        match wait(self.store.delete(&key))? {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
            Err(e) => return Err(self.failed(&e)),
        }
        let mut known = self.known();
        known.headers.remove(&(entry.level, entry.first, entry.last));
        if let Some(entries) = known.entries.as_mut() {
            entries.retain(|e| e != entry);
        }
        Ok(())
    }

    /// Its files of level 0 that begin after this transaction.
    pub(crate) fn written_after(&self, transaction: u64) -> Result<Vec<Entry>> {
        let folder = self.path(&self.level(0))?;
        // (names are in the order of their numbers)
        let offset = self.path(&self.key(0, transaction, u64::MAX))?;
        let listed: Answer<Vec<_>> = wait(self.store.list_with_offset(Some(&folder), &offset).try_collect())?;
        let mut found = Vec::new();
        for object in listed.map_err(|e| self.failed(&e))? {
            let key = object.location.as_ref();
            let name = object.location.filename().and_then(transactions);
            found.extend(name.filter(|(first, _)| *first > transaction).map(|(first, last)| Entry {
                level: 0,
                first,
                last,
                path: key.into(),
                size: object.size,
            }));
        }
        found.sort_by_key(|entry| entry.first);
        Ok(found)
    }

    /// The names of the archives under the prefix: each has files of level 0 or whole databases.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        let prefix = match self.prefix.as_str() {
            "" => None,
            prefix => Some(self.path(prefix)?),
        };
        let listed = wait(self.store.list_with_delimiter(prefix.as_ref()))?.map_err(|e| self.failed(&e))?;
        Ok(listed.common_prefixes.iter().filter_map(|p| p.filename().map(str::to_string)).collect())
    }

    /// Its files. `owned`: who asks is the only one who writes, so that the bucket is asked once.
    pub(crate) fn entries(&self, owned: bool) -> Result<Vec<Entry>> {
        if let Some(entries) = self.known().entries.as_ref().filter(|_| owned) {
            return Ok(entries.clone());
        }
        let prefix = match self.prefix.as_str() {
            "" => None,
            prefix => Some(self.path(prefix)?),
        };
        let listed: Answer<Vec<_>> = wait(self.store.list(prefix.as_ref()).try_collect())?;
        let mut found = Vec::new();
        for object in listed.map_err(|e| self.failed(&e))? {
            let key = object.location.as_ref();
            let entry = (0..=SNAPSHOTS).find_map(|level| {
                let name = key.strip_prefix(&self.level(level))?.strip_prefix('/')?;
                let (first, last) = transactions(name)?;
                Some(Entry { level, first, last, path: key.into(), size: object.size })
            });
            found.extend(entry);
        }
        found.sort_by_key(|entry| (entry.level, entry.first, entry.last));
        if owned {
            self.known().entries = Some(found.clone());
        }
        Ok(found)
    }
}

/// The name of the text that is put with a file. Azure's names may not have a hyphen.
const NOTE: &str = "pgsqliteposition";

/// An object, which is read in parts.
struct Ranges {
    bucket: Bucket,
    key: Key,
    size: u64,
    /// so much of it has been asked for
    at: u64,
    content: Vec<u8>,
    /// so much of the content has been taken
    next: usize,
}

impl Read for Ranges {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        if self.next == self.content.len() {
            if self.at == self.size {
                return Ok(0);
            }
            let end = self.size.min(self.at + READ);
            self.content =
                self.bucket.get(&self.key, self.at, end).map_err(|e| std::io::Error::other(e.to_string()))?;
            (self.at, self.next) = (end, 0);
        }
        let length = to.len().min(self.content.len() - self.next);
        to[..length].copy_from_slice(&self.content[self.next..self.next + length]);
        self.next += length;
        Ok(length)
    }
}
