// Letters: small blocks that the host sends to a kernel that runs and waits for them.
//
// The host writes a step, its sinks and its records behind the head of the letter, and rings: the
// bell, the first word of the head, has the number of the turn in its lower half and above it, in
// 16 bits each, the number of words behind the head and the number of items, which are what the
// thread blocks of a launch would do. The first thread block copies the letter to the device and
// rings there for the others. Whichever thread blocks are there take items, one after another,
// until all are taken: others may find no room on the device for as long as the kernel runs.
//
// A letter without words ends the kernel. Where none comes for a while the first thread block rings
// so itself, with the number of items of the turn before, of which some may not be done yet. In the
// second word of the head it tells the host the turn in which the kernel ended.

#define STEP_WORDS ((int)(sizeof(Step) / sizeof(double)))
// Words that a thread has on their way at a time.
#define WORDS_AT_ONCE 4
#define TURN_OF(bell) ((uint)(bell))
#define WORDS_OF(bell) ((int)((bell) >> 32 & 0xffff))
#define ITEMS_OF(bell) ((uint)((bell) >> 48))
// The turn whose items the bell counts: at the end the one before.
#define TURN_OF_ITEMS(bell) (TURN_OF(bell) - (WORDS_OF(bell) == 0))

// What the threads of a block know of the last letter.
typedef struct {
    ulong bell;
    // The last item that was taken, and in the upper half the turn of which it is.
    ulong taken;
    // Whether all items of the turn are taken.
    int is_done;
} Mail;

FUNCTION void copy_words(GLOBAL const double *from, GLOBAL double *to, int words, int threads)
{
    for (int first = THREAD; first < words; first += WORDS_AT_ONCE * threads) {
        double values[WORDS_AT_ONCE];
        UNROLL
        for (int turn = 0; turn < WORDS_AT_ONCE; ++turn)
            values[turn] = first + turn * threads < words ? from[first + turn * threads] : 0.0;
        UNROLL
        for (int turn = 0; turn < WORDS_AT_ONCE; ++turn) {
            if (first + turn * threads < words)
                to[first + turn * threads] = values[turn];
        }
    }
}

// Waits for the host's letter of a turn, until its patience or the time `last` ends, and passes it
// on: on the device, the second word of the head counts the items that are taken.
FUNCTION void pass_letter_on(GLOBAL volatile double *letter, GLOBAL double *copy, uint turn, ulong last, int threads,
    LOCAL_POINTER Mail *mail)
{
    if (THREAD == 0) {
        ulong now;
        READ_NANOSECONDS(now);
        const ulong until = now + PATIENCE < last ? now + PATIENCE : last;
        mail->bell = turn | mail->bell >> 48 << 48;
        while (now < until) {
            const ulong bell = *(GLOBAL const volatile ulong *)letter;
            if (TURN_OF(bell) == turn) {
                mail->bell = bell;
                break;
            }
            READ_NANOSECONDS(now);
        }
        // What the host wrote before is read from here on.
        FENCE_HOST;
    }
    SYNC;
    copy_words((GLOBAL const double *)letter + LETTER_HEAD, copy + LETTER_HEAD, WORDS_OF(mail->bell), threads);
    SYNC;
    if (THREAD == 0) {
        if (WORDS_OF(mail->bell) > 0)
            ((GLOBAL volatile ulong *)copy)[1] = (ulong)turn << 32;
        else
            ((GLOBAL volatile ulong *)letter)[1] = turn;
        FENCE;
        ((GLOBAL volatile ulong *)copy)[0] = mail->bell;
    }
}

// Waits for a bell on the device that is later than a turn.
FUNCTION ulong bell_after(GLOBAL const double *copy, uint turn)
{
    ulong bell;
    do {
        bell = *(GLOBAL const volatile ulong *)copy;
    } while ((int)(TURN_OF(bell) - turn) <= 0);
    // What other thread blocks wrote before is read from here on.
    FENCE;
    return bell;
}

FUNCTION void read_step(GLOBAL const double *copy, int threads, LOCAL_POINTER Step *step)
{
    for (int word = THREAD; word < STEP_WORDS; word += threads)
        ((LOCAL_POINTER double *)step)[word] = copy[LETTER_HEAD + word];
}

// Takes an item, waits for a letter if there is none, and returns its number; -1 at the end. As
// long as an item is not done its letter stays, so that a step which was read before is its own.
FUNCTION int next_item(GLOBAL volatile double *letter, GLOBAL double *copy, ulong last, int threads,
    LOCAL_POINTER Mail *mail, LOCAL_POINTER Step *step)
{
    for (;;) {
        SYNC;
        const int was_done = mail->is_done;
        if (was_done) {
            if (BLOCK == 0)
                pass_letter_on(letter, copy, TURN_OF(mail->bell) + 1, last, threads, mail);
            else if (THREAD == 0)
                mail->bell = bell_after(copy, TURN_OF(mail->bell));
            SYNC;
            if (WORDS_OF(mail->bell) == 0)
                return -1;
            read_step(copy, threads, step);
        }
        if (THREAD == 0) {
            mail->taken = ATOMIC_ADD((GLOBAL ulong *)copy + 1, (ulong)1);
            mail->is_done = 0;
        }
        SYNC;
        if ((uint)(mail->taken >> 32) != TURN_OF(mail->bell)) {
            // It is of a turn that has begun since, whose bell follows, or of the last one before
            // the end.
            SYNC;
            if (THREAD == 0)
                mail->bell = bell_after(copy, (uint)(mail->taken >> 32) - 1);
            SYNC;
            read_step(copy, threads, step);
            SYNC;
        }
        const int is_of_turn = (uint)(mail->taken >> 32) == TURN_OF_ITEMS(mail->bell);
        const uint item = (uint)mail->taken;
        if (is_of_turn && item < ITEMS_OF(mail->bell))
            return (int)item;
        if (WORDS_OF(mail->bell) == 0)
            return -1;
        SYNC;
        if (THREAD == 0)
            mail->is_done = is_of_turn;
    }
}
