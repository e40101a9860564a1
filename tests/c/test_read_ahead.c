/* Files read one after the other: each byte is asked of the disk at most once, before its turn.
 *
 * The advice that the library gives the kernel is caught and counted here. */
#include "check.h"

#include "files/codecs.h"
#include "files/input_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- What the kernel is told ----------------------------------------------------------------- */
static int64_t num_calls, num_bytes;

int madvise(void *from, size_t size, int advice)
{
    (void)from;
    if (advice != MADV_WILLNEED) return 0;
    num_calls++;
    num_bytes += (int64_t)size;
    return 0;
}

int posix_fadvise(int fd, off_t from, off_t size, int advice)
{
    (void)fd, (void)from;
    if (advice != POSIX_FADV_WILLNEED) return 0;
    num_calls++;
    num_bytes += size;
    return 0;
}

/* ---- Files ----------------------------------------------------------------------------------- */
static char folder[] = "/tmp/pyflowdata-test-XXXXXX";

static char *make_file(int64_t number, int64_t size)
{
    char *path = NULL;
    REQUIRE(asprintf(&path, "%s/%05d", folder, (int)number) > 0);
    FILE *file = fopen(path, "wb");
    REQUIRE(file && ftruncate(fileno(file), size) == 0 && fclose(file) == 0);
    return path;
}

/* Goes through the files in order, `stride` bytes at a time, and checks that every byte was asked
 * for before it is its turn, but for the first ones. */
static void read_in_order(int64_t n, const int64_t *sizes, int64_t stride, int32_t access)
{
    char **paths = calloc((size_t)n, sizeof *paths);
    int64_t total = 0, place = 0;
    REQUIRE(paths);
    for (int64_t i = 0; i < n; i++) {
        paths[i] = make_file(i, sizes[i]);
        total += sizes[i];
    }
    pfd_input_files *files;
    pfd_error err;
    REQUIRE(pfd_input_files_open(paths, n, access, PFD_COMPRESSION_NONE, NULL, &files, &err) ==
            PFD_OK);
    num_calls = num_bytes = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t at = 0; at < sizes[i];) {
            at = sizes[i] - at < stride ? sizes[i] : at + stride;
            pfd_input_files_read_ahead(files, i, at);
            if (place + at < total) REQUIRE(stride + num_bytes > place + at);
        }
        place += sizes[i];
    }
    int64_t slack = access == PFD_FILE_ACCESS_MAP ? num_calls * getpagesize() : 0;
    REQUIRE(num_bytes <= total + slack);
    REQUIRE(num_calls <= n + total / (1 << 20) + 1);
    pfd_input_files_close(files);
    for (int64_t i = 0; i < n; i++) {
        (void)unlink(paths[i]);
        free(paths[i]);
    }
    free(paths);
}

int main(void)
{
    enum { many = 400 }; /* so that all descriptors are kept open */
    int64_t small[many], large[] = {50 << 20, 0, 9 << 20, 1, 3 << 20, 40 << 20};
    for (int64_t i = 0; i < many; i++) small[i] = i % 7 ? 1000 + i : 0;
    REQUIRE(mkdtemp(folder));
    for (int32_t access = PFD_FILE_ACCESS_MAP; access <= PFD_FILE_ACCESS_READ; access++) {
        read_in_order(many, small, 100, access);
        read_in_order(many, small, 1 << 20, access);
        read_in_order(PFD_COUNT(large), large, 1 << 18, access);
    }
    (void)rmdir(folder);
    return report();
}
