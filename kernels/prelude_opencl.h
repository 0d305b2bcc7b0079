// The differences between CUDA and OpenCL, for OpenCL C from 1.2 on.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#define KERNEL(threads, resident) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void
#define FUNCTION static inline __attribute__((always_inline))
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_POINTER __local
#define UNROLL _Pragma("unroll")
#define UNROLL_BY(count) _Pragma(STRING(unroll count))
#define STRING(text) #text
#define THREAD ((int)get_local_id(0))
#define BLOCK ((int)get_group_id(0))
#define BLOCKS ((int)get_num_groups(0))
// All threads of a block, with what they wrote to local and global memory.
#define SYNC barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
// A vote would need to know which threads run in step.
#define ANY(condition) (condition)
#define COUNT_BITS(value) ((int)popcount(value))
#define LEADING_ZEROS_64(value) ((int)clz((ulong)(value)))
// Threads that a block may have on every GPU.
#define MOST_THREADS 256
#define ATOMIC_ADD(pointer, value) atomic_add(pointer, value)
#define ATOMIC_MIN(pointer, value) atomic_min(pointer, value)
#define ATOMIC_MAX(pointer, value) atomic_max(pointer, value)
#define FLOAT4(x, y, z, w) ((float4)((x), (y), (z), (w)))
#define DOUBLE2(x, y) ((double2)((x), (y)))
#define INFINITY_32 INFINITY
#define BITS_OF_DOUBLE(value) as_ulong(value)
// Earlier writes are seen before later ones, by the device or by the host too: OpenCL C 1.2
// promises neither, NVIDIA's compiler takes what CUDA says. Roots are at least as good as CUDA's.
#ifdef NVIDIA
#define CAN_END 1
#define IN_STEP 1
#define VOTES(votes, condition) \
    asm volatile("{.reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "=r"(votes) : "r"((int)(condition)))
#define SHUFFLE(to, value, lane) asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(to) : "r"(value), "r"(lane))
#define SYNC_32 asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#define FENCE asm volatile("membar.gl;" ::: "memory")
#define FENCE_HOST asm volatile("membar.sys;" ::: "memory")
#define INVERSE_SQRT_32(value) inverse_sqrt_32(value)
#define INVERSE_SQRT_SEED_64(root, value) asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(root) : "d"(value))
FUNCTION float inverse_sqrt_32(float value)
{
    float root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(value));
    return root;
}
#else
#define CAN_END 0
#define IN_STEP 0
#define FENCE mem_fence(CLK_GLOBAL_MEM_FENCE)
#define FENCE_HOST FENCE
#define INVERSE_SQRT_32(value) rsqrt(value)
#define INVERSE_SQRT_SEED_64(root, value) ((root) = rsqrt(value))
#endif
// Kernels of a queue follow one another by themselves.
#define AFTER_EARLIER_KERNELS
#define LET_NEXT_KERNEL_START
