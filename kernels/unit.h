// All kernels of one order and precision. The name of a force kernel says its shape: threads that share a sink, few or
// many sinks of a thread, and whether sources are predicted in it (f) or before (p) and it ends blocks (e).

#include "body.h"
#include "pair.h"
#include "step.h"
#include "parts.h"
#include "fetch.h"
#include "sources.h"

// Sums in a row, and sinks of a thread where one thread has a sink and where several share it.
#if PRECISION == DOUBLE
#define LONG 1
#define MANY (ORDER == 8 ? 1 : 2)
#define MANY_SHARED MANY
#define MANY_STEPS 4
#else
#define LONG 4
#define MANY (ORDER == 2 ? 4 : 2)
#define MANY_SHARED 4
#define MANY_STEPS (ORDER == 2 ? 4 : 8)
#endif

#define FORCE_NAME force_32_few_fe
#define LANES 32
#define SINKS 1
#define STRANDS 32
#define THREADS 256
#define AHEAD 1
#define FUSED 1
#define ENDS CAN_END
#define RESIDENT 2
#define STEPS 4
#include "force.h"

#define FORCE_NAME force_32_many_f
#define LANES 32
#define SINKS 2
#define STRANDS 32
#define THREADS 128
#define AHEAD 0
#define FUSED 1
#define ENDS 0
#define RESIDENT 3
#define STEPS 2
#include "force.h"

#define FORCE_NAME force_8_few_f
#define LANES 8
#define SINKS 1
#define STRANDS 8
#define THREADS 128
#define AHEAD 0
#define FUSED 1
#define ENDS 0
#define RESIDENT 4
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
#define RESIDENT 4
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
#define RESIDENT 4
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
#define RESIDENT 5
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
#define RESIDENT 4
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
#define RESIDENT 4
#define STEPS MANY_STEPS
#include "force.h"
