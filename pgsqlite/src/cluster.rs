//! `--cluster`: a few servers that keep a database together, and the command that makes their nodes.

use crate::archive::beside;
use anyhow::{bail, Context as _, Result};
use clap::{Args, Subcommand};
use pgsqlite_cluster::service::{self, members, Cluster, Config};
use pgsqlite_cluster::Certificates;
use pgsqlite_replication::place::Place;
use pgsqlite_server::config::Databases;
use pgsqlite_server::failover::{self, LeaseConfig};
use pgsqlite_server::standby::Kept;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Seconds for which the lease of a cluster's primary lasts.
const LEASE: u64 = 2;
/// The primary leaves within this time.
const LEAVES: Duration = Duration::from_secs(60);
/// A commit waits for so long for a majority of the nodes before it is tried again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Make this machine's node of a cluster, once, before the server is started with --cluster
///
/// A cluster is three servers or more that keep one database together: each change is on a majority of them before it is acknowledged. One of the nodes is made with `new`, and begins with its file; the others are made with `join`.
#[derive(Args, Debug)]
pub struct ClusterCommand {
    #[command(subcommand)]
    how: How,
}

#[derive(Subcommand, Debug)]
enum How {
    /// The first node: the cluster begins with its file, or with an empty one
    New(NodeFlags),
    /// Each other node: it has no file, and gets it from the others
    Join {
        #[command(flatten)]
        flags: NodeFlags,
        /// The cluster's number, which `new` has printed
        #[arg(long, env = "PGSQLITE_CLUSTER_ID", value_name = "NUMBER")]
        id: String,
    },
    /// The end of a cluster: the primary, which runs, ends, and its file is a database of its own again
    Leave(LeaveFlags),
}

#[derive(Args, Debug)]
struct LeaveFlags {
    /// The SQLite file that the server has served
    #[arg(long, env = "PGSQLITE_DATABASE", value_name = "FILE")]
    database: PathBuf,
}

#[derive(Args, Debug)]
struct NodeFlags {
    /// All nodes, in the same order on each machine: NAME=HOST:PORT,NAME=HOST:PORT,NAME=HOST:PORT. They speak to each other there
    #[arg(long, env = "PGSQLITE_CLUSTER", value_name = "NODES")]
    cluster: String,
    /// Which of them this one is
    #[arg(long, env = "PGSQLITE_NODE_NAME", value_name = "NAME")]
    node_name: String,
    /// The SQLite file that the server serves. The node's memory is beside it, in FILE.cluster
    #[arg(long, env = "PGSQLITE_DATABASE", value_name = "FILE")]
    database: PathBuf,
}

/// What the flags of the server say of its cluster.
pub struct Wanted {
    pub nodes: String,
    pub node_name: Option<String>,
    /// the lease's seconds
    pub lease: Option<u64>,
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    pub authority: Option<PathBuf>,
}

/// The node's memory beside a database.
fn memory(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_os_string();
    name.push(".cluster");
    name.into()
}

fn process() -> Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).context("no chance")?;
    Ok(u64::from_be_bytes(bytes))
}

pub fn make(command: &ClusterCommand) -> Result<()> {
    let (flags, founds, id) = match &command.how {
        How::New(flags) => (flags, true, process()?),
        How::Join { flags, id } => {
            let id = u64::from_str_radix(id, 16).with_context(|| format!("\"{id}\" is not the number of a cluster"))?;
            (flags, false, id)
        }
        How::Leave(flags) => return leave(&flags.database),
    };
    if !founds && flags.database.symlink_metadata().is_ok() {
        bail!("\"{}\" exists: a node that joins gets its file from the others", flags.database.display());
    }
    let config = Config {
        name: flags.node_name.clone(),
        members: members(&flags.cluster)?,
        file: memory(&flags.database),
        certificates: None,
        process: process()?,
    };
    Cluster::create(&config, founds, id)?;
    println!(
        "Node \"{}\" of cluster {id:016x} is made. Start the server with --cluster and the same nodes.",
        flags.node_name
    );
    if founds {
        println!("The other nodes are made with: pgsqlite cluster join --id {id:016x} …");
    }
    Ok(())
}

/// Has the primary, which runs, leave its cluster, and waits until it has ended. Nobody is a primary after it.
fn leave(database: &Path) -> Result<()> {
    let memory = memory(database);
    if !memory.exists() {
        bail!("\"{}\" does not exist: there is no node of a cluster", memory.display());
    }
    let kept = || Kept::read(database).map_err(|e| anyhow::anyhow!("{}", e.message()));
    let Some(Kept::Leading { process, .. }) = kept()? else {
        bail!("this machine's server is not the primary: leave on the primary's, where pg_is_in_recovery() is false");
    };
    // (it asks this process of the server, and no later one)
    let asks = failover::leave_file(database);
    std::fs::write(&asks, format!("{process:016x}"))?;
    let began = Instant::now();
    let alone = loop {
        // (the server has the lock as long as it runs)
        match (kept()?, service::alone(&memory)) {
            (None, Ok(alone)) => break alone,
            _ if began.elapsed() < LEAVES => std::thread::sleep(Duration::from_millis(50)),
            _ => {
                let _ = std::fs::remove_file(&asks);
                bail!(
                    "the server has not left within {} seconds: does it run, and is it the primary? Its log says more",
                    LEAVES.as_secs()
                );
            }
        }
    };
    for end in ["", "-wal", "-shm", ".lock"] {
        let mut file = memory.clone().into_os_string();
        file.push(end);
        match std::fs::remove_file(&file) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e.into()),
            _ => {}
        }
    }
    drop(alone);
    println!(
        "\"{}\" is a database of its own. Stop the cluster's other servers: they follow nobody any more.",
        database.display()
    );
    Ok(())
}

/// Starts this server's node. Returns where the cluster's archive is, and the lease that decides who is the primary.
pub fn join(wanted: Wanted, databases: &Databases) -> Result<(Place, LeaseConfig)> {
    let Databases::File(database) = databases else {
        bail!("cluster needs database: a folder of databases, or one in memory, cannot be a cluster's");
    };
    let Some(node) = wanted.node_name.filter(|name| !name.is_empty()) else {
        bail!("cluster needs node_name: which of its nodes this server is");
    };
    let certificates = match (wanted.certificate, wanted.key, wanted.authority) {
        (Some(certificate), Some(key), Some(authority)) => Some(Certificates { certificate, key, authority }),
        (None, None, None) => None,
        _ => bail!("cluster_cert, cluster_key and cluster_ca go together"),
    };
    let (seconds, longest) = (wanted.lease.unwrap_or(LEASE), failover::LONGEST.as_secs());
    if !(1..=longest).contains(&seconds) {
        bail!("lease is between 1 and {longest} seconds");
    }
    let lasts = Duration::from_secs(seconds);
    let file = memory(database);
    if !file.exists() {
        bail!(
            "\"{}\" does not exist: make the node first, with `pgsqlite cluster new` on one machine and `pgsqlite cluster join` on the others. \
             (A node that has lost this file has lost its votes, and must not come back under its name)",
            file.display()
        );
    }
    let config =
        Config { name: node.clone(), members: members(&wanted.nodes)?, file, certificates, process: process()? };
    let cluster = Cluster::start(&config)?;
    let begins = cluster.founds();
    let place = |answer| beside(Place::in_cluster(cluster.clone(), answer), databases);
    let answer = (lasts / 4).max(Duration::from_millis(250));
    let lease = LeaseConfig { lasts, node, place: place(answer), begins, cluster: Some(Arc::clone(&cluster)) };
    Ok((place(PATIENCE), lease))
}
