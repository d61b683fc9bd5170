/* The model as a program of this machine. */
#include "follow_check.h"

static void answer(const struct event *event, struct result *result)
{
	decide(event, result);
}

#include "check_main.h"
