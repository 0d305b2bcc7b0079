// Kernels of trees that no order of expansion changes.

#include "generated/tree.h"
#include "tree/block.h"
#include "tree/scan.h"
#include "tree/keys.h"
#include "tree/share.h"
#include "tree/sort.h"
#include "tree/order.h"
#include "tree/cells.h"
#include "tree/neighbours.h"
#include "tree/stackless.h"
#include "tree/lists.h"
#include "tree/field.h"
