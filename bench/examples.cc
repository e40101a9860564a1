// What the machine can do with TFRecord files of Examples: the limit of W2.
//
//   examples THREADS BATCH_SIZE FILE...
//
// The mapped files are walked record by record: both checksums, the protocol buffers, 64 float32
// and an int64 copied into the buffer of a batch.  It knows the features' order, and nothing but
// such records.  A first pass is for the page cache.  Threads take files.
#include "limit.h"

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#endif

namespace {

constexpr size_t kValues = 64;

using File = Mapped<uint8_t>;

uint32_t masked_crc(const uint8_t *data, size_t size)
{
    uint64_t crc = UINT32_MAX;
#if defined(__SSE4_2__)
    for (; size >= 8; data += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, data, 8);
        crc = _mm_crc32_u64(crc, word);
    }
    for (; size > 0; data++, size--) crc = _mm_crc32_u8((uint32_t)crc, *data);
#else
    for (; size > 0; data++, size--) {
        crc ^= *data;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
#endif
    uint32_t whole = ~(uint32_t)crc;
    return (whole >> 15 | whole << 17) + 0xa282ead8;
}

uint64_t varint(const uint8_t *&at)
{
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        value |= (uint64_t)(*at & 127) << shift;
        if (*at++ < 128) return value;
    }
}

// The content of a feature of an entry whose key has one letter, packed.
size_t enter_feature(const uint8_t *&at)
{
    size_t size = 0;
    at++, varint(at);         // the entry
    at += 3;                  // its key
    for (int i = 0; i < 3; i++) at++, size = varint(at); // feature, list, packed values
    return size;
}

struct Batch {
    std::vector<float> x;
    std::vector<int64_t> y;
    size_t rows = 0;

    explicit Batch(size_t size) : x(size * kValues), y(size) {}
};

void take(const File &file, Batch &batch)
{
    for (const uint8_t *at = file.data, *end = at + file.size; at < end;) {
        uint64_t length;
        uint32_t crc;
        memcpy(&length, at, 8);
        memcpy(&crc, at + 8, 4);
        if (crc != masked_crc(at, 8)) die("length");
        const uint8_t *record = at + 12, *field = record;
        memcpy(&crc, record + length, 4);
        if (crc != masked_crc(record, length)) die("record");
        at = record + length + 4;
        field++, varint(field); // the features
        size_t size = enter_feature(field);
        memcpy(&batch.x[batch.rows * kValues], field, size);
        field += size;
        enter_feature(field);
        batch.y[batch.rows] = (int64_t)varint(field);
        if (++batch.rows < batch.y.size()) continue;
        asm volatile("" : : "r"(batch.x.data()), "r"(batch.y.data()) : "memory");
        batch.rows = 0;
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: examples THREADS BATCH_SIZE FILE...\n");
        return 2;
    }
    int threads = atoi(argv[1]);
    size_t batch_size = (size_t)atol(argv[2]);
    std::vector<File> files(argv + 3, argv + argc);
    auto pass = [&] {
        run(threads, files.size(), [&](int) {
            return [&, batch = Batch(batch_size)](size_t i) mutable { take(files[i], batch); };
        });
    };
    pass();
    print_times(pass);
    return 0;
}
