/* Callers whose floating-point environment is not the usual one. */
#ifndef ENVIRONMENTS_H
#define ENVIRONMENTS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fenv.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "old_said.h"

/* Bits of MXCSR that make denormal results and denormal arguments zero. */
#define NO_DENORMALS 0x8040u

/* The part of the environment that a program can see. */
struct environment {
    int traps, raised, rounding;
    unsigned mxcsr;
};

static struct environment environment(void)
{
    struct environment e;
    memset(&e, 0, sizeof e);
    e.traps = fegetexcept();
    e.raised = fetestexcept(FE_ALL_EXCEPT);
    e.rounding = fegetround();
#ifdef __x86_64__
    e.mxcsr = _mm_getcsr();
#endif
    return e;
}

enum { TRAPS, EVERY_TRAP, ROUNDED_UP, WITHOUT_DENORMALS, USUAL, ENVIRONMENTS };

static const char *const environment_name[ENVIRONMENTS] = {
    "traps of invalid operations, divisions by zero and overflows", "traps of every exception",
    "rounding up, with exceptions that were raised before", "no denormals", "the usual environment",
};

static void set_environment(int which)
{
    fesetenv(FE_DFL_ENV);
    if (which == TRAPS) feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    if (which == EVERY_TRAP) feenableexcept(FE_ALL_EXCEPT);
    if (which == ROUNDED_UP) {
        fesetround(FE_UPWARD);
        feraiseexcept(FE_INVALID | FE_UNDERFLOW);
    }
#ifdef __x86_64__
    if (which == WITHOUT_DENORMALS) _mm_setcsr(_mm_getcsr() | NO_DENORMALS);
#endif
}

/* Calls `work` in each environment, beginning with traps. It does no arithmetic of its own and
   fills the `size` bytes of `results`. They must be the same bytes each time, and the
   environment must be as it was before. The caller can read the results afterwards. */
static void in_each_environment(void (*work)(void), void *results, size_t size)
{
    void *first = malloc(size);
    int which;
    for (which = 0; which < ENVIRONMENTS; which++) {
        struct environment before, after;
        memset(results, 0, size);
        set_environment(which);
        before = environment();
        work();
        after = environment();
        fesetenv(FE_DFL_ENV);
        PROMISE(environment_name[which], memcmp(&after, &before, sizeof after) == 0);
        if (which == 0) memcpy(first, results, size);
        PROMISE(environment_name[which], memcmp(results, first, size) == 0);
    }
    free(first);
}

#endif
