/* Rules for all C files of this folder:
 *
 * - A function reads and writes only the arrays that the caller passes. It allocates nothing and keeps nothing, so that
 *   any number of threads may call it, and none of them holds Python's lock meanwhile.
 * - Texts are arrays of code points. The texts of a call stand one after the other; `ends` has the end of each.
 * - The caller passes the size of every array that is written. A function that needs more room writes nothing beyond it
 *   and says so by what it returns.
 */
#ifndef FINDSPOT_H
#define FINDSPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* Characters of the first plane, for which tables have an entry each. Most texts have no others. */
enum { PLANE = 0x10000 };

#endif
