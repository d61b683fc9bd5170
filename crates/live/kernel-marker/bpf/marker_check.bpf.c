/* The model in the kernel, one packet a run. A new UE's state is made zero from outside. */
#include "kernel.h"
#include "marker_check.h"
#include "check_maps.h"

SEC("syscall")
int run(void *ctx)
{
	u32 zero = 0;
	struct event *event = map_lookup(&events, &zero);
	struct result *result = map_lookup(&results, &zero);
	struct packet packet;

	if (!event || !result)
		return 1;
	packet = event->packet;
	packet.bytes = wire_bytes(packet.bytes, event->headers, packet.segments);
	result->verdict = decide(&result->marker, &event->order, event->now, &packet);
	return 0;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
