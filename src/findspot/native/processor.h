/* Wider registers where the processor has them. Integers, and sums that are not reordered, are the same with them.
 *
 * WIDE marks a second copy of a function for processors with AVX2; the caller says by a flag which copy to use. */
#ifndef PROCESSOR_H
#define PROCESSOR_H

#define INLINE static inline __attribute__((always_inline))

#ifdef __x86_64__
#define WIDE __attribute__((target("avx2")))
#else
#define WIDE
#endif

#endif
