/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Slack. See law_slack.h. Most losses change nothing.
 * The player's reports are words of the parameter block, written by the CMCD bridge.
 */
#define LAW(x) slack_##x
#include "law_slack.h"

/* A response begins: what its request told counts from here on. */
#define LAW_ON_WAKE(law, param, view) slack_on_wake(law, param, view)
/* A queue of a few packets does not hold two more at once. */
#define LAW_MIN_TSO_SEGS(sk) 1
#include "lead.bpf.h"

LAW_INLINE void slack_show(struct sock *sk, const struct slack_state *law, const struct pp_params *params)
{
	const struct slack_playout *playout = &law->playout;
	s64 detail[PP_DETAILS] = {
		law->rate.best.value * 1000000 >> 32,
		law->rtt_q16 >> 16,
		law->queueing_q16 >> 16,
		playout->level_ns / 1000000,
		playout->size_ns / 1000000,
		playout->has_report && playout->is_playing,
		law->ease_q20 * 1000 >> 20,
		law->has_ignored,
	};

	pp_publish(sk, slack_phase(law), detail, params);
}

LEAD_OPS(slack);
