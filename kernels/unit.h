// All kernels of one order and precision. The names of the force kernels say their shape: threads that share a sink,
// sinks of a thread, strands of a chunk, and whether sources are predicted in it (f) or before (p) and it ends blocks (e).

#include "body.h"
#include "pair.h"
#include "step.h"
#include "parts.h"
#include "sources.h"

#define THREADS 128
#if PRECISION == DOUBLE
#define FEW 1
#define SOME 1
#define MANY 2
#else
#define FEW 1
#define SOME 2
#define MANY 4
#endif

#define FORCE_NAME force_32_few_32_fe
#define LANES 32
#define SINKS FEW
#define STRANDS 32
#define FUSED 1
#define ENDS 1
#define RESIDENT 4
#define STEPS 4
#include "force.h"

#define FORCE_NAME force_32_many_32_f
#define LANES 32
#define SINKS MANY
#define STRANDS 32
#define FUSED 1
#define ENDS 0
#define RESIDENT 4
#define STEPS 2
#include "force.h"

#define FORCE_NAME force_8_few_8_f
#define LANES 8
#define SINKS FEW
#define STRANDS 8
#define FUSED 1
#define ENDS 0
#define RESIDENT 4
#define STEPS 4
#include "force.h"

#define FORCE_NAME force_8_many_8_f
#define LANES 8
#define SINKS MANY
#define STRANDS 8
#define FUSED 1
#define ENDS 0
#define RESIDENT 4
#define STEPS 4
#include "force.h"

#define FORCE_NAME force_8_many_8_p
#define LANES 8
#define SINKS MANY
#define STRANDS 8
#define FUSED 0
#define ENDS 0
#define RESIDENT 4
#define STEPS 4
#include "force.h"

#define FORCE_NAME force_1_many_8_f
#define LANES 1
#define SINKS MANY
#define STRANDS 8
#define FUSED 1
#define ENDS 0
#define RESIDENT 4
#define STEPS 4
#include "force.h"

#define FORCE_NAME force_1_some_8_p
#define LANES 1
#define SINKS SOME
#define STRANDS 8
#define FUSED 0
#define ENDS 0
#define RESIDENT 4
#define STEPS 4
#include "force.h"

#define FORCE_NAME force_1_many_8_p
#define LANES 1
#define SINKS MANY
#define STRANDS 8
#define FUSED 0
#define ENDS 0
#define RESIDENT 4
#define STEPS 4
#include "force.h"
