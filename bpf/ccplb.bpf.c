/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 * CCPLB: plus a share of the playout buffer. See law_ccp.h.
 */
#define CCP_VARIANT CCP_LB
#include "ccp.bpf.h"

CCP_OPS(ccplb);
