/* What cc::cdbe::competing decides, mode default beside others. Included by cdbe_steering.h. */
#pragma once

#include "cdbe_numbers.h"

#define MAX_AMOUNT (1ULL << 40)
#define MAX_RATE (1ULL << 36)
#define SHARE 480ULL
#define MIN_SHARE 100ULL
#define SHARE_STEP 10ULL
#define BACKOFF 930ULL
#define CYCLE_LOSSES 10ULL
#define PART 8ULL
#define PHASES 4ULL
#define MEMORY 7ULL
#define MAX_REPORTS 16ULL
#define ALONE 7ULL
#define CYCLES 4ULL
#define MIN_CHANGE 3ULL
#define MAX_CHANGE 6ULL
#define LONG_ROUNDS 5ULL
#define EMPTY_TIME 400000ULL
#define FIRST_TRIAL 1000000ULL
#define LAST_TRIAL 16000000ULL
#define TRIAL_ROUNDS 3ULL
#define TRIAL_WATCH 10000000ULL
#define TAKEN 5ULL

struct competing {
	u64 is_on;
	u64 long_since;
	s64 long_queue;
	u64 long_report;
	u64 empty_since;
	u64 began;
	u64 lasts;
	u64 trial_at;
	s64 trial_queue;
	u64 trial_report;
	u64 base;
	u64 share;
	u64 phase;
	u64 phase_at;
	u64 cycles;
	u64 rtt;
	u64 rtt_sum;
	u64 rtt_count;
	u64 acked;
	u64 acked_before;
	u64 lost;
	u64 high;
	u64 high_rate;
	u64 low;
	u64 low_rate;
	u64 fall;
	u64 given;
};

INLINE u64 added(u64 sum, u64 amount)
{
	return min_of(sum + min_of(amount, MAX_AMOUNT), MAX_AMOUNT);
}

INLINE u64 without(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

INLINE u64 between(u64 value, u64 min, u64 max)
{
	return max_of(min_of(value, max), min);
}

INLINE void take_competing(struct competing *st, u64 rtt, u64 acked, u64 lost)
{
	if (!st->is_on)
		return;
	st->acked = added(st->acked, acked);
	st->lost = added(st->lost, lost);
	if (!rtt)
		return;
	st->rtt = (7 * st->rtt + rtt) / 8;
	if (st->phase % 2 == 1) {
		st->rtt_sum += rtt;
		st->rtt_count += 1;
	}
}

INLINE int is_empty_for(const struct competing *st, u64 at, u64 time)
{
	return st->empty_since > 0 && at > st->empty_since + time;
}

/* A window of RTT_min with samples of the queue ended. */
INLINE void look_competing(struct competing *st, u64 at, s64 least_queue, int is_empty, s64 target,
			   u64 report, u64 min_rtt)
{
	if (least_queue > 2 * target) {
		if (!st->long_since)
			st->long_report = 0;
		if (!st->long_since || 4 * least_queue < 3 * st->long_queue) {
			st->long_since = at;
			st->long_queue = least_queue;
		}
		st->long_report = max_of(st->long_report, report);
	} else {
		st->long_since = 0;
	}
	if (!is_empty) {
		st->empty_since = 0;
		return;
	}
	if (!st->empty_since)
		st->empty_since = at;
	if (is_empty_for(st, at, EMPTY_TIME + 4 * min_rtt))
		st->is_on = 0;
}

INLINE int is_due_competing(const struct competing *st, u64 at, u64 rtt)
{
	return st->long_since > 0 && at > st->long_since + LONG_ROUNDS * rtt;
}

INLINE void begin_competing(struct competing *st, u64 at, u64 report, u64 rtt)
{
	u64 base = report * rtt / MILLION;

	__builtin_memset(st, 0, sizeof(*st));
	st->is_on = 1;
	st->began = at;
	st->lasts = FIRST_TRIAL;
	st->base = base;
	st->share = SHARE;
	st->phase_at = at;
	st->rtt = rtt;
	st->fall = rtt / 16;
	st->given = 2 * base / PART;
}

/* Of the bottleneck, bytes a second. */
INLINE u64 capacity_of(const struct competing *st, u64 report)
{
	return between(st->given * MILLION / max_of(st->fall, 1), report, MAX_REPORTS * report);
}

INLINE void begin_phase(struct competing *st)
{
	st->acked_before = st->acked;
	st->rtt_sum = 0;
	st->rtt_count = 0;
}

INLINE void begin_cycle(struct competing *st)
{
	st->acked = 0;
	st->lost = 0;
}

INLINE void end_cycle(struct competing *st, u64 mean, u64 rate, u64 report)
{
	u64 aim;

	st->cycles += 1;
	if (st->low) {
		u64 fall;

		if (!st->lost) {
			fall = without(st->high, (st->low + mean) / 2);
		} else {
			u64 low = (st->low_rate + rate) / 2;
			u64 middle = (low + st->high_rate) / 2;
			u64 more = min_of(without(st->high_rate, low), middle / 4);

			fall = (middle / 4 - more) * st->high / max_of(middle, 1);
		}
		fall = min_of(fall, st->high / 4);
		st->fall = (MEMORY * st->fall + fall) / (MEMORY + 1);
		st->given = (MEMORY * st->given + 2 * st->base / PART) / (MEMORY + 1);
	}
	st->low = mean;
	st->low_rate = rate;
	if (st->lost * CYCLE_LOSSES > st->acked + st->lost)
		st->share = max_of(st->share * BACKOFF / ONE, MIN_SHARE);
	else
		st->share = min_of(st->share + SHARE_STEP, SHARE);
	aim = capacity_of(st, report) * ((st->high + mean) / 2) / MILLION * st->share / ONE;
	st->base = between(aim, st->base * MIN_CHANGE / 4, st->base * MAX_CHANGE / 4);
}

INLINE void end_phase(struct competing *st, u64 at, u64 report)
{
	u64 mean = st->rtt_count ? st->rtt_sum / st->rtt_count : st->rtt;
	u64 delivered = (st->acked - st->acked_before) * MILLION;
	u64 rate = min_of(delivered / max_of(at - st->phase_at, 1), MAX_RATE);

	if (st->phase == 1) {
		st->high = mean;
		st->high_rate = rate;
	}
	st->phase = (st->phase + 1) % PHASES;
	st->phase_at = at;
	if (!st->phase) {
		end_cycle(st, mean, rate, report);
		begin_cycle(st);
	}
	begin_phase(st);
}

/* The next phase if it is time; false if competing is over, for now at least. */
INLINE int step_competing(struct competing *st, u64 at, s64 queue, u64 report)
{
	if (at >= st->phase_at + st->rtt)
		end_phase(st, at, report);
	if (st->cycles >= CYCLES && !st->phase &&
	    capacity_of(st, report) * ALONE < report * (ALONE + 1)) {
		st->is_on = 0;
	} else if (at > st->began + st->lasts) {
		st->is_on = 0;
		st->trial_at = at + TRIAL_ROUNDS * st->rtt;
		st->trial_queue = queue;
		st->trial_report = report;
		st->long_since = 0;
	}
	return st->is_on != 0;
}

/* Judges a trial: true if competing goes on. */
INLINE int judge_competing(struct competing *st, u64 at, s64 queue, s64 target, u64 report)
{
	int is_taken, is_left;

	if (!st->trial_at || at <= st->trial_at)
		return 0;
	is_taken = 10 * report < TAKEN * st->trial_report && 4 * queue > 5 * target;
	is_left = 2 * queue > 3 * target && 2 * queue > st->trial_queue;
	if (!is_taken && !is_left) {
		if (at > st->trial_at + TRIAL_WATCH)
			st->trial_at = 0;
		return 0;
	}
	st->is_on = 1;
	st->began = at;
	st->lasts = min_of(2 * st->lasts, LAST_TRIAL);
	st->trial_at = 0;
	st->phase = 0;
	st->phase_at = at;
	st->low = 0;
	begin_cycle(st);
	begin_phase(st);
	return 1;
}

INLINE u64 competing_window(const struct competing *st)
{
	u64 part = st->base / PART;

	return st->phase < PHASES / 2 ? st->base + part : st->base - part;
}
