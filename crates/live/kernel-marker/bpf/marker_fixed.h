/* Integer arithmetic of the packet side: edge::marker::fixed, to the bit. Units are stated there. */
#pragma once

#include "types.h"

#define DRAIN_SHIFT 24
#define BYTE_SHIFT 16
#define MAX_DRAIN ((1ull << 31) - 1)
#define MAX_ELAPSED (1ull << 32)
#define MAX_QUEUE (1ull << 48)
#define ONE (1ull << 30)

INLINE u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

INLINE u64 greatest(u64 a, u64 b)
{
	return a > b ? a : b;
}

INLINE u64 saturating_add(u64 a, u64 b)
{
	u64 sum = a + b;

	return sum < a ? ~0ull : sum;
}

INLINE u64 saturating_sub(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* What drains in a time, in units of a queue. */
INLINE u64 drained(u64 elapsed, u64 drain)
{
	return (least(elapsed, MAX_ELAPSED) * least(drain, MAX_DRAIN)) >> (DRAIN_SHIFT - BYTE_SHIFT);
}

/* Bytes as a queue. */
INLINE u64 queue_of(u64 bytes)
{
	return least(bytes, MAX_QUEUE >> BYTE_SHIFT) << BYTE_SHIFT;
}

/* How long a queue takes at a drain above zero, ns. */
INLINE u64 delay_of(u64 queue, u64 drain)
{
	return (least(queue, MAX_QUEUE) << (DRAIN_SHIFT - BYTE_SHIFT)) / greatest(drain, 1);
}

/* 0 up to `from`, certain from `to` on, a line between. */
INLINE u64 ramp(u64 delay, u64 from, u64 to)
{
	if (delay <= from)
		return 0;
	if (delay >= to)
		return ONE;
	return (delay - from) * ONE / (to - from);
}

INLINE u64 squared(u64 probability)
{
	probability = least(probability, ONE);
	return (probability * probability) >> 30;
}
