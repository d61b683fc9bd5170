/* Hands packets of UEs that are held to a device, from which user space takes them into its queues. They come back by a socket
 * of its own, and pass. */
#pragma once

#include "handed_over.h"
#include "marker_packet.h"

/* A packet passes again once none has been handed over for so long: those that were have left by then. */
#define ENDING_GAP 500000ull

#define IPPROTO_ICMPV6 58
#define ON_LINK 255

/* Neighbour discovery, which a hop limit of 255 keeps to the link (RFC 4861 7.1): where packets wait for long, the UE would be
 * taken for gone. */
INLINE int is_neighbour_discovery(struct __sk_buff *skb, const struct headers *h)
{
	u8 limit = 0;

	if (h->ue.version != 6 || h->protocol != IPPROTO_ICMPV6)
		return 0;
	return !skb_load_bytes(skb, h->at + 7, &limit, sizeof(limit)) && limit == ON_LINK;
}

/* It is handed over; who takes it is there. */
INLINE int is_held(const struct holding *holding, const struct name *ue)
{
	struct hold *hold;
	u64 now;

	if (!holding->until)
		return 0;
	hold = map_lookup(&holds, ue);
	if (!hold)
		return 0;
	now = now_ns();
	if (now > holding->until)
		return 0;
	if (hold->is_ending && now > hold->redirected_at + ENDING_GAP)
		return 0;
	hold->redirected_at = now;
	return 1;
}
