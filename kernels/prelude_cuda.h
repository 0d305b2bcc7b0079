// The differences between CUDA and OpenCL, for CUDA.
typedef unsigned int uint;
typedef unsigned long long ulong;
// The thread blocks that a multiprocessor holds at most.
#define MOST_RESIDENT (__CUDA_ARCH__ == 860 ? 16 : __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200 ? 24 : 32)
#define KERNEL(threads, resident) \
    extern "C" __global__ void __launch_bounds__(threads, (resident) < MOST_RESIDENT ? (resident) : MOST_RESIDENT)
#define FUNCTION static __device__ __forceinline__
#define GLOBAL
#define LOCAL __shared__
#define LOCAL_POINTER
#define UNROLL _Pragma("unroll")
#define UNROLL_BY(count) _Pragma(STRING(unroll count))
#define STRING(text) #text
#define THREAD ((int)threadIdx.x)
#define BLOCK ((int)blockIdx.x)
#define BLOCKS ((int)gridDim.x)
// All threads of a block, with what they wrote to local and global memory.
#define SYNC __syncthreads()
// Earlier writes are seen before later ones, by the device or by the host too.
#define FENCE __threadfence()
#define FENCE_HOST __threadfence_system()
// Whether a condition holds for some thread that runs in step with this one.
#define ANY(condition) __any_sync(0xffffffffu, condition)
// 32 threads run in step: those for which a condition holds, as bits, a number of one of them, and
// the wait for all of them.
#define IN_STEP 1
#define VOTES(votes, condition) ((votes) = __ballot_sync(0xffffffffu, condition))
#define SHUFFLE(to, value, lane) ((to) = __shfl_sync(0xffffffffu, value, lane))
#define SYNC_32 __syncwarp()
// Threads that a block may have.
#define MOST_THREADS 1024
// Whether blocks that end see what others wrote before, by FENCE.
#define CAN_END 1
// Whether a kernel sees what the host writes while it runs, and a clock.
#define CAN_WAIT 1
#define READ_NANOSECONDS(now) asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now))
#define ATOMIC_ADD(pointer, value) atomicAdd(pointer, value)
#define ATOMIC_MIN(pointer, value) atomicMin(pointer, value)
#define ATOMIC_MAX(pointer, value) atomicMax(pointer, value)
#define FLOAT4(x, y, z, w) make_float4(x, y, z, w)
#define DOUBLE2(x, y) make_double2(x, y)
#define INFINITY_32 __int_as_float(0x7f800000)
#define BITS_OF_DOUBLE(value) ((ulong)__double_as_longlong(value))
#define COUNT_BITS(value) __popc(value)
#define LEADING_ZEROS_64(value) __clzll((long long)(value))
// To about 2^-22 and 2^-20; infinite at zero and below the normal numbers.
#define INVERSE_SQRT_32(value) rsqrtf(value)
#define INVERSE_SQRT_SEED_64(root, value) asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(root) : "d"(value))
// A kernel that was started while the one before still ran waits here for what that one wrote.
#if __CUDA_ARCH__ >= 900
#define AFTER_EARLIER_KERNELS asm volatile("griddepcontrol.wait;" ::: "memory")
#define LET_NEXT_KERNEL_START asm volatile("griddepcontrol.launch_dependents;")
#else
#define AFTER_EARLIER_KERNELS
#define LET_NEXT_KERNEL_START
#endif
