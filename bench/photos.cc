// What the machine can do with JPEG files: the limits of W4 and W4u, plain loops over libjpeg-turbo.
//
//   photos MODE THREADS BATCH_SIZE FILE...
//
//   decode       whole images, accurate IDCT, fancy upsampling
//   crop         a random part (area 0.08 to 1, ratio 3/4 to 4/3) decoded, bilinear to 224 x 224,
//                flipped by chance, normalised to float32, channels first
//   resize       whole images, bilinear to 224 x 224, uint8
//   resize-fast  the same with the fast IDCT and plain upsampling
//
// The images are in memory, threads take one after the other, and what they make lies in the buffer
// of one batch.  A first pass is for the page cache, the second one is timed.
#include "limit.h"

#include <cmath>
#include <jpeglib.h>

namespace {

constexpr int kSize = 224;
typedef float Pixel __attribute__((vector_size(16))); // red, green, blue, unused
typedef int32_t Lanes __attribute__((vector_size(16)));

struct Bytes {
    const uint8_t *data;
    size_t size;
};

uint64_t varint(const uint8_t *&at)
{
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        value |= (uint64_t)(*at & 127) << shift;
        if (*at++ < 128) return value;
    }
}

// The images of a TFRecord file of Examples whose first feature is the image.
void add_images(const Mapped<uint8_t> &file, std::vector<Bytes> &images)
{
    for (const uint8_t *at = file.data, *end = at + file.size; at < end;) {
        uint64_t length, size;
        memcpy(&length, at, 8);
        const uint8_t *field = at + 12;
        field++, varint(field);         // the features
        field++, varint(field);         // the entry
        field++, size = varint(field);  // its key
        field += size;
        for (int i = 0; i < 3; i++) field++, size = varint(field); // feature, list, its value
        images.push_back({field, size});
        at += 12 + length + 4;
    }
}

// A decompressor and the pixels that it has decoded, four bytes each.
class Decoder {
public:
    int width = 0, height = 0; // of the image

    explicit Decoder(bool is_fast) : is_fast_(is_fast)
    {
        jpeg_.err = jpeg_std_error(&errors_); // which ends the program
        jpeg_create_decompress(&jpeg_);
    }
    ~Decoder() { jpeg_destroy_decompress(&jpeg_); }

    void begin(const Bytes &image)
    {
        jpeg_mem_src(&jpeg_, image.data, image.size);
        jpeg_read_header(&jpeg_, TRUE);
        jpeg_.out_color_space = JCS_EXT_RGBX;
        jpeg_.dct_method = is_fast_ ? JDCT_IFAST : JDCT_ISLOW;
        jpeg_.do_fancy_upsampling = !is_fast_;
        width = (int)jpeg_.image_width, height = (int)jpeg_.image_height;
        jpeg_start_decompress(&jpeg_);
    }

    // Decodes a part; rows() are then its pixels, and of the rest of its first blocks.
    void decode(int x, int y, int part_width, int part_height)
    {
        JDIMENSION left = (JDIMENSION)x, wide = (JDIMENSION)part_width;
        if (part_width < width) jpeg_crop_scanline(&jpeg_, &left, &wide);
        if (y > 0) jpeg_skip_scanlines(&jpeg_, (JDIMENSION)y);
        stride_ = 4 * (size_t)wide;
        first_ = 4 * ((size_t)x - left);
        pixels_.resize(stride_ * (size_t)part_height);
        for (int done = 0; done < part_height;) {
            JSAMPROW rows[8];
            int some = std::min(8, part_height - done);
            for (int i = 0; i < some; i++) rows[i] = &pixels_[(size_t)(done + i) * stride_];
            done += (int)jpeg_read_scanlines(&jpeg_, rows, (JDIMENSION)some);
        }
        jpeg_abort_decompress(&jpeg_);
    }

    const uint8_t *row(int y) const { return &pixels_[(size_t)y * stride_ + first_]; }

private:
    jpeg_decompress_struct jpeg_;
    jpeg_error_mgr errors_;
    bool is_fast_;
    std::vector<uint8_t> pixels_;
    size_t stride_ = 0, first_ = 0;
};

// Between which two of n pixels each of kSize lies, and how near to the second one.
struct Taps {
    int first[kSize], second[kSize];
    float weight[kSize];

    Taps(int n, bool is_flipped)
    {
        for (int i = 0; i < kSize; i++) {
            float place = ((float)i + 0.5f) * (float)n / kSize - 0.5f;
            place = std::clamp(place, 0.f, (float)(n - 1));
            int to = is_flipped ? kSize - 1 - i : i;
            first[to] = (int)place;
            second[to] = std::min((int)place + 1, n - 1);
            weight[to] = place - (float)first[to];
        }
    }
};

// Rows of kSize pixels, each from two rows of the decoded part.
template <class Store> void resample(const Decoder &from, int width, int height, bool is_flipped,
                                     std::vector<float> &line, Store store)
{
    Taps across(width, is_flipped), down(height, false);
    line.resize(4 * (size_t)width);
    for (int y = 0; y < kSize; y++) {
        const uint8_t *above = from.row(down.first[y]), *below = from.row(down.second[y]);
        float weight = down.weight[y];
        for (int i = 0; i < 4 * width; i++)
            line[(size_t)i] = (float)above[i] + (float)(below[i] - above[i]) * weight;
        Pixel row[kSize];
        for (int x = 0; x < kSize; x++) {
            Pixel left, right;
            memcpy(&left, &line[4 * (size_t)across.first[x]], sizeof left);
            memcpy(&right, &line[4 * (size_t)across.second[x]], sizeof right);
            row[x] = left + (right - left) * across.weight[x];
        }
        store(y, row);
    }
}

// Four pixels at a time become four numbers of each channel.
void store_planes(int y, const Pixel *row, float *out)
{
    const Pixel mean = {123.675f, 116.28f, 103.53f, 0};
    const Pixel scale = {1 / 58.395f, 1 / 57.12f, 1 / 57.375f, 0};
    for (int x = 0; x < kSize; x += 4) {
        Pixel p[4];
        for (int i = 0; i < 4; i++) p[i] = (row[x + i] - mean) * scale;
        Pixel ab = __builtin_shuffle(p[0], p[1], (Lanes){0, 4, 1, 5});
        Pixel cd = __builtin_shuffle(p[2], p[3], (Lanes){0, 4, 1, 5});
        Pixel blue_ab = __builtin_shuffle(p[0], p[1], (Lanes){2, 6, 2, 6});
        Pixel blue_cd = __builtin_shuffle(p[2], p[3], (Lanes){2, 6, 2, 6});
        Pixel planes[] = {__builtin_shuffle(ab, cd, (Lanes){0, 1, 4, 5}),
                          __builtin_shuffle(ab, cd, (Lanes){2, 3, 6, 7}),
                          __builtin_shuffle(blue_ab, blue_cd, (Lanes){0, 1, 4, 5})};
        for (int c = 0; c < 3; c++)
            memcpy(out + (c * kSize + y) * kSize + x, &planes[c], sizeof planes[c]);
    }
}

void store_bytes(int y, const Pixel *row, uint8_t *out)
{
    for (int x = 0; x < kSize; x++)
        for (int c = 0; c < 3; c++) out[(y * kSize + x) * 3 + c] = (uint8_t)(row[x][c] + 0.5f);
}

struct Random {
    uint64_t state;

    float draw() // [0, 1)
    {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (float)(state >> 40) / (1 << 24);
    }
};

struct Part {
    int x, y, width, height;
};

Part random_part(int width, int height, Random &random)
{
    for (int i = 0; i < 10; i++) {
        float area = (float)(width * height) * (0.08f + 0.92f * random.draw());
        float ratio = std::exp(std::log(4 / 3.f) * (2 * random.draw() - 1));
        int w = (int)std::lround(std::sqrt(area * ratio));
        int h = (int)std::lround(std::sqrt(area / ratio));
        if (w < 1 || h < 1 || w > width || h > height) continue;
        int x = (int)(random.draw() * (float)(width - w + 1));
        int y = (int)(random.draw() * (float)(height - h + 1));
        return {x, y, w, h};
    }
    return {0, 0, width, height};
}

struct Loop {
    std::string mode;
    std::vector<Bytes> images;
    std::vector<float> batch; // as bytes for modes of bytes

    void make(size_t i, size_t place, Decoder &decoder, std::vector<float> &line)
    {
        float *out = &batch[place * 3 * kSize * kSize];
        decoder.begin(images[i]);
        Part part = {0, 0, decoder.width, decoder.height};
        Random random = {i};
        if (mode == "crop") part = random_part(decoder.width, decoder.height, random);
        decoder.decode(part.x, part.y, part.width, part.height);
        if (mode == "crop")
            resample(decoder, part.width, part.height, random.draw() < 0.5f, line,
                     [=](int y, const Pixel *row) { store_planes(y, row, out); });
        else if (mode != "decode")
            resample(decoder, part.width, part.height, false, line,
                     [=](int y, const Pixel *row) { store_bytes(y, row, (uint8_t *)out); });
    }

    void run_all(int threads, size_t batch_size)
    {
        run(threads, images.size(), [&](int) {
            return [&, decoder = Decoder(mode == "resize-fast"),
                    line = std::vector<float>()](size_t i) mutable {
                make(i, i % batch_size, decoder, line);
            };
        });
    }
};

} // namespace

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: photos MODE THREADS BATCH_SIZE FILE...\n");
        return 2;
    }
    int threads = atoi(argv[2]);
    size_t batch_size = (size_t)atol(argv[3]);
    Loop loop = {argv[1], {}, std::vector<float>(batch_size * 3 * kSize * kSize)};
    for (int i = 4; i < argc; i++) add_images(Mapped<uint8_t>(argv[i]), loop.images);
    auto pass = [&] { loop.run_all(threads, batch_size); };
    pass();
    print_times(pass);
    return 0;
}
