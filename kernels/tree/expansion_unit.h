// Kernels of trees for one order of expansion.

#include "generated/tree.h"
#include "generated/expansions.h"
#include "tree/block.h"
#include "tree/lists.h"
#include "tree/moments.h"
#include "tree/walk.h"
#include "tree/far.h"
