/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 * newCWV over the kernel's CUBIC. See law_newcwv.h. CUBIC keeps its state where the kernel has it; ours is in socket storage.
 */
#include "law.h"
#include <bpf/bpf_helpers.h>

extern void cubictcp_init(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_state(struct sock *sk, u8 new_state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;

#define BASE_INIT(sk) cubictcp_init(sk)
#define BASE_CONG_AVOID(sk, seq, acked) cubictcp_cong_avoid(sk, seq, acked)
#define BASE_SSTHRESH(sk) cubictcp_recalc_ssthresh(sk)
#define BASE_SET_STATE(sk, state) cubictcp_state(sk, state)
#define BASE_CWND_EVENT(sk, event) cubictcp_cwnd_event(sk, event)
#define BASE_PKTS_ACKED(sk, sample) cubictcp_acked(sk, sample)

#include "newcwv.bpf.h"

AVOID_OPS(newcwvcubic);
