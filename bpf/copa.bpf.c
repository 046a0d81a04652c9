/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 * Copa. See law_copa.h.
 */
#define LAW(x) copa_##x
#include "law_copa.h"

#define LAW_ON_START(s, view) copa_on_start(&(s)->law, view)
#include "lead.bpf.h"

LAW_INLINE void copa_show(struct sock *sk, const struct copa_state *law, const struct pp_params *params)
{
	s64 detail[PP_DETAILS] = {
		law->min.best.value,
		law->standing.best.value,
		law->max.best.value,
		law->queueing_us,
		law->velocity.v_q16 >> 16,
		law->extra_q16 >> 16,
		law->rounds,
	};

	pp_publish(sk, law->in_slow_start ? 0 : law->is_competitive ? 2 : 1, detail, params);
}

LEAD_OPS(copa);
