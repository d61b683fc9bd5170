//! By a BPF program that redirects what arrives to the other socket (`sk_skb/verdict`), with the counts that deciding
//! needs.

use super::Pair;
use libbpf_rs::{MapCore as _, MapFlags, ObjectBuilder};
use rustix::net::{RecvFlags, recv, sockopt};
use std::io::Write as _;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::process::Command;

/// Compiled by clang as the relay starts: no more than a bench needs it.
const PROGRAM: &str = r#"
#include <linux/bpf.h>
#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) value *name
static void *(*lookup)(void *, const void *) = (void *)1;
static __u64 (*cookie)(void *) = (void *)46;
static long (*redirect)(struct __sk_buff *, void *, __u32, __u64) = (void *)52;

struct { __uint(type, BPF_MAP_TYPE_SOCKMAP); __uint(max_entries, 4096); __type(key, __u32); __type(value, __u64); }
	far SEC(".maps"), near SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 4096); __type(key, __u64); __type(value, __u32); }
	places SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 4096); __type(key, __u32); __type(value, __u64); }
	bytes SEC(".maps");

SEC("sk_skb/verdict")
int pass(struct __sk_buff *skb)
{
	__u64 id = cookie(skb);
	__u32 *place = lookup(&places, &id);
	if (!place)
		return SK_PASS;
	__u32 at = *place;
	__u64 *count = lookup(&bytes, &at);
	if (count)
		__sync_fetch_and_add(count, skb->len);
	return redirect(skb, &near, at, 0);
}
char _license[] SEC("license") = "GPL";
"#;

/// Has the kernel relay pairs as they come.
pub fn relay(pairs: impl Iterator<Item = Pair>) {
    let folder = tempfile::tempdir().expect("a folder");
    let [source, compiled] = ["pass.bpf.c", "pass.bpf.o"].map(|name| folder.path().join(name));
    std::fs::write(&source, PROGRAM).expect("written");
    let clang = Command::new("clang")
        .args([
            "-target",
            "bpf",
            "-O2",
            "-g",
            "-I/usr/include/x86_64-linux-gnu",
            "-c",
        ])
        .arg(&source)
        .arg("-o")
        .arg(&compiled)
        .status();
    assert!(
        clang.is_ok_and(|status| status.success()),
        "clang compiles the program"
    );
    let mut open = ObjectBuilder::default();
    let object = open
        .open_file(&compiled)
        .expect("read")
        .load()
        .expect("loaded");
    let map = |name: &str| {
        let found = object.maps().find(|map| map.name() == name);
        libbpf_rs::MapHandle::try_from(&found.expect("a map")).expect("a handle")
    };
    let [far, near, places] = ["far", "near", "places"].map(map);
    for program in object.progs_mut() {
        let attached = program.attach_sockmap(far.as_fd().as_raw_fd());
        attached.expect("attached to the sockets towards the server");
    }
    let mut all = Vec::new();
    for (place, pair) in pairs.enumerate() {
        let key = (place as u32).to_ne_bytes();
        let value = |socket: &std::net::TcpStream| (socket.as_raw_fd() as u64).to_ne_bytes();
        let id = sockopt::socket_cookie(&pair.far).expect("a number");
        let entries = [
            (&places, id.to_ne_bytes().to_vec(), key.to_vec()),
            (&near, key.to_vec(), value(&pair.near).to_vec()),
            (&far, key.to_vec(), value(&pair.far).to_vec()),
        ];
        let is_taken = entries
            .into_iter()
            .all(|(map, key, value)| map.update(&key, &value, MapFlags::ANY).is_ok());
        if !is_taken {
            // one whose client has gone already, as those that look whether this listens
            continue;
        }
        // what came before
        let mut early = vec![0; 1 << 20];
        while let Ok((_, n)) = recv(&pair.far, &mut early, RecvFlags::DONTWAIT)
            && n > 0
        {
            (&pair.near).write_all(&early[..n]).expect("sent");
        }
        all.push(pair);
    }
}
