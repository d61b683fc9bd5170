/* The window field of a segment towards a server: edge::wire, to the bit. Bytes are counted from the first of the
 * stream, modulo 2^32; windows are less than 2^31. */
#pragma once

#include "types.h"

/* What is decided, and of how many bytes. */
enum {
	OF_KERNEL, /* what the kernel shows */
	TO_EDGE,   /* the right edge */
	OF_WINDOW, /* a window beyond what is acknowledged */
};

struct order {
	u32 bytes;
	u32 kind;
};

/* The field of a segment that acknowledges `acked`, in which the kernel has written `field`. `shown` is the
 * rightmost edge that the server has been shown. */
INLINE u32 window_field(u32 acked, struct order order, u32 field, u32 scale, u32 *shown)
{
	s32 held = *shown - acked;
	s32 open = order.kind == TO_EDGE ? (s32)(order.bytes - acked) : (s32)order.bytes;
	u32 scaled = field;
	u32 edge;

	if (order.kind != OF_KERNEL) {
		if (open < held)
			open = held;
		if (open < 0)
			open = 0;
		scaled = ((u32)open + (1u << scale) - 1) >> scale;
		if (scaled > field)
			scaled = field;
	}
	edge = acked + (scaled << scale);
	if ((s32)(edge - *shown) > 0)
		*shown = edge;
	return scaled;
}
