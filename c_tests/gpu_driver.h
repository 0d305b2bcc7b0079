/* The CUDA driver for programs that have arrays in its memory; they open it themselves. */
#ifndef GPU_DRIVER_H
#define GPU_DRIVER_H

#include "gpu_library.h"

#define DRIVER(EACH)                                                                                        \
    EACH(cuInit, (unsigned))                                                                                \
    EACH(cuDevicePrimaryCtxRetain, (void **, int))                                                          \
    EACH(cuCtxSetCurrent, (void *))                                                                         \
    EACH(cuMemAlloc_v2, (uint64_t *, size_t))                                                               \
    EACH(cuMemAllocManaged, (uint64_t *, size_t, unsigned))                                                 \
    EACH(cuMemFree_v2, (uint64_t))                                                                          \
    EACH(cuMemHostAlloc, (void **, size_t, unsigned))                                                       \
    EACH(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t))                                                 \
    EACH(cuMemcpyDtoH_v2, (void *, uint64_t, size_t))                                                       \
    EACH(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *))                                    \
    EACH(cuMemsetD8_v2, (uint64_t, unsigned char, size_t))                                                  \
    EACH(cuStreamCreate, (void **, unsigned))                                                               \
    EACH(cuStreamSynchronize, (void *))                                                                     \
    EACH(cuCtxSynchronize, (void))

#define OF_DRIVER(name, arguments) int(*name) arguments;
static struct {
    DRIVER(OF_DRIVER)
} driver;

#define DRIVES(call) CHECK((call) == 0)

/* Opens the driver and device 0. Ends the program if there is none. */
static void open_driver(void) {
    void *loaded = dlopen("libcuda.so.1", RTLD_NOW);
    void *context = NULL;
    if (!loaded) {
        printf("no GPU: %s\n", dlerror());
        exit(NO_GPU);
    }
#define FIND_IN_DRIVER(name, arguments) find(loaded, #name, &driver.name);
    DRIVER(FIND_IN_DRIVER)
    if (driver.cuInit(0) != 0 || driver.cuDevicePrimaryCtxRetain(&context, 0) != 0) {
        printf("no GPU: the driver finds none\n");
        exit(NO_GPU);
    }
    DRIVES(driver.cuCtxSetCurrent(context));
}

static uint64_t allocate(size_t bytes) {
    uint64_t address = 0;
    DRIVES(driver.cuMemAlloc_v2(&address, bytes));
    return address;
}

static uint64_t on_device(const void *from, size_t bytes) {
    uint64_t address = allocate(bytes);
    DRIVES(driver.cuMemcpyHtoD_v2(address, from, bytes));
    return address;
}

#endif
