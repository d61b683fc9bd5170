/* Integers of fixed widths, for programs of the kernel and for models that run anywhere. */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef long long s64;
typedef unsigned long long u64;

#define INLINE static inline __attribute__((always_inline))
