// The kernels that read and write arrays of callers on the device. They hold for every interaction.

#include "arrays/columns.h"
#include "arrays/bodies.h"
#include "arrays/forces.h"
#include "arrays/motion.h"
