// What the machine can do with random windows of tokens: the limit of W5.
//
//   windows THREADS BATCH_SIZE SEQ_LENGTH FILE
//
// Windows of SEQ_LENGTH + 1 uint16 in a random order are widened to int64, straight from the mapped
// file into the buffer of a batch, one buffer a thread.  A first pass is for the page cache.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace {

struct Work {
    const uint16_t *tokens;
    std::vector<size_t> order;
    size_t batch_size, seq_length;
};

void widen(const uint16_t *from, int64_t *to, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = from[i];
}

void take_batches(const Work &work, std::atomic<size_t> &next)
{
    size_t window = work.seq_length + 1;
    std::vector<int64_t> batch(work.batch_size * window);
    for (size_t at; (at = next.fetch_add(work.batch_size)) < work.order.size();) {
        size_t end = std::min(at + work.batch_size, work.order.size());
        for (size_t i = at; i < end; i++)
            widen(work.tokens + work.order[i] * work.seq_length, &batch[(i - at) * window], window);
        asm volatile("" : : "r"(batch.data()) : "memory");
    }
}

void run(const Work &work, int threads)
{
    std::atomic<size_t> next{0};
    std::vector<std::thread> team;
    for (int i = 0; i < threads; i++)
        team.emplace_back([&] { take_batches(work, next); });
    for (std::thread &each : team) each.join();
}

double cpu_seconds()
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: windows THREADS BATCH_SIZE SEQ_LENGTH FILE\n");
        return 2;
    }
    int threads = atoi(argv[1]), fd = open(argv[4], O_RDONLY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        perror(argv[4]);
        return 1;
    }
    size_t size = (size_t)status.st_size, seq_length = (size_t)atol(argv[3]);
    void *memory = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    Work work = {(const uint16_t *)memory, std::vector<size_t>((size / 2 - 1) / seq_length),
                 (size_t)atol(argv[2]), seq_length};
    std::iota(work.order.begin(), work.order.end(), (size_t)0);
    std::shuffle(work.order.begin(), work.order.end(), std::mt19937_64(7));
    run(work, threads);
    double cpu = cpu_seconds();
    auto began = std::chrono::steady_clock::now();
    run(work, threads);
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
    size_t batches = (work.order.size() + work.batch_size - 1) / work.batch_size;
    printf("{\"seconds\": %.9f, \"cpu\": %.6f, \"batches\": %zu}\n", seconds.count(),
           cpu_seconds() - cpu, batches);
    return 0;
}
