//! Three nodes in one process, over connections of this machine and files on its disk.

use pgsqlite_cluster::command::{Change, Condition};
use pgsqlite_cluster::objects::Outcome;
use pgsqlite_cluster::service::{members, Cluster, Config};
use pgsqlite_cluster::Certificates;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(10);

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("pgsqlite-cluster-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Ports that are free at this moment.
fn addresses(n: usize) -> Vec<String> {
    let all: Vec<TcpListener> = (0..n).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    all.iter().map(|listener| listener.local_addr().unwrap().to_string()).collect()
}

/// Certificates of one authority: one for each name.
fn certificates(folder: &Path, names: &[&str], authority: &str) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec![]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, authority);
    let write = |name: &str, content: String| std::fs::write(folder.join(name), content).unwrap();
    write(&format!("{authority}.ca.pem"), params.self_signed(&key).unwrap().pem());
    let issuer = rcgen::Issuer::new(params, key);
    for name in names {
        let own = rcgen::KeyPair::generate().unwrap();
        let certificate =
            rcgen::CertificateParams::new(vec![name.to_string()]).unwrap().signed_by(&own, &issuer).unwrap();
        write(&format!("{authority}.{name}.pem"), certificate.pem());
        write(&format!("{authority}.{name}.key"), own.serialize_pem());
    }
}

#[test]
fn nodes_are_known_by_their_certificates() {
    let folder = Folder::new("tls");
    certificates(&folder.0, &["n1", "n2", "n3"], "ours");
    certificates(&folder.0, &["n1", "n2", "n3"], "theirs");
    let mut configs = configs(&folder.0);
    // each has its own; the third one's is another authority's at first, and then another node's
    let of = |authority: &str, name: &str| {
        let file = |end: &str| folder.0.join(format!("{authority}.{name}{end}"));
        Some(Certificates { certificate: file(".pem"), key: file(".key"), authority: folder.0.join("ours.ca.pem") })
    };
    for (i, name) in ["n1", "n2", "n3"].into_iter().enumerate() {
        Cluster::create(&configs[i], false, 7).unwrap();
        configs[i].certificates = of(if i == 2 { "theirs" } else { "ours" }, name);
    }
    let start = |config: &Config| Cluster::start(&Config { process: process(), ..config.clone() }).unwrap();
    let nodes = [start(&configs[0]), start(&configs[1])];
    assert!(matches!(nodes[0].change(put("a", Condition::Any, b"x"), PATIENCE), Ok(Outcome::Put(_))));
    for wrong in [of("theirs", "n3"), of("ours", "n2"), None] {
        let third = start(&Config { certificates: wrong, ..configs[2].clone() });
        assert!(third.catch_up(Duration::from_millis(700)).is_err());
        assert_eq!(third.status().leader, None);
        third.stop();
    }
    let third = start(&Config { certificates: of("ours", "n3"), ..configs[2].clone() });
    assert_eq!(content(&third, "a").as_deref(), Some(&b"x"[..]));
    // an address that others reach needs certificates
    let mut open = configs[0].clone();
    (open.certificates, open.members[1].address) = (None, "192.0.2.1:7000".into());
    drop(nodes);
    assert!(Cluster::start(&open).is_err_and(|e| e.to_string().contains("need certificates")));
}

fn configs(folder: &Path) -> Vec<Config> {
    let text: Vec<String> = (1..).zip(addresses(3)).map(|(n, address)| format!("n{n}={address}")).collect();
    let members = members(&text.join(",")).unwrap();
    let config = |n: usize| Config {
        name: format!("n{n}"),
        members: members.clone(),
        file: folder.join(format!("n{n}.db")),
        certificates: None,
        process: process(),
    };
    (1..=3).map(config).collect()
}

fn process() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(1);
    LAST.fetch_add(1, Ordering::Relaxed)
}

fn put(name: &str, condition: Condition, content: &'static [u8]) -> Change {
    Change::Put { name: name.into(), condition, attributes: Default::default(), content: content.into() }
}

fn content(node: &Cluster, name: &str) -> Option<Vec<u8>> {
    node.catch_up(PATIENCE).unwrap();
    node.read(|shelf| shelf.content(name, 0, u64::MAX)).unwrap().map(|(_, content)| content)
}

#[test]
fn what_a_majority_has_is_there_whoever_fails() {
    let folder = Folder::new("majority");
    let configs = configs(&folder.0);
    configs.iter().for_each(|config| Cluster::create(config, false, 7).unwrap());
    assert!(Cluster::create(&configs[0], false, 7).is_err(), "a memory is made once");
    let start = |i: usize| Cluster::start(&Config { process: process(), ..configs[i].clone() }).unwrap();
    let mut nodes: Vec<Option<Arc<Cluster>>> = (0..3).map(|i| Some(start(i))).collect();
    let put_at = |node: &Option<Arc<Cluster>>, change| node.as_ref().unwrap().change(change, PATIENCE).unwrap();
    let Outcome::Put(tag) = put_at(&nodes[0], put("a", Condition::Absent, b"first")) else { panic!("there is none") };
    assert_eq!(put_at(&nodes[1], put("a", Condition::Absent, b"other")), Outcome::Refused);
    assert_eq!(put_at(&nodes[1], put("a", Condition::Tag(tag + 1), b"other")), Outcome::Refused);
    assert!(matches!(put_at(&nodes[2], put("a", Condition::Tag(tag), b"second")), Outcome::Put(_)));
    for node in &nodes {
        assert_eq!(content(node.as_ref().unwrap(), "a").as_deref(), Some(&b"second"[..]));
    }
    // each node is away once, the leader among them; what the others do meanwhile it gets when it is back
    for away in 0..3 {
        nodes[away].take().unwrap().stop();
        let name = format!("while {away} is away");
        let began = Instant::now();
        let done = put_at(&nodes[(away + 1) % 3], put(&name, Condition::Absent, b"x"));
        assert!(matches!(done, Outcome::Put(_)), "{done:?} after {:?}", began.elapsed());
        nodes[away] = Some(start(away));
        assert_eq!(content(nodes[away].as_ref().unwrap(), &name).as_deref(), Some(&b"x"[..]));
    }
    assert!(Cluster::start(&configs[0]).is_err_and(|e| e.to_string().contains("another server runs this node")));
    // strangers that say nothing, or nonsense, and open more connections than a node reads
    let mut strangers: Vec<_> =
        (0..100).filter_map(|_| std::net::TcpStream::connect(&configs[0].members[1].address).ok()).collect();
    for stranger in strangers.iter_mut().step_by(2) {
        let _ = std::io::Write::write_all(stranger, &[0xff; 100]);
    }
    nodes[2].take().unwrap().stop();
    nodes[2] = Some(start(2));
    nodes[0].take().unwrap().stop();
    assert!(matches!(put_at(&nodes[1], put("beside strangers", Condition::Absent, b"x")), Outcome::Put(_)));
    drop(strangers);
    nodes[0] = Some(start(0));
    // two of three away: nothing is acknowledged
    nodes[0].take().unwrap().stop();
    nodes[1].take().unwrap().stop();
    let alone = nodes[2].as_ref().unwrap();
    assert!(alone.change(put("b", Condition::Any, b"x"), Duration::from_millis(300)).is_err());
    assert!(alone.catch_up(Duration::from_millis(300)).is_err());
    drop(nodes);
    // another cluster's node, or another node, is not taken for this one
    let other = Config { name: "n2".into(), ..configs[0].clone() };
    assert!(Cluster::start(&other).is_err_and(|e| e.to_string().contains("is the memory of node 1")));
}

/// A node of an earlier cluster, whose nodes had the same names, is no node of this one.
#[test]
fn a_node_of_another_cluster_is_refused() {
    let folder = Folder::new("other");
    let configs = configs(&folder.0);
    (0..3).for_each(|i| Cluster::create(&configs[i], false, if i == 2 { 8 } else { 7 }).unwrap());
    let nodes: Vec<_> = configs.iter().map(|config| Cluster::start(config).unwrap()).collect();
    assert!(matches!(nodes[0].change(put("a", Condition::Any, b"x"), PATIENCE), Ok(Outcome::Put(_))));
    assert!(nodes[2].catch_up(Duration::from_millis(700)).is_err());
    assert_eq!((nodes[2].status().leader, nodes[2].status().applied), (None, 0));
}

#[test]
fn an_object_in_parts_is_read_in_pieces() {
    let folder = Folder::new("parts");
    let configs = configs(&folder.0);
    configs.iter().for_each(|config| Cluster::create(config, false, 7).unwrap());
    let nodes: Vec<_> = configs.iter().map(|config| Cluster::start(config).unwrap()).collect();
    for (number, content) in [(0, &b"abc"[..]), (1, b""), (2, b"defgh")] {
        let part = Change::Part { upload: 7, number, content: content.into() };
        assert_eq!(nodes[0].change(part, PATIENCE), Ok(Outcome::Done));
    }
    let complete = |parts, name: &str| Change::Complete {
        upload: 7,
        parts,
        name: name.into(),
        condition: Condition::Absent,
        attributes: b"note"[..].into(),
    };
    assert_eq!(nodes[1].change(complete(4, "p"), PATIENCE), Ok(Outcome::Incomplete));
    assert!(matches!(nodes[1].change(complete(3, "p"), PATIENCE), Ok(Outcome::Put(_))));
    let node = &nodes[2];
    node.catch_up(PATIENCE).unwrap();
    for (from, most, wanted) in
        [(0, 100, &b"abcdefgh"[..]), (2, 3, b"cde"), (3, 1, b"d"), (8, 5, b""), (20, 5, b""), (0, 0, b"")]
    {
        let (object, content) = node.read(|shelf| shelf.content("p", from, most)).unwrap().unwrap();
        assert_eq!((&content[..], object.size, &object.attributes[..]), (wanted, 8, &b"note"[..]), "{from} {most}");
    }
    assert_eq!(node.change(Change::Delete { name: "p".into() }, PATIENCE), Ok(Outcome::Done));
    assert_eq!(node.read(|shelf| shelf.list("", "")).unwrap(), []);
}

#[test]
fn a_node_that_is_far_behind_gets_a_copy() {
    let folder = Folder::new("copy");
    let configs = configs(&folder.0);
    configs.iter().for_each(|config| Cluster::create(config, false, 7).unwrap());
    let start = |i: usize| Cluster::start(&Config { process: process(), ..configs[i].clone() }).unwrap();
    let nodes = [start(0), start(1)];
    nodes[0].change(put("kept", Condition::Any, b"for long"), PATIENCE).unwrap();
    // more entries than a log keeps for those that are behind
    std::thread::scope(|scope| {
        for thread in 0..64 {
            let nodes = &nodes;
            scope.spawn(move || {
                for n in 0..330 {
                    let name = format!("{}", (thread * 330 + n) % 1000);
                    nodes[0].change(put(&name, Condition::Any, b"x"), PATIENCE).unwrap();
                }
            });
        }
    });
    let late = start(2);
    assert_eq!(content(&late, "kept").as_deref(), Some(&b"for long"[..]));
    assert_eq!(late.read(|shelf| shelf.list("", "")).unwrap().len(), 1001);
    late.change(put("after", Condition::Any, b"y"), PATIENCE).unwrap();
    assert_eq!(content(&nodes[1], "after").as_deref(), Some(&b"y"[..]));
    let left: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("copy")), "{left:?}");
}
