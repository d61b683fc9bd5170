/* The arithmetic of crate `units` in C: 64-bit amounts that stop at their ends, and quotients of products
 * that need 128 bits, which BPF does not have. */
#pragma once

#include "types.h"

#define U64_MAX 0xffffffffffffffffULL

INLINE u64 min_of(u64 a, u64 b)
{
	return a < b ? a : b;
}

INLINE u64 max_of(u64 a, u64 b)
{
	return a > b ? a : b;
}

INLINE u64 sum(u64 a, u64 b)
{
	return a > U64_MAX - b ? U64_MAX : a + b;
}

INLINE u64 difference(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* `b` is a constant above 0. */
INLINE u64 product(u64 a, u64 b)
{
	u64 max = U64_MAX / b;

	/* else the compiler makes it a multiplication of 128 bits */
	asm("" : "+r"(max));
	return a > max ? U64_MAX : a * b;
}

INLINE u64 quotient_up(u64 a, u64 b)
{
	return a / b + (a % b != 0);
}

/* floor(a b / c), at most U64_MAX; c > 0. Not inlined: the verifier checks it once, by itself. */
__attribute__((noinline)) u64 mul_div(u64 a, u64 b, u64 c)
{
	u64 a1 = a >> 32, a0 = a & 0xffffffff;
	u64 b1 = b >> 32, b0 = b & 0xffffffff;
	u64 middle = a1 * b0 + (a0 * b0 >> 32);
	u64 other = a0 * b1 + (middle & 0xffffffff);
	u64 high = a1 * b1 + (middle >> 32) + (other >> 32);
	u64 low = a * b;
	int i;

	if (!c || high >= c)
		return U64_MAX;
	if (!high)
		return low / c;
	for (i = 0; i < 64; i++) {
		u64 carry = high >> 63;

		high = high << 1 | low >> 63;
		low <<= 1;
		if (carry || high >= c) {
			high -= c;
			low |= 1;
		}
	}
	return low;
}

/* The same rounded up. */
INLINE u64 mul_div_up(u64 a, u64 b, u64 c)
{
	u64 down = mul_div(a, b, c);

	/* what is left is less than c, so that its low 64 bits are all of it */
	return down != U64_MAX && down * c != a * b ? down + 1 : down;
}
