/* One thread names devices of the GRAPE-5 interface while boards are opened and closed in
   another. */
#include <pthread.h>

#include "old_said.h"

#include <g5.h>

enum { ROUNDS = 2000 };

static void *name_devices(void *argument)
{
    int device = 0, round;
    for (round = 0; round < ROUNDS; round++) {
        g5_open_special(1, &device);
        g5_open_special(0, NULL);
    }
    return argument;
}

int main(void)
{
    static double x[1][3] = {{1, 0, 0}}, mass[1] = {1};
    int round, written = 1;
    pthread_t thread;
    listen();
    pthread_create(&thread, NULL, name_devices, NULL);
    for (round = 0; round < ROUNDS; round++) {
        written &= g5_set_xmjMC(1, 0, 1, x, mass) == 0;
        g5_close();
    }
    pthread_join(thread, NULL);
    PROMISE("neither waits for the other for ever", written);
    said(); /* boards that are in use refuse other devices */
    return finish();
}
