/* SPDX-License-Identifier: MIT
 *
 * Runs a control law of bpf/ on events from standard input, a line each; answers each with "cwnd_q16 ssthresh
 * pacing", the pacing rate in bytes a second, 0 if the law does not pace.
 * Compiled once for each family: FAMILY is the prefix of the law's names, HEADER its file. See src/lib.rs for the other side.
 * First line: control, initial window.
 *
 *   p v0 .. v15                                                  parameters
 *   v now_us mss srtt_us in_flight flight_size sent min_rtt_us delivered lost random    view, for what follows
 *   s i srtt_us cwnd_q10 l_bytes                                 member i of the group (coupled laws); member 0 is the own one
 *   a acked delivered lost rtt_us rate_n rate_us limited grow round recovery prior at in_flight since    acknowledgement;
 *       at, in_flight, since: of the packet sampled, what had been delivered and was in flight when it left, and lost since
 *   c ecn                                                        congestion episode begins
 *   e                                                            recovery ends
 *   t flight_size is_first                                       retransmission timeout
 *   r                                                            what the player told is in the parameters
 *   u                                                            the last reduction was spurious
 *   w                                                            the first packet after a pause
 */
#include <stdio.h>
#include <string.h>

#include HEADER

#define PASTE(a, b) a##_##b
#define NAMED(a, b) PASTE(a, b)
#define LAW(x) NAMED(FAMILY, x)

static struct LAW(state) law;
static struct law_view view;
static u32 param[LAW_PARAM_SLOTS];
static char control[16];

static int is(const char *name)
{
	return strcmp(control, name) == 0;
}

/* The families whose functions differ from those of a window law. */
#if defined(PLAYPATH_LAW_CCP_H)

static u32 variant(void)
{
	return is("ccp") ? CCP_PLAIN : is("ccpd") ? CCP_DERIVATIVE : is("ccplca") ? CCP_LCA : CCP_LB;
}

#define ON_ACK(ack) ccp_on_ack(&law, param, &view, ack, variant())
#define ON_CONGESTION(is_ecn) ccp_on_congestion(&law)
#define ON_RECOVERY_EXIT() ccp_on_recovery_exit(&law)
#define ON_RTO(flight_size, is_first) ccp_on_rto(&law, flight_size, is_first)
#define CWND_Q16() law.cwnd_q16
#define SSTHRESH() ccp_ssthresh(&law)
#define PACING() 0ULL

#elif defined(PLAYPATH_LAW_COUPLED_H)

static struct law_group group;

static void on_ack(const struct law_ack *ack)
{
	u64 l = group.member[0].l_bytes;

	coupled_publish(&law, group.member[0].srtt_us, &group.member[0]);
	group.member[0].l_bytes = l; /* as the test has it for the Rust side */
	coupled_on_ack(&law, ack, &group, 0, is("olia"));
}

#define ON_ACK(ack) on_ack(ack)
#define CWND_Q16() (law.cwnd_q32 >> 16)

#elif defined(PLAYPATH_LAW_COMPOUND_H)
#define CWND_Q16() compound_win_q16(&law)

#elif defined(PLAYPATH_LAW_SLACK_H)
#define LEADS
#define ON_REPORT() slack_on_report(&law, param, &view)
#define ON_WAKE() slack_on_wake(&law, param, &view)
#define CWND_Q16() (law.cubic.cwnd >> 16)

#elif defined(PLAYPATH_LAW_COPA_H)
#define LEADS
#define CWND_Q16() (law.cwnd >> 16)

#elif defined(PLAYPATH_LAW_BBR3_H)
#define LEADS
#define ON_RECOVERY_EXIT() bbr3_on_recovery_exit(&law)
#define ON_WAKE() bbr3_on_wake(&law, &view)
#endif

/* Those of lead.bpf.h. */
#ifdef LEADS
#define ON_CONGESTION(is_ecn) LAW(on_congestion)(&law, param, &view, is_ecn)
#define ON_RTO(flight_size, is_first) LAW(on_rto)(&law, param, &view, is_first)
#define ON_UNDO() LAW(on_undo)(&law, &view)
#define SSTHRESH() LAW(ssthresh)(&law)
#define PACING() law.pacing
#endif

#ifndef ON_ACK
#define ON_ACK(ack) LAW(on_ack)(&law, param, &view, ack)
#endif
#ifndef ON_RTO
#define ON_RECOVERY_EXIT() LAW(on_recovery_exit)(&law)
#define ON_CONGESTION(is_ecn) LAW(on_congestion)(&law)
#define ON_RTO(flight_size, is_first) LAW(on_rto)(&law, is_first)
#endif
#ifndef CWND_Q16
#define CWND_Q16() law.cwnd_q16
#endif
#ifndef SSTHRESH
#define SSTHRESH() law.ssthresh
#define PACING() 0ULL
#endif
#ifndef ON_RECOVERY_EXIT
#define ON_RECOVERY_EXIT()
#endif
#ifndef ON_UNDO
#define ON_UNDO()
#endif
#ifndef ON_REPORT
#define ON_REPORT()
#endif
#ifndef ON_WAKE
#define ON_WAKE()
#endif

static void answer(void)
{
	printf("%llu %u %llu\n", (unsigned long long)CWND_Q16(), SSTHRESH(), (unsigned long long)PACING());
}

static int take(char kind)
{
	unsigned long long now;
	unsigned x[16], i;

	switch (kind) {
	case 'p':
		for (i = 0; i < LAW_PARAM_SLOTS; i++)
			if (scanf("%u", &param[i]) != 1)
				return 0;
		return 1;
	case 'v':
		if (scanf("%llu %u %u %u %u %u %u %u %u %u", &now, &x[0], &x[1], &x[2], &x[3], &x[4], &x[5], &x[6], &x[7], &x[8]) != 10)
			return 0;
		view = (struct law_view){ .now_us = now, .mss = x[0], .srtt_us = x[1], .in_flight = x[2],
					  .flight_size = x[3], .sent = x[4], .min_rtt_us = x[5], .delivered = x[6],
					  .lost = x[7], .random = x[8], .is_app_limited = true };
		return 1;
#ifdef PLAYPATH_LAW_COUPLED_H
	case 's':
		if (scanf("%u %u %u %llu", &i, &x[0], &x[1], &now) != 4 || i >= LAW_MEMBERS)
			return 0;
		group.member[i] = (struct law_member){ .srtt_us = x[0], .cwnd_q10 = x[1], .l_bytes = now };
		return 1;
#endif
	case 'a':
		for (i = 0; i < 14; i++)
			if (scanf("%u", &x[i]) != 1)
				return 0;
		ON_ACK((&(struct law_ack){ .acked = x[0], .delivered = x[1], .newly_lost = x[2], .rtt_us = x[3],
					  .rate_delivered = x[4], .rate_interval_us = x[5], .rate_app_limited = x[6],
					  .may_grow = x[7], .round_start = x[8], .in_recovery = x[9],
					  .prior_in_flight = x[10], .prior_delivered = x[11], .tx_in_flight = x[12],
					  .lost_since_sent = x[13] }));
		return 1;
	case 'c':
		if (scanf("%u", &x[0]) != 1)
			return 0;
		ON_CONGESTION(x[0]);
		return 1;
	case 'r':
		ON_REPORT();
		return 1;
	case 'u':
		ON_UNDO();
		return 1;
	case 'w':
		ON_WAKE();
		return 1;
	case 'e':
		ON_RECOVERY_EXIT();
		return 1;
	case 't':
		if (scanf("%u %u", &x[0], &x[1]) != 2)
			return 0;
		ON_RTO(x[0], x[1]);
		return 1;
	default:
		return 0;
	}
}

int main(void)
{
	unsigned window;
	char kind;

	if (scanf("%15s %u", control, &window) != 2)
		return 2;
	LAW(init)(&law, window);
	while (scanf(" %c", &kind) == 1) {
		if (!take(kind))
			return 2;
		if (strchr("acetu", kind))
			answer();
	}
	return 0;
}
