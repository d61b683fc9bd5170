/* What goes into a model in the kernel and what comes out, one event a run. Before it stand `kernel.h`, `struct event` and `struct result`. */
struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct event);
} events SEC(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct result);
} results SEC(".maps");
