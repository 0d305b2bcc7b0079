/* Every form of the GRAPE-6 calls does the same work: the C form, the Fortran form, and the one
   with two underscores. */
#include "g6_board.h"

int g6_open__(int *), g6_close__(int *), g6_npipes__(void), g6_set_ti__(int *, double *);
int g6_set_j_particle__(int *, int *, int *, double *, double *, double *, double *, double *, double *, double *,
                        double *);
int g6calc_firsthalf__(int *, int *, int *, int *, double (*)[3], double (*)[3], double (*)[3], double (*)[3], double *,
                       double *, double *);
int g6calc_lasthalf2__(int *, int *, int *, int *, double (*)[3], double (*)[3], double *, double *, double (*)[3],
                       double (*)[3], double *, int *);
int g6_read_neighbour_list__(int *), g6_get_neighbour_list__(int *, int *, int *, int *, int *);

static int cid = 3, address = 0, index_ = 7, own = 1, one = 1, two = 2, sink = 0;
static double tj = 0.0, ti = 1.0, mass = 2.0, x[3] = {1, 0, 0}, v[3] = {1, 0, 0}, eps2 = 0.0, h2 = 9.0;

struct answer {
    double acc[1][3], jerk[1][3], pot;
    int status, nn, length, list[2];
};

static void clear(struct answer *a)
{
    memset(a, 0, sizeof *a);
    a->status = a->nn = a->length = a->list[0] = -1;
}

int main(void)
{
    struct answer c, fortran, aliased, others;
    float distance = -1;
    clear(&c);
    clear(&fortran);
    clear(&aliased);

    g6_open(cid);
    g6_set_ti(cid, ti);
    g6_set_j_particle(cid, address, index_, tj, 0.0, mass, zero, zero, zero, v, x);
    g6calc_firsthalf(cid, one, one, &own, &zero, &zero, &zero, &zero, zero, eps2, &h2);
    c.status = g6calc_lasthalf2(cid, one, one, &own, &zero, &zero, eps2, &h2, c.acc, c.jerk, &c.pot, &c.nn);
    c.status += g6_read_neighbour_list(cid) + g6_get_neighbour_list(cid, sink, two, &c.length, c.list);
    g6_close(cid);
    PROMISE("the C form computes", c.status == 0 && c.acc[0][0] == 0.5 && c.nn == 7 && c.length == 1 && c.list[0] == 7);

    g6_open_(&cid);
    g6_set_ti_(&cid, &ti);
    g6_set_j_particle_(&cid, &address, &index_, &tj, NULL, &mass, NULL, zero, zero, v, x);
    g6calc_firsthalf_(&cid, &one, &one, &own, &zero, &zero, &zero, &zero, zero, &eps2, &h2);
    fortran.status = g6calc_lasthalf2_(&cid, &one, &one, &own, &zero, &zero, &eps2, &h2, fortran.acc, fortran.jerk,
                                       &fortran.pot, &fortran.nn);
    fortran.status += g6_read_neighbour_list_(&cid) + g6_read_neighbour_list_old_(&cid);
    fortran.status += g6_get_neighbour_list_(&cid, &sink, &two, &fortran.length, fortran.list);
    g6_close_(&cid);
    PROMISE("the Fortran form does the same", memcmp(&fortran, &c, sizeof c) == 0);

    g6_open__(&cid);
    g6_set_ti__(&cid, &ti);
    g6_set_j_particle__(&cid, &address, &index_, &tj, NULL, &mass, NULL, zero, zero, v, x);
    g6calc_firsthalf__(&cid, &one, &one, &own, &zero, &zero, &zero, &zero, zero, &eps2, &h2);
    aliased.status = g6calc_lasthalf2__(&cid, &one, &one, &own, &zero, &zero, &eps2, &h2, aliased.acc,
                                     aliased.jerk, &aliased.pot, &aliased.nn);
    aliased.status += g6_read_neighbour_list__(&cid);
    aliased.status += g6_get_neighbour_list__(&cid, &sink, &two, &aliased.length, aliased.list);
    PROMISE("the form with two underscores too",
            memcmp(&aliased, &c, sizeof c) == 0 && g6_npipes__() == g6_npipes());

    clear(&others);
    g6calc_firsthalf(cid, one, one, &own, &zero, &zero, &zero, &zero, zero, eps2, &h2);
    g6calc_lasthalfn(cid, one, one, &own, &zero, &zero, eps2, &h2, others.acc, others.jerk, &others.pot);
    PROMISE("lasthalfn is lasthalf", memcmp(others.jerk, c.jerk, sizeof c.jerk) == 0 && others.nn == -1);
    g6calc_firsthalf(cid, one, one, &own, &zero, &zero, &zero, &zero, zero, eps2, &h2);
    g6calc_lasthalf2n(cid, one, one, &own, &zero, &zero, eps2, &h2, others.acc, others.jerk, &others.pot, &others.nn);
    PROMISE("lasthalf2n is lasthalf2", others.pot == c.pot && others.nn == 7);
    g6calc_firsthalf(cid, one, one, &own, &zero, &zero, &zero, &zero, zero, 5.0, &h2);
    g6calc_lasthalf2p(cid, one, one, &own, &zero, &zero, 5.0, &h2, others.acc, others.jerk, &others.pot, &others.nn,
                      &distance);
    PROMISE("lasthalf2p also gives sqrt(r^2 + eps2), as float", distance == 3.0f);
    g6calc_firsthalf(cid, 0, one, &own, &zero, &zero, &zero, &zero, zero, 5.0, &h2);
    g6calc_lasthalf2np(cid, 0, one, &own, &zero, &zero, 5.0, &h2, others.acc, others.jerk, &others.pot, &others.nn,
                      &distance);
    PROMISE("which is infinite where there is no source", others.nn == 0 && isinf(distance));

    g6_set_j_particle_mxonly(cid, address, index_, mass, v);
    g6calc_firsthalf(cid, one, one, &own, &zero, &zero, &zero, &zero, zero, eps2, &h2);
    g6calc_lasthalf(cid, one, one, &own, &zero, &zero, eps2, &h2, others.acc, others.jerk, &others.pot);
    PROMISE("a source of mass and position rests there", others.acc[0][0] == 2.0 && others.jerk[0][0] == 0.0);
    g6_close(cid);
    return finish();
}
