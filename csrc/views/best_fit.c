/* Best fit, longest first, over packs that are listed by the room they have left.
 *
 * A tree of bits says for which rooms there is a pack: bit r of the lowest level for room r, and a
 * bit of each higher level for a word of the one below that is not 0.  The next larger room is
 * found with one look at a word of each level. */
#include "views/best_fit.h"

#include "core/error.h"

#include <stdlib.h>
#include <string.h>

enum {
    levels = 4, /* of 64 bits a word: rooms up to 2^24 */
    digit_bits = 12,
    digits = 1 << digit_bits
};

struct pfd_best_fit {
    int64_t length;
    uint64_t *bits[levels];
    int64_t words[levels];
    int32_t *newest;      /* by room: the pack that got this room last */
    int32_t *older;       /* by pack: the one with the same room before it; -1: none */
    uint64_t *items, *by_digit; /* of the window: room after the record in an empty pack, record */
};

static int64_t words_of(int64_t last_bit)
{
    return last_bit / 64 + 1;
}

pfd_status pfd_best_fit_create(int64_t length, int64_t window, pfd_best_fit **out, pfd_error *err)
{
    pfd_best_fit *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "packing");
    self->length = length;
    int64_t words = words_of(length), bytes = 0;
    int32_t whole = 1;
    for (int32_t i = 0; i < levels; i++) {
        self->words[i] = words;
        self->bits[i] = calloc((size_t)words, sizeof *self->bits[i]);
        whole = whole && self->bits[i];
        words = words_of(words - 1);
    }
    bytes = (length + 1) * (int64_t)sizeof *self->newest + window * 20;
    self->newest = malloc((size_t)(length + 1) * sizeof *self->newest);
    self->older = malloc((size_t)window * sizeof *self->older);
    self->items = malloc((size_t)window * sizeof *self->items);
    self->by_digit = malloc((size_t)window * sizeof *self->by_digit);
    if (!whole || !self->newest || !self->older || !self->items || !self->by_digit) {
        pfd_best_fit_free(self);
        return pfd_fail_memory(err, bytes, "packing");
    }
    *out = self;
    return PFD_OK;
}

void pfd_best_fit_free(pfd_best_fit *self)
{
    if (!self) return;
    for (int32_t i = 0; i < levels; i++) free(self->bits[i]);
    free(self->newest);
    free(self->older);
    free(self->items);
    free(self->by_digit);
    free(self);
}

/* ---- Packs by room --------------------------------------------------------------------------- */

/* The smallest room >= `room` that a pack has; -1: none. */
static int64_t find_room(const pfd_best_fit *self, int64_t room)
{
    for (int32_t level = 0; level < levels; level++) {
        int64_t word = room >> 6;
        if (word >= self->words[level]) return -1;
        uint64_t found = self->bits[level][word] & (UINT64_MAX << (room & 63));
        if (found == 0) {
            room = word + 1;
            continue;
        }
        room = word << 6 | __builtin_ctzll(found);
        while (level-- > 0) room = room << 6 | __builtin_ctzll(self->bits[level][room]);
        return room;
    }
    return -1;
}

static void add_pack(pfd_best_fit *self, int64_t room, int32_t pack)
{
    int32_t is_first = !(self->bits[0][room >> 6] >> (room & 63) & 1);
    self->older[pack] = is_first ? -1 : self->newest[room];
    self->newest[room] = pack;
    for (int32_t level = 0; level < levels; level++, room >>= 6) {
        uint64_t *word = &self->bits[level][room >> 6], before = *word;
        *word |= UINT64_C(1) << (room & 63);
        if (before != 0) return;
    }
}

static void clear_room(pfd_best_fit *self, int64_t room)
{
    for (int32_t level = 0; level < levels; level++, room >>= 6) {
        uint64_t *word = &self->bits[level][room >> 6];
        *word &= ~(UINT64_C(1) << (room & 63));
        if (*word != 0) return;
    }
}

static int32_t take_pack(pfd_best_fit *self, int64_t room)
{
    int32_t pack = self->newest[room];
    self->newest[room] = self->older[pack];
    if (self->older[pack] < 0) clear_room(self, room);
    return pack;
}

/* ---- Longest first --------------------------------------------------------------------------- */

static void sort_by_digit(const uint64_t *in, int64_t n, int32_t shift, uint64_t *out)
{
    int32_t places[digits] = {0};
    for (int64_t i = 0; i < n; i++) places[in[i] >> shift & (digits - 1)]++;
    int32_t place = 0;
    for (int32_t d = 0; d < digits; d++) {
        int32_t count = places[d];
        places[d] = place;
        place += count;
    }
    for (int64_t i = 0; i < n; i++) out[places[in[i] >> shift & (digits - 1)]++] = in[i];
}

/* The records that are not empty, longest first, of equal ones the first first. */
static const uint64_t *sort(pfd_best_fit *self, const int32_t *lengths, int64_t n, int64_t *count)
{
    *count = 0;
    for (int64_t i = 0; i < n; i++) {
        self->items[*count] = (uint64_t)(self->length - lengths[i]) << 32 | (uint64_t)i;
        *count += lengths[i] > 0;
    }
    sort_by_digit(self->items, *count, 32, self->by_digit);
    if (self->length < digits) return self->by_digit;
    sort_by_digit(self->by_digit, *count, 32 + digit_bits, self->items);
    return self->items;
}

int64_t pfd_best_fit_pack(pfd_best_fit *self, const int32_t *lengths, int64_t n, int32_t *pack_of)
{
    int64_t count, num_packs = 0;
    const uint64_t *order = sort(self, lengths, n, &count);
    for (int64_t i = 0; i < n; i++) pack_of[i] = -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t record = (int64_t)(order[i] & UINT32_MAX);
        int64_t room = find_room(self, lengths[record]), left;
        int32_t pack;
        if (room >= 0) {
            pack = take_pack(self, room);
            left = room - lengths[record];
        } else {
            pack = (int32_t)num_packs++;
            left = self->length - lengths[record];
        }
        pack_of[record] = pack;
        if (left > 0) add_pack(self, left, pack);
    }
    for (int64_t room; (room = find_room(self, 0)) >= 0;) clear_room(self, room);
    return num_packs;
}
