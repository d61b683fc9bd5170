/* How a program of the kernel takes the reports that have arrived. */
#pragma once

#include "kernel.h"
#include "meld_model.h"

/* A function by itself, which the verifier checks once. */
__attribute__((noinline)) int take_one(struct meld *m, const struct reports *reports,
				       const struct rules *rules)
{
	if (!m || !reports || !rules)
		return 0;
	on_report(m, reports, rules, m->next);
	return 0;
}

INLINE void take_reports(struct meld *m, struct reports *reports, const struct rules *rules,
			 int is_new)
{
	u64 count = reports->count;
	int i;

	if (m->generation == reports->generation && m->next == count)
		return;
	/* what is read below was written before the count was: both are barriers */
	count = __sync_fetch_and_add(&reports->count, 0);
	find_reports(m, reports, count, is_new);
	for (i = 0; i < MAX_REPORTS; i++) {
		if (m->next >= count)
			break;
		take_one(m, reports, rules);
	}
}
