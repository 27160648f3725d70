#include "findspot.h"

/* `has_wide_registers` says whether the processor has them, and the operating system saves those of a thread. */

#if defined(__x86_64__)
#include <cpuid.h>

enum { SAVES_REGISTERS = 1 << 27, HAS_AVX2 = 1 << 5, SAVES_WIDE_ONES = 6 };

EXPORT bool has_wide_registers(void) {
    uint32_t a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & SAVES_REGISTERS)) return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & SAVES_WIDE_ONES) != SAVES_WIDE_ONES) return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & HAS_AVX2);
}
#elif defined(__aarch64__)
EXPORT bool has_wide_registers(void) {
    return true;
}
#else
EXPORT bool has_wide_registers(void) {
    return false;
}
#endif
