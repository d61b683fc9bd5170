/* The program of a model on this machine: what has come at standard input is answered as a whole, at standard output. Before
 * it stand `struct event`, `struct result` and `answer`. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char input[1 << 16];

int main(void)
{
	size_t held = 0;
	ssize_t got;

	while ((got = read(0, input + held, sizeof(input) - held)) > 0) {
		size_t at = 0;

		held += got;
		for (; held - at >= sizeof(struct event); at += sizeof(struct event)) {
			struct event event;
			struct result result;

			memcpy(&event, input + at, sizeof(event));
			answer(&event, &result);
			if (fwrite(&result, sizeof(result), 1, stdout) != 1)
				return 1;
		}
		held -= at;
		memmove(input, input + at, held);
		if (fflush(stdout))
			return 1;
	}
	return 0;
}
