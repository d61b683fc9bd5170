/* The model in the kernel. */
#include "follow_check.h"
#include "kernel.h"

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct event);
} events SEC(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct result);
} results SEC(".maps");

SEC("syscall")
int run(void *ctx)
{
	u32 zero = 0;
	struct event *event = map_lookup(&events, &zero);
	struct result *result = map_lookup(&results, &zero);

	if (!event || !result)
		return 1;
	decide(event, result);
	return 0;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
