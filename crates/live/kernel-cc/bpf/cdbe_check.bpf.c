/* The model of cdbe_model.h by itself: one event, handed over and taken back in a map, so that tests can
 * compare it with cc::cdbe. */
#include "cdbe_model.h"

enum { ARRIVAL, ACKNOWLEDGEMENT };

struct check {
	u64 event;
	struct rules rules;
	/* arrival */
	struct {
		u64 at, bytes, stamp, rtt;
	} segment;
	struct estimate estimate;
	struct cadence cadence;
	u64 is_due;
	/* acknowledgement; ack.has_delay: it has timestamps */
	u64 val, ecr;
	struct peer_clock clock;
	struct acknowledged ack;
	struct decision decision;
	u64 pacing_rate;
	u64 window;
};

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct check);
} checks SEC(".maps");

static void arrive(struct check *check)
{
	struct segment segment = {
		.at = check->segment.at,
		.bytes = check->segment.bytes,
		.stamp = check->segment.stamp,
		.rtt = check->segment.rtt,
	};

	on_segment(&check->estimate, check->rules.mode, &segment);
	check->is_due = is_due(&check->cadence, check->rules.mode, check->estimate.rate);
}

static void acknowledge(struct check *check)
{
	struct acknowledged ack = check->ack;

	if (ack.has_delay)
		ack.has_delay = delay_of(&check->clock, check->rules.mode, ack.at, check->val,
					 check->ecr, &ack.delay);
	on_ack(&check->decision, &check->rules, &ack);
	check->pacing_rate = pacing_rate_of(&check->decision, &check->rules);
	check->window = window_of(&check->decision, &check->rules);
}

SEC("syscall")
int run(void *ctx)
{
	u32 zero = 0;
	struct check *check = map_lookup(&checks, &zero);

	if (!check)
		return 1;
	if (check->event == ARRIVAL)
		arrive(check);
	else
		acknowledge(check);
	return 0;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
