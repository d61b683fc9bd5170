/* What cc::cdbe::{clock, server} decide at a server. Included by cdbe_model.h. */
#pragma once

#include "cdbe_numbers.h"
#include "cdbe_steering.h"

/* ---- cc::cdbe::clock ---- */

#define OWN_TICK 1000LL
#define WATCH 200000ULL
#define TIMEOUT 1000000ULL
#define COARSEST 10000ULL

struct peer_clock {
	u64 is_running;
	u64 first_val;
	u64 first_ecr;
	u64 first_at;
	u64 tick;
	/* cc::cdbe::clock::FINE_TICKS */
	s64 early[4];
	s64 origin;
};

INLINE int is_tick(u64 tick, u64 ticks, u64 elapsed)
{
	u64 shown = ticks * tick;

	return shown * 4 >= elapsed * 3 && shown * 4 <= elapsed * 5;
}

INLINE u64 tick_of(u64 ticks, u64 elapsed)
{
	if (elapsed < WATCH || !ticks)
		return 0;
	if (is_tick(1, ticks, elapsed))
		return 1;
	if (is_tick(1000, ticks, elapsed))
		return 1000;
	if (is_tick(4000, ticks, elapsed))
		return 4000;
	if (is_tick(10000, ticks, elapsed))
		return 10000;
	if (is_tick(100000, ticks, elapsed))
		return 100000;
	if (is_tick(500000, ticks, elapsed))
		return 500000;
	return 0;
}

INLINE s64 difference(u64 val, u64 tick, u64 ecr)
{
	return (s64)(val * tick) - (s64)(ecr * OWN_TICK);
}

/* The least delay so far if the tick is this one. */
INLINE void note_early(struct peer_clock *st, u32 k, u64 tick, u64 val, u64 ecr)
{
	st->early[k] = lesser(st->early[k], difference(val, tick, ecr));
	if (st->tick == tick)
		st->origin = st->early[k];
}

/* The delay of a segment; false if there is none to be had. */
INLINE int delay_of(struct peer_clock *st, u64 mode, u64 now, u32 stamp_val, u32 stamp_ecr, s64 *delay)
{
	u64 val, ecr;

	if (mode == PAPER) {
		*delay = (s64)(s32)(stamp_val - stamp_ecr) * OWN_TICK;
		return 1;
	}
	if (!st->is_running) {
		st->is_running = 1;
		st->first_val = stamp_val;
		st->first_ecr = stamp_ecr;
		st->first_at = now;
	}
	val = (u32)(stamp_val - (u32)st->first_val);
	ecr = (u32)(stamp_ecr - (u32)st->first_ecr);
	if (!st->tick) {
		st->tick = tick_of(val, now - st->first_at);
		note_early(st, 0, 1, val, ecr);
		note_early(st, 1, 1000, val, ecr);
		note_early(st, 2, 4000, val, ecr);
		note_early(st, 3, 10000, val, ecr);
	}
	if (!st->tick || st->tick > COARSEST)
		return 0;
	*delay = difference(val, st->tick, ecr) - st->origin;
	return 1;
}

/* The peer's timestamps will update no delay. */
INLINE int is_hopeless(const struct peer_clock *st, u64 now)
{
	int is_unknown = !st->tick && st->is_running && now - st->first_at > TIMEOUT;

	return is_unknown || st->tick > COARSEST;
}

/* ---- cc::cdbe::server ---- */

#define STARTUP_GAIN 2885ULL
#define GROW_GAIN 1250ULL
#define DRAIN_GAIN 750ULL
#define CWND_GAIN 2000ULL
#define ALPHA 100ULL
#define BETA 250ULL
#define MIN_WINDOW 4ULL
#define PAPER_BOUND 4ULL
#define DEFAULT_BOUND 2ULL
#define SILENCE 2000000ULL
#define SILENT_WINDOWS 16ULL
#define DELIVERY_WINDOWS 10ULL
#define MAX_REPORTED 0xffffffffULL
#define OUR_STARTUP_GAIN 2000ULL
#define MIN_WINDOW_TIME 2000ULL
#define STARTUP_SEGMENTS 20ULL

/* As cc::cdbe::server::Phase. */
enum { STARTUP, NORMAL, GROW, DRAIN };

struct rules {
	u64 mode;
	u64 startup_rounds;
	u64 ups;
	u64 downs;
	u64 inflight_share;
	u64 mss;
};

struct tally {
	s64 count;
	s64 sum;
	s64 least;
};

struct decision {
	u64 phase;
	u64 report;
	u64 reported;
	u64 bounded;
	u64 min_rtt;
	u64 is_running;
	u64 window_at;
	u64 windows;
	struct tally tally;
	s64 before;
	u64 has_before;
	s64 least;
	u64 has_least;
	u64 ups;
	u64 downs;
	s64 start;
	u64 is_watching;
	u64 rounds;
	u64 report_before;
	u64 stalls;
	u64 delivered, delivered_before;
	u64 is_app_limited;
	u64 gain;
	u64 has_report;
	u64 reported_at;
	struct steering steering;
};

INLINE void begin_decision(struct decision *st)
{
	st->report = INITIAL_REPORT;
	st->report_before = INITIAL_REPORT;
	st->gain = STARTUP_GAIN;
}

/* Equation 8. */
INLINE s64 mean_of(const struct tally *tally)
{
	return quotient(tally->sum, tally->count);
}

/* Equation 9. */
INLINE s64 deviation_of(const struct tally *tally, s64 before)
{
	return tally->sum - tally->count * before;
}

INLINE int is_queue_up(const struct tally *tally, s64 before, s64 least)
{
	s64 mean = mean_of(tally);

	return (mean > part_of(ONE + ALPHA, before) && deviation_of(tally, before) > 0) ||
	       mean > part_of(ONE + BETA, least);
}

INLINE int is_queue_down(const struct tally *tally, s64 before, s64 least)
{
	s64 mean = mean_of(tally);

	return (mean < part_of(ONE - ALPHA, before) && deviation_of(tally, before) < 0) ||
	       mean < part_of(ONE + ALPHA, least);
}

/* Equation 6, inverted. */
INLINE u64 paced(u64 gain, u64 report)
{
	return gain * report / ONE;
}

/* A report has come, and the last is not too old. */
INLINE int is_reported(const struct decision *st, u64 at)
{
	u64 silence = max_of(SILENCE, SILENT_WINDOWS * st->min_rtt);

	return st->has_report && at - min_of(st->reported_at, at) <= silence;
}

INLINE void take_report(struct decision *st, const struct rules *rules, const struct acknowledged *ack)
{
	u64 proven = (rules->mode == PAPER ? PAPER_BOUND : DEFAULT_BOUND) *
		     max_of(st->delivered, st->delivered_before);
	u64 limit = max_of(proven, INITIAL_REPORT);
	u64 accepted, least = 0;

	if (ack->has_report) {
		st->reported = ack->report;
		if (!is_reported(st, ack->at))
			restart_steering(&st->steering, ack->at);
		st->has_report = 1;
		st->reported_at = ack->at;
	}
	if (!st->reported)
		return;
	if (ack->has_report && st->reported > limit)
		st->bounded += 1;
	accepted = min_of(st->reported, limit);
	if (rules->mode == DEFAULT && is_holding(&st->steering, ack->at))
		least = st->steering.held;
	else if (rules->mode == DEFAULT && st->is_app_limited)
		least = st->report;
	st->report = max_of(accepted, least);
}

INLINE void take_delay(struct decision *st, s64 delay)
{
	st->tally.least = st->tally.count ? lesser(st->tally.least, delay) : delay;
	st->tally.count += 1;
	st->tally.sum += delay;
	if (!st->has_least || delay < st->least) {
		st->least = delay;
		st->has_least = 1;
	}
}

INLINE int has_started(const struct decision *st, const struct rules *rules)
{
	return st->rounds >= rules->startup_rounds || st->stalls >= 2;
}

INLINE int restarts(const struct decision *st, const struct rules *rules, u64 in_flight)
{
	u64 bdp = st->report * st->min_rtt / MILLION;

	return min_of(in_flight, bdp) * ONE < rules->inflight_share * bdp && st->rounds < rules->startup_rounds;
}

INLINE void enter(struct decision *st, u64 phase, s64 mean)
{
	if (st->phase == DRAIN)
		st->is_watching = 1;
	if (phase == STARTUP)
		st->stalls = 0;
	if (st->phase == NORMAL) {
		st->ups = 0;
		st->downs = 0;
	}
	st->phase = phase;
	st->start = mean;
	st->gain = phase == STARTUP ? STARTUP_GAIN :
		   phase == NORMAL  ? ONE :
		   phase == GROW    ? GROW_GAIN :
				      DRAIN_GAIN;
}

INLINE u64 next_of_normal(const struct decision *st, const struct rules *rules, s64 mean, s64 before)
{
	if (mean >= part_of(ONE + BETA, before) || st->ups >= rules->ups)
		return DRAIN;
	if (mean < part_of(ONE - BETA, before) || st->downs >= rules->downs)
		return GROW;
	return NORMAL;
}

/* Mode paper, figure 4. */
INLINE void judge(struct decision *st, const struct rules *rules, u64 in_flight)
{
	s64 mean, before;
	int is_up, is_down;
	u64 phase;

	if (!st->tally.count)
		return;
	mean = mean_of(&st->tally);
	before = st->has_before ? st->before : mean;
	is_up = is_queue_up(&st->tally, before, st->least);
	is_down = is_queue_down(&st->tally, before, st->least);
	st->ups = is_up ? st->ups + 1 : 0;
	st->downs = is_down ? st->downs + 1 : 0;
	if (st->is_watching && mean >= before && mean > part_of(ONE + ALPHA, st->least))
		st->least = mean;
	st->is_watching = 0;
	if (st->phase == STARTUP)
		phase = has_started(st, rules) ? NORMAL : STARTUP;
	else if (restarts(st, rules, in_flight))
		phase = STARTUP;
	else if (st->phase == NORMAL)
		phase = next_of_normal(st, rules, mean, before);
	else if (st->phase == GROW)
		phase = is_up || mean >= part_of(ONE + BETA, st->start) ? NORMAL : GROW;
	else
		phase = is_down || mean <= part_of(ONE - BETA, st->start) ? NORMAL : DRAIN;
	if (phase != st->phase)
		enter(st, phase, mean);
	st->before = mean;
	st->has_before = 1;
}

/* Mode default, as a window ends. */
INLINE void look_back(struct decision *st, const struct rules *rules, const struct acknowledged *ack)
{
	if (st->phase == STARTUP) {
		if (has_started(st, rules))
			st->phase = NORMAL;
	} else if (!is_holding(&st->steering, ack->at) && restarts(st, rules, ack->in_flight)) {
		st->phase = STARTUP;
		st->stalls = 0;
	}
	end_steering_window(&st->steering, ack->at, st->min_rtt, st->report, rules->mss);
}

/* Mode default. */
INLINE void leave_startup(struct decision *st, const struct rules *rules)
{
	const struct steering *steering = &st->steering;
	int is_long = steering->queue > 2 * target_of(steering, st->report);
	int overflows = steering->lost * LOSSES > max_of(steering->acked, STARTUP_SEGMENTS * rules->mss);

	if (st->phase == STARTUP && (is_long || overflows))
		st->phase = NORMAL;
}

/* Mode default, at each acknowledgement. */
INLINE void steer(struct decision *st, u64 at)
{
	struct steering *steering = &st->steering;

	if (st->phase == STARTUP) {
		st->gain = OUR_STARTUP_GAIN;
		start_up_steering(steering, at, st->min_rtt);
		return;
	}
	steer_queue(steering, at, st->min_rtt, st->report);
	st->gain = steering_gain(steering, st->report, st->min_rtt);
	if (st->gain > ONE + ALPHA)
		st->phase = GROW;
	else if (st->gain < ONE - ALPHA)
		st->phase = DRAIN;
	else
		st->phase = NORMAL;
}

INLINE void end_window(struct decision *st, const struct rules *rules, const struct acknowledged *ack)
{
	st->windows += 1;
	if (st->windows % DELIVERY_WINDOWS == 0) {
		st->delivered_before = st->delivered;
		st->delivered = 0;
	}
	if (st->phase == STARTUP) {
		st->rounds += 1;
		st->stalls = st->report * ONE >= st->report_before * (ONE + ALPHA) ? 0 : st->stalls + 1;
	}
	st->report_before = st->report;
	if (rules->mode == PAPER)
		judge(st, rules, ack->in_flight);
	else
		look_back(st, rules, ack);
	st->tally.count = 0;
	st->tally.sum = 0;
	st->tally.least = 0;
	st->is_app_limited = 0;
}

/* How long a window is. */
INLINE u64 window_time(const struct decision *st, const struct rules *rules)
{
	return rules->mode == PAPER ? st->min_rtt : max_of(st->min_rtt, MIN_WINDOW_TIME);
}

/* An acknowledgement came. */
INLINE void on_ack(struct decision *st, const struct rules *rules, const struct acknowledged *ack)
{
	st->min_rtt = max_of(min_of(ack->min_rtt, MAX_TIME), 1);
	st->delivered = max_of(st->delivered, min_of(ack->delivered, MAX_REPORTED));
	if (ack->is_app_limited)
		st->is_app_limited = 1;
	take_report(st, rules, ack);
	if (rules->mode == DEFAULT) {
		measure_queue(&st->steering, ack);
		leave_startup(st, rules);
	}
	if (ack->has_delay)
		take_delay(st, greater(lesser(ack->delay, MAX_DELAY), -MAX_DELAY));
	if (!st->is_running) {
		st->is_running = 1;
		st->window_at = ack->at;
	}
	if (ack->at >= st->window_at + window_time(st, rules)) {
		end_window(st, rules, ack);
		st->window_at = ack->at;
	}
	if (rules->mode == DEFAULT && is_reported(st, ack->at))
		steer(st, ack->at);
}

/* Bytes. */
INLINE u64 window_of(const struct decision *st, const struct rules *rules)
{
	u64 least = MIN_WINDOW * rules->mss;

	if (rules->mode == PAPER)
		return max_of(windowed(st->phase == STARTUP ? STARTUP_GAIN : CWND_GAIN, st->report,
				       st->min_rtt),
			      least);
	if (st->phase == STARTUP)
		return windowed(OUR_STARTUP_GAIN, st->report, st->min_rtt) + least;
	return steering_window(&st->steering, st->report, st->min_rtt, rules->mss);
}

/* Bytes a second. */
INLINE u64 pacing_rate_of(const struct decision *st, const struct rules *rules)
{
	u64 least = MIN_WINDOW * rules->mss * MILLION / (st->min_rtt + 100000);

	if (rules->mode == DEFAULT && st->phase != STARTUP && !st->steering.is_draining)
		return max_of(steering_pacing_rate(&st->steering, window_of(st, rules), st->min_rtt), 1);
	return max_of(max_of(paced(st->gain, st->report), least), 1);
}
