// The kernels that read and write arrays of callers on the device, and those that divide groups of
// interaction lists. They hold for every interaction.

#include "arrays/columns.h"
#include "arrays/bodies.h"
#include "arrays/forces.h"
#include "arrays/add_term.h"
#include "arrays/motion.h"
#include "lists/shape.h"
#include "lists/divide.h"
#include "lists/units.h"
#include "arrays/groups.h"
