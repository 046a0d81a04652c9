/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 * CCPD: the law with a derivative term on the backlog. See law_ccp.h.
 */
#define CCP_VARIANT CCP_DERIVATIVE
#include "ccp.bpf.h"

CCP_OPS(ccpd);
