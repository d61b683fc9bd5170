/* The model as a program of this machine: cases come in at standard input, results go out at standard output. */
#include <stdio.h>

#include "wire_model.h"

struct asked {
	u32 acked;
	struct order order;
	u32 field;
	u32 scale;
	u32 shown;
};

struct result {
	u32 field;
	u32 shown;
};

int main(void)
{
	struct asked asked;

	while (fread(&asked, sizeof(asked), 1, stdin) == 1) {
		struct result result = { .shown = asked.shown };

		result.field = window_field(asked.acked, asked.order, asked.field, asked.scale,
					    &result.shown);
		if (fwrite(&result, sizeof(result), 1, stdout) != 1 || fflush(stdout))
			return 1;
	}
	return 0;
}
