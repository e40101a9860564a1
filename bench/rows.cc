// What the machine can do with rows of columnar files: the limit of W12.
//
//   rows ORDER THREADS BATCH_SIZE FILE...
//
// The mapped files are taken for groups of 1000 rows: 1000 numbers, then 1000 texts of 500 bytes,
// then 1000 lists of 128 float32.  A row is copied from its three places into columns of a batch,
// in ORDER "random" or "in-order", one batch a thread; in random order the rows are prefetched.
// Offsets of texts and lists are not read.  A first pass is for the page cache.
#include "limit.h"

#include <numeric>
#include <random>

namespace {

constexpr size_t kRows = 1000, kNumber = 8, kText = 500, kList = 512;
constexpr size_t kGroup = kRows * (kNumber + kText + kList);

struct Work {
    std::vector<const char *> groups;
    std::vector<size_t> order;
    size_t batch_size;
    bool is_random;
};

// Prefetches most of a text and of a list, the best of 1 to 9 lines of each, 2 to 16 rows ahead.
void prefetch(const char *group, size_t row)
{
    const char *text = group + kRows * kNumber, *list = text + kRows * kText;
    __builtin_prefetch(group + row * kNumber);
    for (size_t at = 0; at < 256; at += 64) {
        __builtin_prefetch(text + row * kText + at);
        __builtin_prefetch(list + row * kList + at);
    }
}

// For one thread: a function that copies the rows of a batch.
auto make_batches(const Work &work)
{
    size_t rows = work.batch_size;
    return [&work, rows, numbers = std::vector<char>(rows * kNumber),
            texts = std::vector<char>(rows * kText),
            lists = std::vector<char>(rows * kList)](size_t batch) mutable {
        size_t at = batch * rows, end = std::min(at + rows, work.order.size());
        for (size_t k = at; k < end; k++) {
            size_t ahead = k + 4 < work.order.size() && work.is_random ? work.order[k + 4] : 0;
            if (ahead) prefetch(work.groups[ahead / kRows], ahead % kRows);
            const char *group = work.groups[work.order[k] / kRows];
            size_t from = work.order[k] % kRows, to = k - at;
            memcpy(&numbers[to * kNumber], group + from * kNumber, kNumber);
            group += kRows * kNumber;
            memcpy(&texts[to * kText], group + from * kText, kText);
            group += kRows * kText;
            memcpy(&lists[to * kList], group + from * kList, kList);
        }
        asm volatile("" : : "r"(numbers.data()), "r"(texts.data()), "r"(lists.data()) : "memory");
    };
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: rows ORDER THREADS BATCH_SIZE FILE...\n");
        return 2;
    }
    Work work = {{}, {}, (size_t)atol(argv[3]), std::string(argv[1]) == "random"};
    for (int i = 4; i < argc; i++) {
        Mapped<char> file(argv[i]);
        for (size_t at = 0; at + kGroup <= file.size; at += kGroup)
            work.groups.push_back(file.data + at);
    }
    work.order.resize(work.groups.size() * kRows);
    std::iota(work.order.begin(), work.order.end(), (size_t)0);
    if (work.is_random)
        std::shuffle(work.order.begin(), work.order.end(), std::mt19937_64(7));
    int threads = atoi(argv[2]);
    size_t batches = (work.order.size() + work.batch_size - 1) / work.batch_size;
    auto pass = [&] { run(threads, batches, [&](int) { return make_batches(work); }); };
    pass();
    print_times(pass, ", \"batches\": " + std::to_string(batches) + ", \"records\": " +
                          std::to_string(work.order.size()));
    return 0;
}
