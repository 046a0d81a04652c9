/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * What every kernel control shares: parameter and status maps, reading the socket into a law's view, rounds, pacing.
 *
 * Parameters: `pp_defaults` holds one block for the whole control; `pp_params` holds blocks of single connections, keyed by
 * the peer's address and port, which ends with the connection; `pp_socket` holds a block in the socket itself, which goes with
 * it. A socket's own block goes before its peer's, that before the control's. A connection looks them up at every acknowledgement, so a change reaches a
 * live socket within one RTT. Blocks are written by the loader or by an agent; the laws clamp every value.
 *
 * Status: each connection publishes a record per round trip into `pp_status` (least recently used goes first when full).
 */
#ifndef PLAYPATH_GLUE_H
#define PLAYPATH_GLUE_H

#include "kernel.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "law.h"

#define PP_MAX_CONNECTIONS 16384
#define PP_DETAILS 8

struct pp_params {
	u32 value[LAW_PARAM_SLOTS];
};

struct pp_default_block {
	char control[16]; /* registered name, written by the loader: tells whose map this is */
	struct pp_params params;
};

/* Peer of a connection; `addr` is IPv4 in its first four bytes (rest 0) or IPv6, network order; ports in host order. */
struct pp_key {
	u8 addr[16];
	u16 port;
	u16 local_port; /* 0 in pp_params */
	u32 netns; /* inode number of the network namespace; 0 in pp_params */
};

struct pp_status_record {
	u64 time_ns; /* CLOCK_MONOTONIC */
	u64 pacing_rate; /* bytes/s; ~0: unlimited */
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 in_flight;
	u32 srtt_us;
	u32 phase;
	u32 mptcp_token; /* 0 for plain TCP */
	s64 detail[PP_DETAILS]; /* named by the loader's table */
	struct pp_params params; /* as in force */
	u32 params_from; /* enum pp_params_from */
	u32 unused;
};

enum pp_params_from { PP_FROM_CONTROL, PP_FROM_PEER, PP_FROM_SOCKET };

#define PP_MAP(name, kind, entries, key_type, value_type)                                                                       \
	struct {                                                                                                              \
		__uint(type, kind);                                                                                           \
		__uint(max_entries, entries);                                                                                 \
		__type(key, key_type);                                                                                        \
		__type(value, value_type);                                                                                    \
	} name SEC(".maps")

/* A value in each socket. */
#define PP_IN_SOCKET(name, value_type)                                                                                        \
	struct {                                                                                                              \
		__uint(type, BPF_MAP_TYPE_SK_STORAGE);                                                                        \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                                                         \
		__type(key, int);                                                                                             \
		__type(value, value_type);                                                                                    \
	} name SEC(".maps")

PP_MAP(pp_defaults, BPF_MAP_TYPE_ARRAY, 1, u32, struct pp_default_block);
PP_MAP(pp_params, BPF_MAP_TYPE_LRU_HASH, PP_MAX_CONNECTIONS, struct pp_key, struct pp_params);
/* Written from user space with a descriptor of the socket as the key. */
PP_IN_SOCKET(pp_socket, struct pp_params);
PP_MAP(pp_status, BPF_MAP_TYPE_LRU_HASH, PP_MAX_CONNECTIONS, struct pp_key, struct pp_status_record);

LAW_INLINE struct tcp_sock *pp_tcp(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

LAW_INLINE struct inet_connection_sock *pp_icsk(struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

LAW_INLINE u8 pp_ca_state(struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD(pp_icsk(sk), icsk_ca_state);
}

LAW_INLINE void pp_key_of(struct sock *sk, struct pp_key *key, bool is_status)
{
	__builtin_memset(key, 0, sizeof(*key));
	if (sk->__sk_common.skc_family == AF_INET6) {
		__builtin_memcpy(key->addr, &sk->__sk_common.skc_v6_daddr.in6_u.u6_addr8, 16);
		/* An IPv4 peer of a dual-stack socket (::ffff:a.b.c.d) has the key of the IPv4 address. */
		if (((u64 *)key->addr)[0] == 0 && ((u32 *)key->addr)[2] == __builtin_bswap32(0x0000ffff)) {
			((u32 *)key->addr)[0] = ((u32 *)key->addr)[3];
			((u32 *)key->addr)[2] = 0;
			((u32 *)key->addr)[3] = 0;
		}
	} else {
		*(u32 *)key->addr = sk->__sk_common.skc_daddr;
	}
	key->port = __builtin_bswap16(sk->__sk_common.skc_dport);
	if (is_status) {
		key->local_port = sk->__sk_common.skc_num;
		key->netns = sk->__sk_common.skc_net.net->ns.inum;
	}
}

/* The connection's parameters: the socket's block, else its peer's, else the control's. NULL only if the array map is broken. */
LAW_INLINE const struct pp_params *pp_params_of(struct sock *sk)
{
	struct pp_key key;
	const struct pp_params *own = bpf_sk_storage_get(&pp_socket, sk, 0, 0);
	const struct pp_default_block *block;
	u32 zero = 0;

	if (own)
		return own;
	pp_key_of(sk, &key, false);
	own = bpf_map_lookup_elem(&pp_params, &key);
	if (own)
		return own;
	block = bpf_map_lookup_elem(&pp_defaults, &zero);
	return block ? &block->params : 0;
}

LAW_INLINE u32 pp_params_from(struct sock *sk)
{
	struct pp_key key;

	if (bpf_sk_storage_get(&pp_socket, sk, 0, 0))
		return PP_FROM_SOCKET;
	pp_key_of(sk, &key, false);
	return bpf_map_lookup_elem(&pp_params, &key) ? PP_FROM_PEER : PP_FROM_CONTROL;
}

LAW_INLINE u32 pp_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

LAW_INLINE void pp_view_of(struct sock *sk, struct law_view *view)
{
	const struct tcp_sock *tp = pp_tcp(sk);

	view->now_us = tp->tcp_mstamp;
	view->mss = tp->mss_cache;
	view->srtt_us = tp->srtt_us >> 3;
	view->min_rtt_us = tp->rtt_min.s[0].v;
	view->in_flight = pp_in_flight(tp);
	view->flight_size = tp->packets_out;
	view->sent = tp->data_segs_out;
	view->delivered = tp->delivered;
	view->lost = tp->lost;
	view->snd_cwnd = tp->snd_cwnd;
	view->is_app_limited = tp->app_limited;
	view->random = 0;
}

/* Linux sends while in flight < snd_cwnd; a window under 1 would stall the connection. */
LAW_INLINE void pp_set_cwnd(struct sock *sk, u64 cwnd)
{
	struct tcp_sock *tp = pp_tcp(sk);

	tp->snd_cwnd = law_clamp(cwnd, 1, tp->snd_cwnd_clamp);
}

/* Linux's rule (tcp_is_cwnd_limited): in slow start at most twice the largest flight, after that only if the window was full. */
LAW_INLINE bool pp_may_grow(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) ||
	       (tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out);
}

/* For controls that own the rate (cong_control). Gain 0: pacing stays as it is and the rate is the kernel's rule (200 % of
 * cwnd/srtt in slow start, 120 % after: tcp(7) sysctls tcp_pacing_ss_ratio, tcp_pacing_ca_ratio), which segmentation
 * offload and MPTCP's scheduler read. */
LAW_INLINE void pp_set_pacing(struct sock *sk, u32 gain_milli, bool slow_start)
{
	struct tcp_sock *tp = pp_tcp(sk);
	u64 bytes = (u64)law_max(tp->snd_cwnd, tp->packets_out) * tp->mss_cache;
	u32 srtt_us = tp->srtt_us >> 3;
	u64 gain = gain_milli ? gain_milli : slow_start ? 2000 : 1200;

	if (!srtt_us)
		return;
	sk->sk_pacing_rate = bytes * gain / 1000 * 1000000 / srtt_us;
	if (gain_milli)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* A law's own rate in bytes/s; 0: it has none yet. */
LAW_INLINE void pp_set_rate(struct sock *sk, u64 rate)
{
	if (!rate)
		return;
	sk->sk_pacing_rate = rate;
	if (!sk->sk_pacing_status)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Token of the MPTCP connection that this subflow belongs to; 0 for plain TCP. */
LAW_INLINE u32 pp_mptcp_token(struct sock *sk, u32 *subflow_id);

LAW_INLINE void pp_publish(struct sock *sk, u32 phase, const s64 *detail, const struct pp_params *params)
{
	const struct tcp_sock *tp = pp_tcp(sk);
	struct pp_status_record record = {};
	struct pp_key key;
	u32 id;

	pp_key_of(sk, &key, true);
	record.time_ns = bpf_ktime_get_ns();
	record.pacing_rate = sk->sk_pacing_rate;
	record.snd_cwnd = tp->snd_cwnd;
	record.snd_ssthresh = tp->snd_ssthresh;
	record.in_flight = pp_in_flight(tp);
	record.srtt_us = tp->srtt_us >> 3;
	record.phase = phase;
	record.mptcp_token = pp_mptcp_token(sk, &id);
	for (int i = 0; i < PP_DETAILS; i++)
		record.detail[i] = detail[i];
	if (params)
		record.params = *params;
	record.params_from = pp_params_from(sk);
	bpf_map_update_elem(&pp_status, &key, &record, BPF_ANY);
}

/* What was said of a peer holds for one connection: a new one from the same address and port, which may be another viewer's,
 * begins without it. */
LAW_INLINE void pp_forget_peer(struct sock *sk)
{
	struct pp_key key;

	pp_key_of(sk, &key, false);
	bpf_map_delete_elem(&pp_params, &key);
}

LAW_INLINE void pp_forget(struct sock *sk)
{
	struct pp_key key;

	pp_forget_peer(sk);
	pp_key_of(sk, &key, true);
	bpf_map_delete_elem(&pp_status, &key);
}

extern void *bpf_rdonly_cast(const void *obj, u32 btf_id) __ksym;

LAW_INLINE u32 pp_mptcp_token(struct sock *sk, u32 *subflow_id)
{
	struct mptcp_subflow_context *subflow;
	void *data = pp_icsk(sk)->icsk_ulp_data;

	*subflow_id = 0;
	if (!pp_tcp(sk)->is_mptcp || !data)
		return 0;
	subflow = bpf_rdonly_cast(data, bpf_core_type_id_kernel(struct mptcp_subflow_context));
	*subflow_id = subflow->subflow_id;
	return subflow->token;
}

/* Registers a control with the functions that all have, and those named besides. */
#define PP_OPS(control, ...)                                                                                                  \
	SEC(".struct_ops.link")                                                                                               \
	struct tcp_congestion_ops control = {                                                                                 \
		.name = #control,                                                                                             \
		.flags = TCP_CONG_NON_RESTRICTED,                                                                             \
		.init = (void *)pp_init,                                                                                      \
		.release = (void *)pp_release,                                                                                \
		.ssthresh = (void *)pp_ssthresh,                                                                              \
		.set_state = (void *)pp_set_state,                                                                            \
		.undo_cwnd = (void *)pp_undo_cwnd,                                                                            \
		__VA_ARGS__                                                                                                   \
	}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#endif
