// The kernels of interaction lists of one order and precision.

#include "direct/body.h"
#include "direct/pair.h"
#include "direct/step.h"
#include "arrays/columns.h"
#include "lists/sources.h"
#include "lists/sum.h"
