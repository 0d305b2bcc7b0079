/* A header that clients of GRAPE-6 libraries include. */
#ifndef KYOHO_GRAPE6_H
#define KYOHO_GRAPE6_H

#include <g6.h>

#endif
