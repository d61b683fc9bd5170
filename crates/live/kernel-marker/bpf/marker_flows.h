/* What the flows of a UE have sent lately: edge::marker::flows, to the bit. */
#pragma once

#include "marker_fixed.h"
#include "marker_state.h"

#define EPOCH_SHIFT 25
#define EPOCH (1ull << EPOCH_SHIFT)
#define SPREAD 0x9e3779b9u
#define MAX_PACKETS (1u << 30)

INLINE void roll(struct window *w, u64 epoch)
{
	if (epoch <= w->epoch)
		return;
	w->before = epoch == w->epoch + 1 ? w->now : 0;
	w->now = 0;
	w->epoch = epoch;
}

INLINE void add(struct window *w, u64 epoch, u64 amount)
{
	roll(w, epoch);
	w->now = least(w->now + amount, 1ull << 40);
}

INLINE u64 sum(const struct window *w)
{
	return w->now + w->before;
}

INLINE u64 heavy_flows(const struct flows *f)
{
	return greatest(greatest(f->heavy.now, f->heavy.before), 1);
}

INLINE struct bucket *bucket_of(struct flows *f, u32 flow)
{
	return &f->buckets[(flow * SPREAD) >> 26 & (BUCKETS - 1)];
}

INLINE void on_packet(struct flows *f, struct bucket *b, u64 now, const struct packet *packet)
{
	u64 epoch = now >> EPOCH_SHIFT;
	u64 all, flows;

	roll(&f->all, epoch);
	roll(&f->classic, epoch);
	roll(&f->heavy, epoch);
	add(&f->all, epoch, packet->bytes);
	all = sum(&f->all);
	flows = heavy_flows(f);
	if (b->tag != packet->flow && epoch > b->window.epoch + 2)
		*b = (struct bucket){ .tag = packet->flow };
	if (b->packets >= MAX_PACKETS) {
		b->packets /= 2;
		b->ect0 /= 2;
		b->marked /= 2;
	}
	b->packets += packet->segments;
	if (packet->codepoint == ECT_0)
		b->ect0 += packet->segments;
	add(&b->window, epoch, packet->bytes);
	if (sum(&b->window) * 4 * flows < all)
		return;
	if (b->heavy != epoch + 1) {
		b->heavy = epoch + 1;
		add(&f->heavy, epoch, 1);
	}
	if (packet->codepoint != ECT_1 && packet->codepoint != CE)
		add(&f->classic, epoch, packet->bytes);
}

/* Of what came, and of the drain what is not spared. */
INLINE int has_fair_share(const struct flows *f, const struct bucket *b, u64 now,
			  const struct order *order)
{
	u64 of_flow = sum(&b->window) * heavy_flows(f);
	u64 carried = drained(EPOCH + (now & (EPOCH - 1)), order->drain) >> BYTE_SHIFT;

	return of_flow * 4 >= sum(&f->all) * 3 && of_flow * 8 >= carried * least(order->spared, 8);
}

INLINE int has_classic(const struct flows *f)
{
	return sum(&f->classic) * 8 > sum(&f->all);
}

INLINE int admits_marks(const struct bucket *b, u32 packets)
{
	return ((u64)b->marked + packets) * 4 <= b->ect0;
}
