/* A client that defines every C form itself by the Fortran forms, as ph4 does. Its definitions
 * come before the library's, so the library must never call its own C forms by name. */
#include "old_check.h"

int g6_open_(int *), g6_close_(int *), g6_npipes_(void), g6_set_tunit_(double *), g6_set_xunit_(double *);
int g6_set_ti_(int *, double *), g6_reset_(int *), g6_reset_fofpga_(int *), g6_read_neighbour_list_(int *);
int g6_set_j_particle_(int *, int *, int *, double *, double *, double *, double *, double *, double *, double *,
                       double *);
void g6calc_firsthalf_(int *, int *, int *, int *, double (*)[3], double (*)[3], double (*)[3], double (*)[3], double *,
                       double *, double *);
int g6calc_lasthalf_(int *, int *, int *, int *, double (*)[3], double (*)[3], double *, double *, double (*)[3],
                     double (*)[3], double *);
int g6calc_lasthalf2_(int *, int *, int *, int *, double (*)[3], double (*)[3], double *, double *, double (*)[3],
                      double (*)[3], double *, int *);
int g6_get_neighbour_list_(int *, int *, int *, int *, int *), g6_initialize_jp_buffer_(int *, int *);
int g6_flush_jp_buffer_(int *), g6_set_overflow_flag_test_mode_(int *, int *, int *);

static int depth = 0;

/* Calls a Fortran form. If that form called this C form, the call would come back here. */
#define CALL(call) \
    do { int result; if (++depth > 1) { PROMISE("the library does not call a C form", 0); depth--; return 0; } \
         result = (call); depth--; return result; } while (0)

int g6_open(int cid) { CALL(g6_open_(&cid)); }
int g6_close(int cid) { CALL(g6_close_(&cid)); }
int g6_npipes(void) { CALL(g6_npipes_()); }
int g6_set_tunit(double unit) { CALL(g6_set_tunit_(&unit)); }
int g6_set_xunit(double unit) { CALL(g6_set_xunit_(&unit)); }
int g6_set_ti(int cid, double ti) { CALL(g6_set_ti_(&cid, &ti)); }
int g6_reset(int cid) { CALL(g6_reset_(&cid)); }
int g6_reset_fofpga(int cid) { CALL(g6_reset_fofpga_(&cid)); }
int g6_read_neighbour_list(int cid) { CALL(g6_read_neighbour_list_(&cid)); }
int g6_initialize_jp_buffer(int cid, int size) { CALL(g6_initialize_jp_buffer_(&cid, &size)); }
int g6_flush_jp_buffer(int cid) { CALL(g6_flush_jp_buffer_(&cid)); }
void g6_set_neighbour_list_sort_mode(int mode) { PROMISE("the library does not call a C form", mode != mode); }
int g6_set_overflow_flag_test_mode(int a, int j, int p) { CALL(g6_set_overflow_flag_test_mode_(&a, &j, &p)); }

int g6_set_j_particle(int cid, int address, int index, double tj, double dtj, double mass, double *k18, double *j6,
                      double *a2, double *v, double *x)
{
    CALL(g6_set_j_particle_(&cid, &address, &index, &tj, &dtj, &mass, k18, j6, a2, v, x));
}

void g6calc_firsthalf(int cid, int nj, int ni, int *index, double (*x)[3], double (*v)[3], double (*a)[3],
                      double (*j)[3], double *p, double eps2, double *h2)
{
    if (++depth > 1) PROMISE("the library does not call a C form", 0);
    else g6calc_firsthalf_(&cid, &nj, &ni, index, x, v, a, j, p, &eps2, h2);
    depth--;
}

int g6calc_lasthalf(int cid, int nj, int ni, int *index, double (*x)[3], double (*v)[3], double eps2, double *h2,
                    double (*a)[3], double (*j)[3], double *p)
{
    CALL(g6calc_lasthalf_(&cid, &nj, &ni, index, x, v, &eps2, h2, a, j, p));
}

int g6calc_lasthalf2(int cid, int nj, int ni, int *index, double (*x)[3], double (*v)[3], double eps2, double *h2,
                     double (*a)[3], double (*j)[3], double *p, int *nn)
{
    CALL(g6calc_lasthalf2_(&cid, &nj, &ni, index, x, v, &eps2, h2, a, j, p, nn));
}

int g6_get_neighbour_list(int cid, int sink, int most, int *length, int *list)
{
    CALL(g6_get_neighbour_list_(&cid, &sink, &most, length, list));
}

int main(void)
{
    double zero[3] = {0, 0, 0}, x[3] = {2, 0, 0}, acc[1][3], jerk[1][3], pot, h2 = 5;
    int index = 1, nn = 0, length = 0, list[2];
    PROMISE("open", g6_open(0) == 0 && g6_npipes() > 0 && g6_set_tunit(45) == 0 && g6_set_xunit(45) == 0);
    g6_initialize_jp_buffer(0, 10);
    g6_set_j_particle(0, 0, 7, 0.0, 0.0, 1.0, zero, zero, zero, zero, x);
    g6_flush_jp_buffer(0);
    g6_set_ti(0, 0.5);
    g6_set_overflow_flag_test_mode(1, 1, 1);
    g6calc_firsthalf(0, 1, 1, &index, &zero, &zero, acc, jerk, &pot, 0.0, &h2);
    PROMISE("a force",
            g6calc_lasthalf(0, 1, 1, &index, &zero, &zero, 0.0, &h2, acc, jerk, &pot) == 0 && acc[0][0] == 0.25);
    g6calc_firsthalf(0, 1, 1, &index, &zero, &zero, acc, jerk, &pot, 0.0, &h2);
    PROMISE("the nearest",
            g6calc_lasthalf2(0, 1, 1, &index, &zero, &zero, 0.0, &h2, acc, jerk, &pot, &nn) == 0 && nn == 7);
    PROMISE("the list",
            g6_read_neighbour_list(0) == 0 && g6_get_neighbour_list(0, 0, 2, &length, list) == 0 && length == 1);
    PROMISE("reset and close", g6_reset(0) == 0 && g6_reset_fofpga(0) == 0 && g6_close(0) == 0);
    return finish();
}
