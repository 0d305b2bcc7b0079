/* The file sapporo2.config of Sapporo 2, in the working directory. */
#include "old_said.h"

#include "g6_board.h"

static int opens_with(const char *text)
{
    FILE *file = fopen("sapporo2.config", "w");
    int status;
    fputs(text, file);
    fclose(file);
    status = g6_open(0);
    g6_close(0);
    return status == 0;
}

int main(void)
{
    listen();
    PROMISE("a count and as many numbers of devices", opens_with("1\n0\n") && opens_with("2\n0\n1\n"));
    PROMISE("more lines than the count are not read", opens_with("1\n0\n0\n"));
    PROMISE("a negative count takes any devices", opens_with("-2\n"));
    PROMISE("0 takes all", opens_with("0\n"));
    PROMISE("what follows a number is a comment", opens_with("1 device\n0 the first\n"));
    PROMISE("an empty file takes all", opens_with(""));
    PROMISE("nothing is said of a good file", !*said());
    PROMISE("a word is an error", !opens_with("two\n") && one_line("g6_open", "sapporo2.config line 1", "two"));
    PROMISE("so is a line that is missing", !opens_with("2\n0\n") && one_line("g6_open", "sapporo2.config line 3", ""));
    PROMISE("after which the board can be opened", opens_with("1\n0\n") && !*said());
    remove("sapporo2.config");
    PROMISE("without the file too", g6_open(0) == 0 && !*said());
    return finish();
}
