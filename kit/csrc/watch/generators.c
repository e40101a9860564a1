/* Watches generators of random numbers other than the host's random_bits(): the process has
 * generators whose state all threads share; the system has generators whose numbers nobody can
 * repeat; and an op may own a state, which may be seeded with a constant.
 *
 * A generator that gives other numbers than usual is found by its effect on the outputs. */
#include "core/random.h"
#include "watch/interposed.h"
#include "watch/run_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static pfd_interposition redirected;
static _Atomic int64_t counter; /* how many numbers were made up */

/* The op's call that the thread is in; NULL: none. */
static const pfd_kit_call *call_of_op(void)
{
    const pfd_kit_call *call = pfd_kit_active;
    return call && call->function ? call : NULL;
}

static uint64_t made_up(void)
{
    return pfd_random_bits(11, (uint64_t)atomic_fetch_add(&counter, 1));
}

static void make_up(void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) ((uint8_t *)data)[i] = (uint8_t)made_up();
}

/* Notes the generator; returns whether its numbers are made up. */
static int32_t is_fixed(const char *name, int32_t flag)
{
    const pfd_kit_call *call = call_of_op();
    if (!call) return 0;
    char *noted = call->run->result->generator;
    if (!noted[0]) (void)snprintf(noted, sizeof call->run->result->generator, "%s", name);
    return (call->run->options->generators & flag) != 0;
}

/* ---- Generators of the process: findings ----------------------------------------------------- */
static void name_shared(const char *name)
{
    const pfd_kit_call *call = call_of_op();
    char record[64] = "";
    if (!call || !(call->run->options->generators & PFD_KIT_NAME_GENERATORS)) return;
    if (call->computing)
        (void)snprintf(record, sizeof record, " for record %" PRId64,
                       call->computing->records[0].ordinal);
    pfd_kit_report(call->run, "own-generator",
                   "%s called %s()%s: its state belongs to the program and is shared by all "
                   "threads, so that rows differ from run to run; use "
                   "host->random_bits(args->random_key, args->records[row].ordinal, draw)",
                   call->function, name, record);
}

/* A function that draws. */
#define SHARED_DRAW(type, function)       \
    static type shared_##function(void)   \
    {                                     \
        name_shared(#function);           \
        return function();                \
    }
SHARED_DRAW(int, rand)
SHARED_DRAW(long, random)
SHARED_DRAW(double, drand48)
SHARED_DRAW(long, lrand48)
SHARED_DRAW(long, mrand48)

/* A function that sets the state. */
#define SHARED_SEED(type, function)           \
    static void shared_##function(type seed)  \
    {                                         \
        name_shared(#function);               \
        function(seed);                       \
    }
SHARED_SEED(unsigned, srand)
SHARED_SEED(unsigned, srandom)
SHARED_SEED(long, srand48)

/* ---- Generators of the system ---------------------------------------------------------------- */
static ssize_t system_getrandom(void *data, size_t bytes, unsigned flags)
{
    if (!is_fixed("getrandom", PFD_KIT_FIX_SYSTEM)) return getrandom(data, bytes, flags);
    make_up(data, bytes);
    return (ssize_t)bytes;
}

static int system_getentropy(void *data, size_t bytes)
{
    if (!is_fixed("getentropy", PFD_KIT_FIX_SYSTEM)) return getentropy(data, bytes);
    make_up(data, bytes);
    return 0;
}

/* Some C libraries lack these functions, so their numbers come from getrandom(). */
static uint32_t system_number(const char *name)
{
    uint32_t number = 0;
    if (is_fixed(name, PFD_KIT_FIX_SYSTEM)) return (uint32_t)made_up();
    (void)!getrandom(&number, sizeof number, 0);
    return number;
}

static uint32_t system_arc4random(void)
{
    return system_number("arc4random");
}

static uint32_t system_arc4random_uniform(uint32_t bound)
{
    return bound > 0 ? system_number("arc4random_uniform") % bound : 0;
}

/* std::random_device::operator(). */
static unsigned system_random_device(void *self)
{
    (void)self;
    return system_number("std::random_device");
}

/* ---- Generators whose state the op owns ------------------------------------------------------ */
static int seeded_rand_r(unsigned *state)
{
    int number = rand_r(state);
    return is_fixed("rand_r", PFD_KIT_FIX_SEEDED) ? (int)(made_up() & RAND_MAX) : number;
}

static double seeded_erand48(unsigned short state[3])
{
    double number = erand48(state);
    return is_fixed("erand48", PFD_KIT_FIX_SEEDED) ? (double)(made_up() >> 11) * 0x1p-53 : number;
}

static long seeded_nrand48(unsigned short state[3])
{
    long number = nrand48(state);
    return is_fixed("nrand48", PFD_KIT_FIX_SEEDED) ? (long)(made_up() >> 33) : number;
}

static long seeded_jrand48(unsigned short state[3])
{
    long number = jrand48(state);
    return is_fixed("jrand48", PFD_KIT_FIX_SEEDED) ? (int32_t)made_up() : number;
}

static const pfd_interposed_function generators[] = {
    PFD_REDIRECT("rand", shared_rand),
    PFD_REDIRECT("random", shared_random),
    PFD_REDIRECT("drand48", shared_drand48),
    PFD_REDIRECT("lrand48", shared_lrand48),
    PFD_REDIRECT("mrand48", shared_mrand48),
    PFD_REDIRECT("srand", shared_srand),
    PFD_REDIRECT("srandom", shared_srandom),
    PFD_REDIRECT("srand48", shared_srand48),
    PFD_REDIRECT("getrandom", system_getrandom),
    PFD_REDIRECT("getentropy", system_getentropy),
    PFD_REDIRECT("arc4random", system_arc4random),
    PFD_REDIRECT("arc4random_uniform", system_arc4random_uniform),
    PFD_REDIRECT("_ZNSt13random_device9_M_getvalEv", system_random_device),
    PFD_REDIRECT("rand_r", seeded_rand_r),
    PFD_REDIRECT("erand48", seeded_erand48),
    PFD_REDIRECT("nrand48", seeded_nrand48),
    PFD_REDIRECT("jrand48", seeded_jrand48),
};

void pfd_kit_generators_begin(pfd_kit_run_state *run)
{
    if (!run->options->generators) return;
    atomic_store(&counter, 0);
    (void)pfd_interposition_open_all(&redirected, generators,
                                     sizeof generators / sizeof *generators, 1);
}

void pfd_kit_generators_end(void)
{
    pfd_interposition_close(&redirected);
}
