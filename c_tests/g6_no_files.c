/* A program that has as many files open as it may when it opens the interface, and fewer later. */
#include <sys/resource.h>

#include "old_said.h"

#include "g6_board.h"

#include <kyoho.h>

int main(void)
{
    struct rlimit limit = {64, 64};
    int files[64], count = 0;
    double x[3] = {2, 0, 0};
    kyoho_system *system = NULL;
    listen();
    setrlimit(RLIMIT_NOFILE, &limit);
    while ((files[count] = open("/dev/null", O_RDONLY)) >= 0) count++;

    PROMISE("the block size is one that no array is too short for", g6_npipes() == 1);
    PROMISE("the reason is said", one_line("g6_npipes", "no file descriptor is free", "ulimit -n"));
    PROMISE("once", g6_npipes() == 1 && !*said());
    PROMISE("the interface does not open", g6_open(0) != 0);
    PROMISE("and says the same", one_line("g6_open", "no file descriptor is free", "ulimit -n"));
    PROMISE("nor does the native one", kyoho_system_create(NULL, &system) == KYOHO_BAD_OPTION);
    PROMISE("for that reason", strstr(kyoho_last_error(), "no file descriptor is free") != NULL);

    while (count > 0) close(files[--count]);
    PROMISE("with files closed, the block size is the usual one", g6_npipes() == 16384);
    PROMISE("and the interface opens", g6_open(0) == 0 && set_body(0, 1, 1.0, x, zero) == 0);
    PROMISE("and computes", force_on(1, 2, zero, zero, 0.0).acc[0] == 0.25);
    PROMISE("and so does the native one", kyoho_system_create(NULL, &system) == KYOHO_OK);
    PROMISE("without a word", !*said());
    kyoho_system_free(system);
    g6_close(0);
    return finish();
}
