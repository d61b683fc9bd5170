/* What is read of a packet, as a program of this machine, or (ANSWERS_CALLS) as a function of another one. */
#include "native_packet.h"

static struct bpf_sock *native_fullsock(struct bpf_sock *sk);

#define sk_fullsock native_fullsock

#include "marker_hold.h"
#include "marker_tunnel.h"

static struct bpf_sock of_tcp = { .protocol = IPPROTO_TCP };
static struct bpf_sock of_udp = { .protocol = IPPROTO_UDP };
static struct bpf_sock of_request;

static struct bpf_sock *native_fullsock(struct bpf_sock *sk)
{
	return sk == &of_request ? 0 : sk;
}

/* Of what is not judged, how that ended alone. */
struct result {
	u32 found;
	struct name ue;
	u32 at;
	u32 length;
	u32 own;
	u32 protocol;
	u32 is_fragment;
	u32 ecn;
	u32 flow;
	u32 segments;
	u32 bytes;
	u32 is_discovery;
	u32 outer_version;
	u32 outer_at;
	u32 outer_ecn;
	u32 outer_udp;
	u32 outer_checksum;
};

void read_marker_packet(const struct asked *asked, const u8 *bytes, struct result *result)
{
	struct bpf_sock *const sockets[] = { 0, &of_tcp, &of_udp, &of_request };
	struct choices choices = { asked->link_header, asked->splits_tcp, asked->seed, asked->inside };
	struct headers h = {};
	struct outer outer = {};
	struct native_skb skb;

	begin(&skb, asked, bytes);
	skb.sk = sockets[asked->socket & 3];
	*result = (struct result){ .found = take_apart(&skb, &choices, &h, &outer) };
	if (result->found == JUDGED) {
		result->ue = h.ue;
		result->at = h.at;
		result->length = h.length;
		result->own = h.own;
		result->protocol = h.protocol;
		result->is_fragment = h.is_fragment;
		result->ecn = h.ecn;
		result->flow = h.flow;
		result->segments = segments_of(&skb, &h);
		result->bytes = wire_bytes(h.length, h.own, result->segments);
		result->is_discovery = is_neighbour_discovery(&skb, &h);
		result->outer_version = outer.version;
		result->outer_at = outer.at;
		result->outer_ecn = outer.ecn;
		result->outer_udp = outer.udp;
		result->outer_checksum = outer.checksum;
	}
	end(&skb);
}

#ifndef ANSWERS_CALLS
static void answer(const struct event *event, struct result *result)
{
	read_marker_packet(&event->asked, event->bytes, result);
}

#include "check_main.h"
#endif

#pragma clang attribute pop
