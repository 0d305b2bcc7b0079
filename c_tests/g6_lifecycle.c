/* Opening and closing the GRAPE-6 interface. The runner gives the expected g6_npipes() as the
 * argument. */
#include <dirent.h>
#include <unistd.h>

#include "g6_board.h"

static int entries(const char *folder)
{
    DIR *directory = opendir(folder);
    int count = 0;
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

static long resident_pages(void)
{
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    fclose(file);
    return resident;
}

static double force_at_distance(double r)
{
    double x[3] = {0, 0, 0};
    x[0] = r;
    set_body(0, 1, 1.0, x, zero);
    return force_on(1, 2, zero, zero, 0.0).acc[0];
}

int main(int argc, char **argv)
{
    int expected = argc > 1 ? atoi(argv[1]) : 16384, k, files = 0, threads = 0, unit = 48, list[2] = {0, 1}, modes = 0;
    long pages = 0;
    FILE *file;
    threads = entries("/proc/self/task");
    PROMISE("g6_npipes is known before g6_open", g6_npipes() == expected && g6_npipes_() == expected);
    PROMISE("closing what was never opened returns 0", g6_close(0) == 0);
    PROMISE("without g6_open, the first call that needs the board opens it", force_at_distance(2.0) == 0.25);
    g6_close(0);
    PROMISE("g6_open may be called with any number", g6_open(-1) == 0 && g6_open(32574) == 0);
    PROMISE("g6_open_ may be called with null", g6_open_(NULL) == 0);
    force_at_distance(2.0);
    PROMISE("opening again keeps the sources", g6_open(0) == 0 && force_on(1, 2, zero, zero, 0.0).acc[0] == 0.25);
    PROMISE("it may be closed twice", g6_close(0) == 0 && g6_close(77) == 0);
    PROMISE("g6_npipes is known after g6_close", g6_npipes() == expected && g6_npipes_() == expected);
    PROMISE("closing forgets the sources", force_on(1, 2, zero, zero, 0.0).pot == 0.0);

    PROMISE("units may be whole numbers", g6_set_tunit(48) == 0 && g6_set_xunit(48) == 0);
    PROMISE("or floating-point ones", g6_set_tunit(48.0) == 0 && g6_set_xunit(48.0) == 0);
    PROMISE("or pointers to 4-byte integers", g6_set_tunit_(&unit) == 0 && g6_set_xunit_(&unit) == 0);
    PROMISE("there is a device", get_device_count() >= 1);
    force_at_distance(2.0);
    modes += g6_reset(0) + g6_reset_fofpga(0) + g6_reinitialize(0);
    modes += g6_initialize_jp_buffer(0, 100) + g6_flush_jp_buffer(0);
    modes += g6_set_neighbour_list_sort_mode(1) + g6_set_overflow_flag_test_mode(1, 1, 1);
    PROMISE("calls that hardware needs return 0", modes == 0);
    PROMISE("and keep the sources", force_on(1, 2, zero, zero, 0.0).acc[0] == 0.25);
    PROMISE("lists are always sorted", g6_get_neighbour_list_sort_mode() == 1);
    g6_close(0);
    PROMISE("g6_open_special opens the board", g6_open_special(2, list) == 0 && force_at_distance(2.0) == 0.25);
    PROMISE("and again, while it is open", g6_open_special(2, list) == 0 && g6_open_special2(2, list, 1024) == 0);
    PROMISE("a count of devices needs no list", g6_open_special(-1, NULL) == 0);
    g6_close(0);

    file = fopen("sapporo2.config", "w");
    fputs("1\n0\n", file);
    fclose(file);
    for (k = 0; k < 2000; k++) {
        if (g6_open(0) != 0 || force_at_distance(4.0) != 0.0625 || g6_close(0) != 0) break;
        if (k == 200) {
            files = entries("/proc/self/fd");
            pages = resident_pages();
        }
    }
    remove("sapporo2.config");
    PROMISE("it can be opened and closed 2000 times", k == 2000);
    PROMISE("that leaves no file open", entries("/proc/self/fd") == files);
    PROMISE("and no memory behind (2 MiB at most)", (resident_pages() - pages) * sysconf(_SC_PAGESIZE) < 2 << 20);
    /* Threads that have to end may take a moment. */
    for (k = 0; k < 1000 && entries("/proc/self/task") > threads; k++) usleep(10000);
    PROMISE("and no threads", entries("/proc/self/task") <= threads);
    return finish();
}
