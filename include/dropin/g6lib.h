/* The header that clients of GRAPE-6 libraries include. */
#ifndef KYOHO_G6LIB_H
#define KYOHO_G6LIB_H

#include <g6.h>

#endif
