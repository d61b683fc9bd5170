/* Looks into the tunnels that packets towards UEs come in, one level deep: GTP-U (TS 29.281) and VXLAN (RFC 7348). Nothing is read
 * beyond what a length says; each chain has a bound. */
#pragma once

#include "marker_packet.h"

#define GTPU_PORT 2152
#define VXLAN_PORT 4789
#define UDP_HEADER 8
#define UDP_CHECKSUM_AT 6

#define GTPU_HEADER 8
#define GTPU_VERSION 0xf0 /* and the protocol type */
#define GTPU_V1 0x30
#define GTPU_OPTIONS 7 /* any of these has all of them follow */
#define GTPU_HAS_EXTENSIONS 4
#define GTPU_G_PDU 255
#define MAX_GTPU_EXTENSIONS 10

#define VXLAN_HEADER 8
#define VXLAN_HAS_VNI 0x08

/* The packet that a packet is inside of. Words are as they are in it. */
struct outer {
	u32 version; /* of IP; 0: it is inside of none */
	u32 at;
	u32 ecn;
	u32 first[3];
	u32 is_first; /* what there is of it is the first fragment */
	u32 udp; /* where its header begins */
	u32 checksum; /* of UDP */
};

struct bpf_sock {
	u32 bound_dev_if;
	u32 family;
	u32 type;
	u32 protocol;
};

/* Extension headers from `at` on, of which the first is of type `next`. Gives where the packet begins, 0 if one is not whole
 * before `end` or there are too many. What they hold does not matter here. */
__attribute__((noinline)) u32 gtpu_extensions(struct __sk_buff *skb, u32 at, u32 end, u32 next)
{
	u32 i;

	for (i = 0; i < MAX_GTPU_EXTENSIONS && next; i++) {
		u8 units = 0, type = 0;

		at &= 0xffff;
		if (skb_load_bytes(skb, at, &units, 1))
			return 0;
		at += units * 4u;
		if (!units || at > end || skb_load_bytes(skb, at - 1, &type, 1))
			return 0;
		next = type;
	}
	return next ? 0 : at;
}

/* From the header of GTP-U to the packet. */
INLINE int open_gtpu(struct __sk_buff *skb, struct headers *h)
{
	u32 words[2] = {};
	u32 end, has_extensions;

	if (h->at + GTPU_HEADER > h->end || read_words(skb, h->at, words, 2))
		return MALFORMED;
	if ((words[0] & GTPU_VERSION) != GTPU_V1)
		return MALFORMED;
	end = h->at + GTPU_HEADER + host(words[0] >> 16);
	if (end > h->end)
		return MALFORMED;
	/* of several messages in one super-packet only the first would be seen */
	if (skb->gso_size && end != h->end)
		return BUNDLED;
	if ((words[0] >> 8 & 0xff) != GTPU_G_PDU)
		return SIGNALLING;
	has_extensions = words[0] & GTPU_HAS_EXTENSIONS;
	h->end = end;
	h->at += GTPU_HEADER;
	if (words[0] & GTPU_OPTIONS) {
		if (h->at + 4 > end || read_words(skb, h->at, words, 1))
			return MALFORMED;
		h->at += 4;
		if (has_extensions && words[0] >> 24) {
			/* most often there is one, of four octets */
			if (h->at + 4 <= end && !read_words(skb, h->at, words + 1, 1) &&
			    (words[1] & 0xff0000ff) == 1)
				h->at += 4;
			else
				h->at = gtpu_extensions(skb, h->at, end, words[0] >> 24);
			if (!h->at)
				return MALFORMED;
		}
	}
	/* reports of a base station are messages without a packet */
	return h->at < end ? JUDGED : SIGNALLING;
}

/* From the header of VXLAN to the frame. */
INLINE int open_vxlan(struct __sk_buff *skb, struct headers *h)
{
	u32 flags = 0;

	if (h->at + VXLAN_HEADER + ETHERNET > h->end || read_words(skb, h->at, &flags, 1))
		return MALFORMED;
	if (!(flags & VXLAN_HAS_VNI))
		return MALFORMED;
	h->at += VXLAN_HEADER;
	return JUDGED;
}

/* A segment of a TCP socket of this machine, rather than of what a program sends by a UDP socket. */
INLINE int is_of_own_tcp(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;

	if (!sk)
		return 0;
	sk = sk_fullsock(sk);
	return !sk || sk->protocol == IPPROTO_TCP;
}

/* Takes the packet of a tunnel apart, whose UDP header is at `transport`: `h` is of the outer packet before, of the inner one
 * thereafter. Of a first fragment all lengths are those of the datagram, which ends behind it; the headers of the inner packet must be in it. */
static __attribute__((noinline)) int look_inside(struct __sk_buff *skb, const struct choices *choices,
						 struct headers *h, struct outer *outer,
						 u32 transport)
{
	u32 udp[2] = {}, ports = 0;
	u32 length, kind, end, there;
	int found;

	if (read_words(skb, transport, udp, 2))
		return MALFORMED;
	length = host(udp[1] & 0xffff);
	there = end = h->at + h->length;
	/* of super-packets the length is that of all segments, or is stated elsewhere */
	if (!skb->gso_size) {
		end = transport + length;
		if (length < UDP_HEADER || (end > there) != (h->is_first != 0))
			return MALFORMED;
	}
	*outer = (struct outer){
		.version = h->ue.version,
		.at = h->at,
		.ecn = h->ecn,
		.first = { h->first[0], h->first[1], h->first[2] },
		.is_first = h->is_first,
		.udp = transport,
		.checksum = udp[1] >> 16,
	};
	*h = (struct headers){ .at = transport + UDP_HEADER, .end = end };
	if (host(udp[0] >> 16) == GTPU_PORT) {
		found = open_gtpu(skb, h);
		if (found != JUDGED)
			return found;
		kind = kind_of_ip(skb, h->at);
	} else {
		found = open_vxlan(skb, h);
		if (found != JUDGED)
			return found;
		kind = in_ethernet(skb, h);
	}
	if (kind && h->at > h->end)
		return MALFORMED;
	found = read_ip(skb, h, kind, choices->seed, &transport);
	if (found != JUDGED)
		return found;
	if (skb->gso_size && h->stated != h->length)
		return BUNDLED;
	if (h->protocol == IPPROTO_TCP && choices->splits_tcp && is_of_own_tcp(skb))
		return OWN_TCP;
	found = read_transport(skb, h, transport, &ports);
	if (found != JUDGED)
		return found;
	if (outer->is_first && h->at + h->own > there)
		return MALFORMED;
	name_flow(h, ports, choices->seed);
	return JUDGED;
}

/* The ports of a fragment, if it has them. */
INLINE u32 first_ports(struct __sk_buff *skb, const struct headers *h, u32 transport)
{
	u32 ports = 0;

	if (!h->is_first || skb->gso_size || transport + MIN_UDP > h->at + h->length ||
	    read_words(skb, transport, &ports, 1))
		return 0;
	return ports;
}

INLINE int is_tunnel(const struct choices *choices, const struct headers *h, u32 ports)
{
	u32 port = host(ports >> 16);

	if (h->protocol != IPPROTO_UDP)
		return 0;
	return (port == GTPU_PORT && choices->inside & IN_GTPU) ||
	       (port == VXLAN_PORT && choices->inside & IN_VXLAN);
}

/* Verified by itself: what follows is so for any headers, once, instead of for each way here. */
__attribute__((noinline)) int take_apart(struct __sk_buff *skb, const struct choices *choices,
					 struct headers *h, struct outer *outer)
{
	u32 transport = 0, ports = 0, kind;
	int found;

	if (!choices || !h || !outer)
		return NOT_IP;
	h->end = skb->len;
	kind = choices->link_header ? in_ethernet(skb, h) : kind_of_ip(skb, 0);
	found = read_ip(skb, h, kind, choices->seed, &transport);
	if (found != JUDGED)
		return found;
	if (h->protocol == IPPROTO_TCP && choices->splits_tcp && skb->sk)
		return OWN_TCP;
	found = read_transport(skb, h, transport, &ports);
	if (found != JUDGED)
		return found;
	if (choices->inside &&
	    is_tunnel(choices, h, h->is_fragment ? first_ports(skb, h, transport) : ports))
		return look_inside(skb, choices, h, outer, transport);
	name_flow(h, ports, choices->seed);
	return JUDGED;
}
