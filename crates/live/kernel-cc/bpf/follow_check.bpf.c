/* The model in the kernel. */
#include "follow_check.h"
#include "kernel.h"
#include "check_maps.h"

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
