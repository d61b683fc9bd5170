/* MELD round the kernel's Reno and Cubic: a window that holds on losses that the radio explains, and a pace that
 * the reports set.
 *
 * User space hands each radio report to `take_report`; the rest is decided here. What is decided is
 * meld_model.h's, which is cc::meld's to the bit. What the kernel makes different:
 * - it decides once an episode (ssthresh), not for each loss; what is lost while an episode lasts is
 *   of the same answer;
 * - a silent loss is still an episode: PRR sends at the rate of acknowledgements, and neither the wrapped
 *   control nor a report moves the window until it is repaired (a round trip);
 * - a report acts at the connection's next acknowledgement; until then the pace is as it was;
 * - the pace is the socket's SO_MAX_PACING_RATE, which the kernel's own pacing then has: where the caller had set
 *   one, the lesser of both;
 * - a connection begins with the first report after its first acknowledgement. One without an
 *   acknowledgement for more than MAX_REPORTS reports takes the last of those.
 *
 * A kernel may skip a program and then take for its result what stood on the stack. One with which this is
 * tested (6.18.44 with changes of its vendor) skips those that process 1 has not loaded, while the packets of
 * a connection are handled in that process's place (in a softirq): about one call of ssthresh in some hundreds
 * on a busy machine gave 10^7 to 10^9 packets, the low half of an address. So ssthresh and the window are
 * checked wherever the program runs (`mend`), before what it skipped can do harm: mostly at the next
 * acknowledgement, while PRR still holds the window. Such an episode is one of congestion. */
#include "meld_take.h"

#define SOL_SOCKET 1
#define SO_MAX_PACING_RATE 47

#define MIN_CWND 2
#define LOSS 4
#define INFINITE_SSTHRESH 0x7fffffff
/* packets; PRR and undoing may add some */
#define SLACK 16
#define NANOS 1000ULL
/* byte/s */
#define NO_PACE 0xffffffffU

enum wrapped {
	RENO,
	CUBIC,
};

/* 16 bytes; an IPv4 address is mapped (RFC 4291 2.5.5.2) */
struct address {
	u32 word[4];
};

/* What user space hands over. */
struct delivery {
	struct address ue;
	struct report report;
};

/* What is kept of a connection. */
struct state {
	struct meld meld;
	u64 max_pace; /* byte/s; the caller's */
	u32 has_begun;
	u32 delivered; /* packets */
	u32 is_held;   /* the wrapped control must not grow its window */
	u32 is_silent; /* the episode of a silent loss */
	u32 ssthresh;  /* before that */
	u32 inner;     /* packets; the wrapped control's window while another is in its place; 0: none is */
	u32 shown;     /* packets; that other window */
	u32 is_paced;
	u32 pace;      /* byte/s */
	/* as the program left them; 0: it has not yet */
	u32 last_window;   /* packets; the wrapped control's */
	u32 last_ssthresh; /* packets */
	u32 before;	   /* packets; the greater of both when the last episode began */
};

static long (*const setsockopt)(void *ctx, int level, int name, void *value, int len) = (void *)49;

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct rules);
} settings SEC(".maps");

/* By the UE's address. The loader sets how many. */
struct {
	NUMBER(type, BPF_MAP_TYPE_HASH);
	NUMBER(max_entries, 1);
	TYPE(key, struct address);
	TYPE(value, struct reports);
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
extern void cubictcp_state(struct sock *sk, u8 state) SEC(".ksyms");
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) SEC(".ksyms");
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) SEC(".ksyms");

/* ---- reports ---- */

/* From user space. 1: the UE has no entry yet. */
SEC("syscall")
int take_report(struct delivery *delivery)
{
	struct address ue = delivery->ue;
	struct reports *reports = map_lookup(&radios, &ue);
	struct report *report;
	u64 count, before;

	if (!reports)
		return 1;
	count = reports->count;
	before = count ? reports->ring[(count - 1) & (RING - 1)].at : 0;
	report = &reports->ring[count & (RING - 1)];
	*report = delivery->report;
	report->at = max_of(report->at, before);
	/* a barrier: who sees the count sees the report */
	return __sync_fetch_and_add(&reports->count, 1) != count ? 2 : 0;
}

static struct rules *config(void)
{
	u32 zero = 0;

	return map_lookup(&settings, &zero);
}

static struct reports *reports_for(const struct sock *sk)
{
	const struct sock_common *common = &sk->__sk_common;
	struct address ue = { { 0, 0, __builtin_bswap32(0xffff), common->skc_daddr } };

	if (common->skc_family != AF_INET && HAS_FIELD(common->skc_v6_daddr)) {
		ue.word[0] = common->skc_v6_daddr.in6_u.u6_addr32[0];
		ue.word[1] = common->skc_v6_daddr.in6_u.u6_addr32[1];
		ue.word[2] = common->skc_v6_daddr.in6_u.u6_addr32[2];
		ue.word[3] = common->skc_v6_daddr.in6_u.u6_addr32[3];
	}
	return map_lookup(&radios, &ue);
}

/* The connection's reports, after it has taken those that have arrived; null if there are none. */
static struct reports *renewed(const struct sock *sk, const struct tcp_sock *tp, struct state *st,
			       const struct rules *rules)
{
	struct reports *reports = reports_for(sk);
	int is_new = !st->has_begun;

	if (is_new) {
		st->has_begun = 1;
		st->delivered = tp->delivered;
	}
	if (reports)
		take_reports(&st->meld, reports, rules, is_new);
	return reports;
}

/* ---- the kernel's figures ---- */

static u32 packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

/* The wrapped control's window, unless the kernel has set another since. */
static u32 inner_window(const struct tcp_sock *tp, const struct state *st)
{
	return st->inner && tp->snd_cwnd == st->shown ? st->inner : tp->snd_cwnd;
}

INLINE u32 decide(struct sock *sk, enum wrapped wrapped)
{
	return wrapped == CUBIC ? cubictcp_recalc_ssthresh(sk) : tcp_reno_ssthresh(sk);
}

static u32 finite(u32 ssthresh)
{
	return ssthresh < INFINITE_SSTHRESH ? ssthresh : 0;
}

/* The most that the program, or the kernel without it, can have made of ssthresh and the window since; twice
 * of it, as there is no need to be exact. */
static u32 plausible(const struct state *st)
{
	u32 packets = max_of(max_of(st->last_window, finite(st->last_ssthresh)),
			     max_of(st->before, st->shown));

	return packets < INFINITE_SSTHRESH / 2 - SLACK ? 2 * packets + SLACK : INFINITE_SSTHRESH;
}

static int is_ssthresh(const struct state *st, u32 ssthresh)
{
	return ssthresh == INFINITE_SSTHRESH ||
	       (ssthresh >= MIN_CWND && ssthresh <= plausible(st));
}

static int is_window(const struct state *st, u32 window)
{
	return window && window <= plausible(st);
}

/* What a skipped program left: see the top. */
INLINE void mend(struct sock *sk, struct tcp_sock *tp, struct state *st, enum wrapped wrapped)
{
	u32 window = tp->snd_cwnd;

	if (!st->last_window)
		return;
	if (!is_ssthresh(st, tp->snd_ssthresh)) {
		tp->snd_cwnd = st->last_window;
		tp->snd_ssthresh = decide(sk, wrapped);
		tp->snd_cwnd = window;
		st->is_silent = 0;
		st->inner = 0;
	}
	if (!is_window(st, window))
		tp->snd_cwnd = min_of(st->last_window, tp->snd_ssthresh);
}

/* The program leaves them so. */
static void keep(const struct tcp_sock *tp, struct state *st, u32 ssthresh)
{
	st->last_window = inner_window(tp, st);
	st->last_ssthresh = ssthresh;
}

/* The pace of the reports, where they set one. */
static void pace(struct sock *sk, struct state *st)
{
	u64 reported = pace_of(&st->meld);
	u32 wanted = NO_PACE;

	if (!st->is_paced) {
		if (!reported)
			return;
		st->is_paced = 1;
		st->max_pace = sk->sk_max_pacing_rate;
		st->pace = NO_PACE;
	}
	if (reported)
		wanted = min_of(reported / 8, NO_PACE - 1);
	wanted = min_of(wanted, st->max_pace);
	if (wanted == st->pace)
		return;
	if (!setsockopt(sk, SOL_SOCKET, SO_MAX_PACING_RATE, &wanted, sizeof(wanted)))
		st->pace = wanted;
}

INLINE void look(struct sock *sk, struct tcp_sock *tp, enum wrapped wrapped)
{
	struct state *st = sk_storage_get(&states, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct rules *rules = config();
	struct acked ack = {};
	u64 mss = tp->mss_cache;
	u32 newly, window;

	if (!st || !rules)
		return;
	mend(sk, tp, st, wrapped);
	keep(tp, st, tp->snd_ssthresh);
	renewed(sk, tp, st, rules);
	newly = tp->delivered - st->delivered;
	st->delivered = tp->delivered;
	window = inner_window(tp, st);
	ack.newly_acked = newly * mss;
	ack.prior_in_flight = (u64)(packets_in_flight(tp) + newly) * mss;
	ack.srtt = (u64)(tp->srtt_us >> 3) * NANOS;
	ack.min_rtt = (u64)tp->rtt_min.s[0].v * NANOS;
	ack.inner_cwnd = window * mss;
	ack.is_slow_start = window < tp->snd_ssthresh;
	st->is_held = on_ack(&st->meld, rules, &ack, now_ns());
	pace(sk, st);
}

/* ---- losses ---- */

static int is_timeout(const struct tcp_sock *tp)
{
	return tp->packets_out == tp->sacked_out + tp->lost_out;
}

/* True if a loss is to be repeated silently. A timeout leaves nothing in flight; a mark lost
 * nothing. */
static int is_silent(struct sock *sk, struct tcp_sock *tp)
{
	struct state *st = sk_storage_get(&states, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct rules *rules = config();
	const struct sk_buff *first = tp->retransmit_skb_hint;
	u64 mss = tp->mss_cache;
	struct reports *reports;
	struct loss loss = {};
	u64 now = now_ns();
	u32 reason, was_silent;
	u64 *count;

	if (!st || !rules)
		return 0;
	was_silent = st->is_silent;
	st->is_silent = 0;
	if (!tp->lost_out || is_timeout(tp))
		return 0;
	reports = renewed(sk, tp, st, rules);
	loss.lost = tp->lost_out * mss;
	loss.bytes_in_flight = packets_in_flight(tp) * mss;
	loss.sent_at = first ? first->skb_mstamp_ns : now;
	reason = reason_of(&st->meld, reports, rules, &loss, now);
	count = map_lookup(&decisions, &reason);
	if (count)
		__sync_fetch_and_add(count, 1);
	if (reason < GOOD_RADIO)
		return 0;
	/* two silent episodes may follow each other without growth between them */
	if (!was_silent)
		st->ssthresh = tp->snd_ssthresh;
	st->is_silent = 1;
	return 1;
}

static u32 held(const struct tcp_sock *tp)
{
	return max_of(tp->snd_cwnd, MIN_CWND);
}

/* The wrapped control decides by its own window. */
static u32 show_inner(struct tcp_sock *tp, struct sock *sk)
{
	struct state *st = sk_storage_get(&states, sk, 0, 0);
	u32 window = tp->snd_cwnd;

	if (st)
		tp->snd_cwnd = inner_window(tp, st);
	return window;
}

/* It has decided: what it lets go on is no more than the window was. */
static u32 hide_inner(struct tcp_sock *tp, struct sock *sk, u32 window, u32 ssthresh)
{
	struct state *st = sk_storage_get(&states, sk, 0, 0);

	if (!st)
		return ssthresh;
	tp->snd_cwnd = window;
	st->inner = 0;
	if (ssthresh <= window || is_timeout(tp))
		return ssthresh;
	st->inner = ssthresh;
	st->shown = max_of(window, MIN_CWND);
	return st->shown;
}

/* A timeout makes an episode of a silent loss one of congestion. */
INLINE void on_state(struct sock *sk, struct tcp_sock *tp, u8 state, enum wrapped wrapped)
{
	struct state *st = sk_storage_get(&states, sk, 0, 0);

	if (!st)
		return;
	mend(sk, tp, st, wrapped);
	if (state == LOSS)
		st->is_silent = 0;
}

/* ---- the window ---- */

/* Before the wrapped control grows its window; false if it must not. It is called when no episode lasts:
 * after a silent loss slow start goes on as if nothing had been lost. (Not when the state changes: the kernel
 * makes ssthresh the window after that.) */
INLINE int may_grow(struct sock *sk, struct tcp_sock *tp, enum wrapped wrapped)
{
	struct state *st = sk_storage_get(&states, sk, 0, 0);

	if (!st)
		return 1;
	mend(sk, tp, st, wrapped);
	if (st->is_silent) {
		st->is_silent = 0;
		tp->snd_ssthresh = st->ssthresh;
	}
	tp->snd_cwnd = inner_window(tp, st);
	st->inner = 0;
	return !st->is_held;
}

/* After it: what the reports make of it. */
static void steer_window(struct sock *sk, struct tcp_sock *tp)
{
	struct state *st = sk_storage_get(&states, sk, 0, 0);
	struct rules *rules = config();
	u64 mss = tp->mss_cache;
	u64 packets;

	if (!st || !rules)
		return;
	keep(tp, st, tp->snd_ssthresh);
	if (!is_steered(&st->meld) || !mss)
		return;
	packets = window_of(&st->meld, rules, tp->snd_cwnd * mss) / mss;
	packets = max_of(min_of(packets, tp->snd_cwnd_clamp), MIN_CWND);
	if (packets == tp->snd_cwnd)
		return;
	st->inner = tp->snd_cwnd;
	st->shown = packets;
	tp->snd_cwnd = packets;
}

/* ---- what the kernel calls ---- */

INLINE u32 ssthresh(struct sock *sk, struct tcp_sock *tp, enum wrapped wrapped)
{
	struct state *st = sk_storage_get(&states, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	u32 decided, window;

	if (!st)
		return decide(sk, wrapped);
	mend(sk, tp, st, wrapped);
	st->before = max_of(inner_window(tp, st), finite(tp->snd_ssthresh));
	if (is_silent(sk, tp)) {
		decided = held(tp);
	} else {
		on_congestion(&st->meld);
		window = show_inner(tp, sk);
		decided = hide_inner(tp, sk, window, decide(sk, wrapped));
	}
	keep(tp, st, decided);
	return decided;
}

/* What is undone may be what a skipped program left. */
static u32 undone(struct sock *sk, struct tcp_sock *tp)
{
	struct state *st = sk_storage_get(&states, sk, 0, 0);
	u32 window = tcp_reno_undo_cwnd(sk);

	if (!st || !st->last_window || is_window(st, window))
		return window;
	return st->last_window;
}

SEC("struct_ops")
u32 reno_ssthresh(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct sock *sk = (struct sock *)ctx[0];

	return ssthresh(sk, tp, RENO);
}

SEC("struct_ops")
void reno_cong_avoid(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct sock *sk = (struct sock *)ctx[0];

	if (may_grow(sk, tp, RENO))
		tcp_reno_cong_avoid(sk, ctx[1], ctx[2]);
	steer_window(sk, tp);
}

SEC("struct_ops")
void reno_set_state(u64 *ctx)
{
	on_state((struct sock *)ctx[0], (struct tcp_sock *)ctx[0], ctx[1], RENO);
}

SEC("struct_ops")
void reno_pkts_acked(u64 *ctx)
{
	look((struct sock *)ctx[0], (struct tcp_sock *)ctx[0], RENO);
}

SEC("struct_ops")
u32 undo_cwnd(u64 *ctx)
{
	return undone((struct sock *)ctx[0], (struct tcp_sock *)ctx[0]);
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

	return ssthresh(sk, tp, CUBIC);
}

SEC("struct_ops")
void cubic_cong_avoid(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct sock *sk = (struct sock *)ctx[0];

	if (may_grow(sk, tp, CUBIC))
		cubictcp_cong_avoid(sk, ctx[1], ctx[2]);
	steer_window(sk, tp);
}

SEC("struct_ops")
void cubic_set_state(u64 *ctx)
{
	on_state((struct sock *)ctx[0], (struct tcp_sock *)ctx[0], ctx[1], CUBIC);
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
	look((struct sock *)ctx[0], (struct tcp_sock *)ctx[0], CUBIC);
	cubictcp_acked((struct sock *)ctx[0], (const struct ack_sample *)ctx[1]);
}

/* The loader writes names of its own here: they are global to the machine. */
SEC(".struct_ops.link")
struct tcp_congestion_ops reno = {
	.ssthresh = (void *)reno_ssthresh,
	.cong_avoid = (void *)reno_cong_avoid,
	.set_state = (void *)reno_set_state,
	.pkts_acked = (void *)reno_pkts_acked,
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
