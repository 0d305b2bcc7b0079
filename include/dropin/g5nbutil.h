/* A header that clients of GRAPE-7, such as the module of old editions of REBOUND, include. */
#ifndef KYOHO_G5NBUTIL_H
#define KYOHO_G5NBUTIL_H

#include <g5.h>

#endif
