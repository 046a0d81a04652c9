// Virtual time: timers, Date and performance of everything that runs here. Nanoseconds from the start of the session.

const EPOCH_MS = Date.UTC(2020, 0, 1);
const RealDate = Date;
export const realImmediate = globalThis.setImmediate;

let now = 0;
let nextId = 1;
const timers = new Map();

export const time = () => now;
export const seconds = () => now / 1e9;

export function advanceTo(ns) {
    if (ns < now) throw new Error(`time goes back from ${now} to ${ns}`);
    now = ns;
}

/** When the next timer is due; Infinity without any. */
export function nextTimer() {
    let due = Infinity;
    for (const timer of timers.values()) due = Math.min(due, timer.due);
    return due;
}

/** Runs what is due, in the order of times and of setting. `after` is called after each. */
export async function runTimers(after) {
    for (;;) {
        let id, first;
        for (const [key, timer] of timers) {
            if (timer.due <= now && (!first || timer.due < first.due)) [id, first] = [key, timer];
        }
        if (!first) return;
        if (first.every === undefined) timers.delete(id);
        else first.due += first.every;
        first.run();
        await after();
    }
}

export function at(ns, run) {
    const id = nextId++;
    timers.set(id, { due: Math.max(now, Math.ceil(ns)), run });
    return id;
}

export const cancel = (id) => timers.delete(id);

class VirtualDate extends RealDate {
    constructor(...args) {
        if (args.length) super(...args);
        else super(VirtualDate.now());
    }
    static now() {
        return EPOCH_MS + Math.floor(now / 1e6);
    }
}

export function install() {
    const after = (ms) => now + Math.max(0, Number(ms) || 0) * 1e6;
    globalThis.Date = VirtualDate;
    globalThis.setTimeout = (run, ms, ...args) => at(after(ms), () => run(...args));
    globalThis.clearTimeout = cancel;
    globalThis.setInterval = (run, ms, ...args) => {
        const id = at(after(ms), () => run(...args));
        timers.get(id).every = Math.max(1, Number(ms)) * 1e6;
        return id;
    };
    globalThis.clearInterval = cancel;
    globalThis.performance = { now: () => now / 1e6, clearResourceTimings() {}, getEntriesByName: () => [] };
    globalThis.self = globalThis;
    globalThis.window = globalThis;
    Object.defineProperty(globalThis, 'navigator', { value: { onLine: true, userAgent: 'node' }, configurable: true });
}
