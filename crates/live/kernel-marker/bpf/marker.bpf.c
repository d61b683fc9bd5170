/* Marks what leaves an interface towards UEs (tcx or clsact), drops it early, or hands it to user space, by the orders of that. */
#include "kernel.h"
#include "marker_hold.h"
#include "marker_mark.h"

#define NEXT (-1)
#define DROP 2
#define REDIRECT 7

INLINE int judge_packet(struct __sk_buff *skb, struct headers *h, struct outer *outer,
			struct counts *count)
{
	struct packet packet = { .flow = h->flow, .codepoint = h->ecn };
	struct ue *ue = map_lookup(&ues, &h->ue);
	u32 verdict;
	u64 now;

	packet.segments = segments_of(skb, h);
	packet.bytes = wire_bytes(h->length, h->own, packet.segments);
	if (h->is_fragment)
		count->fragments += packet.segments;
	if (!ue) {
		count->of[NO_REPORT] += packet.segments;
		return NEXT;
	}
	now = now_ns();
	spin_lock(&ue->lock);
	verdict = decide(&ue->marker, &ue->order, now, &packet);
	spin_unlock(&ue->lock);
	if (verdict < VERDICTS)
		count->of[verdict] += packet.segments;
	if (is_drop(verdict))
		return DROP;
	if (is_mark(verdict) && mark(skb, h, outer))
		count->unwritten += packet.segments;
	return NEXT;
}

SEC("tc")
int mark_packet(struct __sk_buff *skb)
{
	u32 zero = 0;
	struct choices *chosen = map_lookup(&choices, &zero);
	struct counts *count = map_lookup(&counts, &zero);
	struct holding *holding = map_lookup(&holdings, &zero);
	struct headers h = {};
	struct outer outer = {};

	if (!chosen || !count || !holding)
		return NEXT;
	if (is_returned(skb, holding)) {
		count->returned += skb->gso_segs ? skb->gso_segs : 1;
		return NEXT;
	}
	switch (take_apart(skb, chosen, &h, &outer)) {
	case JUDGED:
		/* the other fragments would overtake the first */
		if (!outer.is_first && !is_neighbour_discovery(skb, &h) && is_held(holding, &h.ue) &&
		    redirect(holding->device, 0) == REDIRECT) {
			count->redirected += segments_of(skb, &h);
			return REDIRECT;
		}
		return judge_packet(skb, &h, &outer, count);
	case MALFORMED:
		count->malformed++;
		return NEXT;
	case OWN_TCP:
		count->own_tcp += skb->gso_segs ? skb->gso_segs : 1;
		return NEXT;
	case SIGNALLING:
		count->signalling++;
		return NEXT;
	case BUNDLED:
		count->bundled += skb->gso_segs ? skb->gso_segs : 1;
		return NEXT;
	default:
		count->not_ip++;
		return NEXT;
	}
}

/* Takes the orders of letters over. Gives how many UEs have no entry. */
SEC("tc")
int take_letters(struct __sk_buff *skb)
{
	u32 zero = 0, missing = 0, i;
	struct letters *all = map_lookup(&letters, &zero);

	if (!all)
		return 0;
	for (i = 0; i < LETTERS; i++) {
		struct letter *letter = &all->letter[i];
		struct ue *ue;

		if (i >= all->count)
			break;
		ue = map_lookup(&ues, &letter->ue);
		letter->is_missing = !ue;
		if (!ue) {
			missing++;
			continue;
		}
		spin_lock(&ue->lock);
		ue->order = letter->order;
		spin_unlock(&ue->lock);
	}
	return missing;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
