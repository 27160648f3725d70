/* Wider registers where the processor has them: those of AVX2 on x86-64, those of NEON on arm64.
 *
 * WIDE marks a second copy of a function, which the compiler makes for them. Such functions take the argument `wide`,
 * which may only be true if `has_wide_registers`. Integers, and sums that are not reordered, are the same with both. */
#ifndef PROCESSOR_H
#define PROCESSOR_H

#define INLINE static inline __attribute__((always_inline))

#ifdef __x86_64__
#define WIDE __attribute__((target("avx2")))
#else
#define WIDE
#endif

#endif
