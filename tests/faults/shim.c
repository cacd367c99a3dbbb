/* What a server does to its files and tells its clients, in order: recorded, and failed at will.
 *
 * A library for LD_PRELOAD, not a layer of the product: it sees every call by which the process changes files or writes to a socket, whether
 * SQLite makes it, Rust's library or our own code, so that nothing can go past it, and the program under test is the one that is shipped.
 * It is written in C because open() takes a variable number of arguments, which stable Rust cannot define; SQLite needs a C compiler anyway.
 *
 * Environment:
 *   FAULTS_ROOT    files below this folder count, all others are left alone
 *   FAULTS_TRACE   the record goes to this file (trace.py reads it)
 *   FAULTS_SYNC    a sync takes so many microseconds and is not passed on to the system: power is only cut on paper
 *   FAULTS_WRITE   after every third write a pause of so many microseconds: syncs come between the writes of one transaction
 *   FAULTS_FAIL    "N KIND COUNT": the calls N to N+COUNT-1 that change files fail. KIND: eio, enospc, short (half of a write is written)
 *   FAULTS_ONLY    only calls of these kinds (letters of the record) are counted
 *   FAULTS_NAMES   only calls on files whose names end with this are counted
 *
 * One mutex orders all calls. A sync is two records, its beginning and its end: what was written before the first is on disk after the second.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FDS 65536
#define FRAMES 40

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char root[4096];
static size_t root_length;
static int trace = -1;
static long sync_microseconds = -1, write_microseconds;
static long fail_first, fail_count;
static int fail_errno, fail_short;
static char only[32], names[256];
static long counted;
static uint32_t handles;
/* what a descriptor is: 0 nothing of ours, else a handle of a file or a number of a client */
static uint32_t file_of[FDS], client_of[FDS];
static char named[FDS]; /* calls on it are counted */
static uintptr_t base;

/* A record: kind, handle, offset, length of the payload, payload. */
static void record(char kind, uint32_t handle, int64_t offset, const void *payload, uint32_t length) {
    if (trace < 0) return;
    char head[17];
    head[0] = kind;
    memcpy(head + 1, &handle, 4);
    memcpy(head + 5, &offset, 8);
    memcpy(head + 13, &length, 4);
    struct iovec parts[2] = {{head, 17}, {(void *)payload, length}};
    size_t want = 17 + length;
    ssize_t n = syscall(SYS_writev, trace, parts, 2);
    if (n != (ssize_t)want) {
        fprintf(stderr, "faults: the trace cannot be written\n");
        _exit(99);
    }
}

__attribute__((constructor)) static void begin(void) {
    const char *s = getenv("FAULTS_ROOT");
    if (!s) return;
    snprintf(root, sizeof root, "%s/", s);
    root_length = strlen(root);
    void *frame[1];
    backtrace(frame, 1); /* loads the unwinder now */
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long start = 0;
    if (maps && fscanf(maps, "%lx-", &start) == 1) base = start;
    if (maps) fclose(maps);
    if ((s = getenv("FAULTS_TRACE"))) trace = syscall(SYS_openat, AT_FDCWD, s, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if ((s = getenv("FAULTS_SYNC"))) sync_microseconds = atol(s);
    if ((s = getenv("FAULTS_WRITE"))) write_microseconds = atol(s);
    if ((s = getenv("FAULTS_ONLY"))) snprintf(only, sizeof only, "%s", s);
    if ((s = getenv("FAULTS_NAMES"))) snprintf(names, sizeof names, "%s", s);
    if ((s = getenv("FAULTS_FAIL"))) {
        char kind[16] = "";
        if (sscanf(s, "%ld %15s %ld", &fail_first, kind, &fail_count) != 3) abort();
        fail_errno = strcmp(kind, "enospc") == 0 ? ENOSPC : EIO;
        fail_short = strcmp(kind, "short") == 0;
    }
}

static int ends_with(const char *s, const char *end) {
    size_t a = strlen(s), b = strlen(end);
    return a >= b && strcmp(s + a - b, end) == 0;
}

/* Whether this call is one of those that fail; under the mutex. Every counted call is a record of its own ('!' where it fails). */
static int fails(char kind, int is_named) {
    if (*only && !strchr(only, kind)) return 0;
    if (*names && !is_named) return 0;
    counted++;
    if (fail_count && counted >= fail_first && counted < fail_first + fail_count) {
        record('!', 0, counted, &kind, 1);
        return 1;
    }
    return 0;
}

static const char *ours(int dir, const char *path, char *buffer) {
    if (!root_length || !path) return NULL;
    char joined[8192];
    if (*path != '/') {
        char folder[4096];
        ssize_t n;
        char link[64];
        snprintf(link, sizeof link, dir == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", dir);
        n = readlink(link, folder, sizeof folder - 1);
        if (n < 0) return NULL;
        folder[n] = 0;
        snprintf(joined, sizeof joined, "%s/%s", folder, path);
        path = joined;
    }
    if (strncmp(path, root, root_length) == 0) {
        snprintf(buffer, 4096, "%s", path + root_length);
        return buffer;
    }
    /* the folder itself */
    if (strncmp(path, root, root_length - 1) == 0 && (path[root_length - 1] == 0)) {
        strcpy(buffer, ".");
        return buffer;
    }
    return NULL;
}

static uint32_t handle_of(int fd) { return fd >= 0 && fd < FDS ? file_of[fd] : 0; }

static int real_openat(int dir, const char *path, int flags, mode_t mode) {
    return syscall(SYS_openat, dir, path, flags | O_LARGEFILE, mode);
}

static int do_open(int dir, const char *path, int flags, mode_t mode) {
    char name[4096];
    const char *mine = ours(dir, path, name);
    if (!mine) return real_openat(dir, path, flags, mode);
    pthread_mutex_lock(&mutex);
    struct stat st;
    int was_there = fstatat(dir, path, &st, 0) == 0;
    int makes = (flags & O_CREAT) && !was_there;
    int is_named = ends_with(name, names);
    int fd;
    if (makes && fails('O', is_named)) {
        errno = fail_short ? EIO : fail_errno;
        fd = -1;
    } else {
        fd = real_openat(dir, path, flags, mode);
    }
    int e = errno;
    if (fd >= 0 && fd < FDS) {
        file_of[fd] = ++handles;
        named[fd] = is_named;
        int64_t how = (makes ? 1 : 0) | (was_there && (flags & O_TRUNC) && (flags & O_ACCMODE) != O_RDONLY ? 2 : 0);
        record('O', handles, how, name, strlen(name));
    }
    pthread_mutex_unlock(&mutex);
    errno = e;
    return fd;
}

#define OPEN_MODE(last) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { \
        va_list args; \
        va_start(args, last); \
        mode = va_arg(args, mode_t); \
        va_end(args); \
    }
int open(const char *path, int flags, ...) { OPEN_MODE(flags) return do_open(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { OPEN_MODE(flags) return do_open(AT_FDCWD, path, flags, mode); }
int openat(int dir, const char *path, int flags, ...) { OPEN_MODE(flags) return do_open(dir, path, flags, mode); }
int openat64(int dir, const char *path, int flags, ...) { OPEN_MODE(flags) return do_open(dir, path, flags, mode); }
int creat(const char *path, mode_t mode) { return do_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

static void copy_fd(int from, int to) {
    if (from >= 0 && from < FDS && to >= 0 && to < FDS) {
        pthread_mutex_lock(&mutex);
        file_of[to] = file_of[from];
        client_of[to] = client_of[from];
        named[to] = named[from];
        pthread_mutex_unlock(&mutex);
    }
}
int dup(int fd) { int n = syscall(SYS_dup, fd); copy_fd(fd, n); return n; }
int dup2(int fd, int to) { int n = syscall(SYS_dup3, fd, to, 0); if (n >= 0) copy_fd(fd, n); return n; }
int dup3(int fd, int to, int flags) { int n = syscall(SYS_dup3, fd, to, flags); if (n >= 0) copy_fd(fd, n); return n; }
static int do_fcntl(int fd, int command, void *argument) {
    int n = syscall(SYS_fcntl, fd, command, argument);
    if (n >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) copy_fd(fd, n);
    return n;
}
#define FCNTL(name) \
    int name(int fd, int command, ...) { \
        va_list args; \
        va_start(args, command); \
        void *argument = va_arg(args, void *); \
        va_end(args); \
        return do_fcntl(fd, command, argument); \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

int close(int fd) {
    if (fd < 0 || fd >= FDS || (!file_of[fd] && !client_of[fd])) return syscall(SYS_close, fd);
    pthread_mutex_lock(&mutex);
    file_of[fd] = client_of[fd] = 0;
    int rc = syscall(SYS_close, fd);
    pthread_mutex_unlock(&mutex);
    return rc;
}

/* Bytes at a place of a file. */
static ssize_t do_pwrite(int fd, const void *bytes, size_t n, off64_t at) {
    uint32_t handle = handle_of(fd);
    if (!handle) return syscall(SYS_pwrite64, fd, bytes, n, at);
    pthread_mutex_lock(&mutex);
    ssize_t rc;
    if (fails('W', named[fd])) {
        if (fail_short && n > 1) {
            rc = syscall(SYS_pwrite64, fd, bytes, n / 2, at);
        } else {
            errno = fail_errno;
            rc = -1;
        }
    } else {
        rc = syscall(SYS_pwrite64, fd, bytes, n, at);
    }
    int e = errno;
    if (rc > 0) record('W', handle, at, bytes, rc);
    static long writes;
    int pauses = write_microseconds && ++writes % 3 == 0;
    pthread_mutex_unlock(&mutex);
    if (pauses) {
        struct timespec t = {write_microseconds / 1000000, write_microseconds % 1000000 * 1000};
        nanosleep(&t, NULL);
    }
    errno = e;
    return rc;
}
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at) { return do_pwrite(fd, bytes, n, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) { return do_pwrite(fd, bytes, n, at); }

static int is_client(int fd) { return fd >= 0 && fd < FDS && client_of[fd]; }

/* What goes to a client is recorded before it goes. */
static ssize_t do_write(int fd, const void *bytes, size_t n) {
    uint32_t handle = handle_of(fd);
    if (is_client(fd)) {
        pthread_mutex_lock(&mutex);
        ssize_t rc = syscall(SYS_write, fd, bytes, n);
        int e = errno;
        if (rc > 0) record('S', client_of[fd], 0, bytes, rc);
        pthread_mutex_unlock(&mutex);
        errno = e;
        return rc;
    }
    if (!handle) return syscall(SYS_write, fd, bytes, n);
    off64_t at = lseek64(fd, 0, SEEK_CUR);
    ssize_t rc = do_pwrite(fd, bytes, n, at);
    if (rc > 0) lseek64(fd, at + rc, SEEK_SET);
    return rc;
}
ssize_t write(int fd, const void *bytes, size_t n) { return do_write(fd, bytes, n); }
ssize_t send(int fd, const void *bytes, size_t n, int flags) {
    if (!is_client(fd)) return syscall(SYS_sendto, fd, bytes, n, flags, NULL, 0);
    pthread_mutex_lock(&mutex);
    ssize_t rc = syscall(SYS_sendto, fd, bytes, n, flags, NULL, 0);
    int e = errno;
    if (rc > 0) record('S', client_of[fd], 0, bytes, rc);
    pthread_mutex_unlock(&mutex);
    errno = e;
    return rc;
}
/* Several pieces: a file's or a client's first one at a time, which callers must expect anyway. */
ssize_t writev(int fd, const struct iovec *parts, int n) {
    if (is_client(fd) || handle_of(fd)) {
        for (int i = 0; i < n; i++)
            if (parts[i].iov_len) return do_write(fd, parts[i].iov_base, parts[i].iov_len);
        return 0;
    }
    return syscall(SYS_writev, fd, parts, n);
}
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    if (is_client(fd)) {
        for (size_t i = 0; i < message->msg_iovlen; i++)
            if (message->msg_iov[i].iov_len) return send(fd, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len, flags);
    }
    return syscall(SYS_sendmsg, fd, message, flags);
}

/* Copies within the system are refused, so that the bytes come by. */
ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags) {
    if (handle_of(out)) { errno = EXDEV; return -1; }
    return syscall(SYS_copy_file_range, in, in_at, out, out_at, n, flags);
}
ssize_t sendfile(int out, int in, off_t *at, size_t n) {
    if (handle_of(out)) { errno = EINVAL; return -1; }
    return syscall(SYS_sendfile, out, in, at, n);
}
ssize_t sendfile64(int out, int in, off64_t *at, size_t n) { return sendfile(out, in, at, n); }
ssize_t splice(int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags) {
    if (handle_of(out)) { errno = EINVAL; return -1; }
    return syscall(SYS_splice, in, in_at, out, out_at, n, flags);
}

static int do_truncate(int fd, off64_t size) {
    uint32_t handle = handle_of(fd);
    if (!handle) return syscall(SYS_ftruncate, fd, size);
    pthread_mutex_lock(&mutex);
    int rc;
    if (fails('T', named[fd])) {
        errno = fail_short ? EIO : fail_errno;
        rc = -1;
    } else {
        rc = syscall(SYS_ftruncate, fd, size);
    }
    int e = errno;
    if (rc == 0) record('T', handle, size, NULL, 0);
    pthread_mutex_unlock(&mutex);
    errno = e;
    return rc;
}
int ftruncate(int fd, off_t size) { return do_truncate(fd, size); }
int ftruncate64(int fd, off64_t size) { return do_truncate(fd, size); }
/* Not carried out by the product's code; what begins to use them is to be looked at here first. */
int fallocate(int fd, int mode, off_t at, off_t n) { if (handle_of(fd)) { errno = EOPNOTSUPP; return -1; } return syscall(SYS_fallocate, fd, mode, at, n); }
int fallocate64(int fd, int mode, off64_t at, off64_t n) { return fallocate(fd, mode, at, n); }
int posix_fallocate(int fd, off_t at, off_t n) { if (handle_of(fd)) return EOPNOTSUPP; return syscall(SYS_fallocate, fd, 0, at, n) ? errno : 0; }
int posix_fallocate64(int fd, off64_t at, off64_t n) { return posix_fallocate(fd, at, n); }

static int do_sync(int fd, long number) {
    uint32_t handle = handle_of(fd);
    if (!handle) return syscall(number, fd);
    void *frames[FRAMES];
    uint64_t places[FRAMES];
    int n = backtrace(frames, FRAMES), is_named = named[fd];
    for (int i = 0; i < n; i++) places[i] = (uintptr_t)frames[i] - base;
    static uint32_t syncs;
    pthread_mutex_lock(&mutex);
    uint32_t which = ++syncs;
    int failed = fails('Y', is_named);
    record('B', handle, which, places, n * 8);
    pthread_mutex_unlock(&mutex);
    int rc = 0;
    if (sync_microseconds >= 0) {
        struct timespec t = {sync_microseconds / 1000000, sync_microseconds % 1000000 * 1000};
        nanosleep(&t, NULL);
    } else if (!failed) {
        rc = syscall(number, fd);
    }
    int e = failed ? (fail_short ? EIO : fail_errno) : errno;
    if (failed) rc = -1;
    pthread_mutex_lock(&mutex);
    record(rc == 0 ? 'Y' : 'y', handle, which, NULL, 0);
    pthread_mutex_unlock(&mutex);
    errno = e;
    return rc;
}
int fsync(int fd) { return do_sync(fd, SYS_fsync); }
int fdatasync(int fd) { return do_sync(fd, SYS_fdatasync); }

static int do_rename(int from_dir, const char *from, int to_dir, const char *to, unsigned flags) {
    char a[4096], b[4096], both[8200];
    const char *x = ours(from_dir, from, a), *y = ours(to_dir, to, b);
    if (!x || !y) return syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
    pthread_mutex_lock(&mutex);
    int rc;
    if (fails('R', ends_with(b, names))) {
        errno = fail_short ? EIO : fail_errno;
        rc = -1;
    } else {
        rc = syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
    }
    int e = errno;
    if (rc == 0) {
        int n = snprintf(both, sizeof both, "%s%c%s", a, '\n', b);
        record('R', 0, 0, both, n);
    }
    pthread_mutex_unlock(&mutex);
    errno = e;
    return rc;
}
int rename(const char *from, const char *to) { return do_rename(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int d, const char *from, int e, const char *to) { return do_rename(d, from, e, to, 0); }
int renameat2(int d, const char *from, int e, const char *to, unsigned flags) { return do_rename(d, from, e, to, flags); }

static int do_unlink(int dir, const char *path, int flags) {
    char name[4096];
    if (!ours(dir, path, name)) return syscall(SYS_unlinkat, dir, path, flags);
    pthread_mutex_lock(&mutex);
    int rc;
    if (fails('U', ends_with(name, names))) {
        errno = fail_short ? EIO : fail_errno;
        rc = -1;
    } else {
        rc = syscall(SYS_unlinkat, dir, path, flags);
    }
    int e = errno;
    if (rc == 0) record('U', 0, 0, name, strlen(name));
    pthread_mutex_unlock(&mutex);
    errno = e;
    return rc;
}
int unlink(const char *path) { return do_unlink(AT_FDCWD, path, 0); }
int unlinkat(int dir, const char *path, int flags) { return do_unlink(dir, path, flags); }
int remove(const char *path) { return do_unlink(AT_FDCWD, path, 0); }

/* A client: its answers are recorded under the number that it gets here. */
static int accepted(int fd) {
    static uint32_t clients;
    if (fd >= 0 && fd < FDS && root_length) {
        pthread_mutex_lock(&mutex);
        client_of[fd] = ++clients;
        record('A', clients, 0, NULL, 0);
        pthread_mutex_unlock(&mutex);
    }
    return fd;
}
int accept(int fd, struct sockaddr *address, socklen_t *length) { return accepted(syscall(SYS_accept4, fd, address, length, 0)); }
int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) { return accepted(syscall(SYS_accept4, fd, address, length, flags)); }
