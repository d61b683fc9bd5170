/* Takes an outgoing packet apart: link header, IP, ports. Nothing is read beyond what is there; what is malformed is told
 * apart from what is not IP. */
#pragma once

#include "socket.h"

#include "marker_maps.h"
#include "marker_model.h"

#define ETHERNET 14
#define ETHERTYPE_AT 12
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define ETH_P_8021Q 0x8100
#define ETH_P_8021AD 0x88a8
#define MAX_TAGS 2
/* IPv6 extension headers that are followed. */
#define MAX_EXTENSIONS 8
/* Beside a protocol: it is one of a fragment. */
#define FRAGMENT 0x100
#define FIRST_FRAGMENT 0x200

#define IPPROTO_UDP 17
#define IPPROTO_DCCP 33
#define IPPROTO_SCTP 132
#define IPPROTO_UDPLITE 136
/* What is read directly. */
#define MAX_HEADERS 1024
#define MIN_TCP 20
#define MIN_UDP 8

/* What is known of a packet. Words are as they are in the packet. */
struct headers {
	struct name ue;
	u32 at;      /* where the IP header begins */
	u32 end;     /* of what it is inside of */
	u32 length;  /* from `at` on */
	u32 stated;  /* the same by the header itself */
	u32 own;     /* bytes of headers that each segment has */
	u32 protocol;
	u32 is_fragment;
	u32 is_first; /* of the fragments of a packet */
	u32 ecn;
	u32 flow;
	u32 first[3]; /* of IPv4: up to and with the checksum */
};

/* What becomes of a packet that is taken apart. */
enum { JUDGED, MALFORMED, NOT_IP, OWN_TCP, SIGNALLING, BUNDLED };

INLINE u32 host(u32 half)
{
	return __builtin_bswap16(half);
}

/* Copies words of the packet; not zero if they are not there. */
INLINE long read_words(struct __sk_buff *skb, u32 at, u32 *to, u32 words)
{
	/* bounds that the verifier can see */
	IN_REGISTER(at);
	if (at < MAX_HEADERS) {
		const u8 *from = (const u8 *)(long)skb->data + at;
		u32 i;

		if (from + 4 * words <= (const u8 *)(long)skb->data_end) {
			for (i = 0; i < words; i++)
				to[i] = ((const u32 *)from)[i];
			return 0;
		}
	}
	/* behind what lies in one piece, or not there */
	return skb_load_bytes(skb, at, to, 4 * words);
}

/* Mixes two words into a hash. */
INLINE u64 mixed(u64 hash, u32 a, u32 b)
{
	hash = (hash ^ ((u64)a << 32 | b)) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/* Follows extension headers from `at` on. Gives the offset of what follows them, shifted by 16, with the protocol there,
 * FRAGMENT and FIRST_FRAGMENT; 0 if one of them is not whole. */
__attribute__((noinline)) u64 extensions(struct __sk_buff *skb, u32 at, u32 next)
{
	u32 i;

	for (i = 0; i < MAX_EXTENSIONS; i++) {
		u8 header[8] = {};
		u32 size;

		at &= 0xffff;
		switch (next) {
		case 0:   /* hop-by-hop options */
		case 43:  /* routing */
		case 44:  /* fragment */
		case 51:  /* authentication */
		case 60:  /* destination options */
		case 135: /* mobility */
			break;
		default:
			return (u64)at << 16 | (next & 0xff);
		}
		if (skb_load_bytes(skb, at, header, sizeof(header)))
			return 0;
		if (next == 44 && (((u32)header[2] << 8 | header[3]) & 0xfff9)) {
			u32 kind = FRAGMENT;

			if (!(((u32)header[2] << 8 | header[3]) & 0xfff8))
				kind |= FIRST_FRAGMENT;
			return (u64)(at + 8) << 16 | kind | header[0];
		}
		size = ((u32)header[1] + 1) * 8;
		if (next == 51)
			size = ((u32)header[1] + 2) * 4;
		if (next == 44)
			size = 8;
		at += size;
		next = header[0];
	}
	return (u64)at << 16 | (next & 0xff);
}

INLINE int read_ipv4(struct __sk_buff *skb, struct headers *h, u32 *transport)
{
	u32 words[5] = {};
	u32 size, total;

	if (read_words(skb, h->at, words, 5))
		return MALFORMED;
	size = (words[0] & 15) * 4;
	total = host(words[0] >> 16);
	if ((words[0] & 0xf0) != 0x40 || size < 20)
		return MALFORMED;
	/* of more than 64 kB the length is stated elsewhere */
	h->length = h->end - h->at;
	h->stated = total;
	if (!skb->gso_size) {
		if (total < size || total > h->length)
			return MALFORMED;
		h->length = total;
	}
	if (size > h->length)
		return MALFORMED;
	h->ecn = words[0] >> 8 & 3;
	h->protocol = words[2] >> 8 & 0xff;
	/* more fragments, or not the first */
	h->is_fragment = (host(words[1] >> 16) & 0x3fff) != 0;
	h->is_first = (host(words[1] >> 16) & 0x3fff) == 0x2000;
	h->ue.version = 4;
	h->ue.address[0] = words[4];
	h->first[0] = words[0];
	h->first[1] = words[1];
	h->first[2] = words[2];
	h->flow = words[3];
	*transport = h->at + size;
	return JUDGED;
}

INLINE int read_ipv6(struct __sk_buff *skb, struct headers *h, u32 seed, u32 *transport)
{
	u32 words[10] = {};
	u32 payload;
	u64 hash;

	if (read_words(skb, h->at, words, 10))
		return MALFORMED;
	payload = host(words[1] & 0xffff);
	if ((words[0] & 0xf0) != 0x60)
		return MALFORMED;
	h->length = h->end - h->at;
	h->stated = 40 + payload;
	if (!skb->gso_size) {
		if (40 + payload > h->length)
			return MALFORMED;
		h->length = 40 + payload;
	}
	h->ecn = words[0] >> 12 & 3;
	h->first[0] = words[0];
	h->protocol = words[1] >> 16 & 0xff;
	h->ue.version = 6;
	h->ue.address[0] = words[6];
	h->ue.address[1] = words[7];
	h->ue.address[2] = words[8];
	h->ue.address[3] = words[9];
	hash = mixed(mixed(seed, words[2], words[3]), words[4], words[5]);
	h->flow = hash >> 16;
	*transport = h->at + 40;
	if (h->protocol != IPPROTO_TCP && h->protocol != IPPROTO_UDP) {
		u64 found = extensions(skb, *transport, h->protocol);

		if (!found || (found >> 16) > h->at + h->length)
			return MALFORMED;
		*transport = found >> 16;
		h->protocol = found & 0xff;
		h->is_fragment = (found & FRAGMENT) != 0;
		h->is_first = (found & FIRST_FRAGMENT) != 0;
	}
	return JUDGED;
}

/* The ports, and how long the header is with which each segment begins. */
INLINE int read_transport(struct __sk_buff *skb, struct headers *h, u32 transport, u32 *ports)
{
	u32 end = h->at + h->length;

	h->own = transport - h->at;
	if (h->is_fragment)
		return JUDGED;
	if (h->protocol == IPPROTO_TCP) {
		u32 words[4] = {};
		u32 size;

		if (transport + MIN_TCP > end || read_words(skb, transport, words, 4))
			return MALFORMED;
		size = (words[3] >> 4 & 15) * 4;
		if (size < MIN_TCP || transport + size > end)
			return MALFORMED;
		h->own += size;
		*ports = words[0];
		return JUDGED;
	}
	switch (h->protocol) {
	case IPPROTO_UDP:
	case IPPROTO_DCCP:
	case IPPROTO_SCTP:
	case IPPROTO_UDPLITE:
		if (transport + MIN_UDP > end || read_words(skb, transport, ports, 1))
			return MALFORMED;
		h->own += MIN_UDP;
	}
	return JUDGED;
}

/* The kind of IP by its first byte. */
INLINE u32 kind_of_ip(struct __sk_buff *skb, u32 at)
{
	u32 word = 0;

	if (read_words(skb, at, &word, 1))
		return 0;
	return (word & 0xf0) == 0x40 ? ETH_P_IP : (word & 0xf0) == 0x60 ? ETH_P_IPV6 : 0;
}

/* The kind of network layer of an Ethernet frame, and where it begins. */
INLINE u32 in_ethernet(struct __sk_buff *skb, struct headers *h)
{
	u32 type = 0, i;

	if (read_words(skb, h->at + ETHERTYPE_AT, &type, 1))
		return 0;
	h->at += ETHERNET;
	for (i = 0; i < MAX_TAGS; i++) {
		u32 kind = host(type & 0xffff);

		if (kind != ETH_P_8021Q && kind != ETH_P_8021AD)
			break;
		if (read_words(skb, h->at + 2, &type, 1))
			return 0;
		h->at += 4;
	}
	return host(type & 0xffff);
}

INLINE int read_ip(struct __sk_buff *skb, struct headers *h, u32 kind, u32 seed, u32 *transport)
{
	switch (kind) {
	case ETH_P_IP:
		return read_ipv4(skb, h, transport);
	case ETH_P_IPV6:
		return read_ipv6(skb, h, seed, transport);
	default:
		return NOT_IP;
	}
}

INLINE void name_flow(struct headers *h, u32 ports, u32 seed)
{
	h->flow = mixed(mixed(seed, h->flow, h->ue.address[0]), ports, h->protocol) >> 32;
}

/* How many packets it is on the wire. */
INLINE u32 segments_of(struct __sk_buff *skb, const struct headers *h)
{
	u32 segments = skb->gso_segs, size = skb->gso_size;

	/* of packets from outside the kernel the number is not stated */
	if (!segments && size && h->length > h->own)
		segments = (h->length - h->own + size - 1) / size;
	if (segments > MAX_SEGMENTS)
		return MAX_SEGMENTS;
	return segments ? segments : 1;
}
