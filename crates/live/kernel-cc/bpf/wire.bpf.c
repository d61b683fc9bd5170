/* Sets the window that the proxy's segments show to servers, where they leave an interface (tcx). It decides
 * nothing: the window is user space's, by wire_model.h, and the kernel's own is its upper bound.
 *
 * Each connection has a slot of two arrays that user space has mapped: `control`, which only user space writes, and
 * `state`, which only this program writes but for a new connection's (places.h has which). What belongs to no such socket
 * passes as it is. */
#include "places.h"
#include "socket.h"
#include "wire_model.h"
#include "wire_packet.h"

#define NEXT (-1)

struct control {
	struct order order;
	u64 use;
	u64 requests; /* window updates that user space has requested */
	u64 unused;
};

struct state {
	u64 shown;    /* the rightmost edge that was shown, modulo 2^32 */
	u64 answered; /* of the updates, up to which one */
	u64 use;
	u64 unused;
};

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(map_flags, BPF_F_MMAPABLE);
	NUMBER(max_entries, SLOTS);
	TYPE(key, u32);
	TYPE(value, struct control);
} control SEC(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(map_flags, BPF_F_MMAPABLE);
	NUMBER(max_entries, SLOTS);
	TYPE(key, u32);
	TYPE(value, struct state);
} state SEC(".maps");

INLINE u32 swapped(u32 word)
{
	return __builtin_bswap32(word);
}

INLINE u16 swapped_half(u32 half)
{
	return __builtin_bswap16(half);
}

/* The shift of the windows that this end shows, a field of bits. */
INLINE u32 scale_of(const struct tcp_sock *tp)
{
	const struct tcp_options_received *options = &tp->rx_opt;
	const void *at = (const void *)options + __builtin_preserve_field_info(options->rcv_wscale, 0);
	u64 value = 0;

	switch (__builtin_preserve_field_info(options->rcv_wscale, 1)) {
	case 1:
		value = *(const u8 *)at;
		break;
	case 2:
		value = *(const u16 *)at;
		break;
	case 4:
		value = *(const u32 *)at;
		break;
	case 8:
		value = *(const u64 *)at;
		break;
	}
	value <<= __builtin_preserve_field_info(options->rcv_wscale, 4);
	value >>= __builtin_preserve_field_info(options->rcv_wscale, 5);
	return value & 15;
}

INLINE void set_field(struct __sk_buff *skb, const struct segment *segment, u32 field)
{
	u16 was = swapped_half(segment->field), is = swapped_half(field);

	if (was == is)
		return;
	if (l4_csum_replace(skb, segment->at + 16, was, is, sizeof(is)))
		return;
	skb_store_bytes(skb, segment->at + 14, &is, sizeof(is), 0);
}

/* Makes a probe, whose number the server has acknowledged, a segment whose window it accepts. */
INLINE void renumber(struct __sk_buff *skb, const struct segment *segment, u32 seq)
{
	u32 was = swapped(segment->seq), is = swapped(seq);

	if (l4_csum_replace(skb, segment->at + 16, was, is, sizeof(is)))
		return;
	skb_store_bytes(skb, segment->at + 4, &is, sizeof(is), 0);
}

SEC("tcx/egress")
int show_window(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct segment segment = {};
	struct tcp_sock *tp;
	struct control *wanted;
	struct state *has;
	struct place *place;
	u32 slot, shown, before, field;

	if (!sk)
		return NEXT;
	sk = sk_fullsock(sk);
	if (!sk)
		return NEXT;
	place = sk_storage_get(&places, sk, 0, 0);
	if (!place)
		return NEXT;
	slot = place->slot;
	wanted = map_lookup(&control, &slot);
	has = map_lookup(&state, &slot);
	tp = skc_to_tcp_sock(sk);
	if (!wanted || !has || !tp || wanted->use != place->use)
		return NEXT;
	if (!read_segment(skb, &segment) || segment.flags & TCP_RST)
		return NEXT;
	if (segment.flags & TCP_SYN) {
		/* not scaled */
		has->shown = segment.field;
		has->use = place->use;
		return NEXT;
	}
	if (!(segment.flags & TCP_ACK))
		return NEXT;
	shown = before = has->shown;
	field = window_field(segment.ack - (tp->rcv_nxt - (u32)tp->bytes_received), wanted->order,
			     segment.field, scale_of(tp), &shown);
	has->shown = shown;
	set_field(skb, &segment, field);
	/* without news it would be a duplicate acknowledgement */
	if (!segment.payload && segment.flags == TCP_ACK && segment.seq == tp->snd_una - 1 &&
	    wanted->requests != has->answered) {
		has->answered = wanted->requests;
		if (shown != before)
			renumber(skb, &segment, tp->snd_nxt);
	}
	return NEXT;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
