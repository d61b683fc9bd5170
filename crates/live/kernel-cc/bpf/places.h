/* Which slot of the arrays that user space has mapped a connection of the proxy has: stated in the socket's storage, with
 * the number of times that the slot has been used. A socket whose slot has been given to another must neither read nor
 * write it. */
#pragma once

#include "kernel.h"

#define SLOTS 32768

struct place {
	u32 slot;
	u32 use;
};

struct {
	NUMBER(type, BPF_MAP_TYPE_SK_STORAGE);
	NUMBER(map_flags, BPF_F_NO_PREALLOC);
	TYPE(key, int);
	TYPE(value, struct place);
} places SEC(".maps");
