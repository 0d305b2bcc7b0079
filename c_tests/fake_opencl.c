/* An OpenCL loader that shows devices and can do nothing with them. It is opened by its name in
 * place of the real one. FAKE_OPENCL lists what it shows: platforms between `;`, devices of a
 * platform between `,`, each `gpu`, `cpu`, `card` or `odd`, followed by its defect after a `-`:
 * `double`, `off`, `compiler`, `big`, `32` or `old`. The devices of a platform `!` cannot be
 * asked for, and a platform `-` has none. FAKE_OPENCL_CODE is the result of the question for
 * platforms. With WITHOUT_FILL_BUFFER it lacks a function. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INVALID_VALUE -30
#define DEVICE_NOT_FOUND -1

/* Returns the text between two separators, counted from 0. It is empty beyond the last. */
static const char *part(const char *text, char separator, int number, char *room)
{
    size_t length;
    for (; number > 0; number--) {
        text = strchr(text, separator);
        if (!text) return strcpy(room, "");
        text++;
    }
    for (length = 0; text[length] && text[length] != separator && length < 255; length++) room[length] = text[length];
    room[length] = 0;
    return room;
}

static int count(const char *text, char separator)
{
    int parts = *text != 0;
    for (; *text; text++) parts += *text == separator;
    return parts;
}

static const char *platform_text(int platform, char *room)
{
    const char *all = getenv("FAKE_OPENCL");
    return part(all ? all : "", ';', platform, room);
}

int clGetPlatformIDs(unsigned room, void **platforms, unsigned *found)
{
    const char *code = getenv("FAKE_OPENCL_CODE"), *all = getenv("FAKE_OPENCL");
    unsigned k, platforms_shown = (unsigned)count(all ? all : "", ';');
    if (code) return atoi(code);
    if (found) *found = platforms_shown;
    for (k = 0; platforms && k < room && k < platforms_shown; k++) platforms[k] = (void *)(uintptr_t)(k + 1);
    return 0;
}

static int tell(const void *value, size_t bytes, size_t room, void *to, size_t *told)
{
    if (told) *told = bytes;
    if (to && room < bytes) return INVALID_VALUE;
    if (to) memcpy(to, value, bytes);
    return 0;
}

static int tell_text(const char *text, size_t room, void *to, size_t *told)
{
    return tell(text, strlen(text) + 1, room, to, told);
}

int clGetPlatformInfo(void *platform, unsigned what, size_t room, void *to, size_t *told)
{
    char text[64];
    snprintf(text, sizeof text, what == 0x0901 ? "OpenCL 3.0 Fake" : "Platform %c", (char)('@' + (uintptr_t)platform));
    return tell_text(text, room, to, told);
}

int clGetDeviceIDs(void *platform, uint64_t type, unsigned room, void **devices, unsigned *found)
{
    char text[256];
    unsigned k, shown;
    (void)type;
    platform_text((int)(uintptr_t)platform - 1, text);
    if (!strcmp(text, "!")) return -9999; /* a code that no header has */
    if (!strcmp(text, "-")) return DEVICE_NOT_FOUND;
    shown = (unsigned)count(text, ',');
    if (found) *found = shown;
    for (k = 0; devices && k < room && k < shown; k++) devices[k] = (void *)((uintptr_t)platform * 256 + k);
    return 0;
}

int clGetDeviceInfo(void *device, unsigned what, size_t room, void *to, size_t *told)
{
    char platform[256], text[256];
    uintptr_t handle = (uintptr_t)device;
    unsigned number = 0;
    uint64_t large = 0;
    size_t size = 1024;
    part(platform_text((int)(handle / 256) - 1, platform), ',', (int)(handle % 256), text);
#define HAS(fault) (strstr(text, "-" fault) != NULL)
    switch (what) {
    case 0x102B: /* name */
        snprintf(platform, sizeof platform, "Fake %c%d", (char)('@' + handle / 256), (int)(handle % 256));
        return tell_text(platform, room, to, told);
    case 0x102C: return tell_text("Fake Inc.", room, to, told);
    case 0x102D: return tell_text("1.2.3", room, to, told); /* driver */
    case 0x102F: return tell_text(HAS("old") ? "OpenCL 1.1 Fake" : "OpenCL 3.0 Fake", room, to, told);
    case 0x1030: return tell_text(HAS("double") ? "cl_khr_icd" : "cl_khr_icd cl_khr_fp64", room, to, told);
    case 0x1000: /* type */
        large = text[0] == 'g' ? 4 : !strncmp(text, "cpu", 3) ? 2 : text[0] == 'c' ? 8 : 16;
        return tell(&large, 8, room, to, told);
    case 0x1032: /* 64-bit floating point */
        if (HAS("double")) return INVALID_VALUE;
        large = 63;
        return tell(&large, 8, room, to, told);
    case 0x101F: case 0x1010: case 0x1023: /* memory: in all, of an allocation, local */
        large = (uint64_t)(what == 0x101F ? 80 : 1) << 30;
        if (what == 0x1023 && HAS("local")) large = 32 << 10;
        return tell(&large, 8, room, to, told);
    case 0x1004: /* threads of a thread block */
        if (HAS("threads")) size = 128;
        return tell(&size, sizeof size, room, to, told);
    case 0x1002: number = 132; break; /* compute units */
    case 0x100C: number = 1000; break; /* clock */
    case 0x100D: number = HAS("32") ? 32 : 64; break; /* bits of an address */
    case 0x1026: number = !HAS("big"); break;
    case 0x1027: number = !HAS("off"); break;
    case 0x1028: number = !HAS("compiler"); break;
    case 0x103A: number = 16; break; /* numbers of a vector, 32 bits */
    case 0x103B: number = 8; break; /* 64 bits */
    default: return INVALID_VALUE;
    }
    return tell(&number, 4, room, to, told);
}

/* The other functions must exist, and a program that only lists devices must not call them. */
#define NEVER(name) \
    int name(void) \
    { \
        fprintf(stderr, #name " was called\n"); \
        abort(); \
    }

NEVER(clCreateContext)
NEVER(clReleaseContext)
NEVER(clCreateCommandQueue)
NEVER(clReleaseCommandQueue)
NEVER(clFlush)
NEVER(clFinish)
NEVER(clCreateBuffer)
NEVER(clReleaseMemObject)
NEVER(clEnqueueWriteBuffer)
NEVER(clEnqueueReadBuffer)
NEVER(clEnqueueCopyBuffer)
#ifndef WITHOUT_FILL_BUFFER
NEVER(clEnqueueFillBuffer)
#endif
NEVER(clEnqueueMapBuffer)
NEVER(clEnqueueUnmapMemObject)
NEVER(clEnqueueNDRangeKernel)
NEVER(clEnqueueMarkerWithWaitList)
NEVER(clEnqueueBarrierWithWaitList)
NEVER(clWaitForEvents)
NEVER(clGetEventInfo)
NEVER(clGetEventProfilingInfo)
NEVER(clReleaseEvent)
NEVER(clCreateProgramWithSource)
NEVER(clCreateProgramWithBinary)
NEVER(clBuildProgram)
NEVER(clGetProgramInfo)
NEVER(clGetProgramBuildInfo)
NEVER(clReleaseProgram)
NEVER(clCreateKernel)
NEVER(clReleaseKernel)
NEVER(clSetKernelArg)
