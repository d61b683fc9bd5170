/* MELD's decisions in whole numbers: what cc::meld::Discriminator decides, function by function and to the
 * bit. Equations, sources and readings are stated there; src/meld/differential.rs compares the two, native
 * and in the kernel.
 *
 * Bytes and nanoseconds. What is of one connection is `struct meld`; the reports of a UE are in a ring that
 * its connections share and take from as they come to decide something. Where the Rust has its reports one
 * by one as they arrive, the result is the same: nothing is decided in between. */
#pragma once

#include "meld_arithmetic.h"
#include "meld_constants.h"

/* Reports of a UE: those that a connection has not taken yet, and as many that it reads again. A power
 * of two. */
#define RING (2 * MAX_REPORTS)
/* bit/s and nanoseconds */
#define BIT_NS_PER_BYTE 8000000000ULL

struct rules {
	u64 variant;
	u64 pdu;     /* bytes, more than 0 */
	u64 max_age; /* ns */
};

/* cc::RadioState */
struct report {
	u64 at;      /* ns; when it arrived, not before the report before it */
	u64 made_at; /* ns */
	u64 period;  /* ns */
	u64 served;
	u64 queue;
	u64 tbs;
	u64 best_tbs;
	u64 counts; /* lost packets; above 32 bits: IS_COUNTED, IS_REPEATED, HARQ processes, slots */
};

#define IS_COUNTED (1ULL << 32)
#define IS_REPEATED (1ULL << 33)
#define PROCESSES 40
#define SLOTS 48

struct reports {
	u64 generation; /* of whose reports these are; never 0 */
	u64 count;      /* so far; number n is in ring[n % RING] */
	struct report ring[RING];
};

struct round_trips {
	u64 began;
	u64 current;
	u64 last;
	u64 earlier;
};

/* What goes through reports has counted. Here and not on the stack, so that the verifier has nothing of its
 * bounds to follow. */
struct tally {
	u64 from; /* number of the first report */
	u64 at;   /* ns; the present, or when what is lost had been sent */
	u64 age;  /* ns */
	u64 served;
	u64 period;
	u64 packets;
	u64 has_repeated;
};

/* cc::meld::Order */
struct order {
	u64 pace; /* bit/s */
	u64 window;
	u64 per_round_trip;
	u64 queue;
	u64 target;
	u64 in_flight_of_ue;
	u64 period;	/* ns */
	u64 expires_at; /* ns */
};

struct meld {
	u64 generation; /* of the reports that were taken; 0: none yet */
	u64 next;       /* number of the report to be taken next */
	u64 is_reported;
	struct round_trips delivered;
	u64 srtt;
	u64 min_rtt;
	u64 oldest; /* number of the first report that explains losses */
	u64 now;    /* ns; of the last acknowledgement */
	/* of DEFAULT only */
	u64 has_order;
	struct order order;
	u64 first; /* number of the first report of the last round trip */
	struct round_trips peak;
	u64 has_begun;
	u64 began;
	u64 round_trip; /* ns; as it began */
	u64 is_slow_start;
	u64 is_settled;
	u64 is_yielding; /* the wrapped control's window counts */
	struct tally tally;
	u32 explained[MAX_REPORTS]; /* packets of report n % MAX_REPORTS that losses were set against */
};

struct acked {
	u64 newly_acked;
	u64 prior_in_flight;
	u64 srtt;
	u64 min_rtt;
	u64 inner_cwnd;
	u64 is_slow_start;
};

struct loss {
	u64 lost;
	u64 bytes_in_flight;
	u64 sent_at;
};

/* Goes through reports: step after step, until one returns 1. In the kernel it is a helper, so that the
 * verifier need not follow each of them. */
#ifdef __bpf__
static long (*const loop)(u32 times, void *step, void *context, u64 flags) = (void *)181;
#else
INLINE long loop(u32 times, long (*step)(u32 index, void *context), void *context, u64 flags)
{
	u32 i;

	for (i = 0; i < times; i++)
		if (step(i, context))
			break;
	return i;
}
#endif

/* What such a step is handed. */
struct scan {
	struct meld *m;
	const struct reports *reports;
	const struct rules *rules;
};

INLINE const struct report *report_of(const struct reports *reports, u64 number)
{
	return &reports->ring[number & (RING - 1)];
}

INLINE u64 lost_of(const struct report *report)
{
	return report->counts & 0xffffffff;
}

/* ---- round_trips.rs ---- */

INLINE void advance(struct round_trips *trips, u64 now, u64 srtt)
{
	if (difference(now, trips->began) < srtt)
		return;
	trips->began = now;
	trips->earlier = trips->last;
	trips->last = trips->current;
	trips->current = 0;
}

/* ---- paper.rs ---- */

INLINE u64 tbs_threshold(const struct rules *rules, const struct report *radio)
{
	return quotient_up(rules->pdu, max_of(radio->counts >> PROCESSES & 0xff, 1));
}

INLINE u64 queue_threshold(const struct report *radio)
{
	u64 processes = radio->counts >> PROCESSES & 0xff;

	return processes ? product(radio->best_tbs, processes) : 0;
}

/* ---- units: BitRate ---- */

INLINE u64 rate_of(u64 bytes, u64 time)
{
	return time ? mul_div(bytes, BIT_NS_PER_BYTE, time) : U64_MAX;
}

INLINE u64 bytes_in(u64 rate, u64 time)
{
	return mul_div(rate, time, BIT_NS_PER_BYTE);
}

/* ---- steering.rs ---- */

static long is_past(u32 index, void *context)
{
	struct scan *scan = context;
	struct meld *m = scan->m;

	if (m->first + 1 >= m->next ||
	    difference(m->tally.at, report_of(scan->reports, m->first)->at) < m->tally.age)
		return 1;
	m->first += 1;
	return 0;
}

/* The reports of the last round trip are those from m->first on. */
INLINE void receive(struct meld *m, const struct reports *reports, u64 number)
{
	const struct report *last = report_of(reports, number);
	struct scan scan = { .m = m, .reports = reports };

	m->tally.at = last->at;
	m->tally.age = max_of(m->srtt, last->period);
	if (m->first + MAX_REPORTS <= number)
		m->first = number + 1 - MAX_REPORTS;
	loop(MAX_REPORTS, is_past, &scan, 0);
}

INLINE u64 peak_of(const struct meld *m)
{
	return max_of(m->peak.current, m->peak.last);
}

/* Until when a report steers. */
INLINE u64 expiry(const struct report *report, const struct rules *rules)
{
	return sum(report->made_at, max_of(rules->max_age, product(report->period, MAX_AGE_PERIODS)));
}

static long survey_one(u32 index, void *context)
{
	struct scan *scan = context;
	struct tally *tally = &scan->m->tally;
	const struct report *report = report_of(scan->reports, tally->from + index);

	if (tally->from + index >= scan->m->next)
		return 1;
	/* too old as it came */
	if (report->at > expiry(report, scan->rules))
		return 0;
	tally->served = sum(tally->served, report->served);
	tally->period = sum(tally->period, report->period);
	return 0;
}

/* What left the base station in the last round trip, per time. */
INLINE u64 served_rate(struct meld *m, const struct reports *reports, const struct rules *rules)
{
	struct scan scan = { m, reports, rules };
	struct tally *tally = &m->tally;

	tally->from = m->first;
	tally->served = 0;
	tally->period = 0;
	loop(MAX_REPORTS, survey_one, &scan, 0);
	return rate_of(tally->served, tally->period);
}

/* What the radio would carry for the UE if it were sent all that it could. */
INLINE u64 radio_rate(const struct report *report)
{
	u64 slots = report->counts >> SLOTS;

	return rate_of(slots ? product(report->tbs, slots) : 0, report->period);
}

INLINE void steer(struct meld *m, const struct rules *rules, const struct report *report, u64 rate)
{
	u64 passing = bytes_in(rate, m->srtt);
	u64 peak = peak_of(m);
	u64 of_ue = max_of(passing, peak);
	u64 target = product(queue_threshold(report), TARGET_NUMERATOR) / TARGET_DENOMINATOR;
	u64 wanted = max_of(difference(sum(passing, target), report->queue), passing / MAX_DRAIN);
	u64 alike = target / ALIKE_SHARE;
	u64 added = sum(alike, rules->pdu);
	u64 per_round_trip, widest;

	if (difference(report->at, m->began) < product(m->round_trip, START_ROUND_TRIPS))
		added = sum(added, bytes_in(difference(radio_rate(report), rate), m->srtt));
	per_round_trip = sum(mul_div(difference(wanted, alike), peak, max_of(of_ue, 1)), added);
	widest = max_of(per_round_trip, mul_div(passing, peak, max_of(of_ue, 1)));
	widest = bytes_in(rate_of(widest, m->srtt), m->min_rtt);
	m->has_order = 1;
	m->order.pace = max_of(rate_of(per_round_trip, m->srtt), MIN_PACE);
	m->order.window = max_of(sum(product(widest, MAX_ROUND_TRIPS), target),
				 product(rules->pdu, MIN_PACKETS));
	m->order.per_round_trip = per_round_trip;
	m->order.queue = report->queue;
	m->order.target = target;
	m->order.in_flight_of_ue = of_ue;
	m->order.period = report->period;
	m->order.expires_at = expiry(report, rules);
}

/* Whether it is a newcomer no more. */
INLINE void settle(struct meld *m)
{
	const struct order *order = &m->order;
	int is_small = product(peak_of(m), NEWCOMER_SHARE) < order->in_flight_of_ue;

	if (!(m->is_slow_start && is_small) ||
	    order->queue > product(order->target, MAX_FOR_NEWCOMERS))
		m->is_settled = 1;
}

INLINE void steering_on_report(struct meld *m, const struct reports *reports,
			       const struct rules *rules, u64 number)
{
	const struct report *report = report_of(reports, number);

	if (report->at > expiry(report, rules))
		return;
	receive(m, reports, number);
	if (!m->srtt)
		return;
	if (!m->has_begun) {
		m->has_begun = 1;
		m->began = report->at;
		m->round_trip = m->srtt;
	}
	steer(m, rules, report, served_rate(m, reports, rules));
	settle(m);
}

INLINE int steering_on_ack(struct meld *m, const struct acked *ack, u64 now)
{
	const struct order *order = &m->order;

	m->is_slow_start = ack->is_slow_start;
	advance(&m->peak, now, ack->srtt);
	m->peak.current = max_of(m->peak.current, ack->prior_in_flight);
	if (m->has_order && now > order->expires_at)
		m->has_order = 0;
	if (!m->has_order)
		return 0;
	settle(m);
	if (!m->is_settled)
		return 0;
	if (ack->inner_cwnd >= order->per_round_trip)
		m->is_yielding = 0;
	/* it follows what is in flight, so that there is a window when the reports end */
	return ack->inner_cwnd >= (m->is_yielding ? order->window : ack->prior_in_flight);
}

/* ---- evidence.rs ---- */

INLINE int waits_elsewhere(const struct meld *m, const struct report *radio)
{
	u64 waiting = difference(m->srtt, m->min_rtt);
	u64 rate = rate_of(radio->served, radio->period);
	u64 in_base_station = rate ? mul_div_up(radio->queue, BIT_NS_PER_BYTE, rate) : 0;
	u64 jitter = max_of(m->min_rtt / JITTER_SHARE, MIN_JITTER);

	return waiting > sum(in_base_station, jitter);
}

/* Packets of a report that explain a loss. */
INLINE u64 unexplained_of(const struct meld *m, const struct report *report, u64 number)
{
	if (!(report->counts & IS_COUNTED))
		return 0;
	return difference(lost_of(report), m->explained[number & (MAX_REPORTS - 1)]);
}

static long is_forgotten(u32 index, void *context)
{
	struct scan *scan = context;
	struct meld *m = scan->m;

	if (m->oldest >= m->next ||
	    difference(m->tally.at, report_of(scan->reports, m->oldest)->at) <= m->tally.age)
		return 1;
	m->oldest += 1;
	return 0;
}

/* The reports that can explain anything are those from m->oldest on. */
INLINE void expire(struct meld *m, const struct reports *reports, u64 now)
{
	const struct report *last = report_of(reports, m->next - 1);
	struct scan scan = { .m = m, .reports = reports };

	m->tally.at = now;
	m->tally.age = sum(product(m->srtt, LATEST_ROUND_TRIPS), last->period);
	if (m->oldest + MAX_REPORTS < m->next)
		m->oldest = m->next - MAX_REPORTS;
	loop(MAX_REPORTS, is_forgotten, &scan, 0);
}

static long count_one(u32 index, void *context)
{
	struct scan *scan = context;
	struct tally *tally = &scan->m->tally;
	u64 number = tally->from + index;
	const struct report *report = report_of(scan->reports, number);

	if (number >= scan->m->next)
		return 1;
	if (report->at < tally->at)
		return 0;
	tally->packets += unexplained_of(scan->m, report, number);
	tally->has_repeated |= (report->counts & (IS_COUNTED | IS_REPEATED)) == IS_REPEATED;
	return 0;
}

/* Sets packets against what the radio lost by one report. */
static long explain_by_one(u32 index, void *context)
{
	struct scan *scan = context;
	struct tally *tally = &scan->m->tally;
	u64 number = tally->from + index;
	const struct report *report = report_of(scan->reports, number);
	u64 taken;

	if (number >= scan->m->next)
		return 1;
	if (report->at < tally->at)
		return 0;
	taken = min_of(unexplained_of(scan->m, report, number), tally->packets);
	scan->m->explained[number & (MAX_REPORTS - 1)] += taken;
	tally->packets -= taken;
	return !tally->packets;
}

INLINE u64 reason_by_evidence(struct meld *m, const struct reports *reports,
			      const struct rules *rules, const struct loss *loss, u64 now)
{
	const struct report *radio = report_of(reports, m->next - 1);
	u64 packets = max_of(quotient_up(loss->lost, rules->pdu), 1);
	struct scan scan = { .m = m, .reports = reports };
	struct tally *tally = &m->tally;

	expire(m, reports, now);
	tally->from = m->oldest;
	tally->at = loss->sent_at;
	tally->packets = 0;
	tally->has_repeated = 0;
	loop(MAX_REPORTS, count_one, &scan, 0);
	if (tally->packets >= packets) {
		tally->packets = packets;
		loop(MAX_REPORTS, explain_by_one, &scan, 0);
		return LOST_ON_RADIO;
	}
	if (!tally->has_repeated)
		return NOT_ON_RADIO;
	if (radio->queue >= queue_threshold(radio))
		return LONG_QUEUE;
	return waits_elsewhere(m, radio) ? NOT_ON_RADIO : REPEATED_ON_RADIO;
}

/* ---- discriminator.rs ---- */

INLINE u64 max_in_flight(const struct meld *m, const struct rules *rules)
{
	u64 delivered = max_of(m->delivered.last, m->delivered.earlier);
	u64 bound = sum(product(delivered, MAX_FLIGHT_PER_DELIVERED), m->delivered.current);

	return max_of(bound, product(rules->pdu, MIN_BOUND_SEGMENTS));
}

INLINE void on_report(struct meld *m, const struct reports *reports, const struct rules *rules,
		      u64 number)
{
	m->explained[number & (MAX_REPORTS - 1)] = 0;
	m->is_reported = 1;
	m->next = number + 1;
	if (rules->variant == DEFAULT)
		steering_on_report(m, reports, rules, number);
}

/* Before reports are taken: whose they are, and which is the next. A connection has those that come after
 * it began. Of more than it can take it takes the last, and has nothing of those before. */
INLINE void find_reports(struct meld *m, const struct reports *reports, u64 count, int is_new)
{
	u64 next = m->next;

	if (m->generation != reports->generation) {
		m->generation = reports->generation;
		m->is_reported = 0;
		next = is_new ? count : 0;
	} else if (count - next <= MAX_REPORTS) {
		return;
	}
	if (count - next > MAX_REPORTS)
		next = count - MAX_REPORTS;
	m->next = next;
	m->oldest = next;
	m->first = next;
}

INLINE int on_ack(struct meld *m, const struct rules *rules, const struct acked *ack, u64 now)
{
	advance(&m->delivered, now, ack->srtt);
	m->delivered.current = sum(m->delivered.current, ack->newly_acked);
	m->srtt = ack->srtt;
	m->min_rtt = ack->min_rtt;
	m->now = now;
	return rules->variant == DEFAULT && steering_on_ack(m, ack, now);
}

/* A loss was congestion, as judged here or not. */
INLINE void on_congestion(struct meld *m)
{
	m->is_yielding = 1;
}

INLINE int is_steered(const struct meld *m)
{
	return m->has_order && m->is_settled;
}

/* The most in flight of a flow that is steered. */
INLINE u64 order_window(const struct meld *m, const struct rules *rules)
{
	if (difference(m->now, m->began) < product(m->round_trip, BOUND_AFTER))
		return m->order.window;
	return min_of(m->order.window, max_in_flight(m, rules));
}

/* The pace that the reports set, in bit/s; 0 if they set none: Discriminator::pacing_order. */
INLINE u64 pace_of(const struct meld *m)
{
	return is_steered(m) && !m->is_yielding ? m->order.pace : 0;
}

/* The wrapped control's window with what the reports make of it. */
INLINE u64 window_of(const struct meld *m, const struct rules *rules, u64 inner)
{
	u64 window;

	if (!is_steered(m))
		return inner;
	window = order_window(m, rules);
	return m->is_yielding ? min_of(window, inner) : window;
}

/* `reports`: null if there are none of the UE. */
INLINE u64 reason_of(struct meld *m, const struct reports *reports, const struct rules *rules,
		     const struct loss *loss, u64 now)
{
	const struct report *radio;

	if (!reports || !m->is_reported)
		return NO_REPORT;
	radio = report_of(reports, m->next - 1);
	if (difference(now, radio->made_at) > rules->max_age)
		return STALE;
	if (loss->bytes_in_flight > max_in_flight(m, rules))
		return BEYOND_DELIVERED;
	if (radio->tbs < tbs_threshold(rules, radio))
		return SMALL_BLOCKS;
	if (rules->variant == DOWNLOAD_ENHANCEMENT)
		return GOOD_RADIO;
	if (rules->variant == MIXED_ENHANCEMENT)
		return radio->queue >= queue_threshold(radio) ? LONG_QUEUE : GOOD_RADIO;
	return reason_by_evidence(m, reports, rules, loss, now);
}
