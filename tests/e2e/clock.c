/* Loaded into a daemon under test: sets the system's clock, as the daemon sees it, by so many seconds as stand in the eight
 * bytes of the file that EDDY_CLOCK names. The clock that only counts is left alone. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *set_by;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("EDDY_CLOCK");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) {
        return;
    }
    void *page = mmap(NULL, sizeof *set_by, PROT_READ, MAP_SHARED, file, 0);
    set_by = page == MAP_FAILED ? NULL : page;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    long result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME && set_by) {
        time->tv_sec += *set_by;
    }
    return (int)result;
}
