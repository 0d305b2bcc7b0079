// The kernels of block steps that stay on the device, of one order and precision, and of bodies in up to
// GROUPS_OF_KERNELS groups: one, or as many as a device steps.

#include "generated/steps.h"
#include "arrays/add_term.h"
#include "steps/axes.h"
#include "steps/scheme.h"
#include "steps/criterion.h"
#include "steps/schedule.h"
#include "steps/advance.h"

// Chains, where all thread blocks of a kernel can be on the device at once. The sums of their blocks
// have a launch shape for each number of accumulators.
#if CAN_WAIT && IS_MIXED
#include "direct/body.h"
#include "direct/pair.h"
#include "direct/step.h"
#undef END_SINKS
#define END_SINKS CHAIN_END_SINKS
// Threads at work on different slices meet in no bank.
#define END_ROW (END_SINKS + 1)
#define MOST_END_SINKS END_SINKS
#include "direct/partial_sums.h"
#include "direct/shape.h"
#undef CHAINED
#define CHAINED 1
#define SHAPE CHAINED_FEW
#include "direct/item.h"
#undef SHAPE
#define SHAPE CHAINED_MORE
#include "direct/item.h"
#undef SHAPE
#define SHAPE CHAINED_MANY
#include "direct/item.h"
#undef SHAPE
#include "prelude_together.h"
#include "steps/chain.h"
#endif
