/* SPDX-License-Identifier: MIT
 *
 * OLIA's kernel half (bpf/olia.bpf.c) on a socket and in a group that are made here: Linux asks for no growth during a recovery, and
 * the bytes acknowledged there count between losses all the same. Prints the failed line and ends with 1, or ends with 0.
 */
#include <stdio.h>

#include "../../../../bpf/law.h"

/* In place of glue.bpf.h and of the kernel. */
#define PLAYPATH_GLUE_H
#define SEC(name)
#define BPF_PROG(name, ...) name(__VA_ARGS__)
#define __ksym
#define PP_DETAILS 8
#define PP_OPS(control, ...) extern int control
#define PP_MAP(name, kind, entries, key_type, value_type) static value_type name
#define PP_IN_SOCKET(name, value_type) static value_type name
#define bpf_map_lookup_elem(map, key) ((void)(key), (map))
#define bpf_map_update_elem(map, key, value, flags)
#define bpf_sk_storage_get(map, sk, value, flags) (map)

enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
enum tcp_ca_event { CA_EVENT_COMPLETE_CWR };
enum { MSS = 1000 };

struct sock_common {
	u32 skc_daddr;
	u16 skc_dport;
	u16 skc_num;
};
struct sock {
	struct sock_common __sk_common;
};
struct tcp_sock {
	struct sock sk;
	u8 ca_state;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 snd_una;
	u32 snd_nxt;
	u64 bytes_acked;
};
struct ack_sample {
	s32 rtt_us;
};
struct pp_params {
	u32 value[LAW_PARAM_SLOTS];
};

static const struct pp_params no_params;

static struct tcp_sock *pp_tcp(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}
static u8 pp_ca_state(struct sock *sk)
{
	return pp_tcp(sk)->ca_state;
}
static const struct pp_params *pp_params_of(struct sock *sk)
{
	(void)sk;
	return &no_params;
}
static void pp_view_of(struct sock *sk, struct law_view *view)
{
	*view = (struct law_view){ .mss = MSS, .srtt_us = 100000, .snd_cwnd = pp_tcp(sk)->snd_cwnd };
}
static void pp_set_cwnd(struct sock *sk, u64 cwnd)
{
	pp_tcp(sk)->snd_cwnd = cwnd;
}
static bool pp_may_grow(const struct tcp_sock *tp)
{
	return tp->ca_state == TCP_CA_Open;
}
static u32 pp_mptcp_token(struct sock *sk, u32 *subflow_id)
{
	(void)sk;
	*subflow_id = 0;
	return 1;
}
static void pp_publish(struct sock *sk, u32 phase, const s64 *detail, const struct pp_params *params)
{
	(void)sk, (void)phase, (void)detail, (void)params;
}
static void pp_forget_peer(struct sock *sk)
{
	(void)sk;
}
static void pp_forget(struct sock *sk)
{
	(void)sk;
}
u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return pp_tcp(sk)->snd_cwnd;
}

#include "../../../../bpf/olia.bpf.c"

static struct tcp_sock connection = { .snd_cwnd = 10, .snd_ssthresh = LAW_SSTHRESH_INFINITE };

/* So many packets are acknowledged; in a recovery Linux asks nobody. */
static void acknowledge(u32 packets)
{
	connection.bytes_acked += packets * MSS;
	if (connection.ca_state == TCP_CA_Open)
		pp_cong_avoid(&connection.sk, 0, packets);
}

static void recover(void)
{
	pp_set_state(&connection.sk, TCP_CA_Recovery);
	connection.ca_state = TCP_CA_Recovery;
	acknowledge(50);
	pp_cwnd_event(&connection.sk, CA_EVENT_COMPLETE_CWR);
	connection.ca_state = TCP_CA_Open;
}

static int is_told(u64 bytes)
{
	if (pp_groups.member[0].l_bytes == bytes)
		return 1;
	printf("%llu bytes between losses, not %llu\n", (unsigned long long)pp_groups.member[0].l_bytes, (unsigned long long)bytes);
	return 0;
}

int main(void)
{
	pp_init(&connection.sk);
	acknowledge(100);
	if (!is_told(100 * MSS))
		return 1;
	recover();
	/* 50 in the recovery and 250 after it are more than the 100 before it; at the next loss they become those between two. */
	acknowledge(250);
	if (!is_told(300 * MSS))
		return 1;
	recover();
	acknowledge(10);
	return !is_told(300 * MSS);
}
