/* What has passed, and the virtual queue: edge::marker::{history, virtual_queue}, to the bit. */
#pragma once

#include "marker_fixed.h"
#include "marker_state.h"

#define TICK_SHIFT 20

INLINE void advance(struct history *h, u64 now)
{
	u64 tick = now >> TICK_SHIFT;
	u64 missed;
	u32 back;

	if (tick <= h->tick)
		return;
	missed = least(tick - h->tick, TICKS);
#pragma clang loop unroll(disable)
	for (back = 0; back < TICKS; back++) {
		if (back >= missed)
			break;
		h->at_tick[(tick - back) & (TICKS - 1)] = h->total;
	}
	h->tick = tick;
}

/* False if it is longer ago than is kept. */
INLINE int passed_since(const struct history *h, u64 at, u64 *bytes)
{
	u64 tick = at >> TICK_SHIFT;
	u64 part = at & ((1 << TICK_SHIFT) - 1);
	u64 began, ended;

	*bytes = 0;
	if (tick > h->tick)
		return 1;
	if (h->tick - tick >= TICKS)
		return 0;
	began = h->at_tick[tick & (TICKS - 1)];
	ended = tick == h->tick ? h->total : h->at_tick[(tick + 1) & (TICKS - 1)];
	*bytes = h->total - (began + ((least(ended - began, 1ull << 40) * part) >> TICK_SHIFT));
	return 1;
}

/* Drains, and takes the order if it is new. */
INLINE void follow_order(struct virtual_queue *q, u64 now, const struct order *order)
{
	u64 passed, came, left, from, to;

	q->length = saturating_sub(q->length, drained(saturating_sub(now, q->at), order->drain));
	q->at = greatest(q->at, now);
	if (order->number == q->applied)
		return;
	q->applied = order->number;
	if (!passed_since(&q->passed, order->counted_until, &passed))
		return;
	came = queue_of(saturating_add(order->queue, passed));
	left = drained(saturating_sub(now, order->counted_until), order->drain);
	from = saturating_sub(came, left);
	to = least(saturating_add(from, queue_of(order->slack)), MAX_QUEUE);
	q->length = least(greatest(q->length, from), to);
}

INLINE void forward(struct virtual_queue *q, u64 bytes)
{
	q->passed.total += bytes;
	q->length = least(saturating_add(q->length, queue_of(bytes)), MAX_QUEUE);
}
