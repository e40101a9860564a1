// What the machine can do with rows of columnar files: the limit of W12.
//
//   rows ORDER THREADS BATCH_SIZE FILE...
//
// The mapped files are taken for groups of 1000 rows: 1000 numbers, then 1000 texts of 500 bytes,
// then 1000 lists of 128 float32.  A row is copied from its three places into columns of a batch,
// in ORDER "random" or "in-order", one batch a thread.  A first pass is for the page cache.
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
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kRows = 1000, kNumber = 8, kText = 500, kList = 512;
constexpr size_t kGroup = kRows * (kNumber + kText + kList);

struct Work {
    std::vector<const char *> groups;
    std::vector<size_t> order;
    size_t batch_size;
};

void add_groups(const char *path, std::vector<const char *> &groups)
{
    int fd = open(path, O_RDONLY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        perror(path);
        exit(1);
    }
    size_t size = (size_t)status.st_size;
    void *memory = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    for (size_t at = 0; at + kGroup <= size; at += kGroup)
        groups.push_back((const char *)memory + at);
}

void take_batches(const Work &work, std::atomic<size_t> &next)
{
    size_t rows = work.batch_size;
    std::vector<char> numbers(rows * kNumber), texts(rows * kText), lists(rows * kList);
    for (size_t at; (at = next.fetch_add(rows)) < work.order.size();) {
        size_t end = std::min(at + rows, work.order.size());
        for (size_t k = at; k < end; k++) {
            const char *group = work.groups[work.order[k] / kRows];
            size_t from = work.order[k] % kRows, to = k - at;
            memcpy(&numbers[to * kNumber], group + from * kNumber, kNumber);
            group += kRows * kNumber;
            memcpy(&texts[to * kText], group + from * kText, kText);
            group += kRows * kText;
            memcpy(&lists[to * kList], group + from * kList, kList);
        }
        asm volatile("" : : "r"(numbers.data()), "r"(texts.data()), "r"(lists.data()) : "memory");
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
    if (argc < 5) {
        fprintf(stderr, "usage: rows ORDER THREADS BATCH_SIZE FILE...\n");
        return 2;
    }
    Work work = {{}, {}, (size_t)atol(argv[3])};
    for (int i = 4; i < argc; i++) add_groups(argv[i], work.groups);
    work.order.resize(work.groups.size() * kRows);
    std::iota(work.order.begin(), work.order.end(), (size_t)0);
    if (std::string(argv[1]) == "random")
        std::shuffle(work.order.begin(), work.order.end(), std::mt19937_64(7));
    int threads = atoi(argv[2]);
    run(work, threads);
    double cpu = cpu_seconds();
    auto began = std::chrono::steady_clock::now();
    run(work, threads);
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
    size_t batches = (work.order.size() + work.batch_size - 1) / work.batch_size;
    printf("{\"seconds\": %.9f, \"cpu\": %.6f, \"batches\": %zu, \"records\": %zu}\n",
           seconds.count(), cpu_seconds() - cpu, batches, work.order.size());
    return 0;
}
