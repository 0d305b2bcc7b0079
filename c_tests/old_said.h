/* The library's lines on stderr, for programs that provoke errors, and a guard that keeps it
   from ending the process. */
#ifndef OLD_SAID_H
#define OLD_SAID_H

#include <fcntl.h>
#include <unistd.h>

#include "old_check.h"

static char said_text[65536];

/* From here on stderr is kept for said(). Broken promises go to the original stderr. */
static void listen(void)
{
    int file = open("said.txt", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    report = fdopen(dup(2), "w");
    setvbuf(report, NULL, _IONBF, 0);
    dup2(file, 2);
    close(file);
}

/* Returns what was written to stderr since the last call. */
static const char *said(void)
{
    ssize_t length = pread(2, said_text, sizeof said_text - 1, 0);
    said_text[length > 0 ? length : 0] = 0;
    if (ftruncate(2, 0) != 0) PROMISE("the file said.txt can be emptied", 0);
    return said_text;
}

static int lines(const char *text)
{
    int count = 0;
    for (; *text; text++) count += *text == '\n';
    return count;
}

/* Whether one line was written that names the function and each of two other things. */
static int one_line(const char *function, const char *what, const char *value)
{
    const char *text = said();
    int as_promised = lines(text) == 1 && strstr(text, function) && strstr(text, what) && strstr(text, value);
    if (!as_promised) fprintf(report, "%s, %s, %s were expected, but this was said:\n%s", function, what, value, text);
    return as_promised;
}

/* The library's calls of these functions would arrive here. */
void exit(int status)
{
    fprintf(report ? report : stderr, "the library called exit(%d)\n", status);
    _exit(98);
}

void abort(void)
{
    fprintf(report ? report : stderr, "the library called abort()\n");
    _exit(99);
}

#endif
