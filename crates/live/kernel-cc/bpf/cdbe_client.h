/* What cc::cdbe::{estimator, cadence} decide at a client. Included by cdbe_model.h. */
#pragma once

#include "cdbe_numbers.h"

/* ---- cc::cdbe::estimator ---- */

#define MIN_TIME 2000ULL
#define SAMPLES 5ULL
#define NOMINAL_RTT 100000ULL
#define MAX_WINDOW 10000000ULL
#define OUR_MAX_WINDOW 300000ULL
#define BETA_GAP 400000ULL
#define MAX_GAP 60000000ULL
#define MAX_SPACING 50000ULL
#define IRREGULAR 4ULL
#define TICK 1000ULL

struct segment {
	u64 at;
	u64 bytes;
	u32 stamp;
	u64 rtt; /* 0: unknown */
};

struct estimate {
	u64 is_running;
	u64 window;
	u64 long_at;
	u64 samples;
	u64 rates;
	u64 past_bytes[SAMPLES];
	u64 past_time[SAMPLES];
	u64 head_at;
	u64 head_stamp;
	u64 bytes;
	u64 since;
	u64 last_at;
	u64 last_stamp;
	u64 spacing;
	u64 before_at;
	u64 has_before;
	u64 rate;
};

/* Equation 3. */
INLINE u64 paper_time(u64 window, u64 arrival, u64 sent)
{
	if (sent >= 2 * max_of(arrival, MIN_TIME))
		return window;
	return arrival ? arrival : MIN_TIME;
}

/* Equation 2. */
INLINE u64 sample_rate(u64 bytes, u64 time)
{
	return bytes * MILLION / max_of(time, 1);
}

/* Equations 4 and 5. */
INLINE u64 smooth(u64 before, u64 mean, u64 numerator, u64 denominator)
{
	before = min_of(before, U32_MAX);
	mean = min_of(mean, U32_MAX);
	return (numerator * before + (denominator - numerator) * mean) / denominator;
}

INLINE u64 sent_interval(u32 head, u32 last)
{
	s32 ticks = last - head;

	return ticks > 0 ? (u64)ticks * TICK : 0;
}

INLINE void begin_long(struct estimate *st, u64 mode, const struct segment *segment)
{
	u64 rtt = segment->rtt ? segment->rtt : NOMINAL_RTT;
	u64 longest = mode == PAPER ? MAX_WINDOW : OUR_MAX_WINDOW;

	st->window = max_of(min_of(rtt, longest), SAMPLES * MIN_TIME);
	st->long_at = segment->at;
	st->samples = 0;
	st->rates = 0;
}

/* Whether the time since the last segment belongs to the segment. */
INLINE int is_near_to(const struct estimate *st, const struct segment *segment)
{
	u64 gap = segment->at - st->last_at;
	int is_held = st->last_stamp && 2 * sent_interval(st->last_stamp, segment->stamp) < gap;
	int is_usual = gap <= IRREGULAR * st->spacing;

	return gap <= st->window / SAMPLES ||
	       (gap <= st->window + MAX_SPACING && (is_held || is_usual));
}

/* The segment is the last one. */
INLINE void pass_by(struct estimate *st, const struct segment *segment)
{
	if (st->last_at > 0)
		st->spacing = max_of(segment->at - st->last_at, st->spacing / 2);
	st->last_at = segment->at;
	st->last_stamp = segment->stamp;
}

INLINE void begin_sample(struct estimate *st, u64 mode, const struct segment *segment)
{
	int is_near = st->last_at > 0 && is_near_to(st, segment);

	if (mode == DEFAULT) {
		st->since = is_near ? st->last_at : segment->at;
		st->bytes = is_near ? segment->bytes : 0;
		if (!is_near) {
			for (u32 k = 0; k < SAMPLES; k++) {
				st->past_bytes[k] = 0;
				st->past_time[k] = 0;
			}
		}
	} else {
		st->bytes = segment->bytes;
	}
	st->head_at = segment->at;
	st->head_stamp = segment->stamp;
	pass_by(st, segment);
}

/* The report out of the last sample windows, unless too little of them was filled to update. */
INLINE void renew(struct estimate *st)
{
	u64 bytes = 0, time = 0;

	for (u32 k = 0; k < SAMPLES; k++) {
		bytes += st->past_bytes[k];
		time += st->past_time[k];
	}
	if (time >= st->window / SAMPLES)
		st->rate = min_of(sample_rate(bytes, time), U32_MAX);
}

INLINE void end_sample(struct estimate *st, u64 mode)
{
	if (mode == DEFAULT) {
		for (u32 k = SAMPLES - 1; k > 0; k--) {
			st->past_bytes[k] = st->past_bytes[k - 1];
			st->past_time[k] = st->past_time[k - 1];
		}
		st->past_bytes[0] = st->bytes;
		st->past_time[0] = st->last_at - st->since;
		renew(st);
	} else {
		u64 sent = sent_interval(st->head_stamp, st->last_stamp);
		u64 arrival = st->last_at - st->head_at;

		st->rates += sample_rate(st->bytes, paper_time(st->window / SAMPLES, arrival, sent));
	}
	st->samples += 1;
}

INLINE void end_long(struct estimate *st, u64 mode)
{
	u64 gap = st->long_at > st->before_at ? st->long_at - st->before_at : 0;
	u64 numerator = 2, denominator = 5;

	if (st->has_before && gap > st->window / SAMPLES) {
		numerator = BETA_GAP;
		denominator = BETA_GAP + min_of(gap, MAX_GAP);
	}
	if (mode == PAPER)
		st->rate = smooth(st->rate, st->rates / max_of(st->samples, 1), numerator, denominator);
	st->before_at = st->last_at;
	st->has_before = 1;
}

/* A segment arrived. */
INLINE void on_segment(struct estimate *st, u64 mode, const struct segment *segment)
{
	if (!st->is_running) {
		st->is_running = 1;
		begin_long(st, mode, segment);
		begin_sample(st, mode, segment);
		return;
	}
	if (segment->at < st->head_at + st->window / SAMPLES) {
		st->bytes += segment->bytes;
		pass_by(st, segment);
		return;
	}
	end_sample(st, mode);
	if (segment->at >= st->long_at + st->window) {
		end_long(st, mode);
		begin_long(st, mode, segment);
	}
	begin_sample(st, mode, segment);
}

/* ---- cc::cdbe::cadence ---- */

#define REPEATS 3
#define SILENT 8

struct cadence {
	u64 has_last;
	u64 last;
	u64 left;
	u64 silent;
};

/* Whether the acknowledgement that leaves carries the report. */
INLINE int is_due(struct cadence *st, u64 mode, u64 report)
{
	if (mode == PAPER)
		return 1;
	if (!st->has_last || st->last != report) {
		st->has_last = 1;
		st->last = report;
		st->left = REPEATS;
	}
	if (!st->left) {
		st->silent += 1;
		if (st->silent < SILENT)
			return 0;
		st->left = 1;
	}
	st->left -= 1;
	st->silent = 0;
	return 1;
}
