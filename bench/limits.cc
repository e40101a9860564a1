// What the machine can do with the text files, in plain C++: the limits a loader is compared with.
//
//   limits MODE THREADS BATCH_SIZE FILE...
//
//   read        read() of hot files, 1 MiB at a time
//   memcpy      the bytes of the mapped files copied, 1 MiB at a time
//   memchr      newlines found one by one with memchr
//   scan        places of all newlines and commas, 64 bytes at a time
//   lines       newlines found by memchr, and half of each line copied into BATCH_SIZE rows of 4 KB
//   fields      the three values of W13 by the number of their quotes, nothing checked; BATCH_SIZE
//               rows of 4 KB
//   from_chars  std::from_chars of every number in the mapped files
//   loader      read() 1 MiB, a scalar exact parser, columns of BATCH_SIZE rows: a whole loader
//
// A first pass is for the page cache and the sums, the second one is timed.  Threads take files.
#include "limit.h"

#include <charconv>
#include <functional>
#include <map>
#if defined(__AVX512BW__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

constexpr size_t kBlock = 1 << 20;

struct Sums {
    uint64_t rows = 0, x_bits = 0, y_bits = 0, pair_bits = 0;
    double x_sum = 0, y_sum = 0;

    void add(double x, double y)
    {
        uint64_t u, v;
        memcpy(&u, &x, 8);
        memcpy(&v, &y, 8);
        rows++;
        x_bits += u, y_bits += v, pair_bits += u * v;
        x_sum += x, y_sum += y;
    }
    void add(const Sums &other)
    {
        rows += other.rows;
        x_bits += other.x_bits, y_bits += other.y_bits, pair_bits += other.pair_bits;
        x_sum += other.x_sum, y_sum += other.y_sum;
    }
};

using File = Mapped<char>;

uint64_t copy(const File &file, std::vector<char> &block)
{
    for (size_t at = 0; at < file.size; at += kBlock) {
        size_t size = std::min(kBlock, file.size - at);
        memcpy(block.data(), file.data + at, size);
        asm volatile("" : : "r"(block.data()) : "memory");
    }
    return (uint64_t)(unsigned char)block[0];
}

uint64_t find_newlines(const File &file)
{
    uint64_t found = 0;
    const char *end = file.data + file.size;
    for (const char *at = file.data; at < end; found++) {
        at = (const char *)memchr(at, '\n', (size_t)(end - at));
        if (!at) break;
        at++;
    }
    return found;
}

// What a reader of JSON lines cannot leave out: it finds the lines, and copies what is asked for.
uint64_t copy_lines(const File &file, std::vector<char> &rows)
{
    uint64_t found = 0;
    size_t used = 0;
    const char *end = file.data + file.size;
    for (const char *at = file.data; at < end; found++) {
        const char *newline = (const char *)memchr(at, '\n', (size_t)(end - at));
        if (!newline) break;
        size_t half = (size_t)(newline - at) / 2;
        if (used + half > rows.size()) used = 0;
        memcpy(rows.data() + used, at, std::min(half, rows.size()));
        asm volatile("" : : "r"(rows.data()) : "memory");
        used += half;
        at = newline + 1;
    }
    return found;
}

// Bit i is set where byte i is `c`.
uint64_t places_of(const char *bytes, char c)
{
#if defined(__AVX512BW__)
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(bytes), _mm512_set1_epi8(c));
#elif defined(__AVX2__)
    uint64_t mask = 0;
    for (int half = 0; half < 2; half++) {
        __m256i block = _mm256_loadu_si256((const __m256i *)(bytes + 32 * half));
        __m256i hits = _mm256_cmpeq_epi8(block, _mm256_set1_epi8(c));
        mask |= (uint64_t)(uint32_t)_mm256_movemask_epi8(hits) << (32 * half);
    }
    return mask;
#else
    uint64_t mask = 0;
    for (int i = 0; i < 64; i++) mask |= (uint64_t)(bytes[i] == c) << i;
    return mask;
#endif
}

uint64_t separators(const char *bytes)
{
    return places_of(bytes, '\n') | places_of(bytes, ',');
}

// The bytes that a backslash escapes; `is_first`: the first byte of the next block is one.
uint64_t escaped_of(uint64_t backslashes, uint64_t &is_first)
{
    constexpr uint64_t even = 0x5555555555555555;
    backslashes &= ~is_first;
    uint64_t follow = backslashes << 1 | is_first, ends;
    is_first = __builtin_add_overflow(backslashes & ~even & ~follow, backslashes, &ends);
    return (even ^ ends << 1) & follow;
}

// Copies a string, each escape of two bytes as one; up to 64 bytes after it are written.
size_t copy_string(const char *from, const char *end, char *out)
{
    char *begin = out;
    while (from < end) {
        memcpy(out, from, 64);
        uint64_t backslashes = places_of(from, '\\');
        size_t plain = backslashes ? (size_t)__builtin_ctzll(backslashes) : 64;
        if (plain >= (size_t)(end - from)) return (size_t)(out + (end - from) - begin);
        from += plain, out += plain;
        if (plain == 64) continue;
        *out++ = from[1] == 'n' ? '\n' : from[1];
        from += 2;
    }
    return (size_t)(out - begin);
}

// What a reader of three fields of W13 cannot leave out, if it knew the members and their order: the
// quotes up to the last field, the newline, and the values.  It checks nothing.
uint64_t copy_fields(const File &file, std::vector<char> &rows)
{
    enum { TEXT = 10, SCORE = 17, LANG = 30, QUOTES = 32 }; // numbers of quotes in a line
    const char *end = file.data + file.size - 4096;         // blocks may be read past a line
    size_t used = 0;
    uint64_t found = 0;
    for (const char *at = file.data; at < end; found++) {
        const char *quotes[QUOTES + 64];
        uint64_t is_first = 0;
        for (int n = 0; n < QUOTES; at += 64) {
            uint64_t mask = places_of(at, '"') & ~escaped_of(places_of(at, '\\'), is_first);
            for (; mask; mask &= mask - 1) quotes[n++] = at + __builtin_ctzll(mask);
        }
        at = quotes[LANG + 1];
        at = (const char *)memchr(at, '\n', (size_t)(file.data + file.size - at)) + 1;
        double score = 0;
        std::from_chars(quotes[SCORE] + 3, quotes[SCORE] + 40, score);
        if (used + 4096 > rows.size()) used = 0;
        char *row = rows.data() + used;
        memcpy(row, &score, sizeof score);
        used += 8 + copy_string(quotes[TEXT] + 1, quotes[TEXT + 1], row + 8);
        used += copy_string(quotes[LANG] + 1, quotes[LANG + 1], rows.data() + used);
        asm volatile("" : : "r"(rows.data()) : "memory");
    }
    return found;
}

uint64_t find_separators(const File &file, std::vector<uint32_t> &places)
{
    uint64_t found = 0;
    for (size_t at = 0; at + 64 <= file.size; at += 64) {
        uint64_t mask = separators(file.data + at);
        uint32_t *out = &places[found % (places.size() - 64)];
        found += (uint64_t)__builtin_popcountll(mask);
        for (; mask; mask &= mask - 1) *out++ = (uint32_t)at + (uint32_t)__builtin_ctzll(mask);
    }
    return found;
}

double parse_with_from_chars(const char *&at, const char *end)
{
    double value = 0;
    auto [rest, error] = std::from_chars(at, end, value);
    if (error != std::errc()) die("not a number");
    at = rest + 1;
    return value;
}

const char *add_digits(const char *at, const char *end, uint64_t &digits)
{
    for (; at < end && (unsigned char)(*at - '0') < 10; at++)
        digits = 10 * digits + (uint64_t)(*at - '0');
    return at;
}

// Digits that make an exact integer are divided by an exact power of ten; from_chars does the rest.
double parse_scalar(const char *&at, const char *end)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
    uint64_t digits = 0;
    const char *point = add_digits(at, end, digits);
    const char *stop = point;
    if (point < end && *point == '.') stop = add_digits(point + 1, end, digits);
    size_t decimals = stop > point ? (size_t)(stop - point - 1) : 0;
    bool ends = stop < end && (*stop == ',' || *stop == '\n');
    if (!ends || point == at || stop - at > 19 || digits > 1ull << 53)
        return parse_with_from_chars(at, end);
    at = stop + 1;
    return (double)digits / powers[decimals];
}

uint64_t parse_all(const File &file, Sums *sums)
{
    double total = 0;
    const char *end = file.data + file.size;
    for (const char *at = file.data; at < end;) {
        double x = parse_with_from_chars(at, end);
        double y = parse_with_from_chars(at, end);
        total += x + y;
        if (sums) sums->add(x, y);
    }
    return (uint64_t)total;
}

// The columns of a batch; full, they are handed over, which here is to sum them or do nothing.
struct Batch {
    std::vector<double> x, y;
    size_t rows = 0;

    explicit Batch(size_t size) : x(size), y(size) {}
    void hand_over(Sums *sums)
    {
        asm volatile("" : : "r"(x.data()), "r"(y.data()) : "memory");
        for (size_t i = 0; sums && i < rows; i++) sums->add(x[i], y[i]);
        rows = 0;
    }
};

template <class Use> void read_blocks(const std::string &path, std::vector<char> &block, Use use)
{
    int fd = open_file(path.c_str());
    size_t kept = 0; // bytes at the front that the last block left over
    for (;;) {
        ssize_t size = read(fd, block.data() + kept, kBlock - kept);
        if (size < 0) die("read");
        if (size == 0) break;
        size_t end = kept + (size_t)size;
        kept = end - use(block.data(), end);
        memmove(block.data(), block.data() + end - kept, kept);
    }
    close(fd);
}

void load(const std::string &path, std::vector<char> &block, Batch &batch, Sums *sums)
{
    read_blocks(path, block, [&](const char *data, size_t size) {
        const char *last = (const char *)memrchr(data, '\n', size);
        const char *end = last ? last + 1 : data;
        for (const char *at = data; at < end;) {
            batch.x[batch.rows] = parse_scalar(at, end);
            batch.y[batch.rows] = parse_scalar(at, end);
            if (++batch.rows == batch.x.size()) batch.hand_over(sums);
        }
        return (size_t)(end - data);
    });
}

// What a thread does with one file; with sums it adds up what it reads.
using Work = std::function<void(size_t file, Sums *sums)>;
using MakeWork = std::function<Work()>;

void report(const MakeWork &make, int threads, size_t files)
{
    std::vector<Sums> parts((size_t)threads);
    auto pass = [&](bool summing) {
        run(threads, files, [&](int thread) {
            return [work = make(), sums = summing ? &parts[(size_t)thread] : nullptr](
                       size_t file) { work(file, sums); };
        });
    };
    pass(true);
    Sums sums;
    for (const Sums &part : parts) sums.add(part);
    char more[400] = "";
    if (sums.rows)
        snprintf(more, sizeof more,
                 ", \"rows\": %lu, \"x_sum\": %.17g, \"y_sum\": %.17g, \"x_bits\": %lu, "
                 "\"y_bits\": %lu, \"pair_bits\": %lu",
                 sums.rows, sums.x_sum, sums.y_sum, sums.x_bits, sums.y_bits, sums.pair_bits);
    print_times([&] { pass(false); }, more);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: limits MODE THREADS BATCH_SIZE FILE...\n");
        return 2;
    }
    std::string mode = argv[1];
    int threads = atoi(argv[2]);
    size_t batch_size = (size_t)atoi(argv[3]);
    std::vector<std::string> paths(argv + 4, argv + argc);
    std::vector<File> maps;
    if (mode != "read" && mode != "loader")
        for (const std::string &path : paths) maps.emplace_back(path.c_str());
    static std::atomic<uint64_t> sink; // results go here, so that no work is left out

    const std::map<std::string, MakeWork> modes = {
        {"read",
         [&] {
             return [&paths, block = std::vector<char>(kBlock)](size_t i, Sums *) mutable {
                 read_blocks(paths[i], block, [](const char *, size_t size) { return size; });
             };
         }},
        {"memcpy",
         [&] {
             return [&maps, block = std::vector<char>(kBlock)](size_t i, Sums *) mutable {
                 sink += copy(maps[i], block);
             };
         }},
        {"memchr", [&] { return [&](size_t i, Sums *) { sink += find_newlines(maps[i]); }; }},
        {"lines",
         [&] {
             return [&maps, rows = std::vector<char>(batch_size << 12)](size_t i, Sums *) mutable {
                 sink += copy_lines(maps[i], rows);
             };
         }},
        {"fields",
         [&] {
             return [&maps, rows = std::vector<char>(batch_size << 12)](size_t i, Sums *) mutable {
                 sink += copy_fields(maps[i], rows);
             };
         }},
        {"scan",
         [&] {
             return [&maps, places = std::vector<uint32_t>(1 << 16)](size_t i, Sums *) mutable {
                 sink += find_separators(maps[i], places);
             };
         }},
        {"from_chars", [&] { return [&](size_t i, Sums *s) { sink += parse_all(maps[i], s); }; }},
        {"loader",
         [&] {
             return [&paths, block = std::vector<char>(kBlock), batch = Batch(batch_size)](
                        size_t i, Sums *sums) mutable {
                 load(paths[i], block, batch, sums);
                 if (i + 1 == paths.size() || sums) batch.hand_over(sums);
             };
         }},
    };
    auto found = modes.find(mode);
    if (found == modes.end() || threads < 1 || batch_size < 1) {
        fprintf(stderr, "limits: what is wrong is MODE, THREADS or BATCH_SIZE\n");
        return 2;
    }
    report(found->second, threads, paths.size());
    return 0;
}
