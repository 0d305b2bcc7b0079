/* Forces of Yebisu's interface that are softened by the sources. */
#include "yebisu_board.h"

enum { N = 300 };

static const double three[3] = {0.0, 0.01, 0.25};
static struct body bodies[N], predicted[N], sinks[N];

static int right(const struct body *b, int nj)
{
    return forces_on(sinks, N, nj, OF_SOURCE) == 0 && forces_are(b, nj, sinks, N, OF_SOURCE);
}

int main(void)
{
    static Force once[MOST];
    int i;
    double t = 0.3125;
    initialize(N);
    make_moving(bodies, N, 100);
    for (i = 0; i < N; i++) {
        bodies[i].eps2 = 0.01;
        sinks[i] = bodies[i];
        sinks[i].eps2 = 1.0;
    }
    set_bodies(bodies, N);
    no_predict_all(0, N);
    PROMISE("with one softening of all sources, it is theirs and not the sinks'", right(bodies, N));

    for (i = 0; i < N; i++) bodies[i].eps2 = three[i % 3];
    set_bodies(bodies, N);
    PROMISE("with three, each pair has that of its source", right(bodies, N));
    PROMISE("of the sources below nj", right(bodies, N / 2) && right(bodies, 2));
    memcpy(once, force, sizeof once);
    PROMISE("with the same bits each time", right(bodies, 2) && memcmp(once, force, sizeof once) == 0);
    PROMISE("without sources forces are 0",
            forces_on(sinks, 1, 0, OF_SOURCE) == 0 && force[0].phi == 0 && force[0].nnb_id == -1);

    for (i = 0; i < N; i++) {
        predicted[i] = moved(bodies + i, t);
        sinks[i] = predicted[i];
        sinks[i].eps2 = 1.0;
    }
    predict_all(t, N);
    PROMISE("sources are predicted", right(predicted, N));
    PROMISE("a force that is softened by the sinks is as it was",
            forces_on(sinks, N, N, OF_SINK) == 0 && forces_are(predicted, N, sinks, N, OF_SINK));
    for (i = 0; i < N; i += 7) {
        bodies[i].d[0][1] += 0.5;
        bodies[i].mass *= 2;
        set_body(i, bodies + i);
        predicted[i] = moved(bodies + i, t);
    }
    PROMISE("what is written between two forces acts in the second", right(predicted, N));
    for (i = 0; i < N; i += 5) {
        bodies[i].eps2 = three[(i + 1) % 3];
        set_body(i, bodies + i);
        predicted[i].eps2 = bodies[i].eps2;
    }
    PROMISE("so does another softening of a source", right(predicted, N));
    no_predict_all(t, N);
    for (i = 0; i < N; i++) {
        sinks[i] = bodies[i];
        sinks[i].eps2 = 1.0;
    }
    PROMISE("sources can be taken as they were written", right(bodies, N));

    for (i = 0; i < 16; i++) bodies[i].eps2 = 1.0 + i;
    for (i = 16; i < N; i++) bodies[i].eps2 = 1.0 + i % 16;
    set_bodies(bodies, N);
    PROMISE("there can be sixteen", right(bodies, N));
    return finish();
}
