// All kernels of one order, precision and scope. The name of a force kernel says its shape: threads
// that share a sink, few or many sinks of a thread, and whether sources are predicted in it (f) or
// before (p) and it ends blocks (e). Where kernels can wait for the host, and it is worth the code
// (WAITS_FOR_BLOCKS), another one of the first shape does.

#include "direct/body.h"
#include "direct/pair.h"
#include "direct/step.h"
#include "direct/partial_sums.h"
#include "direct/end_block.h"
#include "direct/fetch.h"
#include "direct/sources.h"
#include "direct/regular_neighbours.h"
#if CAN_WAIT && WAITS_FOR_BLOCKS
#include "direct/waiting.h"
#endif
#include "direct/shape.h"

#define SHAPE 0
#include "direct/force.h"
#undef SHAPE
#define SHAPE 1
#include "direct/force.h"
#undef SHAPE
#define SHAPE 2
#include "direct/force.h"
#undef SHAPE
#define SHAPE 3
#include "direct/force.h"
#undef SHAPE
#define SHAPE 4
#include "direct/force.h"
#undef SHAPE
#define SHAPE 5
#include "direct/force.h"
#undef SHAPE
#define SHAPE 6
#include "direct/force.h"
#undef SHAPE
#define SHAPE 7
#include "direct/force.h"
#if CAN_WAIT && WAITS_FOR_BLOCKS
#undef SHAPE
#undef WAITS
#define SHAPE 0
#define WAITS 1
#include "direct/force.h"
#endif
