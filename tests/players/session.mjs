// A session over the link of `crates/video/src/ideal.rs`: the same deliveries at the same nanoseconds, the same playback clock. A
// player's harness asks for segments (`request`), is told of bytes, and appends what is complete.

import { advanceTo, at, cancel, nextTimer, realImmediate, runTimers, time } from './clock.mjs';

const PER_BYTE = 8_000_000_000n;
const PROGRESS = 50_000_000;
/** What a browser's decoder holds back at the end of the buffer until more comes; of the last segment nothing. */
const DECODER_DELAY = 100_000_000;

export class IdealSession {
    /** `job`: steps [{ns, rate, latency}], rates (bit/s), sizes[segment][rung] (bytes), duration (ns of a segment). */
    constructor(job) {
        Object.assign(this, job);
        this.period = this.steps.reduce((sum, step) => sum + step.ns, 0);
        this.segments = this.sizes.length;
        this.decisions = [];
        this.transfer = null;
        this.appendedEnd = 0;
        this.position = 0;
        this.anchor = 0;
        this.isPlaying = false;
        this.hasStarted = false;
        this.stallTimer = null;
        this.stalled = 0;
        this.ended = false;
        /** Whether a player's own timers cut what the link delivers, so that they see the bytes so far. */
        this.timersCut = true;
        this.deliveredAt = 0;
    }

    // The link.

    step() {
        let within = time() % this.period;
        let end = time() - within;
        for (const step of this.steps) {
            end += step.ns;
            if (within < step.ns) return { ...step, end };
            within -= step.ns;
        }
        throw new Error('no step');
    }

    /** Ask for a segment. `handlers`: firstByte(transfer), progress(transfer), end(transfer). */
    request(segment, rung, handlers) {
        if (this.transfer) throw new Error('one request at a time');
        const total = this.sizes[segment][rung];
        const startsAt = time() + this.step().latency;
        this.transfer = {
            segment, rung, total, handlers, startsAt, requestedAt: time(), left: total, carry: 0n, sendable: 0,
            firstByteAt: null, received: 0,
        };
        this.decisions.push({ segment, rung, at: time(), level: this.level() });
        return this.transfer;
    }

    abandon() {
        this.transfer = null;
    }

    /** When the link does something next. */
    nextDelivery() {
        const transfer = this.transfer;
        const step = this.step();
        if (!transfer) return step.end;
        if (!this.timersCut && transfer.sendable > 0 && transfer.due > time()) return transfer.due;
        transfer.sendable = 0;
        if (transfer.startsAt > time()) return Math.min(step.end, transfer.startsAt);
        transfer.sendable = transfer.left === transfer.total ? Math.min(1, transfer.left) : transfer.left;
        if (step.rate === 0) return step.end;
        const rate = BigInt(step.rate);
        const work = BigInt(transfer.sendable) * PER_BYTE - transfer.carry;
        const needed = Number((work + rate - 1n) / rate);
        this.deliveredAt = time();
        transfer.due = Math.min(step.end, time() + Math.min(needed, PROGRESS));
        return transfer.due;
    }

    /** The bytes that arrive until `ns`, at the rate of the moment. */
    deliver(ns) {
        const transfer = this.transfer;
        const rate = this.step().rate;
        const passed = ns - this.deliveredAt;
        advanceTo(ns);
        if (!transfer || transfer.sendable === 0 || (!this.timersCut && ns < transfer.due)) return;
        const total = transfer.carry + BigInt(rate) * BigInt(passed);
        const bytes = Math.min(Number(total / PER_BYTE), transfer.sendable);
        const rest = total - BigInt(bytes) * PER_BYTE;
        transfer.carry = rest < PER_BYTE ? rest : PER_BYTE - 1n;
        if (bytes === 0) return;
        transfer.left -= bytes;
        transfer.received += bytes;
        this.tell(transfer);
    }

    tell(transfer) {
        if (transfer.firstByteAt === null) {
            transfer.firstByteAt = time();
            transfer.handlers.firstByte?.(transfer);
        }
        if (transfer.left === 0) {
            this.transfer = null;
            this.beforeAppend?.();
            transfer.handlers.end(transfer);
        } else {
            transfer.handlers.progress?.(transfer);
        }
    }

    // The playback clock.

    now() {
        return this.isPlaying ? Math.min(this.position + time() - this.anchor, this.runsDryAt()) : this.position;
    }

    level() {
        return this.appendedEnd - this.now();
    }

    /** Where the clock stands still if nothing more comes. */
    runsDryAt() {
        if (this.appendedEnd === this.mediaEnd()) return this.appendedEnd;
        return Math.max(this.appendedEnd - DECODER_DELAY, this.position);
    }

    mediaEnd() {
        return this.segments * this.duration;
    }

    /** The segment is in the buffer. */
    append(segment) {
        const was = this.appendedEnd;
        this.appendedEnd = Math.max(was, (segment + 1) * this.duration);
        const isShown = this.runsDryAt() > this.position;
        if (!this.isPlaying && !this.ended && isShown) {
            if (this.hasStarted && this.stalledSince !== undefined) this.stalled += time() - this.stalledSince;
            [this.isPlaying, this.hasStarted, this.anchor] = [true, true, time()];
            this.startup ??= time();
            this.onPlaying?.();
        }
        this.armStall();
    }

    armStall() {
        if (this.stallTimer !== null) cancel(this.stallTimer);
        if (!this.isPlaying) return;
        const runsOut = this.anchor + this.runsDryAt() - this.position;
        const isEnd = this.appendedEnd === this.mediaEnd();
        this.stallTimer = at(isEnd ? runsOut : runsOut + 1, () => {
            [this.position, this.isPlaying, this.stallTimer] = [this.runsDryAt(), false, null];
            if (isEnd) this.ended = true;
            else {
                this.stalledSince = runsOut;
                this.onWaiting?.();
            }
        });
    }

    /** Until the last segment has been played, or `limit` ns. */
    async run(limit, beforeEvent = () => {}) {
        const settle = () => new Promise((done) => realImmediate(done));
        await settle();
        while (!this.ended && time() < limit) {
            const next = Math.min(nextTimer(), this.nextDelivery());
            if (!Number.isFinite(next)) break;
            this.deliver(Math.max(next, time()));
            await settle();
            beforeEvent();
            await runTimers(async () => {
                await settle();
                beforeEvent();
            });
        }
    }
}
