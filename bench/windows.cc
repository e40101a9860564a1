// What the machine can do with random windows of tokens: the limit of W5.
//
//   windows THREADS BATCH_SIZE SEQ_LENGTH FILE
//
// Windows of SEQ_LENGTH + 1 uint16 in a random order are widened to int64, straight from the mapped
// file into the buffer of a batch, one buffer a thread.  A first pass is for the page cache.
#include "limit.h"

#include <numeric>
#include <random>

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

// For one thread: a function that widens the windows of a batch.
auto make_batches(const Work &work)
{
    size_t window = work.seq_length + 1;
    return [&work, window, rows = std::vector<int64_t>(work.batch_size * window)](
               size_t batch) mutable {
        size_t at = batch * work.batch_size;
        size_t end = std::min(at + work.batch_size, work.order.size());
        for (size_t i = at; i < end; i++)
            widen(work.tokens + work.order[i] * work.seq_length, &rows[(i - at) * window], window);
        asm volatile("" : : "r"(rows.data()) : "memory");
    };
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: windows THREADS BATCH_SIZE SEQ_LENGTH FILE\n");
        return 2;
    }
    int threads = atoi(argv[1]);
    size_t seq_length = (size_t)atol(argv[3]);
    Mapped<uint16_t> file(argv[4]);
    Work work = {file.data, std::vector<size_t>((file.size - 1) / seq_length),
                 (size_t)atol(argv[2]), seq_length};
    std::iota(work.order.begin(), work.order.end(), (size_t)0);
    std::shuffle(work.order.begin(), work.order.end(), std::mt19937_64(7));
    size_t batches = (work.order.size() + work.batch_size - 1) / work.batch_size;
    auto pass = [&] { run(threads, batches, [&](int) { return make_batches(work); }); };
    pass();
    print_times(pass, ", \"batches\": " + std::to_string(batches));
    return 0;
}
