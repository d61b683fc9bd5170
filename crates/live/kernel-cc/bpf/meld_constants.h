/* Made from cc::meld by `cargo run -p kernel-cc --example meld_constants`; a test compares. */
#pragma once

/* cc::meld::Variant */
enum {
	DOWNLOAD_ENHANCEMENT,
	MIXED_ENHANCEMENT,
	DEFAULT,
};

/* cc::meld::Reason */
enum {
	NO_REPORT,
	STALE,
	BEYOND_DELIVERED,
	SMALL_BLOCKS,
	LONG_QUEUE,
	NOT_ON_RADIO,
	GOOD_RADIO,
	LOST_ON_RADIO,
	REPEATED_ON_RADIO,
	REASONS,
};

/* cc::meld::constants */
#define MAX_REPORTS 256ULL
#define MAX_FLIGHT_PER_DELIVERED 3ULL
#define MIN_BOUND_SEGMENTS 10ULL
#define TARGET_NUMERATOR 3ULL
#define TARGET_DENOMINATOR 2ULL
#define ALIKE_SHARE 4ULL
#define MAX_AGE_PERIODS 2ULL
#define MAX_DRAIN 4ULL
#define MAX_ROUND_TRIPS 3ULL
#define START_ROUND_TRIPS 2ULL
#define BOUND_AFTER 4ULL
#define MAX_FOR_NEWCOMERS 4ULL
#define NEWCOMER_SHARE 2ULL
#define MIN_PACE 8ULL
#define MIN_PACKETS 4ULL
#define LATEST_ROUND_TRIPS 2ULL
#define JITTER_SHARE 4ULL
#define MIN_JITTER 5000000ULL
