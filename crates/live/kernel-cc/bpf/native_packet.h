/* A packet as the kernel hands it to programs, and the helpers that read it, for programs of this machine. To be included before
 * the headers that call them. */
#pragma once

/* what marks fields to be found again in the running kernel is nothing here */
#pragma clang diagnostic ignored "-Wunknown-attributes"
#pragma clang diagnostic ignored "-Wignored-attributes"
#pragma clang diagnostic ignored "-Wunused-const-variable"

#include "socket.h"
#include <stdlib.h>
#include <string.h>

/* Bytes of a packet that is answered by a program; by a function it can be of any length. */
#define LONGEST 464

/* What is asked of a packet. */
struct asked {
	u32 length;
	u32 linear; /* bytes that lie in one piece, from the first on */
	u32 network; /* where the network header begins, by the kernel */
	u32 gso_size;
	u32 gso_segs;
	u32 socket; /* 0: none; OF_TCP, OF_UDP, OF_REQUEST */
	u32 link_header;
	u32 splits_tcp;
	u32 inside;
	u32 seed;
};

enum { OF_TCP = 1, OF_UDP, OF_REQUEST };

struct event {
	struct asked asked;
	u8 bytes[LONGEST];
};

struct native_skb {
	u32 len;
	u32 gso_segs;
	u32 gso_size;
	u32 network;
	u64 data;
	u64 data_end;
	struct bpf_sock *sk;
	const u8 *whole;
};

static long native_load_bytes(const struct native_skb *skb, u32 offset, void *to, u32 length)
{
	if (offset > skb->len || length > skb->len - offset)
		return -1;
	memcpy(to, skb->whole + offset, length);
	return 0;
}

static inline long native_load_relative(const struct native_skb *skb, u32 offset, void *to, u32 length,
					u32 start)
{
	(void)start;
	if (skb->network > skb->len)
		return -1;
	return native_load_bytes(skb, skb->network + offset, to, length);
}

/* Memory of its own for each part: what reads beyond it is found out. */
static void begin(struct native_skb *skb, const struct asked *asked, const u8 *bytes)
{
	u32 linear = asked->linear < asked->length ? asked->linear : asked->length;
	u8 *piece = malloc(linear ? linear : 1);
	u8 *whole = malloc(asked->length ? asked->length : 1);

	if (!piece || !whole)
		abort();
	memcpy(piece, bytes, linear);
	memcpy(whole, bytes, asked->length);
	*skb = (struct native_skb){
		.len = asked->length,
		.gso_segs = asked->gso_segs,
		.gso_size = asked->gso_size,
		.network = asked->network,
		.data = (u64)(unsigned long)piece,
		.data_end = (u64)(unsigned long)(piece + linear),
		.whole = whole,
	};
}

static void end(struct native_skb *skb)
{
	free((void *)(unsigned long)skb->data);
	free((void *)skb->whole);
}

#define __sk_buff native_skb
#define skb_load_bytes native_load_bytes
#define skb_load_bytes_relative native_load_relative

/* words of a packet lie anywhere, as the kernel permits to its programs */
#pragma clang attribute push(__attribute__((no_sanitize("alignment"))), apply_to = function)
