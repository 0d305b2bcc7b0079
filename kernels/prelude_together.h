// What kernels need whose thread blocks are on the device at once and wait for one another, for CUDA.
// RELEASE_ADD adds to a number in memory, after all that this thread has seen written; ACQUIRE reads
// it, before what this thread reads then.
#if __CUDA_ARCH__ >= 700
#define RELEASE_ADD(pointer, value) \
    asm volatile("red.release.gpu.global.add.u64 [%0], %1;" ::"l"(pointer), "l"((ulong)(value)) : "memory")
#define ACQUIRE(number, pointer) asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(number) : "l"(pointer) : "memory")
#else
#define RELEASE_ADD(pointer, value) (FENCE, ATOMIC_ADD(pointer, (ulong)(value)))
#define ACQUIRE(number, pointer) ((number) = *(volatile ulong *)(pointer), FENCE)
#endif
