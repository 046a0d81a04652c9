/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Parameter blocks of the laws: slots, steps per unit, bounds in steps. Generated from the registry of crates/cc, of which the
 * loader and the test of the laws are made, too; do not edit: UPDATE=1 cargo test -p playpath-cc --test law_header
 */
#ifndef PLAYPATH_LAW_PARAMS_H
#define PLAYPATH_LAW_PARAMS_H

#define LAW_PARAM_SLOTS 20

/* bbr3 */
#define BBR3_LOSS_THRESH 0 /* tolerated loss per round trip of a probe (draft §2.8: 2 %) */
#define BBR3_LOSS_THRESH_SCALE 1000U
#define BBR3_LOSS_THRESH_MIN 0U
#define BBR3_LOSS_THRESH_MAX 500U
#define BBR3_BETA 1 /* least that a round trip with loss leaves of a short-term bound (draft §2.8: 0.7, CUBIC's) */
#define BBR3_BETA_SCALE 1000U
#define BBR3_BETA_MIN 100U
#define BBR3_BETA_MAX 1000U
#define BBR3_HEADROOM 2 /* part of the long-term bound left free for others while cruising (draft §2.8: 0.15) */
#define BBR3_HEADROOM_SCALE 1000U
#define BBR3_HEADROOM_MIN 0U
#define BBR3_HEADROOM_MAX 900U
#define BBR3_QUANTUM 3 /* bursts that the window leaves room for: TSO as in Linux (1 ms of the rate, at least 2 packets), or single packets */
#define BBR3_QUANTUM_LINUX 0U
#define BBR3_QUANTUM_PACKET 1U

/* ccp, ccpd, ccplb, ccplca */
#define CCP_KP 0 /* gain Kp; useful from 1.5 to 2.5, unstable from 3 on (our default) */
#define CCP_KP_SCALE 1000U
#define CCP_KP_MIN 100U
#define CCP_KP_MAX 8000U
#define CCP_KD 1 /* derivative gain; stable below 0.5 (our default). In mode literal in seconds */
#define CCP_KD_SCALE 1000U
#define CCP_KD_MIN 0U
#define CCP_KD_MAX 4000U
#define CCP_FLOOR_GAIN 2 /* growth per measured round trip while no queue is seen; the floor of the storage is floor_gain 3/Kp bandwidth-delay products */
#define CCP_FLOOR_GAIN_SCALE 1000U
#define CCP_FLOOR_GAIN_MIN 1000U
#define CCP_FLOOR_GAIN_MAX 3000U
#define CCP_RECOVERY 3 /* window during loss recovery: the law as ever (paper), no growth, or no change */
#define CCP_RECOVERY_FOLLOW 0U
#define CCP_RECOVERY_FREEZE 1U
#define CCP_RECOVERY_HOLD 2U
#define CCP_LOSS_GUARD 4 /* shrink the storage by 0.7 per round trip once three in a row lost more than a tenth of the window */
#define CCP_PACING_GAIN 5 /* pace at gain x cwnd / srtt; 0: off */
#define CCP_PACING_GAIN_SCALE 1000U
#define CCP_PACING_GAIN_MIN 0U
#define CCP_PACING_GAIN_MAX 4000U
#define CCP_MAX_CWND 6 /* packets: upper clamp of the law */
#define CCP_MAX_CWND_SCALE 1U
#define CCP_MAX_CWND_MIN 10U
#define CCP_MAX_CWND_MAX 1048576U
#define CCP_POB_BYTES 7 /* bytes: playout buffer of the player, or its free part */
#define CCP_POB_BYTES_SCALE 1U
#define CCP_POB_BYTES_MIN 0U
#define CCP_POB_BYTES_MAX 1000000000U
#define CCP_POB_RATE 8 /* divisor of the playout buffer; the paper's CCPLB(n), n = 0.5, 1, 2, 3 */
#define CCP_POB_RATE_SCALE 1000U
#define CCP_POB_RATE_MIN 100U
#define CCP_POB_RATE_MAX 100000U
#define CCP_URGENT 9 /* the player starts or has run dry: pob_rate at most 1 */
#define CCP_VIDEO_KBPS 10 /* kbit/s: bit rate of the video */
#define CCP_VIDEO_KBPS_SCALE 1U
#define CCP_VIDEO_KBPS_MIN 0U
#define CCP_VIDEO_KBPS_MAX 1000000U
#define CCP_RTT_MIN_WINDOW 11 /* s: memory of the smallest RTT (Linux tcp_min_rtt_wlen); a standing queue enters it after this time */
#define CCP_RTT_MIN_WINDOW_SCALE 1000U
#define CCP_RTT_MIN_WINDOW_MIN 100U
#define CCP_RTT_MIN_WINDOW_MAX 3600000U
#define CCP_RTT_MAX_WINDOW 12 /* s: memory of the largest RTT; in mode paper that of the smallest one counts (our default) */
#define CCP_RTT_MAX_WINDOW_SCALE 1000U
#define CCP_RTT_MAX_WINDOW_MIN 100U
#define CCP_RTT_MAX_WINDOW_MAX 3600000U
#define CCP_RTT_MAX_CAP 13 /* rtt_max counts up to this many rtt_min; in mode paper without a limit (our default) */
#define CCP_RTT_MAX_CAP_SCALE 1000U
#define CCP_RTT_MAX_CAP_MIN 1000U
#define CCP_RTT_MAX_CAP_MAX 1000000U
#define CCP_MODE 14 /* paper: as for ccp; literal: the recalled form, Kp = 1, derivative over consecutive ACKs */
#define CCP_MODE_DEFAULT 0U
#define CCP_MODE_PAPER 1U
#define CCP_MODE_LITERAL 2U
#define CCP_RTT 15 /* RTT of the backlog: smoothed with weight 1/8, or the last sample */
#define CCP_RTT_EWMA 0U
#define CCP_RTT_RAW 1U
#define CCP_ESTIMATOR 16 /* capacity: largest delivery rate, CapProbe, or given by `capacity`; auto: maxrate, in mode paper capprobe */
#define CCP_ESTIMATOR_AUTO 0U
#define CCP_ESTIMATOR_MAXRATE 1U
#define CCP_ESTIMATOR_CAPPROBE 2U
#define CCP_ESTIMATOR_GIVEN 3U
#define CCP_CAPACITY 17 /* packets/s: capacity with estimator = given */
#define CCP_CAPACITY_SCALE 1000U
#define CCP_CAPACITY_MIN 1000U
#define CCP_CAPACITY_MAX 4000000000U
#define CCP_BOUND 18 /* lower bound of the window: what the video's rate needs in a round trip, or the printed VR / rtt */
#define CCP_BOUND_RATE_X_RTT 0U
#define CCP_BOUND_PRINTED 1U

/* compound */
#define COMPOUND_GAMMA 0 /* packets: backlog that makes it retreat (draft: 30) */
#define COMPOUND_GAMMA_SCALE 1000U
#define COMPOUND_GAMMA_MIN 1000U
#define COMPOUND_GAMMA_MAX 10000000U
#define COMPOUND_ALPHA 1 /* growth per round is alpha win^k packets (draft: 1/8) */
#define COMPOUND_ALPHA_SCALE 1000U
#define COMPOUND_ALPHA_MIN 0U
#define COMPOUND_ALPHA_MAX 10000U
#define COMPOUND_LOW_WINDOW 2 /* packets: Reno below this window (38 to 41 published) */
#define COMPOUND_LOW_WINDOW_SCALE 1000U
#define COMPOUND_LOW_WINDOW_MIN 0U
#define COMPOUND_LOW_WINDOW_MAX 1000000U
#define COMPOUND_ZETA 3 /* packets of retreat per packet of backlog (draft: 1) */
#define COMPOUND_ZETA_SCALE 1000U
#define COMPOUND_ZETA_MIN 0U
#define COMPOUND_ZETA_MAX 10000U

/* copa */
#define COPA_DELTA 0 /* weight of delay against throughput in default mode; 2.5/delta packets of queue (paper 0.5, mvfst 0.04) */
#define COPA_DELTA_SCALE 1000U
#define COPA_DELTA_MIN 4U
#define COPA_DELTA_MAX 10000U
#define COPA_MODE 1 /* auto: competitive when the queue has not been nearly empty for five round trips (paper); or always one of them */
#define COPA_MODE_AUTO 0U
#define COPA_MODE_DEFAULT 1U
#define COPA_MODE_COMPETITIVE 2U
#define COPA_MAX_CWND 2 /* packets: upper clamp of the window */
#define COPA_MAX_CWND_SCALE 1U
#define COPA_MAX_CWND_MIN 10U
#define COPA_MAX_CWND_MAX 1048576U

/* lia, olia */
#define COUPLED_GROUP 0 /* couple connections of equal non-zero group; 0: by MPTCP token */
#define COUPLED_GROUP_SCALE 1U
#define COUPLED_GROUP_MIN 0U
#define COUPLED_GROUP_MAX 4294967295U

/* newcwvcubic, newcwv */
#define NEWCWV_PACING 0 /* pace, at tcp_pacing_ss_ratio and tcp_pacing_ca_ratio percent of cwnd / srtt */

/* slack */
#define SLACK_ALLOWANCE 0 /* packets: packets of queue while the viewer has time */
#define SLACK_ALLOWANCE_SCALE 1000U
#define SLACK_ALLOWANCE_MIN 1000U
#define SLACK_ALLOWANCE_MAX 1000000U
#define SLACK_CALM 1 /* share of the playout buffer from which on the viewer has time */
#define SLACK_CALM_SCALE 1000U
#define SLACK_CALM_MIN 0U
#define SLACK_CALM_MAX 1000U
#define SLACK_ALARM 2 /* share of the playout buffer below which the viewer has none */
#define SLACK_ALARM_SCALE 1000U
#define SLACK_ALARM_MIN 0U
#define SLACK_ALARM_MAX 1000U
#define SLACK_WEIGHT 3 /* CUBIC flows: what a viewer counts for while it is short: a cut takes so much less of the window */
#define SLACK_WEIGHT_SCALE 1000U
#define SLACK_WEIGHT_MIN 1000U
#define SLACK_WEIGHT_MAX 100000U
#define SLACK_HASTE 4 /* most urgency while the flow gets that much */
#define SLACK_HASTE_SCALE 1000U
#define SLACK_HASTE_MIN 0U
#define SLACK_HASTE_MAX 1000U
#define SLACK_TOLERANCE 5 /* share of packets that may be lost without a queue before it counts as congestion; 0 counts every loss */
#define SLACK_TOLERANCE_SCALE 1000U
#define SLACK_TOLERANCE_MIN 0U
#define SLACK_TOLERANCE_MAX 500U
#define SLACK_PACE 6 /* pacing in windows per RTT after slow start while the viewer is short (Linux: 1.2), in slow start 2 at least, else 1 at most; 0 does not pace, for study */
#define SLACK_PACE_SCALE 1000U
#define SLACK_PACE_MIN 0U
#define SLACK_PACE_MAX 10000U
#define SLACK_EASE 7 /* pacing in best rates of the player while the viewer has time */
#define SLACK_EASE_SCALE 1000U
#define SLACK_EASE_MIN 1000U
#define SLACK_EASE_MAX 1000000U
#define SLACK_POB_BYTES 8 /* bytes: playout buffer of the player */
#define SLACK_POB_BYTES_SCALE 1U
#define SLACK_POB_BYTES_MIN 0U
#define SLACK_POB_BYTES_MAX 1000000000U
#define SLACK_POB_FREE_BYTES 9 /* bytes: its free part; 4294967295: the player does not tell */
#define SLACK_POB_FREE_BYTES_SCALE 1U
#define SLACK_POB_FREE_BYTES_MIN 0U
#define SLACK_POB_FREE_BYTES_MAX 4294967295U
#define SLACK_VIDEO_KBPS 10 /* kbit/s: bit rate of what is being sent */
#define SLACK_VIDEO_KBPS_SCALE 1U
#define SLACK_VIDEO_KBPS_MIN 0U
#define SLACK_VIDEO_KBPS_MAX 1000000U
#define SLACK_OBJECT_BYTES 11 /* bytes: size of the object that is being sent */
#define SLACK_OBJECT_BYTES_SCALE 1U
#define SLACK_OBJECT_BYTES_MIN 0U
#define SLACK_OBJECT_BYTES_MAX 4294967295U
#define SLACK_OBJECT_MS 12 /* ms: media time in it */
#define SLACK_OBJECT_MS_SCALE 1U
#define SLACK_OBJECT_MS_MIN 0U
#define SLACK_OBJECT_MS_MAX 3600000U
#define SLACK_URGENT 13 /* the player starts or has run dry */
#define SLACK_TOP_KBPS 14 /* kbit/s: best rate that the player can choose; 0: it does not tell */
#define SLACK_TOP_KBPS_SCALE 1U
#define SLACK_TOP_KBPS_MIN 0U
#define SLACK_TOP_KBPS_MAX 1000000U
#define SLACK_REPORT 15 /* number of the report; the words above count when it changes */
#define SLACK_REPORT_SCALE 1U
#define SLACK_REPORT_MIN 0U
#define SLACK_REPORT_MAX 4294967295U
#define SLACK_ENOUGH 16 /* best rates of the player that the flow must get before a player that adapts has time */
#define SLACK_ENOUGH_SCALE 1000U
#define SLACK_ENOUGH_MIN 0U
#define SLACK_ENOUGH_MAX 1000000U

/* vegas */
#define VEGAS_ALPHA 0 /* packets: backlog below which the window grows (ns-2: 1) */
#define VEGAS_ALPHA_SCALE 1000U
#define VEGAS_ALPHA_MIN 0U
#define VEGAS_ALPHA_MAX 1000000U
#define VEGAS_BETA 1 /* packets: backlog above which the window shrinks (ns-2: 3) */
#define VEGAS_BETA_SCALE 1000U
#define VEGAS_BETA_MIN 0U
#define VEGAS_BETA_MAX 1000000U
#define VEGAS_GAMMA 2 /* packets: backlog that ends slow start (ns-2: 1) */
#define VEGAS_GAMMA_SCALE 1000U
#define VEGAS_GAMMA_MIN 0U
#define VEGAS_GAMMA_MAX 1000000U

#endif
