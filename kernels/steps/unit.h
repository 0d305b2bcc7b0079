// The kernels of block steps that stay on the device, of one order and precision.

#include "generated/steps.h"
#include "arrays/add_term.h"
#include "steps/scheme.h"
#include "steps/criterion.h"
#include "steps/schedule.h"
#include "steps/advance.h"

// Chains, where devices keep graphs, in order 4 `mixed`: orders 6 and 8 gain nothing by them, and
// each makes the library larger. The sums of their blocks have a kernel for each number of
// accumulators.
#if CAN_WAIT && ORDER == 4 && IS_MIXED
#include "direct/body.h"
#include "direct/pair.h"
#include "direct/step.h"
#include "direct/partial_sums.h"
#include "direct/shape.h"
#include "steps/chain.h"
#undef CHAINED
#define CHAINED 1
#define SHAPE CHAINED_FEW
#define CHAINED_NAME sum_few
#include "direct/force.h"
#undef SHAPE
#undef CHAINED_NAME
#define SHAPE CHAINED_MORE
#define CHAINED_NAME sum_more
#include "direct/force.h"
#undef SHAPE
#undef CHAINED_NAME
#define SHAPE CHAINED_MANY
#define CHAINED_NAME sum_many
#include "direct/force.h"
#endif
