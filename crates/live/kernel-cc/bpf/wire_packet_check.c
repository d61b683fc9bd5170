/* What is read of a segment, as a program of this machine, or (ANSWERS_CALLS) as a function of another one. */
#include "native_packet.h"
#include "wire_packet.h"

struct result {
	u32 is_segment;
	struct segment segment;
};

void read_wire_segment(const struct asked *asked, const u8 *bytes, struct result *result)
{
	struct native_skb skb;

	begin(&skb, asked, bytes);
	*result = (struct result){};
	result->is_segment = read_segment(&skb, &result->segment);
	if (!result->is_segment)
		*result = (struct result){};
	end(&skb);
}

#ifndef ANSWERS_CALLS
static void answer(const struct event *event, struct result *result)
{
	read_wire_segment(&event->asked, event->bytes, result);
}

#include "check_main.h"
#endif

#pragma clang attribute pop
