/* Bits, numbers, blocks, words of other inputs, and numbers that the plugin compared. */
#include "mutate.h"

#include <string.h>

static uint64_t state;

void mutate_seed(uint64_t seed)
{
    state = seed * 0x9E3779B97F4A7C15 + 1;
}

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545F4914F6CDD1D >> 11;
}

size_t mutate_below(size_t n)
{
    return n ? (size_t)(draw() % n) : 0;
}

static void write_number(uint8_t *at, uint64_t number, int width, int is_big)
{
    for (int i = 0; i < width; i++)
        at[is_big ? width - 1 - i : i] = (uint8_t)(number >> 8 * i);
}

static int width_within(size_t size)
{
    int width = 1 << mutate_below(4);
    while ((size_t)width > size) width /= 2;
    return width;
}

/* ---- Bytes in their place -------------------------------------------------------------------- */
static void flip_bit(fuzz_input *input)
{
    input->data[mutate_below(input->size)] ^= (uint8_t)(1 << mutate_below(8));
}

static void set_byte(fuzz_input *input)
{
    input->data[mutate_below(input->size)] = (uint8_t)draw();
}

static void add_to_number(fuzz_input *input)
{
    int width = width_within(input->size), is_big = (int)mutate_below(2);
    uint8_t *at = input->data + mutate_below(input->size - (size_t)width + 1);
    uint64_t number = 0;
    for (int i = 0; i < width; i++)
        number |= (uint64_t)at[is_big ? width - 1 - i : i] << 8 * i;
    write_number(at, number + mutate_below(33) - 16, width, is_big);
}

static void set_length(fuzz_input *input)
{
    int width = width_within(input->size), is_big = (int)mutate_below(2);
    uint64_t size = input->size;
    const uint64_t lengths[] = {0,          1,         (uint64_t)-1, UINT64_MAX >> (65 - 8 * width),
                                size,       size + 1,  size - 1,     (uint64_t)1 << (8 * width - 1),
                                255,        256,       65535,        65536,
                                0x7FFFFFFF, 1u << 31,  size * 2,     16};
    uint64_t length = lengths[mutate_below(sizeof lengths / sizeof *lengths)];
    write_number(input->data + mutate_below(input->size - (size_t)width + 1), length, width,
                 is_big);
}

static void fill(fuzz_input *input)
{
    size_t from = mutate_below(input->size), size = 1 + mutate_below(input->size - from);
    memset(input->data + from, mutate_below(2) ? 0 : (int)(draw() & 255), size < 32 ? size : 32);
}

static void copy_within(fuzz_input *input)
{
    size_t size = 1 + mutate_below(input->size < 64 ? input->size : 64);
    size_t from = mutate_below(input->size - size + 1), to = mutate_below(input->size - size + 1);
    memmove(input->data + to, input->data + from, size);
}

static void copy_word(fuzz_input *input, const fuzz_input *other)
{
    size_t size = 1 + mutate_below(8);
    if (size > other->size || size > input->size) return;
    memcpy(input->data + mutate_below(input->size - size + 1),
           other->data + mutate_below(other->size - size + 1), size);
}

static size_t find(const fuzz_input *input, const uint8_t *word, size_t width)
{
    size_t places = input->size >= width ? input->size - width + 1 : 0;
    size_t from = mutate_below(places);
    for (size_t i = 0; i < places; i++) {
        size_t place = (from + i) % places;
        if (!memcmp(input->data + place, word, width)) return place;
    }
    return input->size;
}

int mutate_to_equal(fuzz_input *input, const comparison *differed)
{
    for (int way = 0; way < 4; way++) {
        uint64_t old = way & 1 ? differed->left : differed->right;
        uint64_t wanted = way & 1 ? differed->right : differed->left;
        uint8_t word[8];
        write_number(word, old, differed->width, way & 2);
        size_t place = find(input, word, (size_t)differed->width);
        if (place == input->size) continue;
        write_number(input->data + place, wanted, differed->width, way & 2);
        return 1;
    }
    return 0;
}

static void set_compared(fuzz_input *input)
{
    const comparison *one = coverage_comparison((int)mutate_below(most_comparisons));
    if (one) (void)mutate_to_equal(input, one);
}

/* ---- Another size ---------------------------------------------------------------------------- */
static void truncate_it(fuzz_input *input)
{
    input->size = mutate_below(input->size);
}

static void remove_block(fuzz_input *input)
{
    size_t from = mutate_below(input->size), size = 1 + mutate_below(input->size - from);
    if (mutate_below(2) && size > 8) size = 1 + mutate_below(8);
    memmove(input->data + from, input->data + from + size, input->size - from - size);
    input->size -= size;
}

static void insert(fuzz_input *input, size_t most, const fuzz_input *other)
{
    size_t from = mutate_below(other->size), size = 1 + mutate_below(other->size - from);
    size_t to = mutate_below(input->size + 1);
    if (!other->size || input->size + size > most) return;
    memmove(input->data + to + size, input->data + to, input->size - to);
    memcpy(input->data + to, other->data + from, size);
    input->size += size;
}

static void end_as(fuzz_input *input, size_t most, const fuzz_input *other)
{
    size_t from = mutate_below(other->size), size = other->size - from;
    size_t to = mutate_below(input->size + 1);
    if (to + size > most) return;
    memcpy(input->data + to, other->data + from, size);
    input->size = to + size;
}

void mutate(fuzz_input *room, size_t most, const fuzz_input *others, size_t num_others)
{
    size_t changes = (size_t)1 << mutate_below(4);
    for (size_t i = 0; i < changes; i++) {
        const fuzz_input *other = &others[mutate_below(num_others)];
        size_t way = room->size ? mutate_below(14) : 13;
        switch (way) {
        case 0: flip_bit(room); break;
        case 1: set_byte(room); break;
        case 2: add_to_number(room); break;
        case 3: case 4: set_length(room); break;
        case 5: fill(room); break;
        case 6: copy_within(room); break;
        case 7: copy_word(room, other); break;
        case 8: case 9: case 10: set_compared(room); break;
        case 11: mutate_below(2) ? truncate_it(room) : remove_block(room); break;
        case 12: end_as(room, most, other); break;
        default: insert(room, most, other); break;
        }
    }
}
