// What the machine can do with rows of many files in turns: the limit of a mix.
//
//   turns ROW_BYTES BATCH_SIZE BATCHES PASSES FILE...
//
// Copies all rows of the mapped .npy files, which have equally many, into so many batches again and
// again, on one thread: in the files' order, and in turns, a row of each file after the other.
// "in turns, by file" copies the rows that a batch has of one file together.  Prints the least CPU
// nanoseconds of a row.
#include "limit.h"

#include <map>

namespace {

constexpr size_t kHeader = 128;

struct Work {
    std::vector<const char *> files;
    size_t row_bytes, batch_size, rows; // rows of a file
    std::vector<std::vector<char>> batches;
};

const char *row_of(const Work &work, size_t file, size_t row)
{
    return work.files[file] + row * work.row_bytes;
}

// Calls copy(batch, begin, end) for the rows of each batch.
template <class Copy> double pass(Work &work, Copy copy)
{
    size_t all = work.rows * work.files.size(), number = 0;
    double began = cpu_seconds();
    for (size_t begin = 0; begin < all; begin += work.batch_size, number++) {
        char *batch = work.batches[number % work.batches.size()].data();
        copy(batch, begin, std::min(begin + work.batch_size, all));
        asm volatile("" : : "r"(batch) : "memory");
    }
    return (cpu_seconds() - began) / (double)all * 1e9;
}

double in_order(Work &work)
{
    return pass(work, [&](char *to, size_t begin, size_t end) {
        for (size_t i = begin; i < end; i++, to += work.row_bytes)
            memcpy(to, row_of(work, i / work.rows, i % work.rows), work.row_bytes);
    });
}

double in_turns(Work &work)
{
    size_t files = work.files.size();
    return pass(work, [&](char *to, size_t begin, size_t end) {
        for (size_t i = begin; i < end; i++, to += work.row_bytes)
            memcpy(to, row_of(work, i % files, i / files), work.row_bytes);
    });
}

double by_file(Work &work)
{
    size_t files = work.files.size();
    return pass(work, [&](char *to, size_t begin, size_t end) {
        for (size_t first = begin; first < std::min(begin + files, end); first++)
            for (size_t i = first; i < end; i += files)
                memcpy(to + (i - begin) * work.row_bytes, row_of(work, i % files, i / files),
                       work.row_bytes);
    });
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: turns ROW_BYTES BATCH_SIZE BATCHES PASSES FILE...\n");
        return 2;
    }
    Work work = {{}, (size_t)atol(argv[1]), (size_t)atol(argv[2]), 0, {}};
    work.batches.assign((size_t)atol(argv[3]), std::vector<char>(work.row_bytes * work.batch_size));
    for (int i = 5; i < argc; i++) {
        Mapped<char> file(argv[i]);
        work.files.push_back(file.data + kHeader);
        work.rows = (file.size - kHeader) / work.row_bytes;
    }
    std::map<std::string, double (*)(Work &)> orders = {
        {"in order", in_order}, {"in turns", in_turns}, {"in turns, by file", by_file}};
    std::map<std::string, double> least;
    for (int i = 0; i < atoi(argv[4]); i++)
        for (auto &[name, order] : orders) {
            double found = order(work);
            least[name] = least.count(name) ? std::min(least[name], found) : found;
        }
    for (auto &[name, ns] : least) printf("%s\t%.1f\n", name.c_str(), ns);
    return 0;
}
