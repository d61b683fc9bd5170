/* A congestion control that follows the window that the proxy's control thread sets, and reports it
 * what the connection does. It decides nothing but how bytes become segments (follow_model.h).
 *
 * Each connection under control has a slot of two arrays that user space has mapped: `control`,
 * which only user space writes, and `telemetry`, which only this program writes (places.h has which). A third one,
 * `touched`, has a bit for each slot: set here once `telemetry` has been written, and cleared by user space before that
 * is read. */
#include "follow_model.h"
#include "places.h"

struct telemetry {
	u64 bytes_acked;
	u64 updated_at; /* ns of the monotonic clock */
	u32 srtt_us;
	u32 min_rtt_us;
	u32 cwnd_bytes;
	u32 peer_window;
	u32 mss;
	u32 in_flight;
	u64 use;
	u64 bytes_resent;
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
	TYPE(value, struct telemetry);
} telemetry SEC(".maps");

#define TOUCHED_EACH 64

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(map_flags, BPF_F_MMAPABLE);
	NUMBER(max_entries, SLOTS / TOUCHED_EACH);
	TYPE(key, u32);
	TYPE(value, u64);
} touched SEC(".maps");

SEC("struct_ops")
void follow_init(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];

	sk->sk_pacing_rate = UNPACED;
}

/* A loss on the radio is repaired without slowing down. */
SEC("struct_ops")
u32 follow_ssthresh(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];

	return tp->snd_cwnd;
}

SEC("struct_ops")
u32 follow_undo_cwnd(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];

	return tp->snd_cwnd;
}

static void apply(struct tcp_sock *tp, struct sock *sk, const struct control *wanted)
{
	sk->sk_pacing_rate = pacing_of(wanted);
	tp->snd_cwnd = cwnd_of(wanted, tp->mss_cache, tp->snd_cwnd, tp->snd_cwnd_clamp);
}

static void update(const struct tcp_sock *tp, struct telemetry *reported, u64 use)
{
	reported->bytes_acked = tp->bytes_acked;
	reported->srtt_us = tp->srtt_us >> 3;
	reported->min_rtt_us = tp->rtt_min.s[0].v;
	reported->cwnd_bytes = tp->snd_cwnd * tp->mss_cache;
	reported->peer_window = tp->snd_wnd;
	reported->mss = tp->mss_cache;
	reported->in_flight = tp->snd_nxt - tp->snd_una;
	reported->bytes_resent = tp->bytes_retrans;
	reported->use = use;
	reported->updated_at = now_ns();
}

static void touch(u32 slot)
{
	u32 at = slot / TOUCHED_EACH;
	u64 *word = map_lookup(&touched, &at);

	if (word)
		USED(__sync_fetch_and_or(word, 1ULL << (slot % TOUCHED_EACH)));
}

SEC("struct_ops")
void follow_cong_control(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct place *place = sk_storage_get(&places, sk, 0, 0);
	struct control *wanted;
	struct telemetry *reported;
	u32 slot;

	if (!place)
		return;
	slot = place->slot;
	wanted = map_lookup(&control, &slot);
	reported = map_lookup(&telemetry, &slot);
	if (!wanted || !reported || wanted->use != place->use)
		return;
	apply(tp, sk, wanted);
	update(tp, reported, place->use);
	touch(slot);
}

/* The loader writes a name of its own here: names are global to the machine. */
SEC(".struct_ops.link")
struct tcp_congestion_ops follow = {
	.init = (void *)follow_init,
	.ssthresh = (void *)follow_ssthresh,
	.undo_cwnd = (void *)follow_undo_cwnd,
	.cong_control = (void *)follow_cong_control,
	.name = "brimful",
};

char program_license[] SEC("license") = "Dual MIT/GPL";
