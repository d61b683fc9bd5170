/* The model in the kernel, by the way that its program takes reports. */
#include "meld_check.h"
#include "meld_take.h"
#include "check_maps.h"

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct connection);
} connections SEC(".maps");

SEC("syscall")
int run(void *ctx)
{
	u32 zero = 0;
	struct event *event = map_lookup(&events, &zero);
	struct result *result = map_lookup(&results, &zero);
	struct connection *c = map_lookup(&connections, &zero);

	if (!event || !result || !c)
		return 1;
	if (event->kind == REPORT)
		arrive(c, &event->report);
	else
		take_reports(&c->meld, &c->reports, &event->rules, 0);
	decide(c, event, result);
	return 0;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
