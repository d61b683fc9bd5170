/* The model of meld_model.h by itself: one event after another, so that tests can compare it with
 * cc::meld::Discriminator. */
#pragma once

#include "meld_model.h"

/* BEGIN: another connection. REPORT: one arrives. TAKE: the connection takes those that have arrived. ACK,
 * LOSS: it takes them, then this comes. CONGESTION: so it does, and the wrapped control has decided. */
enum { BEGIN, REPORT, TAKE, ACK, LOSS, CONGESTION };

struct event {
	u64 kind;
	u64 now; /* ns */
	struct rules rules;
	struct report report;
	struct acked ack;
	struct loss loss;
};

/* cc::meld::State, with what the event resulted in. */
struct result {
	u64 is_held;
	u64 reason;
	u64 max_in_flight;
	struct round_trips delivered;
	u64 unexplained;
	struct order order;
	struct round_trips peak;
	u64 began;
	u64 round_trip;
	u64 is_settled;
	u64 is_yielding;
	u64 pace;   /* bit/s; 0: none of the reports */
	u64 window; /* of a wrapped control with the window of the acknowledgement, or of none */
};

/* At the beginning all zeros, except reports.generation. */
struct connection {
	struct meld meld;
	struct reports reports;
};

INLINE void arrive(struct connection *c, const struct report *report)
{
	c->reports.ring[c->reports.count & (RING - 1)] = *report;
	c->reports.count += 1;
}

INLINE u64 unexplained(struct connection *c)
{
	struct meld *m = &c->meld;
	struct scan scan = { .m = m, .reports = &c->reports };
	struct tally *tally = &m->tally;

	tally->from = m->oldest;
	if (tally->from + MAX_REPORTS < m->next)
		tally->from = m->next - MAX_REPORTS;
	tally->at = 0;
	tally->packets = 0;
	loop(MAX_REPORTS, count_one, &scan, 0);
	return tally->packets;
}

/* After the reports have been taken. */
INLINE void decide(struct connection *c, const struct event *event, struct result *result)
{
	struct meld *m = &c->meld;

	result->is_held = 0;
	result->reason = 0;
	result->max_in_flight = 0;
	if (event->kind == ACK)
		result->is_held = on_ack(m, &event->rules, &event->ack, event->now);
	if (event->kind == LOSS) {
		result->max_in_flight = max_in_flight(m, &event->rules);
		result->reason =
			reason_of(m, &c->reports, &event->rules, &event->loss, event->now);
	}
	if (event->kind == CONGESTION)
		on_congestion(m);
	result->delivered = m->delivered;
	result->unexplained = unexplained(c);
	result->order = m->has_order ? m->order : (struct order){};
	result->peak = m->peak;
	result->began = m->began;
	result->round_trip = m->round_trip;
	result->is_settled = m->is_settled;
	result->is_yielding = m->is_yielding;
	result->pace = pace_of(m);
	result->window = window_of(m, &event->rules, event->ack.inner_cwnd);
}
