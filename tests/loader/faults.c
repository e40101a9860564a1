/* A library for LD_PRELOAD that lets calls of the system fail: the n-th of a kind, as armed.  Only
 * calls count that libpyflowdata.so and the libraries of its codecs make. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { OPEN, READ, MAP, STAT, READDIR, MALLOC, THREAD, CHANGE, WRITE, NUM_KINDS };
enum { MOST_LIBRARIES = 16, NFS = 0x6969 };

static int kind = -1, reason, is_remote;
static _Atomic long calls; /* of the kind, since it was armed */
static long first, last;   /* calls [first, last) fail */
static long every;         /* but each call of this number; 0: none */
static long signal_at;     /* before this call the process gets SIGINT; -1: never */
static struct {
    uintptr_t begin, end;
} libraries[MOST_LIBRARIES];
static int num_libraries;

static int add_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
    static const char *const watched[] = {"libpyflowdata.so", "libwebp", "libpng", "libz.so",
                                          "libzstd", "libjpeg", "liblz4"};
    (void)size, (void)ctx;
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
        if (!strstr(info->dlpi_name, watched[i]) || num_libraries == MOST_LIBRARIES) continue;
        uintptr_t end = 0;
        for (int j = 0; j < info->dlpi_phnum; j++) {
            const ElfW(Phdr) *segment = &info->dlpi_phdr[j];
            if (segment->p_type == PT_LOAD && segment->p_vaddr + segment->p_memsz > end)
                end = segment->p_vaddr + segment->p_memsz;
        }
        libraries[num_libraries].begin = info->dlpi_addr;
        libraries[num_libraries++].end = info->dlpi_addr + end;
    }
    return 0;
}

/* From now on calls number n, n + 1, ... of a kind fail, `times` of them; all files seem to lie on
 * a network if they are said to.  Kind -1: none fails. */
void faults_arm(int of_kind, long n, long times, int with_errno, int seem_remote)
{
    if (!num_libraries) dl_iterate_phdr(add_library, NULL);
    calls = 0;
    first = n;
    last = n + times;
    reason = with_errno;
    is_remote = seem_remote;
    every = 0;
    signal_at = -1;
    kind = of_kind;
}

/* Of the calls that fail, each n-th one does not. */
void faults_let_through(long n)
{
    every = n;
}

/* Sends the process SIGINT before call n. */
void faults_signal_at(long n)
{
    signal_at = n;
}

/* How many calls of the kind were made since. */
long faults_calls(void)
{
    return calls;
}

static int fails_now(int of_kind, const void *caller)
{
    if (kind != of_kind) return 0;
    uintptr_t at = (uintptr_t)caller;
    for (int i = 0; i < num_libraries; i++) {
        if (at < libraries[i].begin || at >= libraries[i].end) continue;
        long call = atomic_fetch_add(&calls, 1);
        if (call == signal_at) kill(getpid(), SIGINT);
        if (every && (call - first) % every == every - 1) return 0;
        return call >= first && call < last;
    }
    return 0;
}

#define CALLER __builtin_return_address(0)
#define FAIL_IF(of_kind, result)                                                                   \
    do                                                                                             \
        if (fails_now(of_kind, CALLER)) {                                                          \
            errno = of_kind == MALLOC ? ENOMEM : reason;                                           \
            return result;                                                                         \
        }                                                                                          \
    while (0)
#define REAL(name)                                                                                 \
    static __typeof__(name) *real;                                                                 \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

int open(const char *path, int flags, ...)
{
    REAL(open);
    va_list args;
    va_start(args, flags);
    mode_t mode = (mode_t)va_arg(args, int);
    va_end(args);
    FAIL_IF(OPEN, -1);
    return real(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    REAL(openat);
    va_list args;
    va_start(args, flags);
    mode_t mode = (mode_t)va_arg(args, int);
    va_end(args);
    FAIL_IF(OPEN, -1);
    return real(folder, path, flags, mode);
}

DIR *opendir(const char *path)
{
    REAL(opendir);
    FAIL_IF(OPEN, NULL);
    return real(path);
}

DIR *fdopendir(int fd)
{
    REAL(fdopendir);
    FAIL_IF(OPEN, NULL);
    return real(fd);
}

/* Another process writes to the file between two reads. */
static void write_to(int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int other = (int)syscall(257 /* openat */, AT_FDCWD, path, O_WRONLY | O_APPEND);
    if (other < 0) return;
    (void)!write(other, "!", 1);
    close(other);
}

ssize_t pread(int fd, void *out, size_t size, off_t offset)
{
    REAL(pread);
    FAIL_IF(READ, -1);
    int changes = fails_now(CHANGE, CALLER);
    ssize_t got = real(fd, out, size, offset);
    if (changes) write_to(fd);
    return got;
}

ssize_t read(int fd, void *out, size_t size)
{
    REAL(read);
    FAIL_IF(READ, -1);
    return real(fd, out, size);
}

void *mmap(void *at, size_t size, int rights, int flags, int fd, off_t offset)
{
    REAL(mmap);
    FAIL_IF(MAP, MAP_FAILED);
    return real(at, size, rights, flags, fd, offset);
}

int fstat(int fd, struct stat *st)
{
    REAL(fstat);
    FAIL_IF(STAT, -1);
    return real(fd, st);
}

int stat(const char *path, struct stat *st)
{
    REAL(stat);
    FAIL_IF(STAT, -1);
    return real(path, st);
}

int lstat(const char *path, struct stat *st)
{
    REAL(lstat);
    FAIL_IF(STAT, -1);
    return real(path, st);
}

int fstatat(int folder, const char *path, struct stat *st, int flags)
{
    REAL(fstatat);
    FAIL_IF(STAT, -1);
    return real(folder, path, st, flags);
}

int fstatfs(int fd, struct statfs *about)
{
    REAL(fstatfs);
    int result = real(fd, about);
    if (is_remote) about->f_type = NFS;
    return result;
}

struct dirent *readdir(DIR *folder)
{
    REAL(readdir);
    FAIL_IF(READDIR, NULL);
    return real(folder);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    REAL(pthread_create);
    if (fails_now(THREAD, CALLER)) return reason;
    return real(thread, attr, run, arg);
}

/* ---- What stores an index ------------------------------------------------------------------- */

ssize_t write(int fd, const void *data, size_t size)
{
    REAL(write);
    FAIL_IF(WRITE, -1);
    return real(fd, data, size);
}

int fsync(int fd)
{
    REAL(fsync);
    FAIL_IF(WRITE, -1);
    return real(fd);
}

int rename(const char *from, const char *to)
{
    REAL(rename);
    FAIL_IF(WRITE, -1);
    return real(from, to);
}

int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir);
    FAIL_IF(WRITE, -1);
    return real(path, mode);
}

int flock(int fd, int operation)
{
    REAL(flock);
    FAIL_IF(WRITE, -1);
    return real(fd, operation);
}

/* ---- Memory: glibc's own names, since dlsym() itself may need memory ------------------------- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    FAIL_IF(MALLOC, NULL);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    FAIL_IF(MALLOC, NULL);
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    FAIL_IF(MALLOC, NULL);
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    FAIL_IF(MALLOC, NULL);
    return __libc_memalign(alignment, size);
}

char *strdup(const char *text)
{
    FAIL_IF(MALLOC, NULL);
    size_t size = strlen(text) + 1;
    char *copy = __libc_malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

char *strndup(const char *text, size_t most)
{
    FAIL_IF(MALLOC, NULL);
    size_t size = strnlen(text, most);
    char *copy = __libc_malloc(size + 1);
    if (!copy) return NULL;
    copy[size] = '\0';
    return memcpy(copy, text, size);
}

int asprintf(char **out, const char *format, ...)
{
    FAIL_IF(MALLOC, -1);
    va_list args;
    va_start(args, format);
    int size = vasprintf(out, format, args);
    va_end(args);
    return size;
}
