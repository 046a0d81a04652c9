/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * BBR version 3. See law_bbr3.h. Linux tells a control neither what was in flight nor what had been lost when a packet left, and
 * calls none for a packet that is lost. But a packet carries what had been delivered when it left (prior_delivered), which tells
 * after which ACK that was: so these numbers are kept ACK by ACK. A burst that one ACK let out counts as in flight as a whole.
 */
#define LAW(x) bbr3_##x
#include "law_bbr3.h"

#define LAW_ON_START(s, view) bbr3_on_start(&(s)->law, view)
#define LAW_BEFORE_ACK(sk, rs, ack) bbr3_look_up(sk, rs, ack)
#define LAW_ON_RECOVERY_EXIT(law) bbr3_on_recovery_exit(law)
#define LAW_ON_WAKE(law, param, view) bbr3_on_wake(law, view)

struct sock;
struct rate_sample;
struct law_ack;
LAW_INLINE void bbr3_look_up(struct sock *sk, const struct rate_sample *rs, struct law_ack *ack);
#include "lead.bpf.h"

/* Windows of more packets fall back on what is in flight now, and no losses. A power of two. */
#define BBR3_ACKS 2048

struct bbr3_moment {
	u32 delivered;
	u32 lost;
	u32 in_flight;
};

struct bbr3_acks {
	struct bbr3_moment after[BBR3_ACKS]; /* by what was delivered */
	u32 last;
};

PP_IN_SOCKET(pp_acks, struct bbr3_acks);

LAW_INLINE void bbr3_look_up(struct sock *sk, const struct rate_sample *rs, struct law_ack *ack)
{
	struct bbr3_acks *acks = bpf_sk_storage_get(&pp_acks, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	const struct tcp_sock *tp = pp_tcp(sk);
	struct bbr3_moment *moment;

	ack->tx_in_flight = law_max(rs->prior_in_flight, 1);
	if (!acks)
		return;
	moment = &acks->after[acks->last & (BBR3_ACKS - 1)];
	moment->in_flight = law_max(moment->in_flight, rs->prior_in_flight);
	moment = &acks->after[rs->prior_delivered & (BBR3_ACKS - 1)];
	if (moment->delivered == rs->prior_delivered) {
		ack->tx_in_flight = law_max(moment->in_flight, 1);
		ack->lost_since_sent = tp->lost - moment->lost;
	}
	acks->last = tp->delivered;
	moment = &acks->after[tp->delivered & (BBR3_ACKS - 1)];
	if (moment->delivered != tp->delivered)
		*moment = (struct bbr3_moment){ tp->delivered, tp->lost, pp_in_flight(tp) };
}

LAW_INLINE void bbr3_show(struct sock *sk, const struct bbr3_state *law, const struct pp_params *params)
{
	s64 detail[PP_DETAILS] = {
		law->bw * 1000000 >> 32,
		bbr3_max_bw(law) * 1000000 >> 32,
		law->min_rtt_us,
		law->short_q16 == BBR3_NONE ? -1 : (s64)(law->short_q16 >> 16),
		law->long_q16 == BBR3_NONE ? -1 : (s64)(law->long_q16 >> 16),
		law->extra.best.value >> 16,
		law->round,
	};

	pp_publish(sk, law->mode, detail, params);
}

LEAD_OPS(bbr3);
