/* Common functions of the programs for machines with a GPU. They load the library from a path, so
 * that they run on machines that have nothing but a C compiler:
 *
 *     gcc -std=c99 -O2 -I include -o gpu_failure c_tests/gpu_failure.c -ldl -lm
 *     ./gpu_failure path/to/libkyoho.so
 */
#ifndef GPU_LIBRARY_H
#define GPU_LIBRARY_H

#include <kyoho.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FUNCTIONS(EACH)                                                                                     \
    EACH(kyoho_result_text)                                                                                 \
    EACH(kyoho_backend_available)                                                                           \
    EACH(kyoho_system_create)                                                                               \
    EACH(kyoho_system_move)                                                                                 \
    EACH(kyoho_system_free)                                                                                 \
    EACH(kyoho_last_error)                                                                                  \
    EACH(kyoho_system_last_error)                                                                           \
    EACH(kyoho_system_describe)                                                                             \
    EACH(kyoho_system_statistics)                                                                           \
    EACH(kyoho_system_set_sources)                                                                          \
    EACH(kyoho_system_set_time)                                                                             \
    EACH(kyoho_system_set_crossover)                                                                        \
    EACH(kyoho_system_predict)                                                                              \
    EACH(kyoho_system_force)                                                                                \
    EACH(kyoho_system_force_lists)                                                                          \
    EACH(kyoho_system_force_batch)                                                                          \
    EACH(kyoho_system_start)                                                                                \
    EACH(kyoho_system_wait)                                                                                 \
    EACH(kyoho_system_neighbours)                                                                           \
    EACH(kyoho_pair_compile)                                                                                \
    EACH(kyoho_pair_gravity)                                                                                \
    EACH(kyoho_pair_set)                                                                                    \
    EACH(kyoho_pair_set_on_device)                                                                          \
    EACH(kyoho_pair_set_parameter)                                                                          \
    EACH(kyoho_pair_run)                                                                                    \
    EACH(kyoho_pair_start)                                                                                  \
    EACH(kyoho_pair_wait)                                                                                   \
    EACH(kyoho_pair_result)                                                                                 \
    EACH(kyoho_pair_result_on_device)                                                                       \
    EACH(kyoho_pair_last_error)                                                                             \
    EACH(kyoho_pair_free)

#define MEMBER(name) __typeof__(&name) name;
static struct {
    FUNCTIONS(MEMBER)
} library;

static void find(void *in, const char *name, void *function) {
    *(void **)function = dlsym(in, name);
    if (!*(void **)function) {
        fprintf(stderr, "the library has no %s\n", name);
        exit(2);
    }
}

/* Loads the library that the first argument names. Ends the program if there is none. */
static void load_library(int count, char **arguments) {
    void *loaded = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!loaded) {
        fprintf(stderr, "usage: %s path/to/libkyoho.so\n%s\n", arguments[0], count > 1 ? dlerror() : "");
        exit(2);
    }
#define FIND(name) find(loaded, #name, &library.name);
    FUNCTIONS(FIND)
}

/* From here on calls go to the library that was loaded. */
#define kyoho_result_text library.kyoho_result_text
#define kyoho_backend_available library.kyoho_backend_available
#define kyoho_system_create library.kyoho_system_create
#define kyoho_system_move library.kyoho_system_move
#define kyoho_system_free library.kyoho_system_free
#define kyoho_last_error library.kyoho_last_error
#define kyoho_system_last_error library.kyoho_system_last_error
#define kyoho_system_describe library.kyoho_system_describe
#define kyoho_system_statistics library.kyoho_system_statistics
#define kyoho_system_set_sources library.kyoho_system_set_sources
#define kyoho_system_set_time library.kyoho_system_set_time
#define kyoho_system_set_crossover library.kyoho_system_set_crossover
#define kyoho_system_predict library.kyoho_system_predict
#define kyoho_system_force library.kyoho_system_force
#define kyoho_system_force_lists library.kyoho_system_force_lists
#define kyoho_system_force_batch library.kyoho_system_force_batch
#define kyoho_system_start library.kyoho_system_start
#define kyoho_system_wait library.kyoho_system_wait
#define kyoho_system_neighbours library.kyoho_system_neighbours
#define kyoho_pair_compile library.kyoho_pair_compile
#define kyoho_pair_gravity library.kyoho_pair_gravity
#define kyoho_pair_set library.kyoho_pair_set
#define kyoho_pair_set_on_device library.kyoho_pair_set_on_device
#define kyoho_pair_set_parameter library.kyoho_pair_set_parameter
#define kyoho_pair_run library.kyoho_pair_run
#define kyoho_pair_start library.kyoho_pair_start
#define kyoho_pair_wait library.kyoho_pair_wait
#define kyoho_pair_result library.kyoho_pair_result
#define kyoho_pair_result_on_device library.kyoho_pair_result_on_device
#define kyoho_pair_last_error library.kyoho_pair_last_error
#define kyoho_pair_free library.kyoho_pair_free

#include "native_check.h"

/* The exit code of a program if there is no GPU. */
enum { NO_GPU = 77 };

/* Removes the variables that would choose the devices. */
static inline void forget_environment(void) {
    static const char *const names[] = {"KYOHO_BACKEND", "KYOHO_DEVICES", "KYOHO_PRECISION", "KYOHO_CROSSOVER", "GPU_LIST",
                                        "KYOHO_LOG", "KYOHO_LOG_FILE"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) unsetenv(names[k]);
}

#endif
