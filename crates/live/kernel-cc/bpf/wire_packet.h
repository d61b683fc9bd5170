/* Takes a segment towards a server apart. Nothing is read beyond what is there. */
#pragma once

#include "socket.h"

#define FROM_NETWORK_HEADER 1
#define ETHERNET 14

/* A segment that leaves. */
struct segment {
	u32 at;      /* where the TCP header begins */
	u32 payload; /* bytes */
	u32 seq;
	u32 ack;
	u32 field;
	u32 flags;
};

INLINE u32 word_of(const u8 *bytes)
{
	return (u32)bytes[0] << 24 | (u32)bytes[1] << 16 | (u32)bytes[2] << 8 | bytes[3];
}

INLINE u32 half_of(const u8 *bytes)
{
	return (u32)bytes[0] << 8 | bytes[1];
}

/* True if the IP header that is given begins at this offset. */
INLINE int is_at(struct __sk_buff *skb, u32 at, const u32 *header)
{
	u32 found[5] = {};

	if (skb_load_bytes(skb, at, found, sizeof(found)))
		return 0;
	return found[0] == header[0] && found[1] == header[1] && found[2] == header[2] &&
	       found[3] == header[3] && found[4] == header[4];
}

/* Takes apart a packet that begins with an Ethernet header or with none; false if it is no whole TCP segment. (An
 * interface of a VLAN has no tag in it yet.) */
INLINE int read_segment(struct __sk_buff *skb, struct segment *segment)
{
	u32 words[5] = {};
	u8 tcp[20] = {};
	const u8 *ip = (const u8 *)words;
	u32 link = ETHERNET, header, length, data;

	if (skb_load_bytes_relative(skb, 0, words, sizeof(words), FROM_NETWORK_HEADER))
		return 0;
	if (ip[0] >> 4 == 4) {
		header = (ip[0] & 15) * 4;
		length = half_of(ip + 2);
		if (header < 20 || ip[9] != IPPROTO_TCP || half_of(ip + 6) & 0x3fff)
			return 0;
	} else if (ip[0] >> 4 == 6 && ip[6] == IPPROTO_TCP) {
		header = 40;
		length = half_of(ip + 4) + header;
	} else {
		return 0;
	}
	if (!is_at(skb, link, words)) {
		link = 0;
		if (!is_at(skb, link, words))
			return 0;
	}
	segment->at = link + header;
	if (skb_load_bytes(skb, segment->at, tcp, sizeof(tcp)))
		return 0;
	data = header + (tcp[12] >> 4) * 4;
	/* of more than 64 kB the length is stated elsewhere: there is payload */
	segment->payload = length - data;
	segment->seq = word_of(tcp + 4);
	segment->ack = word_of(tcp + 8);
	segment->flags = tcp[13];
	segment->field = half_of(tcp + 14);
	return 1;
}
