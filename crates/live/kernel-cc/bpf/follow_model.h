/* How a connection follows what the proxy's control thread has set: what rapid::FollowAllocation makes of an
 * allocation for a sender that counts in segments, to the bit. src/follow.rs compares the two, native and in
 * the kernel. */
#pragma once

#include "follow_constants.h"
#include "types.h"

/* Which only user space writes. */
struct control {
	u64 window;      /* bytes; 0: not decided yet */
	u64 pacing_rate; /* byte/s; 0: no pacing */
	u64 use;
	u64 unused;
};

/* No pacing, as the kernel has it. */
#define UNPACED 0xffffffffffffffffULL

/* Segments. `cwnd`: as it is; `max`: the connection's limit. */
INLINE u32 cwnd_of(const struct control *wanted, u32 mss, u32 cwnd, u32 max)
{
	u64 window = wanted->window;

	if (!window || !mss)
		return cwnd;
	/* down to whole segments: what is rounded away the allocator gives to another flow */
	window /= mss;
	if (window < MIN_CWND)
		window = MIN_CWND;
	return window > max ? max : window;
}

/* byte/s */
INLINE u64 pacing_of(const struct control *wanted)
{
	return wanted->pacing_rate ? wanted->pacing_rate : UNPACED;
}
