/* Loaded before the C library of a server under test: it shifts the wall clock, lets the disk of the append-only file run
 * full, and notes each write and sync of that file. What it is to do stands in a file that both sides map; preload.go has
 * the same layout. CLOCK_MONOTONIC is left alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MOST 262144
enum { WROTE = 1, SYNCED = 2, REFUSED = 3 };
struct call { int64_t kind, size, begun, done; };
static struct board {
	int64_t shift, room, calls, unused; /* ns; bytes, negative = no bound; how many were noted */
	struct call call[MOST];
} *board;
static int file = -1; /* the append-only file */

__attribute__((constructor)) static void begin(void) {
	const char *name = getenv("WAYBILL_PRELOAD");
	int fd = name ? (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) _exit(97);
	close(fd);
	board = at;
}

static int now(clockid_t clock, struct timespec *t) {
	if (syscall(SYS_clock_gettime, clock, t) != 0) return -1;
	if (board == NULL || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return 0;
	int64_t ns = t->tv_sec * 1000000000LL + t->tv_nsec + __atomic_load_n(&board->shift, __ATOMIC_ACQUIRE);
	t->tv_sec = ns / 1000000000LL;
	t->tv_nsec = ns % 1000000000LL;
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *t) { return now(clock, t); }

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	struct timespec s;
	(void)zone;
	if (now(CLOCK_REALTIME, &s) != 0) return -1;
	t->tv_sec = s.tv_sec;
	t->tv_usec = s.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t) {
	struct timespec s;
	now(CLOCK_REALTIME, &s);
	if (t) *t = s.tv_sec;
	return s.tv_sec;
}

static int64_t ticks(void) {
	struct timespec t;
	now(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int64_t size(int fd) {
	struct stat s;
	return fstat(fd, &s) == 0 ? s.st_size : -1;
}

static void note(int64_t kind, int64_t size, int64_t begun) {
	int64_t n = __atomic_fetch_add(&board->calls, 1, __ATOMIC_ACQ_REL);
	if (n >= MOST) return; /* the reader sees that there were more */
	board->call[n] = (struct call){0, size, begun, ticks()};
	__atomic_store_n(&board->call[n].kind, kind, __ATOMIC_RELEASE);
}

static int opened(const char *name, int flags, mode_t mode) {
	int fd = (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
	size_t n = strlen(name);
	if (fd >= 0 && (flags & O_ACCMODE) != O_RDONLY && n > 4 && !strcmp(name + n - 4, ".aof") && !strstr(name, "temp"))
		__atomic_store_n(&file, fd, __ATOMIC_RELEASE);
	return fd;
}

#define OPEN(f) int f(const char *name, int flags, ...) { \
	va_list rest; va_start(rest, flags); mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; va_end(rest); \
	return opened(name, flags, mode); }
OPEN(open)
OPEN(open64)

ssize_t write(int fd, const void *data, size_t n) {
	if (fd != __atomic_load_n(&file, __ATOMIC_ACQUIRE)) return syscall(SYS_write, fd, data, n);
	int64_t begun = ticks(), room = __atomic_load_n(&board->room, __ATOMIC_ACQUIRE);
	if (room == 0 && n > 0) {
		note(REFUSED, size(fd), begun);
		errno = ENOSPC;
		return -1;
	}
	if (room > 0 && n > (size_t)room) n = room;
	ssize_t wrote = syscall(SYS_write, fd, data, n);
	if (room > 0 && wrote > 0) __atomic_compare_exchange_n(&board->room, &room, room - wrote, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	int why = errno;
	note(WROTE, size(fd), begun);
	errno = why;
	return wrote;
}

static int synced(int fd, long how) {
	if (fd != __atomic_load_n(&file, __ATOMIC_ACQUIRE)) return syscall(how, fd);
	int64_t begun = ticks(), before = size(fd);
	int failed = syscall(how, fd), why = errno;
	if (!failed) note(SYNCED, before, begun);
	errno = why;
	return failed;
}

int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }
int fsync(int fd) { return synced(fd, SYS_fsync); }
