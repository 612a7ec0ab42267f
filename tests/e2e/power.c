/* Loaded into a daemon under test: notes what every write to a file replaces, which names come and go, and what every sync brings
 * to the disk, so that the test can take back what a power cut would have lost. The notes go to the file that EDDY_UNDO names:
 *
 *     [kind][file][sequence][offset][written][size][kept] and so many kept bytes
 *
 * eight bytes each. Kind 1 is a write: so many bytes at an offset of a file (its inode) of that size, whose bytes there were the
 * kept ones. Kind 2 is a sync: what has this sequence number or a lower one is on the disk. The others are about names in a
 * directory, which then is the file; the kept bytes are the name that was made (3), removed (4), or both names of what was
 * renamed, with a slash between them (5). A file that was removed stays under its sequence number in the directory beside the
 * notes. Each note is there before what it speaks of, which may thus not have come about. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int notes = -1;
static uint64_t sequence;
static unsigned char kept[1 << 16];
static char removed[PATH_MAX];

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("EDDY_UNDO");
    if (!path)
        return;
    notes = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    snprintf(removed, sizeof removed, "%s.removed", path);
    syscall(SYS_mkdirat, AT_FDCWD, removed, 0700);
}

static void put(const void *bytes, size_t length)
{
    const char *from = bytes;
    while (length) {
        ssize_t put = syscall(SYS_write, notes, from, length);
        if (put <= 0)
            abort();
        from += put;
        length -= put;
    }
}

static void note(uint64_t kind, uint64_t file, uint64_t number, uint64_t offset, uint64_t written, uint64_t size, uint64_t length)
{
    uint64_t head[] = {kind, file, number, offset, written, size, length};
    put(head, sizeof head);
    put(kept, length);
}

/* Whether writes to it are noted: a file and nothing else. */
static int is_noted(int fd, struct stat *file)
{
    return notes >= 0 && fstat(fd, file) == 0 && S_ISREG(file->st_mode);
}

/* To be called with the lock. */
static void before_write(int fd, uint64_t offset, uint64_t length)
{
    struct stat file;
    char path[32];
    if (!is_noted(fd, &file))
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int readable = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    while (length) {
        uint64_t part = length < sizeof kept ? length : sizeof kept;
        ssize_t found = pread(readable, kept, part, offset);
        note(1, file.st_ino, ++sequence, offset, part, file.st_size, found > 0 ? found : 0);
        offset += part;
        length -= part;
    }
    close(readable);
}

static uint64_t place(int fd)
{
    off_t at = lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
    return at > 0 ? at : 0;
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    struct stat file;
    if (!is_noted(fd, &file))
        return syscall(SYS_write, fd, bytes, length);
    pthread_mutex_lock(&lock);
    before_write(fd, place(fd), length);
    ssize_t written = syscall(SYS_write, fd, bytes, length);
    pthread_mutex_unlock(&lock);
    return written;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    struct stat file;
    if (!is_noted(fd, &file))
        return syscall(SYS_writev, fd, parts, count);
    uint64_t length = 0;
    for (int part = 0; part < count; part++)
        length += parts[part].iov_len;
    pthread_mutex_lock(&lock);
    before_write(fd, place(fd), length);
    ssize_t written = syscall(SYS_writev, fd, parts, count);
    pthread_mutex_unlock(&lock);
    return written;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset)
{
    pthread_mutex_lock(&lock);
    before_write(fd, offset, length);
    ssize_t written = syscall(SYS_pwrite64, fd, bytes, length, offset);
    pthread_mutex_unlock(&lock);
    return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
    return pwrite64(fd, bytes, length, offset);
}

static int synced(long call, int fd)
{
    struct stat file;
    pthread_mutex_lock(&lock);
    uint64_t until = sequence;
    pthread_mutex_unlock(&lock);
    int failed = syscall(call, fd);
    if (!failed && notes >= 0 && fstat(fd, &file) == 0) {
        pthread_mutex_lock(&lock);
        note(2, file.st_ino, until, 0, 0, 0, 0);
        pthread_mutex_unlock(&lock);
    }
    return failed;
}

int fsync(int fd)
{
    return synced(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return synced(SYS_fdatasync, fd);
}

static int is_there(const char *path)
{
    struct stat file;
    return lstat(path, &file) == 0;
}

/* To be called with the lock, before a name changes. The second name is of the same directory: nothing is moved to another. */
static void before_naming(uint64_t kind, const char *path, const char *renamed)
{
    struct stat directory;
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (notes < 0 || !slash || slash == path)
        return;
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    if (stat(parent, &directory) != 0)
        return;
    const char *to = renamed ? strrchr(renamed, '/') : "";
    int length = snprintf((char *)kept, sizeof kept, "%s%s", slash + 1, to);
    note(kind, directory.st_ino, ++sequence, 0, 0, 0, length);
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (!(flags & O_CREAT))
        return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    pthread_mutex_lock(&lock);
    if (!is_there(path))
        before_naming(3, path, NULL);
    int fd = syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    pthread_mutex_unlock(&lock);
    return fd;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open64(path, flags, mode);
}

int mkdir(const char *path, mode_t mode)
{
    pthread_mutex_lock(&lock);
    if (!is_there(path))
        before_naming(3, path, NULL);
    int failed = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    pthread_mutex_unlock(&lock);
    return failed;
}

int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags)
{
    pthread_mutex_lock(&lock);
    if (!is_there(to))
        before_naming(3, to, NULL);
    int failed = syscall(SYS_linkat, from_directory, from, to_directory, to, flags);
    pthread_mutex_unlock(&lock);
    return failed;
}

int rename(const char *from, const char *to)
{
    pthread_mutex_lock(&lock);
    if (is_there(from))
        before_naming(5, from, to);
    int failed = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    pthread_mutex_unlock(&lock);
    return failed;
}

int unlink(const char *path)
{
    char to[PATH_MAX + 32];
    pthread_mutex_lock(&lock);
    snprintf(to, sizeof to, "%s/%llu", removed, (unsigned long long)sequence + 1);
    if (notes >= 0 && syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, to, 0) == 0)
        before_naming(4, path, NULL);
    int failed = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    pthread_mutex_unlock(&lock);
    return failed;
}
