/* The header that clients of GRAPE-5 and of Phantom-GRAPE include. */
#ifndef KYOHO_GP5UTIL_H
#define KYOHO_GP5UTIL_H

#include <g5.h>

/* Clients make arrays for this many sources. g5_get_jmemsize() returns it too. Kyoho takes more. */
#ifndef JMEMSIZE
#define JMEMSIZE 65536
#endif

#endif
