/* How a program of the kernel takes the reports that have arrived. */
#pragma once

#include "kernel.h"
#include "meld_model.h"

static long take_one(u32 index, void *context)
{
	struct scan *scan = context;

	on_report(scan->m, scan->reports, scan->rules, scan->m->next);
	return 0;
}

INLINE void take_reports(struct meld *m, struct reports *reports, const struct rules *rules,
			 int is_new)
{
	struct scan scan = { .m = m, .reports = reports, .rules = rules };
	u64 count = reports->count;

	if (m->generation == reports->generation && m->next == count)
		return;
	/* what is read below was written before the count was: both are barriers */
	count = __sync_fetch_and_add(&reports->count, 0);
	find_reports(m, reports, count, is_new);
	loop(least(count - m->next, MAX_REPORTS), take_one, &scan, 0);
}
