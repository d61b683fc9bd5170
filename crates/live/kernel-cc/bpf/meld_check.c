/* The model as a program of this machine: events come in at standard input, what each resulted in goes out
 * at standard output. */
#include <stdio.h>

#include "meld_check.h"

static struct connection connection;

int main(void)
{
	struct event event;
	struct result result;

	while (fread(&event, sizeof(event), 1, stdin) == 1) {
		struct meld *m = &connection.meld;

		if (event.kind == BEGIN) {
			connection = (struct connection){};
			connection.reports.generation = 1;
		} else if (event.kind == REPORT) {
			arrive(&connection, &event.report);
		} else {
			find_reports(m, &connection.reports, connection.reports.count, 0);
			while (m->next < connection.reports.count)
				on_report(m, &connection.reports, &event.rules, m->next);
		}
		decide(&connection, &event, &result);
		if (fwrite(&result, sizeof(result), 1, stdout) != 1 || fflush(stdout))
			return 1;
	}
	return 0;
}
