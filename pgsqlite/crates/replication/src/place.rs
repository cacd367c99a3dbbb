//! What the URL of an archive names: a folder, or a part of a bucket.

use crate::bucket::{Bucket, Kind};
pub use crate::patience::Patience;
use crate::{Error, Result};
use pgsqlite_cluster::service::Cluster;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Where archives are.
#[derive(Debug, Clone)]
pub enum Place {
    /// in a folder
    Folder(PathBuf),
    /// in a bucket
    Bucket(Bucket),
}

impl Place {
    /// The place of a URL: `file:PATH`, `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://CONTAINER/PREFIX`. What else a bucket needs (endpoint, region, keys)
    /// is in the environment, in the variables of the provider's own programs. `patience`: for how long the bucket is waited for.
    /// Nothing is asked of the bucket yet. Errors: other schemes, settings that cannot be.
    pub fn parse(url: &str, patience: impl Into<Patience>) -> Result<Place> {
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(Error::new(format!("\"{url}\" is no URL of an archive: write file:{url}")));
        };
        let kind = match scheme {
            "file" => return Ok(Place::Folder(PathBuf::from(rest.strip_prefix("//").unwrap_or(rest)))),
            "s3" => Kind::S3,
            "gs" => Kind::Google,
            "az" => Kind::Azure,
            _ => {
                return Err(Error::new(format!(
                    "archives at {scheme}:… are not supported: only file:PATH, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX and az://CONTAINER/PREFIX are"
                )))
            }
        };
        let (name, prefix) = parts(url, rest)?;
        Bucket::open(kind, name, prefix, patience.into()).map(Place::Bucket)
    }

    /// The place of the archives that a cluster keeps, which this process is a node of. `answer`: one that takes longer does not come.
    pub fn in_cluster(cluster: Arc<Cluster>, answer: Duration) -> Place {
        Place::Bucket(Bucket::of_cluster(cluster, answer))
    }

    /// The place of one database's archive, which has this name.
    pub fn within(&self, name: &str) -> Result<Place> {
        match self {
            Place::Folder(folder) => Ok(Place::Folder(folder.join(name))),
            Place::Bucket(bucket) => bucket.within(name).map(Place::Bucket),
        }
    }

    /// The names of the databases that have an archive within this place.
    pub fn names(&self) -> Result<Vec<String>> {
        let mut names = match self {
            Place::Folder(folder) => {
                let listed = match std::fs::read_dir(folder) {
                    Ok(listed) => listed,
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
                    Err(e) => return Err(Error::file(folder, &e)),
                };
                let mut names = Vec::new();
                for entry in listed {
                    let entry = entry.map_err(|e| Error::file(folder, &e))?;
                    if entry.path().join("ltx").is_dir() {
                        names.extend(entry.file_name().into_string());
                    }
                }
                names
            }
            Place::Bucket(bucket) => bucket.names()?,
        };
        names.sort();
        Ok(names)
    }

    /// The same place. Files on their way to a bucket are made in this folder.
    pub fn made_in(self, folder: &Path) -> Place {
        match self {
            Place::Bucket(bucket) => Place::Bucket(bucket.made_in(folder)),
            folder => folder,
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Place::Folder(folder) => write!(f, "{}", folder.display()),
            Place::Bucket(bucket) => write!(f, "{bucket}"),
        }
    }
}

/// The bucket and the prefix of `//BUCKET/PREFIX`. They are taken as they are: nothing in them is encoded.
fn parts<'u>(url: &str, rest: &'u str) -> Result<(&'u str, &'u str)> {
    let wrong = |why: &str| Err(Error::new(format!("\"{url}\" is no URL of an archive: {why}")));
    let Some(rest) = rest.strip_prefix("//") else { return wrong("// and a bucket follow the scheme") };
    if rest.contains(['?', '#']) {
        return wrong("settings of a bucket are in the environment, not behind ? or #");
    }
    let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let prefix = prefix.trim_end_matches('/');
    if name.is_empty() || name.contains(['@', ':', '%']) {
        return wrong("a bucket has a name, without a host, a port or a user");
    }
    if !prefix.is_empty() && prefix.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        return wrong("a part of its path is empty, . or ..");
    }
    Ok((name, prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn shown(url: &str) -> String {
        Place::parse(url, Duration::from_secs(1)).map_or_else(|e| e.to_string(), |place| place.to_string())
    }

    #[test]
    fn urls_name_folders_and_buckets() {
        assert_eq!(shown("file:/a/b"), "/a/b");
        assert_eq!(shown("file:///a/b"), "/a/b");
        assert_eq!(shown("file:b"), "b");
        for url in ["s3://bucket/a/b", "s3://bucket", "gs://bucket/a", "az://container/a b/c"] {
            let place = Place::parse(url, Duration::from_secs(1));
            match place {
                Ok(place) => {
                    assert_eq!(place.to_string(), url);
                    assert_eq!(place.within("my db").unwrap().to_string(), format!("{url}/my db"));
                }
                // (an account that is not in the environment; Google's is looked for when it is needed)
                Err(e) => assert!(url.starts_with("az:") && e.to_string().contains("Account"), "{url}: {e}"),
            }
        }
        assert_eq!(shown("s3://bucket/a/"), "s3://bucket/a");
        for (url, why) in [
            ("/a/b", "write file:/a/b"),
            ("ftp://a/b", "are not supported"),
            ("s3:bucket", "follow the scheme"),
            ("s3://", "a bucket has a name"),
            ("s3:///a", "a bucket has a name"),
            ("s3://user:word@bucket/a", "a bucket has a name"),
            ("s3://bucket/a?endpoint=x", "in the environment"),
            ("s3://bucket/a#b", "in the environment"),
            ("s3://bucket//a", "is empty"),
            ("gs://bucket/../a", "is empty, . or .."),
        ] {
            assert!(shown(url).contains(why), "{url}: {}", shown(url));
        }
    }

    #[test]
    fn keys_are_those_that_litestream_reads() {
        let key = |url: &str| match Place::parse(url, Duration::from_secs(1)).unwrap().within("my").unwrap() {
            Place::Bucket(bucket) => bucket.key(9, 1, 0x1f),
            Place::Folder(_) => unreachable!(),
        };
        let file = "0000000000000001-000000000000001f.ltx";
        assert_eq!(key("s3://bucket/a/b"), format!("a/b/my/0009/{file}"));
        assert_eq!(key("s3://bucket"), format!("my/0009/{file}"));
        assert_eq!(key("gs://bucket/a/b"), format!("a/b/my/ltx/9/{file}"));
    }
}
