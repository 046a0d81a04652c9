/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Running minimum or maximum over a sliding window, in constant space (K. Nichols, "windowed min/max", as in Linux's
 * lib/win_minmax and the BBR draft; written from the published rule, not from that file).
 *
 * Kept are the best sample, the best after it, and the best after that. Difference from an exact window: after the best
 * sample leaves, the answer is the best of what was kept, so it can miss a middling sample; it never is better than the truth,
 * and it never keeps a sample beyond the window. Time is in any unit (microseconds for RTTs, round trips for rates).
 */
#ifndef PLAYPATH_LAW_FILTER_H
#define PLAYPATH_LAW_FILTER_H

#include "law.h"

struct law_sample {
	u64 value; /* 0: none */
	u64 time;
};

struct law_filter {
	struct law_sample best, second, third;
};

LAW_INLINE bool law_as_good(u64 a, u64 b, bool is_max)
{
	return is_max ? a >= b : a <= b;
}

LAW_INLINE void law_filter_add(struct law_filter *f, u64 window, u64 now, u64 value, bool is_max)
{
	struct law_sample sample = { value, now };
	u64 age;

	if (!f->best.value || law_as_good(value, f->best.value, is_max) || now - f->third.time > window) {
		f->best = f->second = f->third = sample;
		return;
	}
	if (law_as_good(value, f->second.value, is_max))
		f->second = f->third = sample;
	else if (law_as_good(value, f->third.value, is_max))
		f->third = sample;

	age = now - f->best.time;
	if (age > window) {
		f->best = f->second;
		f->second = f->third;
		f->third = sample;
		if (now - f->best.time > window) {
			f->best = f->second;
			f->second = f->third;
			f->third = sample;
		}
	} else if (f->second.time == f->best.time && age > window / 4) {
		/* A quarter of the window without a second choice: take one from the later part. */
		f->second = f->third = sample;
	} else if (f->third.time == f->second.time && age > window / 2) {
		f->third = sample;
	}
}

#endif
