/* Whole-number arithmetic of cdbe_client.h and cdbe_server.h, and what both use. */
#pragma once

#include "kernel.h"

/* As cc::cdbe::Mode. */
enum { PAPER, DEFAULT };

#define INITIAL_REPORT 1000000ULL
#define U32_MAX 0xffffffffULL
#define MILLION 1000000ULL

INLINE u64 min_of(u64 a, u64 b)
{
	return a < b ? a : b;
}

INLINE u64 max_of(u64 a, u64 b)
{
	return a > b ? a : b;
}

INLINE s64 lesser(s64 a, s64 b)
{
	return a < b ? a : b;
}

INLINE s64 greater(s64 a, s64 b)
{
	return a > b ? a : b;
}

/* Signed division towards zero by what is positive; the instruction set has none before v4. */
INLINE s64 quotient(s64 a, u64 b)
{
	return a < 0 ? -(s64)((0 - (u64)a) / b) : (s64)((u64)a / b);
}
