// How the components of a vector are shared out. Where 32 threads run in step, four of them advance a
// body: each of the first three has a component, and the fourth the last one too. They are all at
// work at a time, with a body that others advance too where there is none of their own. Elsewhere a
// thread has all components of a body.

#if IN_STEP
#define AXES 1
#define THREADS_OF_BODY 4
#else
#define AXES 3
#define THREADS_OF_BODY 1
#endif
#define LAST_AXIS 2

// The number of the body of this thread among those of its thread block, the first component that it
// has, and whether it is the one that writes this, or what all have.
FUNCTION int body_of_thread(void)
{
    return THREAD / THREADS_OF_BODY;
}

FUNCTION int first_axis(void)
{
    const int place = THREAD % THREADS_OF_BODY;
    return place < LAST_AXIS ? place : LAST_AXIS;
}

FUNCTION int writes_axis(void)
{
    return THREAD % THREADS_OF_BODY <= LAST_AXIS;
}

FUNCTION int writes_body(void)
{
    return THREAD % THREADS_OF_BODY == 0;
}

// A double and its halves.
typedef union {
    double number;
    int halves[2];
} Halves;

// A number of each component, from that or those of this thread.
FUNCTION void gather_axes(const double own[AXES], double all[3])
{
    UNROLL
    for (int k = 0; k < 3; ++k) {
#if AXES == 1
        const int from = (THREAD & 31) / THREADS_OF_BODY * THREADS_OF_BODY + k;
        Halves sent, got;
        sent.number = own[0];
        SHUFFLE(got.halves[0], sent.halves[0], from);
        SHUFFLE(got.halves[1], sent.halves[1], from);
        all[k] = got.number;
#else
        all[k] = own[k];
#endif
    }
}
