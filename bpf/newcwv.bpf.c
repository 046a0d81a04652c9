/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 * newCWV over the kernel's Reno. See law_newcwv.h.
 */
#include "law.h"
#include <bpf/bpf_helpers.h>

extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;

#define BASE_INIT(sk)
#define BASE_CONG_AVOID(sk, seq, acked) tcp_reno_cong_avoid(sk, seq, acked)
#define BASE_SSTHRESH(sk) tcp_reno_ssthresh(sk)
#define BASE_SET_STATE(sk, state)
#define BASE_CWND_EVENT(sk, event)
#define BASE_PKTS_ACKED(sk, sample)

#include "newcwv.bpf.h"

AVOID_OPS(newcwv);
