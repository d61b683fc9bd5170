/* What cc::cdbe::steering decides, mode default. Included by cdbe_server.h. */
#pragma once

#include "cdbe_numbers.h"

#define ONE 1000ULL

#include "cdbe_competing.h"

#define MAX_TIME 60000000ULL
#define MAX_DELAY (1LL << 42)

#define TARGET_MAX 19000LL
#define TARGET_MIN 2000LL
#define TARGET_OCTAVE 1900LL
/* log2 of cc::cdbe::steering::TARGET_RATE, thousandths */
#define TARGET_LOG 16907LL
#define AHEAD 2ULL
#define STEERING_MIN_WINDOW 2ULL
#define PACING_GAIN 1500ULL
#define DRAINING_GAIN 500ULL
#define DRAIN_AFTER 2000000ULL
#define MAX_DEPTH 8ULL
#define MAX_DRAIN 76000ULL
#define BEYOND 3000LL
#define MIN_HOLD 20000ULL
#define NEARLY_EMPTY 500LL
#define FALLEN_BY 500LL
#define FLOOR_TIME 10000000ULL
#define LOSSES 50ULL
#define ANSWERED_LOSSES 4ULL
#define MAX_BACKOFF 875ULL
#define GROWTH_PART 4ULL
#define GROWTH_AFTER 100000ULL

/* As cc::cdbe::server::Event. */
struct acknowledged {
	u64 at;
	u64 has_report;
	u64 report;
	u64 has_delay;
	s64 delay;
	u64 tick;
	u64 rtt;
	u64 min_rtt;
	u64 acked;
	u64 lost;
	u64 in_flight;
	u64 delivered;
	u64 is_app_limited;
};

struct floor {
	u64 has_now;
	s64 now;
	u64 has_before;
	s64 before;
	u64 since;
};

struct steering {
	u64 is_running;
	struct floor delay;
	struct floor rtt;
	s64 queue;
	u64 samples;
	s64 least_queue;
	s64 known_rtt;
	u64 acked;
	u64 lost;
	u64 backoff;
	u64 empty_at;
	u64 depth;
	u64 is_draining;
	u64 drain_until;
	u64 hold_until;
	u64 check_at;
	u64 held;
	u64 settled_at;
	u64 is_filling;
	u64 is_growing;
	struct competing competing;
};

/* Thousandths of a time. */
INLINE s64 part_of(u64 part, s64 time)
{
	return quotient(time * (s64)part, ONE);
}

/* Equation 7. */
INLINE u64 windowed(u64 gain, u64 report, u64 min_rtt)
{
	return gain * (report * min_rtt / MILLION) / ONE;
}

/* Thousandths; of 1 to 2^32. */
INLINE s64 log2_of(u64 x)
{
	u64 power = 0, rest = x;

	if (rest >> 32) {
		power += 32;
		rest >>= 32;
	}
	if (rest >> 16) {
		power += 16;
		rest >>= 16;
	}
	if (rest >> 8) {
		power += 8;
		rest >>= 8;
	}
	if (rest >> 4) {
		power += 4;
		rest >>= 4;
	}
	if (rest >> 2) {
		power += 2;
		rest >>= 2;
	}
	if (rest >> 1)
		power += 1;
	return power * ONE + ((((x << 10) >> power) - (1 << 10)) * ONE >> 10);
}

INLINE void add_to_floor(struct floor *st, u64 at, s64 value)
{
	int is_over = st->has_now && at >= st->since + FLOOR_TIME;

	if (is_over) {
		st->before = st->now;
		st->has_before = 1;
	}
	if (is_over || !st->has_now) {
		st->has_now = 1;
		st->now = value;
		st->since = at;
	}
	st->now = lesser(st->now, value);
}

INLINE s64 floor_of(const struct floor *st)
{
	return st->has_before ? lesser(st->now, st->before) : st->now;
}

/* The queue that is aimed at. */
INLINE s64 target_of(const struct steering *st, u64 report)
{
	s64 octaves = log2_of(max_of(report, 1)) - TARGET_LOG;
	s64 target = TARGET_MAX - quotient(TARGET_OCTAVE * octaves, ONE);

	return part_of(ONE - st->backoff, greater(lesser(target, TARGET_MAX), TARGET_MIN));
}

/* An acknowledgement came. */
INLINE void measure_queue(struct steering *st, const struct acknowledged *ack)
{
	int by_rtt = ack->rtt != 0, by_delay = ack->has_delay && ack->tick;
	s64 queue = 0, coarse = 0;

	if (!st->is_running) {
		st->is_running = 1;
		st->empty_at = ack->at;
	}
	st->acked = added(st->acked, ack->acked);
	st->lost = added(st->lost, ack->lost);
	take_competing(&st->competing, min_of(ack->rtt, MAX_TIME), ack->acked, ack->lost);
	if (by_rtt) {
		s64 rtt = min_of(ack->rtt, MAX_TIME);

		add_to_floor(&st->rtt, ack->at, rtt);
		queue = rtt - floor_of(&st->rtt);
	}
	if (by_delay) {
		s64 delay = greater(lesser(ack->delay, MAX_DELAY), -MAX_DELAY);

		if (!st->delay.has_now)
			add_to_floor(&st->delay, ack->at, 0);
		add_to_floor(&st->delay, ack->at, delay);
		coarse = delay - floor_of(&st->delay);
	}
	if (!by_rtt && !by_delay)
		return;
	if (by_rtt && by_delay) {
		s64 tick = min_of(ack->tick, MAX_TIME);

		queue = greater(greater(lesser(queue, coarse + tick), coarse - tick), 0);
	} else if (by_delay) {
		queue = coarse;
	}
	st->queue += quotient(queue - st->queue, 4);
	if (!st->samples || queue < st->least_queue)
		st->least_queue = queue;
	st->samples += 1;
}

INLINE int is_holding(const struct steering *st, u64 at)
{
	return at < st->hold_until;
}

/* A window of RTT_min ended. */
INLINE void end_steering_window(struct steering *st, u64 at, u64 min_rtt, u64 report, u64 mss)
{
	int overflows = st->lost * LOSSES > st->acked + st->lost, is_empty, is_idle;
	s64 target;

	if (overflows && at >= st->settled_at) {
		u64 segments = min_of(st->lost / mss, ANSWERED_LOSSES);

		st->backoff += (ONE - st->backoff) * segments / (2 * ANSWERED_LOSSES);
		st->backoff = min_of(st->backoff, MAX_BACKOFF);
	} else if (!overflows) {
		st->backoff -= min_of(st->backoff, min_of(max_of(min_rtt / 8000, 8), 200));
	}
	target = target_of(st, report);
	is_empty = st->samples && st->least_queue <= greater(quotient(target, 4), NEARLY_EMPTY);
	if (is_empty && floor_of(&st->rtt) + FALLEN_BY >= st->known_rtt) {
		st->empty_at = at;
		st->depth = 0;
	}
	if (st->samples)
		look_competing(&st->competing, at, st->least_queue, is_empty, target, report,
			       min_rtt);
	if (st->samples && 2 * st->least_queue > target)
		st->is_filling = 0;
	is_idle = is_empty_for(&st->competing, at, GROWTH_AFTER + min_rtt);
	st->is_growing = !is_holding(st, at) && (is_idle || (st->is_filling && is_empty));
	st->samples = 0;
	st->acked = 0;
	st->lost = 0;
}

INLINE void begin_drain(struct steering *st, u64 at, u64 min_rtt, u64 report)
{
	u64 queue = greater(st->queue, 0) + BEYOND;

	st->depth = max_of(2 * st->depth, 1);
	st->drain_until = at + min_of(2 * queue * st->depth, 2 * min_rtt + MAX_DRAIN);
	st->hold_until = st->drain_until + max_of(2 * min_rtt, MIN_HOLD) + queue;
	st->check_at = st->hold_until;
	st->held = report;
	st->known_rtt = floor_of(&st->rtt);
}

/* RTT_min and the queue. */
INLINE u64 round_trip_of(const struct steering *st, u64 min_rtt)
{
	return min_of(min_rtt + greater(st->queue, 0), 2 * MAX_TIME);
}

/* STARTUP goes on. */
INLINE void start_up_steering(struct steering *st, u64 at, u64 min_rtt)
{
	st->settled_at = at + 2 * round_trip_of(st, min_rtt);
	st->is_filling = 1;
}

INLINE void stop_draining(struct steering *st, u64 at)
{
	st->is_draining = 0;
	st->drain_until = at;
	st->hold_until = at;
	st->check_at = at;
}

INLINE void give_up(struct steering *st, u64 at)
{
	st->depth = 0;
	st->empty_at = at;
}

/* Reports decide again. */
INLINE void restart_steering(struct steering *st, u64 at)
{
	stop_draining(st, at);
	give_up(st, at);
	__builtin_memset(&st->competing, 0, sizeof(st->competing));
}

/* Others keep the queue up. */
INLINE void compete(struct steering *st, u64 at, u64 report, u64 rtt)
{
	stop_draining(st, at);
	give_up(st, at);
	begin_competing(&st->competing, at, report, rtt);
}

/* At each acknowledgement after STARTUP. */
INLINE void steer_queue(struct steering *st, u64 at, u64 min_rtt, u64 report)
{
	s64 target = target_of(st, report);
	u64 rtt;

	if (st->competing.is_on) {
		if (!step_competing(&st->competing, at, st->queue, report))
			give_up(st, at);
		return;
	}
	if (judge_competing(&st->competing, at, st->queue, target, report)) {
		stop_draining(st, at);
		return;
	}
	rtt = round_trip_of(st, min_rtt);
	if (is_due_competing(&st->competing, at, rtt)) {
		compete(st, at, max_of(st->competing.long_report, report), rtt);
		return;
	}
	if (is_holding(st, at) && st->queue > 2 * target)
		st->hold_until = at;
	if (at >= st->check_at && (st->depth || at >= st->empty_at + DRAIN_AFTER)) {
		if (st->depth >= MAX_DEPTH) {
			compete(st, at, max_of(st->held, report), rtt);
			return;
		}
		begin_drain(st, at, min_rtt, report);
	}
	st->is_draining = at < st->drain_until;
}

INLINE u64 room_of(const struct steering *st, u64 report, u64 min_rtt)
{
	s64 target = target_of(st, report);
	s64 off = greater(lesser(target - st->queue, target), -target);
	u64 more = 0;

	if (st->is_growing && st->queue < target)
		more = min_of(min_rtt / GROWTH_PART, 2 * (u64)target);
	return greater(target + quotient(off, AHEAD), 0) + more;
}

INLINE u64 steering_gain(const struct steering *st, u64 report, u64 min_rtt)
{
	u64 rtt = round_trip_of(st, min_rtt);

	if (st->competing.is_on) {
		u64 window = min_of(competing_window(&st->competing), MAX_AMOUNT);

		return min_of(window * MILLION / rtt, MAX_AMOUNT) * ONE / max_of(report, 1);
	}
	if (st->is_draining)
		return DRAINING_GAIN;
	return ONE * (min_rtt + room_of(st, report, min_rtt)) / rtt;
}

INLINE u64 steering_window(const struct steering *st, u64 report, u64 min_rtt, u64 mss)
{
	u64 window = competing_window(&st->competing);

	if (!st->competing.is_on)
		window = windowed(ONE, report, min_rtt + room_of(st, report, min_rtt)) +
			 mss * (ONE - st->backoff) / ONE;
	return max_of(window, STEERING_MIN_WINDOW * mss);
}

INLINE u64 steering_pacing_rate(const struct steering *st, u64 window, u64 min_rtt)
{
	u64 bounded = min_of(window, MAX_AMOUNT);

	return bounded * PACING_GAIN / ONE * MILLION / round_trip_of(st, min_rtt);
}
