/* Hands every IP packet that leaves an interface (tcx or clsact) to a device, while user space states that it takes them. */
#include "handed_over.h"

#define NEXT (-1)
#define REDIRECT 7

#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define ETH_P_8021Q 0x8100
#define ETH_P_8021AD 0x88a8

struct diverted {
	u64 handed_over;
	u64 returned;
	u64 passed; /* while no process took them, or of no kind that is */
};

struct {
	NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct diverted);
} diverted SEC(".maps");

/* What may be IP; with tags user space looks. */
INLINE int may_be_ip(const struct __sk_buff *skb)
{
	switch (__builtin_bswap16(skb->protocol)) {
	case ETH_P_IP:
	case ETH_P_IPV6:
	case ETH_P_8021Q:
	case ETH_P_8021AD:
		return 1;
	default:
		return 0;
	}
}

SEC("tc")
int divert(struct __sk_buff *skb)
{
	u32 zero = 0, segments = skb->gso_segs ? skb->gso_segs : 1;
	struct holding *holding = map_lookup(&holdings, &zero);
	struct diverted *count = map_lookup(&diverted, &zero);

	if (!holding || !count)
		return NEXT;
	if (is_returned(skb, holding)) {
		count->returned += segments;
		return NEXT;
	}
	if (may_be_ip(skb) && now_ns() < holding->until && redirect(holding->device, 0) == REDIRECT) {
		count->handed_over += segments;
		return REDIRECT;
	}
	count->passed += segments;
	return NEXT;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
