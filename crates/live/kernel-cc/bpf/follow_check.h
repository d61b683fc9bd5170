/* The model of follow_model.h by itself, so that tests can compare it with rapid::FollowAllocation. */
#pragma once

#include "follow_model.h"

/* An acknowledgement, with what user space has set by then. */
struct event {
	struct control control;
	u64 mss;
	u64 cwnd;
	u64 max;
};

struct result {
	u64 cwnd;
	u64 pacing_rate;
};

INLINE void decide(const struct event *event, struct result *result)
{
	result->cwnd = cwnd_of(&event->control, event->mss, event->cwnd, event->max);
	result->pacing_rate = pacing_of(&event->control);
}
