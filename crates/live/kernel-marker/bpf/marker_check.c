/* The model as a program of this machine. */
#include "marker_check.h"

static struct ue_marker marker;

static void answer(const struct event *event, struct result *result)
{
	if (event->is_first)
		marker = (struct ue_marker){};
	check(&marker, event, result);
}

#include "check_main.h"
