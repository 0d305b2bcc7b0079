/* The environment asks for something missing. It is reported once, the line names the wrong
   value, and forces are NaN. */
#include "old_said.h"

#include "sapporo6_board.h"

int main(int count, char **arguments)
{
    struct body body = {1, 1.0, 0, 0, {{1, 0, 0}}}, sink = {2, 0, 0, 0, {{0}}};
    (void)count;
    listen();
    PROMISE("it does not open", initialize() != 0 && one_line("initialize", arguments[1], ""));
    PROMISE("nothing more is said of it", set_body(0, &body) != 0 && predict_all(0, 1) != 0 && !*said());
    PROMISE("forces are NaN", forces_on(&sink, 1, 1) != 0 && isnan(acc_[0][0]) && isnan(phi_[0]));
    PROMISE("opened again, it says so again", initialize() != 0 && one_line("initialize", arguments[1], ""));
    return finish();
}
