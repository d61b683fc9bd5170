/* What a program reads of an arriving packet, from the IP header on. */
#pragma once

#include "socket.h"

#define TIMESTAMP 8
#define TIMESTAMP_LENGTH 10
#define OPTIONS 40

/* The timestamp (TSval) among a segment's options, in host order; 0 if there is none. */
static u32 timestamp_of(struct __sk_buff *skb, u32 at, u32 length)
{
	u8 options[OPTIONS] = {};
	u32 i = 0;
	int k;

	/* the verifier requires that it is seen not to be zero */
	if (length < TIMESTAMP_LENGTH || length > OPTIONS)
		return 0;
	if (skb_load_bytes(skb, at, options, length))
		return 0;
	for (k = 0; k < OPTIONS; k++) {
		u32 kind, own;

		IN_REGISTER(i);
		if (i > OPTIONS - TIMESTAMP_LENGTH)
			return 0;
		kind = options[i];
		own = options[i + 1];
		if (kind == 0)
			return 0;
		if (kind == 1) {
			i += 1;
			continue;
		}
		if (kind == TIMESTAMP && own == TIMESTAMP_LENGTH)
			return (u32)options[i + 2] << 24 | (u32)options[i + 3] << 16 |
			       (u32)options[i + 4] << 8 | options[i + 5];
		if (own < 2)
			return 0;
		i += own;
	}
	return 0;
}

/* Where the TCP header begins, and how long the packet is by its IP header; false if it is no TCP. */
static int transport(struct __sk_buff *skb, u32 *at, u32 *until)
{
	u8 first[8];

	if (skb_load_bytes(skb, 0, first, sizeof(first)))
		return 0;
	if (first[0] >> 4 == 4) {
		*at = (first[0] & 15) * 4;
		*until = skb->len;
		return 1;
	}
	*at = 40;
	*until = skb->len;
	return first[6] == IPPROTO_TCP;
}
