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
	u64 counts; /* lost packets; above 32 bits: IS_COUNTED, IS_REPEATED, HARQ processes */
};

#define IS_COUNTED (1ULL << 32)
#define IS_REPEATED (1ULL << 33)
#define PROCESSES 40

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
	u64 queue;
	u64 packets;
	u64 has_repeated;
};

struct meld {
	u64 generation; /* of the reports that were taken; 0: none yet */
	u64 next;       /* number of the report to be taken next */
	u64 is_reported;
	struct round_trips delivered;
	u64 srtt;
	u64 min_rtt;
	u64 oldest; /* number of the first report that explains losses */
	/* of DEFAULT only */
	u64 has_limit;
	u64 limit;
	u64 has_hold;
	u64 standing;
	u64 target;
	u64 in_flight_of_ue;
	u64 expires_at;
	u64 first; /* number of the first report of the last round trip */
	u64 bytes_in_flight;
	struct round_trips peak;
	u64 lowered_until;
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
	return quotient_up(rules->pdu, most(radio->counts >> PROCESSES & 0xff, 1));
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

/* ---- brake.rs ---- */

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
	m->tally.age = most(m->srtt, last->period);
	if (m->first + MAX_REPORTS <= number)
		m->first = number + 1 - MAX_REPORTS;
	loop(MAX_REPORTS, is_past, &scan, 0);
}

INLINE u64 peak_of(const struct meld *m)
{
	return most(m->peak.current, m->peak.last);
}

static long survey_one(u32 index, void *context)
{
	struct scan *scan = context;
	struct tally *tally = &scan->m->tally;
	const struct report *report = report_of(scan->reports, tally->from + index);

	if (tally->from + index >= scan->m->next)
		return 1;
	/* too old as it came */
	if (report->at > sum(report->made_at, scan->rules->max_age))
		return 0;
	tally->queue = least(tally->queue, report->queue);
	tally->served = sum(tally->served, report->served);
	tally->period = sum(tally->period, report->period);
	return 0;
}

/* The standing queue, and what the UE has in flight. */
INLINE void survey(struct meld *m, const struct reports *reports, const struct rules *rules)
{
	struct scan scan = { m, reports, rules };
	struct tally *tally = &m->tally;
	u64 in_flight;

	tally->from = m->first;
	tally->queue = U64_MAX;
	tally->served = 0;
	tally->period = 0;
	loop(MAX_REPORTS, survey_one, &scan, 0);
	in_flight = mul_div(rate_of(tally->served, tally->period), m->srtt, BIT_NS_PER_BYTE);
	m->standing = tally->queue;
	m->in_flight_of_ue = most(in_flight, peak_of(m));
}

INLINE void lower(struct meld *m, const struct rules *rules)
{
	u64 kept = difference(m->in_flight_of_ue, m->standing - m->target);
	u64 limit = mul_div(m->bytes_in_flight, kept, most(m->in_flight_of_ue, 1));

	m->has_limit = 1;
	m->limit = most(limit, product(rules->pdu, MIN_PACKETS));
}

INLINE void brake_on_report(struct meld *m, const struct reports *reports, const struct rules *rules,
			    u64 number)
{
	const struct report *report = report_of(reports, number);
	u64 expires_at = sum(report->made_at, rules->max_age);
	u64 now = report->at;

	if (now > expires_at)
		return;
	receive(m, reports, number);
	survey(m, reports, rules);
	m->has_hold = 1;
	m->target = product(queue_threshold(report), TARGET_NUMERATOR) / TARGET_DENOMINATOR;
	m->expires_at = expires_at;
	if (!m->srtt)
		return;
	if (m->standing > product(m->target, MAX_PER_TARGET)) {
		if (now < m->lowered_until)
			return;
		lower(m, rules);
		m->lowered_until = sum(now, m->srtt);
	} else if (m->has_limit) {
		u64 missing = difference(m->target, m->standing);

		m->limit = sum(m->limit, mul_div(missing, least(report->period, m->srtt), m->srtt));
	}
}

INLINE int brake_on_ack(struct meld *m, const struct acked *ack, u64 now)
{
	int is_newcomer, is_very_long;

	m->bytes_in_flight = ack->prior_in_flight;
	advance(&m->peak, now, ack->srtt);
	m->peak.current = most(m->peak.current, ack->prior_in_flight);
	if (!m->has_hold || now > m->expires_at) {
		m->has_limit = 0;
		return 0;
	}
	is_newcomer = ack->is_slow_start &&
		      product(peak_of(m), NEWCOMER_SHARE) < m->in_flight_of_ue;
	is_very_long = m->standing > product(m->target, MAX_FOR_NEWCOMERS);
	if (is_newcomer && !is_very_long) {
		m->has_limit = 0;
		return 0;
	}
	return m->standing >= m->target || (m->has_limit && m->limit <= ack->inner_cwnd);
}

/* ---- evidence.rs ---- */

INLINE int waits_elsewhere(const struct meld *m, const struct report *radio)
{
	u64 waiting = difference(m->srtt, m->min_rtt);
	u64 rate = rate_of(radio->served, radio->period);
	u64 in_base_station = rate ? mul_div_up(radio->queue, BIT_NS_PER_BYTE, rate) : 0;
	u64 jitter = most(m->min_rtt / JITTER_SHARE, MIN_JITTER);

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
INLINE void forget(struct meld *m, const struct reports *reports, u64 now)
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

/* Sets packets against what one report says that the radio lost. */
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
	taken = least(unexplained_of(scan->m, report, number), tally->packets);
	scan->m->explained[number & (MAX_REPORTS - 1)] += taken;
	tally->packets -= taken;
	return !tally->packets;
}

INLINE u64 reason_by_evidence(struct meld *m, const struct reports *reports,
			      const struct rules *rules, const struct loss *loss, u64 now)
{
	const struct report *radio = report_of(reports, m->next - 1);
	u64 packets = most(quotient_up(loss->lost, rules->pdu), 1);
	struct scan scan = { .m = m, .reports = reports };
	struct tally *tally = &m->tally;

	forget(m, reports, now);
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

INLINE u64 most_in_flight(const struct meld *m, const struct rules *rules)
{
	u64 delivered = most(m->delivered.last, m->delivered.earlier);
	u64 bound = sum(product(delivered, MAX_FLIGHT_PER_DELIVERED), m->delivered.current);

	return most(bound, product(rules->pdu, MIN_BOUND_SEGMENTS));
}

INLINE void on_report(struct meld *m, const struct reports *reports, const struct rules *rules,
		      u64 number)
{
	m->explained[number & (MAX_REPORTS - 1)] = 0;
	m->is_reported = 1;
	m->next = number + 1;
	if (rules->variant == DEFAULT)
		brake_on_report(m, reports, rules, number);
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
	return rules->variant == DEFAULT && brake_on_ack(m, ack, now);
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
	if (loss->bytes_in_flight > most_in_flight(m, rules))
		return BEYOND_DELIVERED;
	if (radio->tbs < tbs_threshold(rules, radio))
		return SMALL_BLOCKS;
	if (rules->variant == DOWNLOAD_ENHANCEMENT)
		return GOOD_RADIO;
	if (rules->variant == MIXED_ENHANCEMENT)
		return radio->queue >= queue_threshold(radio) ? LONG_QUEUE : GOOD_RADIO;
	return reason_by_evidence(m, reports, rules, loss, now);
}
