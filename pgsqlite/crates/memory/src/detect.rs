//! How much memory the process may have.

use std::path::{Path, PathBuf};

/// Bytes that this process may use: the machine's memory, or less where a control group limits it. None: it is not known.
///
/// Sources: `/proc/meminfo` (proc(5)); `memory.max` of cgroup v2 and `memory.limit_in_bytes` of v1, for each group above the process's.
pub fn available() -> Option<usize> {
    [machine(), control_group()].into_iter().flatten().min()
}

fn machine() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    total_of(&text)
}

/// The line `MemTotal: 24052392 kB`.
fn total_of(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

fn control_group() -> Option<usize> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    limit_files(&groups)
        .into_iter()
        .filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse::<usize>().ok())
        .min()
}

/// The files that may hold a limit. A line is `0::/path` in v2, `9:memory:/path` in v1.
fn limit_files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            c if c.split(',').any(|c| c == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        // In a container the path may be the host's: the root is looked at in any case.
        for group in Path::new(path).ancestors() {
            let group = group.strip_prefix("/").unwrap_or(group);
            files.push(Path::new(root).join(group).join(file));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_memory() {
        assert_eq!(total_of("MemTotal:       24052392 kB\nMemFree: 1 kB\n"), Some(24_052_392 * 1024));
        assert_eq!(total_of("MemFree: 1 kB\n"), None);
        assert!(available().is_none_or(|n| n > 1 << 20));
    }

    #[test]
    fn groups_of_both_versions() {
        let files = limit_files("0::/a/b\n");
        let names: Vec<_> = files.iter().map(|f| f.to_str().expect("text")).collect();
        assert_eq!(
            names,
            ["/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max", "/sys/fs/cgroup/memory.max"]
        );
        let files = limit_files("9:memory:/x\n3:cpu,cpuacct:/y\n");
        assert_eq!(files[0], Path::new("/sys/fs/cgroup/memory/x/memory.limit_in_bytes"));
        assert_eq!(files.len(), 2);
    }
}
