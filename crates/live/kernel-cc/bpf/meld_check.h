/* The model of meld_model.h by itself: one event after another, so that tests can compare it with
 * cc::meld::Discriminator. */
#pragma once

#include "meld_model.h"

/* BEGIN: another connection. REPORT: one arrives. TAKE: the connection takes those that have arrived. ACK,
 * LOSS: it takes them, then this comes. */
enum { BEGIN, REPORT, TAKE, ACK, LOSS };

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
	u64 most_in_flight;
	struct round_trips delivered;
	u64 unexplained;
	u64 has_limit;
	u64 limit;
	u64 standing;
	u64 target;
	u64 in_flight_of_ue;
	u64 expires_at;
	struct round_trips peak;
	u64 lowered_until;
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
	result->most_in_flight = 0;
	if (event->kind == ACK)
		result->is_held = on_ack(m, &event->rules, &event->ack, event->now);
	if (event->kind == LOSS) {
		result->most_in_flight = most_in_flight(m, &event->rules);
		result->reason =
			reason_of(m, &c->reports, &event->rules, &event->loss, event->now);
	}
	result->delivered = m->delivered;
	result->unexplained = unexplained(c);
	result->has_limit = m->has_limit;
	result->limit = m->limit;
	result->standing = m->standing;
	result->target = m->target;
	result->in_flight_of_ue = m->in_flight_of_ue;
	result->expires_at = m->expires_at;
	result->peak = m->peak;
	result->lowered_until = m->lowered_until;
}
