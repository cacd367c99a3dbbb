use super::server_file::Refused;
use super::*;
use crate::in_memory::MemoryFolder;
use std::io::Write;

fn code(result: Result<Arc<Room>>) -> SqlState {
    result.err().map(|e| e.code()).expect("an error")
}

/// Whether another process could lock a byte that this process's SQLite would have locked.
fn another_can_lock(path: &Path) -> bool {
    let script = "import fcntl, sys\ntry:\n  fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0x40000000)\nexcept OSError:\n  sys.exit(1)";
    let status = std::process::Command::new("python3").args(["-c", script]).arg(path).status().expect("python3 runs");
    status.success()
}

/// Locks a byte as SQLite does.
fn lock_as_sqlite(file: &File) {
    use std::os::fd::AsRawFd;
    // SAFETY: a struct of numbers; an open descriptor.
    unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        (lock.l_type, lock.l_start, lock.l_len) = (libc::F_WRLCK as _, 0x4000_0000, 1);
        assert_eq!(libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock), 0);
    }
}

#[test]
fn a_file_has_one_room_by_whatever_name() {
    let folder = MemoryFolder::new().expect("a folder");
    let path = folder.file();
    let room = Room::enter(&path).expect("is made");
    let (link, soft) = (path.with_file_name("hard.db"), path.with_file_name("soft.db"));
    std::fs::hard_link(&path, &link).unwrap();
    std::os::unix::fs::symlink(&path, &soft).unwrap();
    for name in [&path, &link, &soft] {
        assert_eq!(code(Room::enter(name)), SqlState::OBJECT_IN_USE);
    }
    drop(room);
    // SQLite would look for another log
    assert_eq!(code(Room::enter(&link)), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
    std::fs::remove_file(&link).unwrap();
    Room::enter(&soft).expect("has one name again");
}

/// A lock of another process on the same inode, as a server with the file mounted at another place has it.
#[cfg(target_os = "linux")]
#[test]
fn a_server_with_the_inode_keeps_others_away() {
    let folder = MemoryFolder::new().expect("a folder");
    let path = folder.file();
    drop(Room::enter(&path).expect("is made"));
    let other = File::options().read(true).write(true).open(&path).unwrap();
    assert!(lock_inode(&other).unwrap());
    assert_eq!(code(Room::enter(&path)), SqlState::OBJECT_IN_USE);
    unlock_inode(&other);
    Room::enter(&path).expect("is free");
}

/// A program that another thread starts has copies of all descriptors for a moment.
#[cfg(target_os = "linux")]
#[test]
fn a_file_is_free_when_its_room_is_left_though_a_descriptor_has_copies() {
    let folder = MemoryFolder::new().expect("a folder");
    let room = Room::enter(&folder.file()).expect("is made");
    let copy = room.file.lock().try_clone().unwrap();
    drop(room);
    Room::enter(&folder.file()).expect("is free");
    drop(copy);
}

/// Looks of other threads at all rooms keep a room that is left meanwhile: it is left when the next one enters all the same.
#[test]
fn a_file_is_free_when_its_room_is_left_though_others_look_for_rooms() {
    let enter_and_leave = || {
        let folder = MemoryFolder::new().expect("a folder");
        for _ in 0..500 {
            drop(Room::enter(&folder.file()).expect("is free"));
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(enter_and_leave))));
}

#[test]
fn files_of_an_open_database_are_not_opened_and_its_locks_stay() {
    let folder = MemoryFolder::new().expect("a folder");
    let path = folder.file();
    let room = Room::enter(&path).expect("is made");
    lock_as_sqlite(&room.file.lock());
    assert!(!another_can_lock(&path));
    let link = path.with_file_name("hard");
    std::fs::hard_link(&path, &link).unwrap();
    for suffix in folder::SUFFIXES {
        let mut name = path.clone().into_os_string();
        name.push(suffix);
        File::options().create(true).append(true).open(&name).unwrap();
    }
    let companions = folder::companions(&path);
    for name in [&path, &link].into_iter().chain(&companions) {
        assert!(matches!(ServerFile::open(name), Err(Refused::Database(_))), "{}", name.display());
        assert!(matches!(ServerFile::create(name), Err(Refused::Database(_))), "{}", name.display());
        assert!(!server_file::may_be_database(name));
    }
    assert!(!another_can_lock(&path), "the locks are gone");
}

/// What COPY has open when a database of that name is opened is closed with the database.
#[test]
fn a_file_that_becomes_a_database_is_closed_with_it() {
    let folder = MemoryFolder::new().expect("a folder");
    let path = folder.file();
    let mut early = ServerFile::create(&path).ok().expect("is made");
    let room = Room::enter(&path).expect("an empty file");
    lock_as_sqlite(&room.file.lock());
    early.write_all(b"").unwrap();
    drop(early);
    assert!(!another_can_lock(&path), "the locks are gone");
    assert_eq!(room.kept.lock().len(), 1);
}
