/* Programs that fork. */
#ifndef FORKS_H
#define FORKS_H

#include <sys/wait.h>
#include <unistd.h>

#include "old_said.h"

/* Calls `work` in a child, which must keep its promises. */
static void in_a_fork(const char *what, void (*work)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        listen();
        work();
        _exit(finish());
    }
    PROMISE(what, waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
