/* Writes CE into a packet, and into the one that it is inside of, with the checksums that cover it. */
#pragma once

#include "marker_tunnel.h"

#define RECOMPUTE_CSUM 1
#define MARK_MANGLED_0 0x20
#define IPV4_ADDRESSES 12
#define IPV6_ADDRESSES 8

/* CE in the traffic class of IPv4, with the checksum that goes with it (RFC 1624, equation 3): one write, so that there is
 * never one without the other. Bytes are as they are in the packet: sums of one's complement do not depend on their order. */
INLINE long mark_ipv4(struct __sk_buff *skb, u32 at, u32 *first)
{
	u32 was = first[0] & 0xffff;
	u32 is = was | 0x0300;
	u32 sum = (~(first[2] >> 16) & 0xffff) + (~was & 0xffff) + is;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	first[0] |= is;
	first[2] = (first[2] & 0xffff) | (~sum & 0xffff) << 16;
	return skb_store_bytes(skb, at, first, 12, 0);
}

INLINE long mark_ipv6(struct __sk_buff *skb, u32 at, u32 first, u64 flags)
{
	u8 byte = (first >> 8 & 0xff) | 0x30;

	return skb_store_bytes(skb, at + 1, &byte, 1, flags);
}

/* What UDP's checksum begins with while the rest of it is left to the interface. */
INLINE u32 sum_of_addresses(struct __sk_buff *skb, const struct outer *outer)
{
	u32 words[8] = {}, length = 0, i;
	u64 sum = IPPROTO_UDP << 8;

	if (outer->version == 4)
		read_words(skb, outer->at + IPV4_ADDRESSES, words, 2);
	else
		read_words(skb, outer->at + IPV6_ADDRESSES, words, 8);
	read_words(skb, outer->udp + 4, &length, 1);
	sum += length & 0xffff;
	for (i = 0; i < 8; i++)
		sum += words[i];
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* The outer UDP checksum after a mark in an inner IPv6 header (`first` as it was). The kernel's helper changes one that is
 * complete, and leaves all as they are in a packet of which a checksum is still to be completed: either this one, which
 * then is the sum of the addresses, or the inner one, this one being complete.
 */
static __attribute__((noinline)) long keep_udp_checksum(struct __sk_buff *skb,
							const struct outer *outer, u32 first)
{
	u32 was = first & 0xffff;
	u32 is = was | 0x3000;
	u32 at = outer->udp + UDP_CHECKSUM_AT;
	u16 now = 0;
	u32 sum;

	if (l4_csum_replace(skb, at, was, is, MARK_MANGLED_0 | 2) ||
	    skb_load_bytes(skb, at, &now, 2))
		return -1;
	if (now != outer->checksum || now == sum_of_addresses(skb, outer))
		return 0;
	sum = (~(u32)now & 0xffff) + (~was & 0xffff) + is;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	now = ~sum;
	if (!now)
		now = 0xffff;
	return skb_store_bytes(skb, at, &now, 2, 0);
}

/* The inner header comes first: what is before it can be written thereafter, so that all of it is marked or nothing. An
 * inner IPv4 header adds up to the same with its checksum, so that the outer UDP checksum stays right. Of a super-packet the
 * outer checksum covers the addresses only, until it is cut. */
INLINE long mark_inside(struct __sk_buff *skb, struct headers *h, struct outer *outer)
{
	int has_checksum = outer->checksum && !skb->gso_size;

	if (h->ue.version == 4) {
		if (mark_ipv4(skb, h->at, h->first))
			return -1;
	} else {
		/* of a packet with the sum of its bytes (CHECKSUM_COMPLETE) a right UDP checksum keeps that */
		if (mark_ipv6(skb, h->at, h->first[0], has_checksum ? 0 : RECOMPUTE_CSUM))
			return -1;
		if (has_checksum && keep_udp_checksum(skb, outer, h->first[0]))
			return -1;
	}
	/* one that is not ECN-capable would be dropped or ignored: the inner mark is enough (RFC 6040, figure 4) */
	if (outer->ecn == NOT_ECT || outer->ecn == CE)
		return 0;
	if (outer->version == 4)
		return mark_ipv4(skb, outer->at, outer->first);
	return mark_ipv6(skb, outer->at, outer->first[0], RECOMPUTE_CSUM);
}

INLINE long mark(struct __sk_buff *skb, struct headers *h, struct outer *outer)
{
	if (outer->version)
		return mark_inside(skb, h, outer);
	if (h->ue.version == 4)
		return mark_ipv4(skb, h->at, h->first);
	return mark_ipv6(skb, h->at, h->first[0], RECOMPUTE_CSUM);
}
