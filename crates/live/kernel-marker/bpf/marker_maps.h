/* What passes between user space and the programs. Each UE has one entry: the order of its last report beside the state of
 * its packets, under one lock. User space makes and removes entries; it gives orders as letters, which a program of its own
 * takes over under that lock, so that it never writes over what packets have changed meanwhile. */
#pragma once

#include "marker_state.h"
#include "socket.h"

#define UES 10000
#define LETTERS 256

/* Who is named: which version of IP, and the address as it is in a packet. */
struct name {
	u32 version;
	u32 address[4];
};

struct ue {
	struct bpf_spin_lock lock;
	u32 unused;
	struct order order;
	struct ue_marker marker;
};

/* A UE whose packets are handed to the device. */
struct hold {
	u64 redirected_at; /* the last one */
	u64 is_ending;     /* no more of them are, once none has been for a while */
};

struct letter {
	struct name ue;
	u32 is_missing; /* there is no entry of it */
	struct order order;
};

struct letters {
	u64 count;
	struct letter letter[LETTERS];
};

struct counts {
	u64 of[VERDICTS];
	u64 malformed;
	u64 not_ip;
	u64 own_tcp;
	u64 signalling;
	u64 bundled;
	u64 fragments;
	u64 unwritten;
	u64 redirected;
	u64 returned;
};

struct choices {
	u32 link_header; /* there is one: of Ethernet */
	u32 splits_tcp;
	u32 seed;
	u32 inside; /* IN_GTPU, IN_VXLAN: what is looked into */
};

enum { IN_GTPU = 1, IN_VXLAN = 2 };

struct {
	NUMBER(type, BPF_MAP_TYPE_HASH);
	NUMBER(map_flags, BPF_F_NO_PREALLOC);
	NUMBER(max_entries, UES);
	TYPE(key, struct name);
	TYPE(value, struct ue);
} ues SEC(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct letters);
} letters SEC(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct counts);
} counts SEC(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct choices);
} choices SEC(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_HASH);
	NUMBER(map_flags, BPF_F_NO_PREALLOC);
	NUMBER(max_entries, UES);
	TYPE(key, struct name);
	TYPE(value, struct hold);
} holds SEC(".maps");
