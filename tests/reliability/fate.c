/* Loaded into a process under test: lets one of the calls by which it changes files be its last one, or fail. EDDY_FATE says which:
 *
 *     before 12   the process ends right before its twelfth call
 *     within 3    it ends when half of the bytes of its third write are written
 *     fails 12    its twelfth call fails once with an error of the disk
 *     full 12     from its twelfth call on, the disk takes nothing
 *     unread 5    its fifth reading of a file fails once with an error of the disk
 *
 * What is met is told on standard error, and when the process leaves, how many calls, writes and readings there were. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static enum { BEFORE, WITHIN, FAILS, FULL, UNREAD } fate;
static long place, calls, writes, readings;

__attribute__((constructor)) static void begin(void)
{
    static const char *const names[] = {"before", "within", "fails", "full", "unread"};
    char name[8];
    const char *text = getenv("EDDY_FATE");
    if (!text || sscanf(text, "%7s %ld", name, &place) != 2)
        abort();
    while (strcmp(name, names[fate]))
        fate++;
}

__attribute__((destructor)) static void leave(void)
{
    dprintf(2, "there were %ld calls, %ld writes, %ld readings\n", calls, writes, readings);
}

static const char *path_of(int fd, char *path, size_t length)
{
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t found = readlink(link, path, length - 1);
    path[found > 0 ? found : 0] = 0;
    return path;
}

static void tell(const char *call, const char *path, int fd)
{
    char found[512];
    dprintf(2, "met at call %ld: %s %s\n", place, call, path ? path : path_of(fd, found, sizeof found));
}

static void end(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Counts a call; answers whether it is to fail. */
static int is_met(const char *call, const char *path, int fd)
{
    long number = __sync_add_and_fetch(&calls, 1);
    if (fate == WITHIN || fate == UNREAD || number < place || (number > place && fate != FULL))
        return 0;
    if (number == place)
        tell(call, path, fd);
    if (fate == BEFORE)
        end();
    errno = fate == FAILS ? EIO : ENOSPC;
    return 1;
}

static int is_file(int fd)
{
    struct stat file;
    return fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
}

/* Before a write of some bytes: answers whether it is to fail, or writes half of them and ends. */
static int is_write_met(const char *call, int fd, const void *bytes, size_t length, off_t offset)
{
    if (!is_file(fd))
        return 0;
    if (length > 1 && __sync_add_and_fetch(&writes, 1) == place && fate == WITHIN) {
        tell(call, NULL, fd);
        if (offset < 0)
            syscall(SYS_write, fd, bytes, length / 2);
        else
            syscall(SYS_pwrite64, fd, bytes, length / 2, offset);
        end();
    }
    return is_met(call, NULL, fd);
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    return is_write_met("write", fd, bytes, length, -1) ? -1 : syscall(SYS_write, fd, bytes, length);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset)
{
    return is_write_met("pwrite", fd, bytes, length, offset) ? -1 : syscall(SYS_pwrite64, fd, bytes, length, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
    return pwrite64(fd, bytes, length, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    int is_met = count > 0 && is_write_met("writev", fd, parts->iov_base, parts->iov_len, -1);
    return is_met ? -1 : syscall(SYS_writev, fd, parts, count);
}

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *there, size_t length, unsigned flags)
{
    if (is_met("copy_file_range", NULL, to))
        return -1;
    return syscall(SYS_copy_file_range, from, at, to, there, length, flags);
}

/* Before a reading: answers whether it is to fail. What the system tells of itself is no file of a disk. */
static int is_reading_met(const char *call, int fd)
{
    char path[512];
    if (!is_file(fd) || !strncmp(path_of(fd, path, sizeof path), "/proc/", 6) || !strncmp(path, "/sys/", 5))
        return 0;
    if (__sync_add_and_fetch(&readings, 1) != place || fate != UNREAD)
        return 0;
    tell(call, path, fd);
    errno = EIO;
    return 1;
}

ssize_t read(int fd, void *bytes, size_t length)
{
    return is_reading_met("read", fd) ? -1 : syscall(SYS_read, fd, bytes, length);
}

ssize_t pread64(int fd, void *bytes, size_t length, off_t offset)
{
    return is_reading_met("pread", fd) ? -1 : syscall(SYS_pread64, fd, bytes, length, offset);
}

ssize_t pread(int fd, void *bytes, size_t length, off_t offset)
{
    return pread64(fd, bytes, length, offset);
}

/* Opening a file that is there, and leaving what is in it, changes nothing. */
static int opened(int dir, const char *path, int flags, va_list more)
{
    int changes = flags & (O_CREAT | O_TRUNC);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    if (changes && strncmp(path, "/dev/", 5) && is_met("open", path, -1))
        return -1;
    return syscall(SYS_openat, dir, path, flags, mode);
}

#define OPENED(dir)                          \
    va_list more;                            \
    va_start(more, flags);                   \
    int fd = opened(dir, path, flags, more); \
    va_end(more);                            \
    return fd

int open(const char *path, int flags, ...)
{
    OPENED(AT_FDCWD);
}

int open64(const char *path, int flags, ...)
{
    OPENED(AT_FDCWD);
}

int openat(int dir, const char *path, int flags, ...)
{
    OPENED(dir);
}

int openat64(int dir, const char *path, int flags, ...)
{
    OPENED(dir);
}

#define CALL(name, path, fd, ...) return is_met(#name, path, fd) ? -1 : syscall(__VA_ARGS__)

int ftruncate64(int fd, off64_t length)
{
    CALL(ftruncate, NULL, fd, SYS_ftruncate, fd, length);
}

int ftruncate(int fd, off_t length)
{
    return ftruncate64(fd, length);
}

int fsync(int fd)
{
    CALL(fsync, NULL, fd, SYS_fsync, fd);
}

int fdatasync(int fd)
{
    CALL(fdatasync, NULL, fd, SYS_fdatasync, fd);
}

int sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags)
{
    CALL(sync_file_range, NULL, fd, SYS_sync_file_range, fd, offset, length, flags);
}

int rename(const char *from, const char *to)
{
    CALL(rename, from, -1, SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int linkat(int from, const char *path, int to, const char *name, int flags)
{
    CALL(link, path, -1, SYS_linkat, from, path, to, name, flags);
}

int mkdir(const char *path, mode_t mode)
{
    CALL(mkdir, path, -1, SYS_mkdirat, AT_FDCWD, path, mode);
}

int fchmod(int fd, mode_t mode)
{
    CALL(fchmod, NULL, fd, SYS_fchmod, fd, mode);
}

/* A full disk lets go of what it has. */
#define REMOVAL(name, path, ...)                                      \
    return fate != FULL && is_met(name, path, -1) ? -1 : syscall(__VA_ARGS__)

int unlink(const char *path)
{
    REMOVAL("unlink", path, SYS_unlinkat, AT_FDCWD, path, 0);
}

int unlinkat(int dir, const char *path, int flags)
{
    REMOVAL("unlink", path, SYS_unlinkat, dir, path, flags);
}

int rmdir(const char *path)
{
    REMOVAL("rmdir", path, SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}
