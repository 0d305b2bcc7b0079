/* A CUDA driver that shows devices and can do nothing with them. It is opened by its name in
 * place of the real one. FAKE_CUDA_VERSION and FAKE_CUDA_DEVICES set its version and its number
 * of devices, and CUDA_VISIBLE_DEVICES, as numbers, the devices that it shows. With
 * WITHOUT_LAUNCH it lacks a function. */
#include <stdio.h>
#include <stdlib.h>

static int setting(const char *name, int otherwise)
{
    const char *value = getenv(name);
    return value ? atoi(value) : otherwise;
}

int cuDriverGetVersion(int *version)
{
    *version = setting("FAKE_CUDA_VERSION", 12040);
    return 0;
}

int cuInit(unsigned flags)
{
    (void)flags;
    return setting("FAKE_CUDA_INIT", 0);
}

int cuGetErrorName(int code, const char **text)
{
    *text = code == 999 ? "CUDA_ERROR_UNKNOWN" : NULL;
    return *text ? 0 : 1;
}

int cuGetErrorString(int code, const char **text)
{
    *text = code == 999 ? "unknown error" : NULL;
    return *text ? 0 : 1;
}

/* Returns the device that is shown at a place, or -1 beyond the last. As in the real driver, a
   number that is no device ends the list. */
static int shown(int place)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    int devices = setting("FAKE_CUDA_DEVICES", 2), k;
    for (k = 0; list; k++) {
        char *end;
        long device = strtol(list, &end, 10);
        if (end == list || device < 0 || device >= devices) return -1;
        if (k == place) return (int)device;
        list = *end == ',' ? end + 1 : "";
    }
    return place < devices ? place : -1;
}

int cuDeviceGetCount(int *count)
{
    for (*count = 0; shown(*count) >= 0; ++*count) {}
    return 0;
}

int cuDeviceGet(int *device, int number)
{
    *device = shown(number);
    return *device < 0 ? 101 : 0; /* no such device */
}

int cuDeviceGetName(char *name, int room, int device)
{
    snprintf(name, (size_t)room, "Fake %c", 'A' + device);
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    switch (attribute) {
    case 75: *value = 9 - device % 2; break; /* compute capability */
    case 76: *value = 0; break;
    case 16: *value = 132; break; /* multiprocessors */
    default: *value = 1000000;
    }
    return 0;
}

int cuDeviceGetPCIBusId(char *bus, int room, int device)
{
    snprintf(bus, (size_t)room, "0000:%02d:00.0", device);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)80 << 30;
    return 0;
}

/* The other functions must exist, and a program that only lists devices must not call them. */
#define NEVER(name) \
    int name(void) \
    { \
        fprintf(stderr, #name " was called\n"); \
        abort(); \
    }

NEVER(cuDevicePrimaryCtxRetain)
NEVER(cuDevicePrimaryCtxRelease_v2)
NEVER(cuCtxGetCurrent)
NEVER(cuCtxSetCurrent)
NEVER(cuCtxEnablePeerAccess)
NEVER(cuDeviceCanAccessPeer)
NEVER(cuCtxSynchronize)
NEVER(cuMemGetInfo_v2)
NEVER(cuMemAlloc_v2)
NEVER(cuMemFree_v2)
NEVER(cuMemPoolCreate)
NEVER(cuMemPoolDestroy)
NEVER(cuMemPoolSetAttribute)
NEVER(cuMemPoolSetAccess)
NEVER(cuMemAllocFromPoolAsync)
NEVER(cuMemHostAlloc)
NEVER(cuMemFreeHost)
NEVER(cuMemHostRegister_v2)
NEVER(cuMemHostUnregister)
NEVER(cuMemHostGetDevicePointer_v2)
NEVER(cuPointerGetAttribute)
NEVER(cuMemcpyHtoDAsync_v2)
NEVER(cuMemcpyDtoHAsync_v2)
NEVER(cuMemcpyDtoDAsync_v2)
NEVER(cuMemcpyPeerAsync)
NEVER(cuMemsetD8Async)
NEVER(cuStreamCreateWithPriority)
NEVER(cuStreamDestroy_v2)
NEVER(cuStreamSynchronize)
NEVER(cuStreamQuery)
NEVER(cuStreamWaitEvent)
NEVER(cuEventCreate)
NEVER(cuEventDestroy_v2)
NEVER(cuEventRecord)
NEVER(cuEventQuery)
NEVER(cuEventSynchronize)
NEVER(cuEventElapsedTime)
NEVER(cuModuleLoadDataEx)
NEVER(cuModuleUnload)
NEVER(cuModuleGetFunction)
NEVER(cuFuncGetAttribute)
NEVER(cuFuncSetAttribute)
NEVER(cuOccupancyMaxActiveBlocksPerMultiprocessor)
NEVER(cuLaunchKernel)
NEVER(cuLaunchCooperativeKernel)
#ifndef WITHOUT_LAUNCH
NEVER(cuLaunchKernelEx)
#endif
