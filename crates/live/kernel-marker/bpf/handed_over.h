/* Packets that are handed to a device, from which user space takes them into its queues. They come back by a socket of its own,
 * and pass. */
#pragma once

#include "socket.h"

/* Who takes packets, and until when: written again and again, so that packets pass where it is not. */
struct holding {
	u64 until;  /* 0: none are held */
	u64 cookie; /* of the socket that they come back by; 0: there is none */
	u32 device; /* that they are handed to */
	u32 unused;
};

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct holding);
} holdings SEC(".maps");

static u64 (*const socket_cookie)(void *skb) = (void *)46;
static long (*const redirect)(u32 interface, u64 flags) = (void *)23;

/* It comes back from user space. */
INLINE int is_returned(struct __sk_buff *skb, const struct holding *holding)
{
	return holding->cookie && skb->sk && socket_cookie(skb) == holding->cookie;
}
