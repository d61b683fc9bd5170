/* The parts of the kernel's types and of the BPF interface that the programs here need. Field offsets
 * are relocated to the running kernel's when the program is loaded, so only names and kinds count. */
#pragma once

#include "types.h"

#define SEC(name) __attribute__((section(name), used))
#define KERNEL __attribute__((preserve_access_index))

#define BPF_ANY 0
#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC 1
#define BPF_F_MMAPABLE 1024
#define BPF_SK_STORAGE_GET_F_CREATE 1

/* Has the compiler use what an atomic operation gives: only then it orders what is read and written before and after it. */
#define USED(value) asm volatile("" : : "r"(value))

/* Has a variable in one register from here on. The verifier before Linux 6.8 does not see that what is read from memory, or
 * copied, once more is what has been checked. */
#define IN_REGISTER(variable) asm volatile("" : "+r"(variable))

/* True if the running kernel has this field. */
#define HAS_FIELD(field) __builtin_preserve_field_info(field, 2)

/* How a map's definition reports libbpf numbers and types. */
#define NUMBER(name, value) int(*name)[value]
#define TYPE(name, value) value *name

#define AF_INET 2

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
} KERNEL;

struct sock_common {
	u32 skc_daddr;
	u16 skc_family;
	struct in6_addr skc_v6_daddr;
} KERNEL;

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
} KERNEL;

struct minmax_sample {
	u32 t;
	u32 v;
} KERNEL;

struct minmax {
	u32 win;
	struct minmax_sample s[3];
} KERNEL;

/* Of an incoming packet. */
struct tcp_options_received {
	u32 rcv_tsval;
	u32 rcv_tsecr;
	u16 rcv_wscale : 4;
} KERNEL;

/* Without a name in the kernel. */
struct receiver_rtt {
	u32 rtt_us; /* eight times as much */
} KERNEL;

/* A packet that has been sent. */
struct sk_buff {
	u64 skb_mstamp_ns; /* when it was last sent, by the monotonic clock */
} KERNEL;

struct tcp_sock {
	u32 rcv_nxt;
	u64 bytes_received;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_wnd;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 delivered;
	u32 app_limited;
	u32 mss_cache;
	u32 srtt_us;
	u64 bytes_acked;
	u64 bytes_retrans;
	struct sk_buff *retransmit_skb_hint; /* the first that is to be sent again */
	struct minmax rtt_min;
	struct tcp_options_received rx_opt;
	struct receiver_rtt rcv_rtt_est;
} KERNEL;

struct rate_sample {
	s32 delivered;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
} KERNEL;

enum tcp_ca_event {
	CA_EVENT_TX_START,
};

struct ack_sample {
	u32 pkts_acked;
} KERNEL;

/* The members that the program fills in; libbpf finds their places by name. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 state);
	void (*cwnd_event)(struct sock *sk, int event);
	void (*pkts_acked)(struct sock *sk, const void *sample);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const void *sample);
	void (*init)(struct sock *sk);
	u32 (*min_tso_segs)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	u32 flags;
	char name[16];
};

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static u64 (*const now_ns)(void) = (void *)5;
static void *(*const sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
