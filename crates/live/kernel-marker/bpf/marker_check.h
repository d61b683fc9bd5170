/* What a packet of the comparison is, and what it results in. */
#pragma once

#include "marker_model.h"

struct event {
	u64 is_first; /* of another UE */
	u64 now;
	struct order order;
	struct packet packet;
	u32 headers;
	u32 unused;
};

struct result {
	u64 verdict;
	struct ue_marker marker;
};

INLINE void check(struct ue_marker *m, const struct event *event, struct result *result)
{
	struct packet packet = event->packet;

	packet.bytes = wire_bytes(packet.bytes, event->headers, packet.segments);
	result->verdict = decide(m, &event->order, event->now, &packet);
	result->marker = *m;
}
