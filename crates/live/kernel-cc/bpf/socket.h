/* What programs at sockets and packets are handed (linux/bpf.h: these have fixed places, no
 * relocations), and the helpers that they call. */
#pragma once

#include "kernel.h"

struct bpf_sock;

struct bpf_spin_lock {
	u32 val;
};

struct bpf_sock_ops {
	u32 op;
	u32 args[4];
	u32 family;
	u32 remote_ip4;
	u32 local_ip4;
	u32 remote_ip6[4];
	u32 local_ip6[4];
	u32 remote_port; /* network order */
	u32 local_port;  /* host order */
	u32 is_fullsock;
	u32 of_connection[23];
	u64 bytes_received;
	u64 bytes_acked;
	struct bpf_sock *sk;
	void *skb_data;
	void *skb_data_end;
	u32 skb_len;
	u32 skb_tcp_flags;
	u64 skb_hwtstamp;
};

struct __sk_buff {
	u32 len;
	u32 before_protocol[3];
	u32 protocol; /* network order */
	u32 before_data[14];
	u32 data;
	u32 data_end;
	u32 before_flow_keys[15];
	u64 flow_keys;
	u64 tstamp;
	u32 wire_len;
	u32 gso_segs;
	struct bpf_sock *sk;
	u32 gso_size;
};

/* Events of a socket. */
enum {
	BPF_SOCK_OPS_TCP_CONNECT_CB = 3,
	BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB = 4,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_TCP_LISTEN_CB = 11,
	BPF_SOCK_OPS_PARSE_HDR_OPT_CB = 13,
	BPF_SOCK_OPS_HDR_OPT_LEN_CB = 14,
	BPF_SOCK_OPS_WRITE_HDR_OPT_CB = 15,
};

/* Events that a socket has to request. */
#define PARSE_UNKNOWN_HDR_OPT (1 << 5)
#define WRITE_HDR_OPT (1 << 6)

/* args[0] of HDR_OPT_LEN and WRITE_HDR_OPT: there is no packet, the MSS is being computed. */
#define CURRENT_MSS 1
#define SYNACK_COOKIE 2

#define BPF_LOAD_HDR_OPT_TCP_SYN 1
#define IPPROTO_TCP 6
#define TCP_CONGESTION 13
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_ACK 0x10

static long (*const skb_store_bytes)(void *skb, u32 offset, const void *from, u32 len, u64 flags) =
	(void *)9;
static long (*const l4_csum_replace)(void *skb, u32 offset, u64 from, u64 to, u64 flags) =
	(void *)11;
static long (*const skb_load_bytes)(void *skb, u32 offset, void *to, u32 len) = (void *)26;
static long (*const setsockopt)(void *ctx, int level, int name, void *value, int len) = (void *)49;
static long (*const cb_flags_set)(struct bpf_sock_ops *ctx, int flags) = (void *)59;
static long (*const spin_lock)(struct bpf_spin_lock *lock) = (void *)93;
static long (*const spin_unlock)(struct bpf_spin_lock *lock) = (void *)94;
static struct bpf_sock *(*const sk_fullsock)(struct bpf_sock *sk) = (void *)95;
static long (*const skb_load_bytes_relative)(void *skb, u32 offset, void *to, u32 len,
					     u32 start) = (void *)68;
static long (*const sk_storage_delete)(void *map, void *sk) = (void *)108;
static u64 (*const get_netns_cookie)(void *ctx) = (void *)122;
static struct tcp_sock *(*const skc_to_tcp_sock)(void *sk) = (void *)137;
static long (*const load_hdr_opt)(struct bpf_sock_ops *ctx, void *opt, u32 len, u64 flags) =
	(void *)142;
static long (*const store_hdr_opt)(struct bpf_sock_ops *ctx, const void *opt, u32 len, u64 flags) =
	(void *)143;
static long (*const reserve_hdr_opt)(struct bpf_sock_ops *ctx, u32 len, u64 flags) = (void *)144;
