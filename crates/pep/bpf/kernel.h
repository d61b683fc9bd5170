/* The parts of the kernel's types and of the BPF interface that follow.bpf.c needs. Field offsets
 * are relocated to the running kernel's when the program is loaded, so only names and kinds count. */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define KERNEL __attribute__((preserve_access_index))

#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC 1
#define BPF_F_MMAPABLE 1024

/* How a map's definition tells libbpf numbers and types. */
#define NUMBER(name, value) int(*name)[value]
#define TYPE(name, value) value *name

struct sock {
	unsigned long sk_pacing_rate;
} KERNEL;

struct minmax_sample {
	u32 t;
	u32 v;
} KERNEL;

struct minmax {
	u32 win;
	struct minmax_sample s[3];
} KERNEL;

struct tcp_sock {
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_wnd;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 mss_cache;
	u32 srtt_us;
	u64 bytes_acked;
	struct minmax rtt_min;
} KERNEL;

/* The members that the program fills in; libbpf finds their places by name. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const void *sample);
	void (*init)(struct sock *sk);
	u32 flags;
	char name[16];
};

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static u64 (*const now_ns)(void) = (void *)5;
static void *(*const sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
