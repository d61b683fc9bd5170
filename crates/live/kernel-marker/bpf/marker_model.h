/* The packet side of the marker: edge::marker::{packet, law}, to the bit. What each part does and why is stated there;
 * src/differential.rs compares verdicts and states.
 *
 * There is no division but by rates and configured widths, no loop but of 64 steps at most, and no call: all of it runs
 * while a lock is held. */
#pragma once

#include "marker_flows.h"
#include "marker_queue.h"

#define FLOOR (2 * 1500)
#define YOUNG_PACKETS 10
#define MAX_SEGMENTS 65535

#define INTERVAL 16000000ull
#define MAX_MISSED 64
#define INTEGRAL 11259
#define PROPORTIONAL 225180
#define MAX_DELAY 100000000ull
#define MAX_TARGET 1000000000ull

/* A product of a gain; rounds towards zero. */
INLINE s64 of_gain(s64 product)
{
	return product < 0 ? -(s64)((u64)-product >> 16) : (s64)((u64)product >> 16);
}

/* The queue's delay is worked out where it is needed: a division costs as much as all the rest. */
INLINE void follow_delay(struct pi *pi, u64 now, u64 queue, const struct order *order)
{
	u64 since = saturating_sub(now, pi->updated_at);
	s64 missed, base, late;
	u64 delay;

	if (since < INTERVAL)
		return;
	if (since >= (MAX_MISSED + 1) * INTERVAL) {
		*pi = (struct pi){};
		missed = 1;
	} else {
		missed = since / INTERVAL;
	}
	delay = least(delay_of(queue, order->drain), MAX_DELAY);
	late = (s64)delay - (s64)least(order->target, MAX_TARGET);
	base = (s64)pi->base + of_gain(late * INTEGRAL) * missed +
	       of_gain(((s64)delay - (s64)pi->last_delay) * PROPORTIONAL);
	if (base < 0)
		base = 0;
	if (base > (s64)ONE)
		base = ONE;
	pi->base = base;
	pi->last_delay = delay;
	pi->updated_at = now;
}

/* Spreads events evenly, by segments. */
INLINE int is_due(s64 *due, u64 probability, u32 segments)
{
	if (probability >= ONE)
		return 1;
	*due += (s64)(probability * segments);
	if (*due * 2 > (s64)((segments + 1ull) * ONE)) {
		*due -= (s64)(segments * ONE);
		return 1;
	}
	return 0;
}

INLINE u32 judge_l4s(struct ue_marker *m, const struct order *order, const struct packet *packet)
{
	u64 probability = 2 * m->pi.base;
	int is_overloaded = probability >= ONE;

	if (is_overloaded && is_due(&m->overload, squared(m->pi.base), packet->segments))
		return DROP_OVERLOAD;
	if (packet->codepoint == CE)
		return MARKED;
	if (!is_overloaded && !has_classic(&m->flows))
		probability = ramp(delay_of(m->queue.length, order->drain), order->ramp_from,
				   order->ramp_to);
	return is_due(&m->l4s, probability, packet->segments) ? MARK_L4S : UNDUE;
}

INLINE u32 judge_classic(struct ue_marker *m, struct bucket *b, const struct packet *packet)
{
	if (!is_due(&m->classic, squared(m->pi.base), packet->segments))
		return UNDUE;
	if (packet->codepoint == NOT_ECT)
		return DROP_NOT_ECT;
	if (2 * m->pi.base >= ONE)
		return DROP_OVERLOAD;
	if (!admits_marks(b, packet->segments))
		return CAPPED;
	b->marked += packet->segments;
	return MARK_CLASSIC;
}

INLINE u32 judge(struct ue_marker *m, struct bucket *b, const struct order *order, u64 now,
		 const struct packet *packet)
{
	follow_delay(&m->pi, now, m->queue.length, order);
	if (m->queue.length < queue_of(FLOOR))
		return SHORT;
	if (b->packets - packet->segments < YOUNG_PACKETS)
		return YOUNG;
	if (!has_fair_share(&m->flows, b, now, order))
		return SPARSE;
	if (packet->codepoint == ECT_1 || packet->codepoint == CE)
		return judge_l4s(m, order, packet);
	return judge_classic(m, b, packet);
}

/* A packet comes; its segments are 1 to MAX_SEGMENTS. */
INLINE u32 decide(struct ue_marker *m, const struct order *order, u64 now,
		  const struct packet *packet)
{
	struct bucket *b = bucket_of(&m->flows, packet->flow);
	u32 verdict;

	now = greatest(now, m->last);
	m->last = now;
	advance(&m->queue.passed, now);
	on_packet(&m->flows, b, now, packet);
	if (!order->number) {
		verdict = NO_REPORT;
	} else if (now > order->valid_until) {
		verdict = STALE;
	} else if (!order->drain) {
		verdict = NO_RATE;
	} else {
		follow_order(&m->queue, now, order);
		verdict = judge(m, b, order, now, packet);
	}
	if (!is_drop(verdict))
		forward(&m->queue, packet->bytes);
	return verdict;
}

/* Bytes of a super-packet on the wire, each segment with its headers. */
INLINE u32 wire_bytes(u32 length, u32 headers, u32 segments)
{
	u64 more = (u64)headers * (segments - 1);
	u64 bytes = least(more, 0xffffffffu) + length;

	return least(bytes, 0xffffffffu);
}
