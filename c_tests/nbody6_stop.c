/* A failing call by a caller that does not check the result: nbody6_stop CALL. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nbody6.h>

static double m[2] = {1, 1}, x[2][3] = {{0}, {1, 0, 0}}, v[2][3], one[2] = {1, 1}, acc[2][3], jrk[2][3], pot[2];
static int n = 2, lmax = 4, nbmax = 3, list[2][4], stopped = 1;

static void call(const char *name)
{
    if (strcmp(name, "gpunb_devinit") == 0) gpunb_devinit_();
    if (strcmp(name, "gpunb_open") == 0) gpunb_open_(&nbmax);
    if (strcmp(name, "gpunb_send") == 0) gpunb_send_(&n, m, x, v);
    if (strcmp(name, "gpunb_regf") == 0) gpunb_regf_(&n, one, one, x, v, acc, jrk, pot, &lmax, &nbmax, list[0]);
    if (strcmp(name, "gpupot") == 0) gpupot_(&n, m, x, pot);
}

static void at_the_end(void)
{
    if (!stopped) return;
    call("gpupot");
    call("gpunb_open");
    puts("at the end");
}

int main(int count, char **arguments)
{
    (void)count;
    atexit(at_the_end);
    puts("before");
    call(arguments[1]);
    puts("after");
    stopped = 0;
    return 7;
}
