/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Ground of the control laws: integer types, fixed point, and the event records that a law is fed with.
 *
 * A law (`law_*.h`) is the arithmetic of one congestion control: static inline functions over its own state, without
 * kernel types, helpers or floating point. The kernel half (`*.bpf.c`) turns kernel callbacks into these events; the test
 * of the laws (crates/cc/tests/laws) compiles the same functions for the host and feeds them what the Rust controls of crates/cc are fed.
 *
 * Units: windows in 1/65536 packet (suffix _q16), times in microseconds, rates in packets per microsecond scaled by 2^32
 * (suffix _q32). Parameters in the steps of law_params.h, decimal ones, so that they hold what a person writes.
 */
#ifndef PLAYPATH_LAW_H
#define PLAYPATH_LAW_H

#ifdef __bpf__
#include "kernel.h"
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#endif

#include "law_params.h"

#define LAW_INLINE static inline __attribute__((always_inline))

/* A function that the verifier checks once and by itself, not at every call and for every path that leads there. Loops that
 * branch must be in one, and their accumulators must start from the argument `zero`: a constant that differs from path to path
 * would make the verifier walk each path. Pointer arguments may be NULL for all that it knows, but
 * for those that are LAW_GIVEN. */
#ifdef __bpf__
#define LAW_CHECKED_ALONE __attribute__((noinline))
#define LAW_GIVEN __attribute__((btf_decl_tag("arg:nonnull")))
#else
#define LAW_CHECKED_ALONE static inline
#define LAW_GIVEN
#endif

#define Q16 65536ULL
#define LAW_SSTHRESH_INFINITE 0x7fffffffU
/* 2^20 packets is 1.5 GB at 1500 bytes: above any window, and it keeps products of two windows inside 64 bits. */
#define LAW_MAX_WINDOW (1U << 20)

/* What every law may know at an event. Counts in packets. */
struct law_view {
	u64 now_us;
	u32 mss; /* payload bytes of a full segment */
	u32 srtt_us; /* 0 before the first sample */
	u32 min_rtt_us; /* smallest RTT the transport knows; ~0 before the first sample */
	u32 in_flight; /* the transport's estimate (pipe) */
	u32 flight_size; /* sent and not cumulatively acknowledged */
	u32 sent; /* packets sent since the start, retransmissions included; wraps */
	u32 delivered; /* packets delivered since the start; wraps */
	u32 lost; /* packets found lost since the start; wraps */
	u32 random;
	bool is_app_limited;
	u32 snd_cwnd; /* the transport's window, if another than the law's may rule (validation over a foreign control) */
};

/* An acknowledgement that delivered data. */
struct law_ack {
	u32 acked; /* cumulatively acknowledged by this ACK */
	u32 delivered; /* newly delivered, selectively or cumulatively */
	u32 newly_lost;
	u32 prior_in_flight; /* before this ACK */
	u32 rtt_us; /* 0: no sample (Karn) */
	u32 rate_delivered; /* delivery rate sample; 0: none */
	u32 rate_interval_us;
	bool rate_app_limited;
	/* Of the packet of the delivery rate sample: what had been delivered when it left, in flight then (it included), lost since. */
	u32 prior_delivered;
	u32 tx_in_flight;
	u32 lost_since_sent;
	bool may_grow; /* the sender used its window and no recovery forbids growth */
	bool round_start; /* first ACK of a new round trip */
	bool in_recovery;
};

LAW_INLINE u64 law_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

LAW_INLINE u64 law_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

LAW_INLINE s64 law_positive(s64 a)
{
	return a > 0 ? a : 0;
}

LAW_INLINE u64 law_clamp(u64 x, u64 low, u64 high)
{
	return x < low ? low : x > high ? high : x;
}

/* A number of a parameter block, within its bounds whoever wrote it. */
#define LAW_PARAM(block, slot) law_clamp((block)[slot], slot##_MIN, slot##_MAX)

/* x times a parameter in steps of 1 / scale, rounded down. BPF has no signed division. */
LAW_INLINE s64 law_times(s64 x, u64 steps, u64 scale)
{
	return x >= 0 ? (s64)((u64)x * steps / scale) : -(s64)(((u64)-x * steps + scale - 1) / scale);
}

#endif
