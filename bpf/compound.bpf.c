/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 * Compound TCP. See law_compound.h.
 */
#define LAW(x) compound_##x
#include "law_compound.h"
#include "window.bpf.h"

static void compound_show(struct sock *sk, const struct compound_state *law, s64 *detail)
{
	detail[0] = law->base_rtt_us;
	detail[1] = law->dwnd_q16 >> 16;
	detail[2] = law->diff_q16 >> 16;
}

AVOID_OPS(compound);
