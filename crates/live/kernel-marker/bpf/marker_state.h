/* The state of a UE, as edge::marker has it: word for word, so that it can be compared as such. */
#pragma once

#include "types.h"

#define TICKS 64
#define BUCKETS 64

struct order {
	u64 number;
	u64 counted_until;
	u64 valid_until;
	u64 drain;
	u64 queue;
	u64 slack;
	u64 ramp_from;
	u64 ramp_to;
	u64 target;
	u64 spared;
};

struct history {
	u64 total;
	u64 tick;
	u64 at_tick[TICKS];
};

struct virtual_queue {
	u64 length;
	u64 at;
	u64 applied;
	struct history passed;
};

struct window {
	u64 epoch;
	u64 now;
	u64 before;
};

struct bucket {
	u32 tag;
	u32 packets;
	u32 ect0;
	u32 marked;
	u64 heavy;
	struct window window;
};

struct flows {
	struct window all;
	struct window classic;
	struct window heavy;
	struct bucket buckets[BUCKETS];
};

struct pi {
	u64 base;
	u64 last_delay;
	u64 updated_at;
};

struct ue_marker {
	u64 last;
	struct virtual_queue queue;
	struct flows flows;
	struct pi pi;
	s64 l4s;
	s64 classic;
	s64 overload;
};

enum { NOT_ECT, ECT_1, ECT_0, CE };

struct packet {
	u32 flow;
	u32 bytes;
	u32 segments;
	u32 codepoint;
};

/* In the order of edge::marker::Verdict. */
enum {
	NO_REPORT,
	STALE,
	NO_RATE,
	SHORT,
	YOUNG,
	SPARSE,
	UNDUE,
	CAPPED,
	MARKED,
	MARK_L4S,
	MARK_CLASSIC,
	DROP_NOT_ECT,
	DROP_OVERLOAD,
	VERDICTS,
};

INLINE int is_mark(u32 verdict)
{
	return verdict == MARK_L4S || verdict == MARK_CLASSIC;
}

INLINE int is_drop(u32 verdict)
{
	return verdict == DROP_NOT_ECT || verdict == DROP_OVERLOAD;
}
