/* The header that clients of Phantom-GRAPE 6 include. */
#ifndef KYOHO_GP6UTIL_H
#define KYOHO_GP6UTIL_H

#include <g6.h>

#endif
