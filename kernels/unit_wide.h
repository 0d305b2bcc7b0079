// All kernels of one order, precision and scope for CPUs, with WIDTH sinks side by side and the arguments of unit.h. The
// name of a force kernel says whether a thread has few or many vectors of sinks; the sources are predicted before (p).

#include "prelude_wide.h"
#include "wide.h"
#include "body.h"
#include "wide_pair.h"
#include "pair.h"
#include "step.h"
#include "fetch.h"
#include "wide_sources.h"
#include "wide_left_out.h"
#include "wide_sums.h"
#include "wide_parts.h"

#define FORCE_NAME force_wide_few_p
#define SINKS 1
#include "wide_force.h"

#define FORCE_NAME force_wide_many_p
#define SINKS 4
#include "wide_force.h"
