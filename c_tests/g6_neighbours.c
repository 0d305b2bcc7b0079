/* Nearest neighbours and neighbour lists of the GRAPE-6 interface. */
#include "g6_board.h"

enum { MANY = 5001, CANARY = -12345678 };

static int nearest_to(int nj, int index, double *x)
{
    return force_on(nj, index, x, zero, 0.01).nearest;
}

static void nearest(void)
{
    double at[3] = {0, 0, 0}, far[3] = {1e7, 0, 0}, farther[3] = {-2e7, 0, 0};
    double left[3] = {-1, 0, 0}, right[3] = {1, 0, 0};
    double close[3] = {1e-8, 0, 0}, closer[3] = {0, -0.5e-8, 0}, planet[3] = {0, 1.5e11, 0};
    int n;
    set_body(0, 42, 1.0, at, zero);
    set_body(1, 17, 1.0, far, zero);
    set_body(2, -99, 1.0, farther, zero);
    PROMISE("nn is the index, not the address, of the nearest source with another index", nearest_to(3, 42, at) == 17);
    PROMISE("indices may be negative", nearest_to(3, 0, farther) == -99);
    set_body(1, 17, 1.0, close, zero);
    set_body(2, 18, 1.0, closer, zero);
    PROMISE("two sources 1e-8 away are told apart", nearest_to(3, 42, at) == 18);
    if (!precision_is("single")) {
        at[0] = close[0] = closer[0] = 0.7;
        close[1] = 1e-8;
        closer[1] = 0;
        closer[0] += 0.7e-8;
        PROMISE("also where 32 bits would not do, in mixed and double",
                (set_body(1, 17, 1.0, close, zero), set_body(2, 18, 1.0, closer, zero), nearest_to(3, 42, at)) == 18);
        at[0] = 0;
    }
    set_body(1, 17, 1.0, planet, zero);
    PROMISE("distances may be 1e11", nearest_to(2, 42, at) == 17);
    PROMISE("where there is no source with another index nn is 0", nearest_to(1, 42, at) == 0);
    set_body(1, 5, 0.0, left, zero);
    set_body(2, 6, 1.0, right, zero);
    n = nearest_to(3, 42, at);
    PROMISE("of two equally near ones it is either, and massless ones count", n == 5 || n == 6);
    n = nearest_to(1000, 42, at);
    PROMISE("addresses that were never set are no neighbours", n == 5 || n == 6);
    g6_close(0);
}

/* Reads one list of at most `most` numbers and checks that nothing is written behind it. */
static int list_of(int sink, int most, int *length, int *list)
{
    int status, k;
    for (k = 0; k <= most; k++) list[k] = CANARY;
    status = g6_get_neighbour_list(0, sink, most, length, list);
    PROMISE("nothing is written beyond maxlength", list[most] == CANARY);
    return status;
}

/* Sources lie on a line at 1, 2, 3, ... thousandths from the sink, in mixed order. Index k + 1
   is the k-th. */
static void lists_of_any_length(void)
{
    static const int lengths[] = {0, 1, 255, 256, 257, 1000, 5000};
    static int list[MANY + 1];
    int index = -1, length, k, status, ascending, own = 2;
    unsigned test;
    double x[3] = {0, 0, 0}, h2, acc[3], jerk[3], pot;
    for (k = 0; k < MANY; k++) {
        x[0] = 0.001 * (k + 1);
        set_body((k * 7) % MANY, k + 1, 1.0, x, zero);
    }
    for (test = 0; test < sizeof lengths / sizeof *lengths; test++) {
        h2 = 0.001 * (lengths[test] + 0.5);
        h2 = lengths[test] ? h2 * h2 : 0.0;
        get_forces(MANY, 1, &index, &zero, &zero, 0.25, &h2, &acc, &jerk, &pot, &k);
        PROMISE("lists can be read after a force", g6_read_neighbour_list(0) == 0);
        status = list_of(0, MANY, &length, list);
        PROMISE("a list that fits returns 0 and its length", status == 0 && length == lengths[test]);
        for (k = 0, ascending = 1; k < length; k++) ascending &= list[k] == k + 1;
        PROMISE("it has the indices with r^2 < h2, softening not included, ascending, each once", ascending);
        status = list_of(0, lengths[test], &length, list);
        PROMISE("a list of exactly maxlength returns 0", status == 0 && length == lengths[test]);
        if (lengths[test] > 1) {
            status = list_of(0, lengths[test] - 1, &length, list);
            PROMISE("a longer one returns 1, and nblen = maxlength", status == 1 && length == lengths[test] - 1);
            PROMISE("with the first maxlength indices", list[0] == 1 && list[length - 1] == length);
            PROMISE("with maxlength = 0 nothing is written",
                    g6_get_neighbour_list(0, 0, 0, &length, NULL) == 1 && length == 0);
        }
    }
    h2 = 0.0035 * 0.0035;
    get_forces(MANY, 1, &own, &zero, &zero, 0.0, &h2, &acc, &jerk, &pot, &k);
    list_of(0, MANY, &length, list);
    PROMISE("the sink's own index is left out", length == 2 && list[0] == 1 && list[1] == 3);
    PROMISE("reading again gives the same",
            g6_read_neighbour_list(0) == 0 && list_of(0, 9, &length, list) == 0 && length == 2);
    x[0] = 100.0;
    set_body(0, 1, 1.0, x, zero);
    list_of(0, MANY, &length, list);
    PROMISE("sources that are set after the force do not change its lists", length == 2 && list[0] == 1);
    g6_close(0);
}

static void lists_of_several_sinks(void)
{
    double x[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 0, 0}}, v[3][3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    double h2[3] = {1.0, 1.2, 1.0 + 1e-6}, acc[3][3], jerk[3][3], pot[3];
    int index[3] = {1, 2, 1}, nn[3], length = 5, list[4];
    set_body(0, 1, 1.0, x[0], zero);
    set_body(1, 2, 1.0, x[1], zero);
    get_forces(2, 3, index, x, v, 0.5, h2, acc, jerk, pot, nn);
    PROMISE("a source at r^2 = h2 is no neighbour", list_of(0, 3, &length, list) == 0 && length == 0);
    PROMISE("each sink has its own radius", list_of(2, 3, &length, list) == 0 && length == 1 && list[0] == 2);
    PROMISE("softening does not count", list_of(1, 3, &length, list) == 0 && length == 1 && list[0] == 1);
    get_forces(2, 1, index, x, v, 0.5, h2 + 1, acc, jerk, pot, nn);
    PROMISE("lists belong to the last force", list_of(0, 3, &length, list) == 0 && length == 1 && list[0] == 2);
    get_forces(0, 1, index, x, v, 0.5, h2 + 1, acc, jerk, pot, nn);
    PROMISE("without sources lists are empty", list_of(0, 3, &length, list) == 0 && length == 0);
    g6_close(0);
}

int main(void)
{
    nearest();
    lists_of_any_length();
    lists_of_several_sinks();
    return finish();
}
