/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 * Vegas by its authors' rules, without early retransmission. See law_vegas.h.
 */
#define LAW(x) vegas_##x
#include "law_vegas.h"
#include "window.bpf.h"

static void vegas_show(struct sock *sk, const struct vegas_state *law, s64 *detail)
{
	detail[0] = law->base_rtt_us;
	detail[1] = law->diff;
}

AVOID_OPS(vegas);
