/* Loaded into a daemon under test: no sync comes to its end as long as the file is there that EDDY_HANG names. */

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void hang(void)
{
    const char *path = getenv("EDDY_HANG");
    while (path && access(path, F_OK) == 0)
        usleep(20000);
}

int fsync(int file)
{
    hang();
    return syscall(SYS_fsync, file);
}

int fdatasync(int file)
{
    hang();
    return syscall(SYS_fdatasync, file);
}

int sync_file_range(int file, off_t offset, off_t length, unsigned flags)
{
    hang();
    return syscall(SYS_sync_file_range, file, offset, length, flags);
}
