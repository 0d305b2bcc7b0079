/* The interfaces in an environment that asks for something missing. The argument is what the
   error must name. */
#include "old_said.h"

#include "g6_board.h"
#include <g5.h>

int main(int argc, char **argv)
{
    double x[3] = {1, 0, 0}, mass = 1.0, acc[3] = {0}, pot = 0;
    struct force f;
    const char *wrong = argc > 1 ? argv[1] : "";
    listen();
    PROMISE("g6_open returns non-zero", g6_open(0) != 0);
    PROMISE("and says what is wrong and what is allowed", one_line("g6_open", wrong, ""));
    PROMISE("a source is refused", set_body(0, 1, 1.0, x, zero) != 0 && g6_set_ti(0, 1.0) != 0);
    f = force_on(1, 2, zero, zero, 0.01);
    PROMISE("a force is NaN", isnan(f.acc[0]) && isnan(f.jerk[1]) && isnan(f.pot) && f.nearest == 0);
    PROMISE("there are no lists", g6_read_neighbour_list(0) != 0);
    PROMISE("what is wrong is said once", !*said());
    PROMISE("it can be opened again, and says it again", g6_open(0) != 0 && *said());
    PROMISE("it can be closed", g6_close(0) == 0);

    PROMISE("g5_open returns non-zero", g5_open() != 0);
    PROMISE("and says what is wrong and what is allowed", one_line("g5_open", wrong, ""));
    g5_set_n(1);
    PROMISE("a source is refused", g5_set_xmj(0, 1, &x, &mass) != 0);
    PROMISE("a force is NaN", g5_calculate_force_on_x(&x, &acc, &pot, 1) != 0 && isnan(acc[0]) && isnan(pot));
    PROMISE("on every board", g5_calculate_force_on_xMC(3, &x, &acc, &pot, 1) != 0 && isnan(acc[2]));
    PROMISE("what is wrong is said once", !*said());
    PROMISE("it can be closed", g5_close() == 0);
    return finish();
}
