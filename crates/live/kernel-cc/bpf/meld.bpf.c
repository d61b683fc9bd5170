/* MELD round the kernel's Reno and Cubic: a window that holds on losses that the radio explains.
 *
 * User space writes one entry a UE into `radios` with each radio report; the rest is decided here,
 * as crates/core/cc/src/meld has it. What the kernel makes different:
 * - it asks once an episode (ssthresh), not for each loss; what is lost while an episode lasts is
 *   of the same answer;
 * - a silent loss is still an episode: PRR sends at the rate of acknowledgements, and the window
 *   does not grow until it is repaired (a round trip);
 * - when the lost packets had been sent is not known here: reports of the last two round trips
 *   explain them.
 */
#include "kernel.h"

#define UES 65536
/* Reports with losses that are remembered for a UE. */
#define MAX_LOSSES 16
#define REASONS 9
#define OPEN 0
#define MIN_CWND 4
#define MIN_BOUND 10
#define INFINITE 0x7fffffff

/* As cc::meld::Variant. */
enum { DOWNLOAD, MIXED, DEFAULT };
/* As cc::meld::Reason. */
enum {
	NO_REPORT,
	STALE,
	BEYOND_DELIVERED,
	SMALL_BLOCKS,
	LONG_QUEUE,
	NOT_ON_RADIO,
	GOOD_RADIO,
	LOST_ON_RADIO,
	REPEATED_ON_RADIO,
};

struct settings {
	u64 variant;
	u64 max_age; /* ns */
};

/* What the radio lost, with the report that said so. */
struct loss {
	u64 at;     /* ns of the monotonic clock */
	u64 before; /* packets lost before this report */
};

struct radio {
	u64 made_at; /* ns of the monotonic clock */
	u64 seq;
	u64 period; /* ns */
	u64 served; /* bytes in the period */
	u64 tbs;
	u64 tbs_threshold;
	u64 queue;
	u64 queue_threshold;
	u64 lost; /* packets, since the first report; all ones: not counted */
	u64 repeated_at; /* ns; when a block was last repeated */
	struct loss losses[MAX_LOSSES]; /* in no order; at = 0: unused */
};

/* What a connection remembers. */
struct state {
	u64 round_began; /* ns */
	u32 delivered_before;
	u32 delivered_last, delivered_earlier;
	u64 explained; /* of radio.lost */
	u32 ssthresh;  /* before a silent loss */
	u32 is_silent;
	/* the brake of the default variant */
	u64 seq;
	u64 window_began;
	u64 least, least_before;
	u64 lowered_until;
	u64 credit; /* bytes */
	u32 is_limited;
	u32 is_filled;
};

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct settings);
} settings SEC(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_HASH);
	NUMBER(map_flags, BPF_F_NO_PREALLOC);
	NUMBER(max_entries, UES);
	TYPE(key, u32);
	TYPE(value, struct radio);
} radios SEC(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(max_entries, REASONS);
	TYPE(key, u32);
	TYPE(value, u64);
} decisions SEC(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_SK_STORAGE);
	NUMBER(map_flags, BPF_F_NO_PREALLOC);
	TYPE(key, int);
	TYPE(value, struct state);
} states SEC(".maps");

extern u32 tcp_reno_ssthresh(struct sock *sk) SEC(".ksyms");
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) SEC(".ksyms");
extern u32 tcp_reno_undo_cwnd(struct sock *sk) SEC(".ksyms");
extern void cubictcp_init(struct sock *sk) SEC(".ksyms");
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) SEC(".ksyms");
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) SEC(".ksyms");

static u64 srtt_ns(const struct tcp_sock *tp)
{
	return (u64)(tp->srtt_us >> 3) * 1000;
}

static struct settings *config(void)
{
	u32 zero = 0;

	return map_lookup(&settings, &zero);
}

static struct radio *radio_of(struct sock *sk)
{
	u32 address = sk->__sk_common.skc_daddr;

	return map_lookup(&radios, &address);
}

static int is_stale(const struct radio *radio, const struct settings *set, u64 now)
{
	return now > radio->made_at && now - radio->made_at > set->max_age;
}

/* Packets that the radio lost in the last two round trips, less those that explained a loss
 * already. */
static int is_explained(const struct radio *radio, struct state *st, u64 lost, u64 now, u64 srtt)
{
	u64 oldest = 2 * srtt + radio->period;
	u64 from = radio->lost;
	int i;

	for (i = 0; i < MAX_LOSSES; i++) {
		const struct loss *loss = &radio->losses[i];

		if (loss->at && now - loss->at <= oldest && loss->before < from)
			from = loss->before;
	}
	if (from < st->explained)
		from = st->explained;
	if (radio->lost - from < lost)
		return 0;
	st->explained = from + lost;
	return 1;
}

static int waits_elsewhere(const struct tcp_sock *tp, const struct radio *radio)
{
	u64 least = tp->rtt_min.s[0].v;
	u64 now = tp->srtt_us >> 3;
	u64 jitter = least / 4 > 5000 ? least / 4 : 5000;
	u64 queue = 0;

	if (radio->served)
		queue = radio->queue * (radio->period / 1000) / radio->served;
	return now > least + queue + jitter;
}

static u32 judge(struct tcp_sock *tp, const struct radio *radio, struct state *st,
		 const struct settings *set, u64 now)
{
	u32 in_flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
	u32 last = st->delivered_last > st->delivered_earlier ? st->delivered_last :
								st->delivered_earlier;
	u32 most = 3 * last + tp->delivered - st->delivered_before;

	if (!radio)
		return NO_REPORT;
	if (is_stale(radio, set, now))
		return STALE;
	if (in_flight > (most > MIN_BOUND ? most : MIN_BOUND))
		return BEYOND_DELIVERED;
	if (radio->tbs < radio->tbs_threshold)
		return SMALL_BLOCKS;
	if (set->variant == DOWNLOAD)
		return GOOD_RADIO;
	if (set->variant == MIXED)
		return radio->queue >= radio->queue_threshold ? LONG_QUEUE : GOOD_RADIO;
	if (~radio->lost)
		return is_explained(radio, st, tp->lost_out, now, srtt_ns(tp)) ? LOST_ON_RADIO :
										  NOT_ON_RADIO;
	if (!radio->repeated_at || now - radio->repeated_at > 2 * srtt_ns(tp) + radio->period)
		return NOT_ON_RADIO;
	if (radio->queue >= radio->queue_threshold)
		return LONG_QUEUE;
	return waits_elsewhere(tp, radio) ? NOT_ON_RADIO : REPEATED_ON_RADIO;
}

/* True if a loss is to be repeated silently. A timeout leaves nothing in flight; a mark lost
 * nothing. */
static int is_silent(struct sock *sk, struct tcp_sock *tp)
{
	struct state *st = sk_storage_get(&states, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct settings *set = config();
	u32 reason;
	u64 *count;

	if (!st || !set)
		return 0;
	st->is_silent = 0;
	if (!tp->lost_out || tp->packets_out == tp->sacked_out + tp->lost_out)
		return 0;
	reason = judge(tp, radio_of(sk), st, set, now_ns());
	count = map_lookup(&decisions, &reason);
	if (count)
		__sync_fetch_and_add(count, 1);
	if (reason < GOOD_RADIO)
		return 0;
	st->is_silent = 1;
	st->ssthresh = tp->snd_ssthresh;
	return 1;
}

static u32 held(const struct tcp_sock *tp)
{
	return tp->snd_cwnd > 2 ? tp->snd_cwnd : 2;
}

static void lower(struct tcp_sock *tp, struct state *st, const struct radio *radio, u64 excess)
{
	u64 mss = tp->mss_cache;
	u64 flight = (u64)tp->packets_out * mss;
	u64 of_ue = flight;
	u64 cwnd;

	if (radio->period) {
		u64 rate_srtt = radio->served * (srtt_ns(tp) / 1000) / (radio->period / 1000 + 1);

		if (rate_srtt > of_ue)
			of_ue = rate_srtt;
	}
	if (!of_ue || !mss)
		return;
	cwnd = excess < of_ue ? tp->packets_out * (of_ue - excess) / of_ue : 0;
	if (cwnd < MIN_CWND)
		cwnd = MIN_CWND;
	if (cwnd < tp->snd_cwnd)
		tp->snd_cwnd = cwnd;
	tp->snd_ssthresh = tp->snd_cwnd;
	st->is_limited = 1;
	st->credit = 0;
}

/* The window by the queue in the base station. True if the wrapped control must not grow it. */
static int brake(struct sock *sk, struct tcp_sock *tp, struct state *st,
		 const struct settings *set, u64 now)
{
	const struct radio *radio = radio_of(sk);
	u64 srtt = srtt_ns(tp);
	u64 target, standing, mss = tp->mss_cache;

	if (!radio || is_stale(radio, set, now)) {
		st->is_limited = 0;
		return 0;
	}
	if (radio->seq == st->seq || !srtt || !mss)
		return st->is_limited || st->is_filled;
	st->seq = radio->seq;
	if (now - st->window_began >= srtt) {
		st->window_began = now;
		st->least_before = st->least;
		st->least = radio->queue;
	}
	if (radio->queue < st->least)
		st->least = radio->queue;
	standing = st->least < st->least_before ? st->least : st->least_before;
	target = radio->queue_threshold * 3 / 4;
	st->is_filled = standing >= target;
	if (standing > 2 * target) {
		if (now >= st->lowered_until) {
			lower(tp, st, radio, standing - target);
			st->lowered_until = now + srtt;
		}
	} else if (st->is_limited && standing < target) {
		u64 share = radio->period < srtt ? radio->period : srtt;

		st->credit += (target - standing) * (share / 1000) / (srtt / 1000 + 1);
		if (st->credit >= mss && tp->snd_cwnd < tp->snd_cwnd_clamp) {
			tp->snd_cwnd = tp->snd_cwnd + 1;
			st->credit -= mss;
		}
	}
	return st->is_limited || st->is_filled;
}

/* What a round trip delivers, and whether the wrapped control may grow the window. */
static int may_grow(struct sock *sk, struct tcp_sock *tp)
{
	struct state *st = sk_storage_get(&states, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct settings *set = config();
	u64 now = now_ns();

	if (!st || !set)
		return 1;
	if (now - st->round_began >= srtt_ns(tp)) {
		st->round_began = now;
		st->delivered_earlier = st->delivered_last;
		st->delivered_last = tp->delivered - st->delivered_before;
		st->delivered_before = tp->delivered;
	}
	return set->variant != DEFAULT || !brake(sk, tp, st, set, now);
}

/* After a silent loss slow start goes on as if nothing had been lost. */
static void end_episode(struct sock *sk, struct tcp_sock *tp, u8 state)
{
	struct state *st = sk_storage_get(&states, sk, 0, 0);

	if (st && state == OPEN && st->is_silent) {
		st->is_silent = 0;
		tp->snd_ssthresh = st->ssthresh;
	}
}

SEC("struct_ops")
u32 reno_ssthresh(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct sock *sk = (struct sock *)ctx[0];

	return is_silent(sk, tp) ? held(tp) : tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
void reno_cong_avoid(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct sock *sk = (struct sock *)ctx[0];

	if (may_grow(sk, tp))
		tcp_reno_cong_avoid(sk, ctx[1], ctx[2]);
}

SEC("struct_ops")
void reno_set_state(u64 *ctx)
{
	end_episode((struct sock *)ctx[0], (struct tcp_sock *)ctx[0], ctx[1]);
}

SEC("struct_ops")
u32 undo_cwnd(u64 *ctx)
{
	return tcp_reno_undo_cwnd((struct sock *)ctx[0]);
}

SEC("struct_ops")
void cubic_init(u64 *ctx)
{
	cubictcp_init((struct sock *)ctx[0]);
}

SEC("struct_ops")
u32 cubic_ssthresh(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct sock *sk = (struct sock *)ctx[0];

	return is_silent(sk, tp) ? held(tp) : cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops")
void cubic_cong_avoid(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct sock *sk = (struct sock *)ctx[0];

	if (may_grow(sk, tp))
		cubictcp_cong_avoid(sk, ctx[1], ctx[2]);
}

extern void cubictcp_state(struct sock *sk, u8 state) SEC(".ksyms");
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) SEC(".ksyms");
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) SEC(".ksyms");

SEC("struct_ops")
void cubic_set_state(u64 *ctx)
{
	end_episode((struct sock *)ctx[0], (struct tcp_sock *)ctx[0], ctx[1]);
	cubictcp_state((struct sock *)ctx[0], ctx[1]);
}

SEC("struct_ops")
void cubic_cwnd_event(u64 *ctx)
{
	cubictcp_cwnd_event((struct sock *)ctx[0], ctx[1]);
}

SEC("struct_ops")
void cubic_pkts_acked(u64 *ctx)
{
	cubictcp_acked((struct sock *)ctx[0], (const struct ack_sample *)ctx[1]);
}

/* The loader writes names of its own here: they are global to the machine. */
SEC(".struct_ops.link")
struct tcp_congestion_ops reno = {
	.ssthresh = (void *)reno_ssthresh,
	.cong_avoid = (void *)reno_cong_avoid,
	.set_state = (void *)reno_set_state,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "meld-reno",
};

SEC(".struct_ops.link")
struct tcp_congestion_ops cubic = {
	.init = (void *)cubic_init,
	.ssthresh = (void *)cubic_ssthresh,
	.cong_avoid = (void *)cubic_cong_avoid,
	.set_state = (void *)cubic_set_state,
	.cwnd_event = (void *)cubic_cwnd_event,
	.pkts_acked = (void *)cubic_pkts_acked,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "meld-cubic",
};

char program_license[] SEC("license") = "Dual MIT/GPL";
