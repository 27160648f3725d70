#if defined(__APPLE__)
#define CHANGED_AT st_mtimespec
#else
#define CHANGED_AT st_mtim
#define _POSIX_C_SOURCE 200809L /* has times in nanoseconds */
#endif

#include "findspot.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { NANOSECONDS = 1000000000, FACTS = 3 };

/* Return the place of the first file that is not as it is known, or -1. `known` has the size, the modification time in
 * nanoseconds and the inode of each file. A file that does not exist is passed over; one that cannot be examined is
 * returned. `paths` are strings one after the other, each with a zero at its end. */
EXPORT int64_t first_changed_file(const char *paths, int64_t count, const uint64_t *known) {
    for (int64_t place = 0; place < count; place++, known += FACTS, paths += strlen(paths) + 1) {
        struct stat found;
        if (stat(paths, &found) != 0) {
            if (errno == ENOENT || errno == ENOTDIR) continue;
            return place;
        }
        uint64_t changed_at = (uint64_t)found.CHANGED_AT.tv_sec * NANOSECONDS + (uint64_t)found.CHANGED_AT.tv_nsec;
        if ((uint64_t)found.st_size != known[0] || changed_at != known[1] || (uint64_t)found.st_ino != known[2]) {
            return place;
        }
    }
    return -1;
}
