/* The model as a program of this machine. */
#include "wire_model.h"

struct event {
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

static void answer(const struct event *asked, struct result *result)
{
	*result = (struct result){ .shown = asked->shown };
	result->field = window_field(asked->acked, asked->order, asked->field, asked->scale,
				     &result->shown);
}

#include "check_main.h"
