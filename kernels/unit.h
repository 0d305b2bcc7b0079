// All kernels of one order, precision and scope. The name of a force kernel says its shape: threads that share a sink,
// few or many sinks of a thread, and whether sources are predicted in it (f) or before (p) and it ends blocks (e).

#include "body.h"
#include "pair.h"
#include "step.h"
#include "parts.h"
#include "fetch.h"
#include "sources.h"
#include "left_out.h"

// Sums in a row, sinks of a thread where one thread has a sink and where several share it, and steps of loops.
#if PRECISION == DOUBLE
#define LONG 1
#define MANY (ORDER == 8 ? 1 : 2)
#define MANY_SHARED MANY
#define FEW_STEPS (VECTORS > 2 ? 2 : 4)
#define MANY_STEPS (VECTORS > 2 ? 2 : 4)
#else
#define LONG 4
#define MANY (ORDER == 2 ? 4 : 2)
#define MANY_SHARED (VECTORS > 2 ? 2 : 4)
#define FEW_STEPS 4
#define MANY_STEPS (ORDER == 2 ? 4 : 8)
#endif

// Groups of threads on a multiprocessor, which bound the registers of a thread.
#if VECTORS <= 2
#define RESIDENT_32_MANY 3
#define RESIDENT_8_FEW 4
#define RESIDENT_8_MANY 4
#define RESIDENT_1_FEW 5
#define RESIDENT_1_MANY 4
#elif PRECISION != DOUBLE
#define RESIDENT_32_MANY 2
#define RESIDENT_8_FEW 4
#define RESIDENT_8_MANY 4
#define RESIDENT_1_FEW 5
#define RESIDENT_1_MANY 3
#else
#define RESIDENT_32_MANY 2
#define RESIDENT_8_FEW 3
#define RESIDENT_8_MANY (MANY == 1 ? 3 : 2)
#define RESIDENT_1_FEW 4
#define RESIDENT_1_MANY (MANY == 1 ? 3 : 2)
#endif

#define FORCE_NAME force_32_few_fe
#define LANES 32
#define SINKS 1
#define STRANDS 32
#define THREADS 256
#define AHEAD (VECTORS <= 2)
#define FUSED 1
#define ENDS CAN_END
#define RESIDENT 2
#define STEPS FEW_STEPS
#include "force.h"

#define FORCE_NAME force_32_many_f
#define LANES 32
#define SINKS 2
#define STRANDS 32
#define THREADS 128
#define AHEAD 0
#define FUSED 1
#define ENDS 0
#define RESIDENT RESIDENT_32_MANY
#define STEPS (VECTORS > 3 ? 1 : 2)
#include "force.h"

#define FORCE_NAME force_8_few_f
#define LANES 8
#define SINKS 1
#define STRANDS 8
#define THREADS 128
#define AHEAD 0
#define FUSED 1
#define ENDS 0
#define RESIDENT RESIDENT_8_FEW
#define STEPS 4
#include "force.h"

#define FORCE_NAME force_8_many_f
#define LANES 8
#define SINKS MANY_SHARED
#define STRANDS 8
#define THREADS 128
#define AHEAD 0
#define FUSED 1
#define ENDS 0
#define RESIDENT RESIDENT_8_MANY
#define STEPS 4
#include "force.h"

#define FORCE_NAME force_8_many_p
#define LANES 8
#define SINKS MANY_SHARED
#define STRANDS 8
#define THREADS 128
#define AHEAD 0
#define FUSED 0
#define ENDS 0
#define RESIDENT RESIDENT_8_MANY
#define STEPS 4
#include "force.h"

#define FORCE_NAME force_1_few_f
#define LANES 1
#define SINKS 1
#define STRANDS LONG
#define THREADS 128
#define AHEAD 0
#define FUSED 1
#define ENDS 0
#define RESIDENT RESIDENT_1_FEW
#define STEPS 4
#include "force.h"

#define FORCE_NAME force_1_many_f
#define LANES 1
#define SINKS MANY
#define STRANDS LONG
#define THREADS 128
#define AHEAD 0
#define FUSED 1
#define ENDS 0
#define RESIDENT RESIDENT_1_MANY
#define STEPS MANY_STEPS
#include "force.h"

#define FORCE_NAME force_1_many_p
#define LANES 1
#define SINKS MANY
#define STRANDS LONG
#define THREADS 128
#define AHEAD 0
#define FUSED 0
#define ENDS 0
#define RESIDENT RESIDENT_1_MANY
#define STEPS MANY_STEPS
#include "force.h"
