/* The model as a program of this machine: events come in at standard input, what each resulted in goes out
 * at standard output. */
#include <stdio.h>

#include "follow_check.h"

int main(void)
{
	struct event event;
	struct result result;

	while (fread(&event, sizeof(event), 1, stdin) == 1) {
		decide(&event, &result);
		if (fwrite(&result, sizeof(result), 1, stdout) != 1 || fflush(stdout))
			return 1;
	}
	return 0;
}
