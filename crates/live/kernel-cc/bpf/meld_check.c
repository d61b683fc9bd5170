/* The model as a program of this machine. */
#include "meld_check.h"

static struct connection connection;

static void answer(const struct event *event, struct result *result)
{
	struct meld *m = &connection.meld;

	if (event->kind == BEGIN) {
		connection = (struct connection){};
		connection.reports.generation = 1;
	} else if (event->kind == REPORT) {
		arrive(&connection, &event->report);
	} else {
		find_reports(m, &connection.reports, connection.reports.count, 0);
		while (m->next < connection.reports.count)
			on_report(m, &connection.reports, &event->rules, m->next);
	}
	decide(&connection, event, result);
}

#include "check_main.h"
