/* CDBE in the kernel's TCP: a client that measures and reports, a server that paces by the reports.
 *
 *   client's cgroup                                server's cgroup
 *   arrival  (cgroup_skb): counts each segment     endpoint (sock_ops): takes the option off ACKs
 *   endpoint (sock_ops): puts the option on ACKs   cdbe (struct_ops): paces by it
 *
 * The option: kind 254, length 8, experiment 0xCDBE (RFC 6994), the report in bytes a second in network
 * order. A client has it on its SYN, and goes on only if the SYN-ACK has it too; then it is on pure ACKs
 * that have room for it. It stands for itself: one that is lost or comes twice does no harm.
 *
 * What is decided is cdbe_model.h's. What the kernel makes different from cc::cdbe::Cdbe:
 * - the fallback is the kernel's BBR; it does not run while reports decide (in PROBE_RTT it would wait
 *   for a small flight that never comes), and begins anew when they stop;
 * - rates are samples of the kernel's (tcp_rate.c), amounts are segments times MSS. */
#include "packet.h"
#include "cdbe_model.h"

#define KIND 254
#define EXPERIMENT 0xCDBE
#define LENGTH 8
/* What a search for the option is reported of its length: kind, length, experiment. */
#define SOUGHT 4
#define PORTS 1024
#define NETWORKS 256
#define LOSS 4

enum { CLIENT = 1, SERVER = 2 };

/* As kernel_cc::cdbe::Counts. */
enum {
	CLIENTS,
	REFUSED,
	WRITTEN,
	UNFIT,
	SERVERS,
	READ,
	BOUNDED,
	FALLBACKS,
	COUNTS,
};

struct settings {
	struct rules rules; /* without mss */
	u64 initial_report;
	u64 roles;
	u64 has_ports;    /* only these */
	u64 has_networks; /* only these */
	u64 chooses;      /* sets the congestion control where the client reports */
	char control[16];
};

struct client {
	struct bpf_spin_lock lock; /* of the estimate: two packets may arrive at a time */
	u32 is_agreed;
	struct estimate estimate;
	struct cadence cadence;
};

struct server {
	struct decision decision;
	struct peer_clock clock;
	u64 is_reported; /* a report has come */
	u64 has_report;  /* of the acknowledgement being handled */
	u64 report;
	u64 is_deciding;
	u64 recovering; /* bytes; window while it grows back after a timeout; 0: it does not */
};

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct settings);
} settings SEC(".maps");

/* Of the service: the server's. */
struct {
	NUMBER(type, BPF_MAP_TYPE_HASH);
	NUMBER(max_entries, PORTS);
	TYPE(key, u32);
	TYPE(value, u32);
} ports SEC(".maps");

/* Roles by the cookie of the network namespace. */
struct {
	NUMBER(type, BPF_MAP_TYPE_HASH);
	NUMBER(max_entries, NETWORKS);
	TYPE(key, u64);
	TYPE(value, u64);
} networks SEC(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	NUMBER(max_entries, COUNTS);
	TYPE(key, u32);
	TYPE(value, u64);
} counts SEC(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_SK_STORAGE);
	NUMBER(map_flags, BPF_F_NO_PREALLOC);
	TYPE(key, int);
	TYPE(value, struct client);
} clients SEC(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_SK_STORAGE);
	NUMBER(map_flags, BPF_F_NO_PREALLOC);
	TYPE(key, int);
	TYPE(value, struct server);
} servers SEC(".maps");

/* Weak: a client is loaded without any of them. */
#define OF_KERNEL_BBR SEC(".ksyms") __attribute__((weak))

extern void bbr_init(struct sock *sk) OF_KERNEL_BBR;
extern void bbr_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) OF_KERNEL_BBR;
/* before Linux 6.10 (what is behind ___ is no part of the name) */
extern void bbr_main___before(struct sock *sk, const struct rate_sample *rs) OF_KERNEL_BBR;
extern u32 bbr_sndbuf_expand(struct sock *sk) OF_KERNEL_BBR;
extern u32 bbr_undo_cwnd(struct sock *sk) OF_KERNEL_BBR;
extern void bbr_cwnd_event(struct sock *sk, enum tcp_ca_event event) OF_KERNEL_BBR;
extern u32 bbr_ssthresh(struct sock *sk) OF_KERNEL_BBR;
extern u32 bbr_min_tso_segs(struct sock *sk) OF_KERNEL_BBR;
extern void bbr_set_state(struct sock *sk, u8 state) OF_KERNEL_BBR;

static struct settings *config(void)
{
	u32 zero = 0;

	return map_lookup(&settings, &zero);
}

static void count(u32 what, u64 how_many)
{
	u64 *counted = map_lookup(&counts, &what);

	if (counted)
		*counted += how_many;
}

static u64 now_us(void)
{
	return now_ns() / 1000;
}

/* ---- the option ---- */

struct option {
	u8 kind;
	u8 length;
	u8 experiment[2];
	u8 report[4];
};

/* The report of the packet, or of the SYN that is being answered; false if it has none. */
static int read(struct bpf_sock_ops *ctx, u64 flags, u32 *report)
{
	struct option option = {
		.kind = KIND,
		.length = SOUGHT,
		.experiment = { EXPERIMENT >> 8, EXPERIMENT & 0xff },
	};

	if (load_hdr_opt(ctx, &option, sizeof(option), flags) != LENGTH)
		return 0;
	*report = (u32)option.report[0] << 24 | (u32)option.report[1] << 16 |
		  (u32)option.report[2] << 8 | option.report[3];
	return 1;
}

static void write(struct bpf_sock_ops *ctx, u64 rate)
{
	u32 report = min_of(rate, U32_MAX);
	struct option option = {
		.kind = KIND,
		.length = LENGTH,
		.experiment = { EXPERIMENT >> 8, EXPERIMENT & 0xff },
		.report = { report >> 24, report >> 16, report >> 8, report },
	};

	if (!store_hdr_opt(ctx, &option, sizeof(option), 0))
		count(WRITTEN, 1);
}

/* ---- which sockets ---- */

/* The socket, or none. It is read once: the verifier must see that what is used is what was checked. */
static struct bpf_sock *socket_of(const struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	asm volatile("" : "+r"(sk));
	return sk;
}

static int is_chosen(struct bpf_sock_ops *ctx, const struct settings *set, u32 role, u32 port)
{
	u64 roles = set->roles;

	if (set->has_networks) {
		u64 cookie = get_netns_cookie(ctx);
		u64 *own = map_lookup(&networks, &cookie);

		roles = own ? *own : 0;
	}
	if (!(roles & role))
		return 0;
	return !set->has_ports || map_lookup(&ports, &port);
}

static void begin_client(struct bpf_sock_ops *ctx, const struct settings *set)
{
	u32 port = __builtin_bswap32(ctx->remote_port);
	struct bpf_sock *sk = socket_of(ctx);
	struct client *client;

	if (!sk || !is_chosen(ctx, set, CLIENT, port))
		return;
	client = sk_storage_get(&clients, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!client)
		return;
	client->estimate.rate = set->initial_report;
	cb_flags_set(ctx, WRITE_HDR_OPT);
}

/* The SYN-ACK states whether reports are read. */
static void agree(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = socket_of(ctx);
	struct client *client = sk ? sk_storage_get(&clients, sk, 0, 0) : 0;
	u32 report;

	if (!client)
		return;
	if (read(ctx, 0, &report)) {
		client->is_agreed = 1;
		count(CLIENTS, 1);
		return;
	}
	cb_flags_set(ctx, 0);
	sk_storage_delete(&clients, sk);
	count(REFUSED, 1);
}

static void begin_server(struct bpf_sock_ops *ctx, const struct settings *set)
{
	struct bpf_sock *sk = socket_of(ctx);
	struct server *server;

	if (!sk || !is_chosen(ctx, set, SERVER, ctx->local_port))
		return;
	server = sk_storage_get(&servers, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!server)
		return;
	begin_decision(&server->decision);
	/* the listener's wish to write options came with its socket */
	cb_flags_set(ctx, PARSE_UNKNOWN_HDR_OPT);
}

static void take(struct bpf_sock_ops *ctx, struct settings *set)
{
	struct bpf_sock *sk = socket_of(ctx);
	struct server *server = sk ? sk_storage_get(&servers, sk, 0, 0) : 0;
	u32 report;

	if (!server || !read(ctx, 0, &report))
		return;
	server->report = report;
	server->has_report = 1;
	count(READ, 1);
	if (server->is_reported)
		return;
	server->is_reported = 1;
	count(SERVERS, 1);
	if (set->chooses)
		setsockopt(ctx, IPPROTO_TCP, TCP_CONGESTION, set->control, sizeof(set->control));
}

static int is_syn_ack(const struct bpf_sock_ops *ctx)
{
	u32 both = TCP_SYN | TCP_ACK;

	return (ctx->skb_tcp_flags & both) == both;
}

/* Room for the option: on a SYN, on the answer to one that had it, and on pure ACKs. */
static void reserve(struct bpf_sock_ops *ctx, const struct settings *set)
{
	struct bpf_sock *sk = socket_of(ctx);
	struct client *client;
	struct cadence next;
	u32 report;

	if (ctx->args[0] || ctx->skb_len)
		return;
	if (is_syn_ack(ctx)) {
		if (read(ctx, BPF_LOAD_HDR_OPT_TCP_SYN, &report))
			reserve_hdr_opt(ctx, LENGTH, 0);
		return;
	}
	client = sk ? sk_storage_get(&clients, sk, 0, 0) : 0;
	if (!client)
		return;
	next = client->cadence;
	if (!is_due(&next, set->rules.mode, client->estimate.rate))
		return;
	if (reserve_hdr_opt(ctx, LENGTH, 0))
		count(UNFIT, 1);
	else
		client->cadence = next;
}

static void fill(struct bpf_sock_ops *ctx, const struct settings *set)
{
	struct bpf_sock *sk = socket_of(ctx);
	struct client *client;

	if (is_syn_ack(ctx)) {
		write(ctx, set->initial_report);
		return;
	}
	client = sk ? sk_storage_get(&clients, sk, 0, 0) : 0;
	if (client)
		write(ctx, client->estimate.rate);
}

SEC("sockops")
int endpoint(struct bpf_sock_ops *ctx)
{
	struct settings *set = config();

	if (!set)
		return 1;
	switch (ctx->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		begin_client(ctx, set);
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
		agree(ctx);
		break;
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		if (is_chosen(ctx, set, SERVER, ctx->local_port))
			cb_flags_set(ctx, WRITE_HDR_OPT);
		break;
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		begin_server(ctx, set);
		take(ctx, set);
		break;
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		take(ctx, set);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		reserve(ctx, set);
		break;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		fill(ctx, set);
		break;
	}
	return 1;
}

/* ---- the client's estimate ---- */

SEC("cgroup_skb/ingress")
int arrival(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct settings *set = config();
	struct segment segment = {};
	struct client *client;
	struct tcp_sock *tp;
	u32 at, until, header;
	u8 tcp[20];

	if (!sk || !set)
		return 1;
	sk = sk_fullsock(sk);
	if (!sk)
		return 1;
	client = sk_storage_get(&clients, sk, 0, 0);
	if (!client || !client->is_agreed || !transport(skb, &at, &until))
		return 1;
	if (skb_load_bytes(skb, at, tcp, sizeof(tcp)))
		return 1;
	header = (tcp[12] >> 4) * 4;
	if (header < sizeof(tcp) || until <= at + header)
		return 1;
	segment.bytes = until - at - header;
	segment.stamp = timestamp_of(skb, at + sizeof(tcp), header - sizeof(tcp));
	tp = skc_to_tcp_sock(sk);
	if (tp) {
		u32 eightfold = tp->rcv_rtt_est.rtt_us;

		segment.rtt = (eightfold ? eightfold : tp->srtt_us) >> 3;
	}
	segment.at = now_us();
	spin_lock(&client->lock);
	/* two CPUs' clocks may differ by a little */
	segment.at = max_of(segment.at, client->estimate.last_at);
	on_segment(&client->estimate, set->rules.mode, &segment);
	spin_unlock(&client->lock);
	return 1;
}

/* ---- the server's congestion control ---- */

static u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

/* The delay of the acknowledged segment: from timestamps; without, or with a tick that shows nothing, what
 * the round trip is longer than the least one. */
static int delay(struct server *server, const struct tcp_sock *tp, const struct settings *set, u64 now,
		 long rtt, s64 *found)
{
	u64 least = tp->rtt_min.s[0].v;
	u32 ecr = tp->rx_opt.rcv_tsecr;

	if (ecr) {
		int is_due = delay_of(&server->clock, set->rules.mode, now, tp->rx_opt.rcv_tsval, ecr,
				       found);

		if (set->rules.mode == PAPER || !is_hopeless(&server->clock, now))
			return is_due;
	}
	if (rtt < 0)
		return 0;
	*found = least / 2 + ((u64)rtt > least ? rtt - least : 0);
	return 1;
}

static void look(struct server *server, struct tcp_sock *tp, const struct settings *set,
		 const struct rules *rules, u64 now, const struct rate_sample *rs)
{
	u64 bounded = server->decision.bounded;
	struct acknowledged ack = {};
	s64 found = 0;

	ack.at = now;
	ack.has_report = server->has_report;
	ack.report = server->report;
	server->has_report = 0;
	ack.has_delay = delay(server, tp, set, now, rs->rtt_us, &found);
	ack.delay = found;
	if (set->rules.mode == DEFAULT && tp->rx_opt.rcv_tsecr && !is_hopeless(&server->clock, now))
		ack.tick = server->clock.tick;
	ack.rtt = rs->rtt_us > 0 ? rs->rtt_us : 0;
	ack.acked = (u64)rs->acked_sacked * rules->mss;
	ack.lost = rs->losses > 0 ? (u64)rs->losses * rules->mss : 0;
	ack.min_rtt = tp->rtt_min.s[0].v;
	ack.in_flight = (u64)in_flight(tp) * rules->mss;
	if (rs->delivered > 0 && rs->interval_us > 0)
		ack.delivered = (u64)rs->delivered * rules->mss * MILLION / rs->interval_us;
	ack.is_app_limited = tp->app_limited != 0;
	on_ack(&server->decision, rules, &ack);
	if (server->decision.bounded != bounded)
		count(BOUNDED, 1);
}

static void decide(struct sock *sk, struct tcp_sock *tp, struct server *server,
		   const struct rules *rules, u64 acked)
{
	u64 window = window_of(&server->decision, rules);
	u64 rate = pacing_rate_of(&server->decision, rules);
	u64 cwnd;

	if (server->recovering && server->recovering + acked < window) {
		server->recovering += acked;
		window = server->recovering;
	} else {
		server->recovering = 0;
	}
	sk->sk_pacing_rate = min_of(rate, sk->sk_max_pacing_rate);
	cwnd = (window + rules->mss - 1) / rules->mss;
	tp->snd_cwnd = max_of(min_of(cwnd, tp->snd_cwnd_clamp), 1);
}

SEC("struct_ops")
void cdbe_init(u64 *ctx)
{
	bbr_init((struct sock *)ctx[0]);
}

/* Whether reports decide; BBR does otherwise. */
INLINE int has_decided(struct sock *sk, struct tcp_sock *tp, const struct rate_sample *rs)
{
	struct server *server = sk_storage_get(&servers, sk, 0, 0);
	struct settings *set = config();
	struct rules rules;
	u64 now = now_us();

	if (server && set && tp->mss_cache) {
		rules = set->rules;
		rules.mss = tp->mss_cache;
		look(server, tp, set, &rules, now, rs);
		if (is_reported(&server->decision, now)) {
			server->is_deciding = 1;
			decide(sk, tp, server, &rules, (u64)rs->acked_sacked * rules.mss);
			return 1;
		}
		if (server->is_deciding) {
			server->is_deciding = 0;
			count(FALLBACKS, 1);
			bbr_init(sk);
		}
	}
	return 0;
}

SEC("struct_ops")
void cdbe_cong_control(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	const struct rate_sample *rs;

	/* the verifier follows only what the kernel has */
	if (bbr_main) {
		rs = (const struct rate_sample *)ctx[3];
		if (!has_decided(sk, tp, rs))
			bbr_main(sk, ctx[1], ctx[2], rs);
	} else {
		rs = (const struct rate_sample *)ctx[1];
		if (!has_decided(sk, tp, rs))
			bbr_main___before(sk, rs);
	}
}

/* A loss changes nothing; a timeout does, and the kernel has set the window for it. */
SEC("struct_ops")
void cdbe_set_state(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct server *server = sk_storage_get(&servers, sk, 0, 0);

	if (server && (u8)ctx[1] == LOSS)
		server->recovering = (u64)tp->snd_cwnd * tp->mss_cache;
	bbr_set_state(sk, ctx[1]);
}

SEC("struct_ops")
u32 cdbe_undo_cwnd(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct server *server = sk_storage_get(&servers, sk, 0, 0);

	if (server)
		server->recovering = 0;
	return bbr_undo_cwnd(sk);
}

SEC("struct_ops")
u32 cdbe_ssthresh(u64 *ctx)
{
	return bbr_ssthresh((struct sock *)ctx[0]);
}

/* After an idle time BBR paces by what it has measured. */
SEC("struct_ops")
void cdbe_cwnd_event(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct server *server = sk_storage_get(&servers, sk, 0, 0);

	if (!server || !server->is_deciding)
		bbr_cwnd_event(sk, ctx[1]);
}

SEC("struct_ops")
u32 cdbe_min_tso_segs(u64 *ctx)
{
	return bbr_min_tso_segs((struct sock *)ctx[0]);
}

SEC("struct_ops")
u32 cdbe_sndbuf_expand(u64 *ctx)
{
	return bbr_sndbuf_expand((struct sock *)ctx[0]);
}

/* The loader writes a name of its own here: names are global to the machine. */
SEC(".struct_ops.link")
struct tcp_congestion_ops cdbe = {
	.init = (void *)cdbe_init,
	.cong_control = (void *)cdbe_cong_control,
	.set_state = (void *)cdbe_set_state,
	.undo_cwnd = (void *)cdbe_undo_cwnd,
	.ssthresh = (void *)cdbe_ssthresh,
	.cwnd_event = (void *)cdbe_cwnd_event,
	.min_tso_segs = (void *)cdbe_min_tso_segs,
	.sndbuf_expand = (void *)cdbe_sndbuf_expand,
	.name = "brimful_cdbe",
};

char program_license[] SEC("license") = "Dual MIT/GPL";
