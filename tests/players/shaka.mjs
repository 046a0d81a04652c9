// Shaka Player: its SimpleAbrManager with its bandwidth estimator, as they are in the package's sources (Closure modules, evaluated as
// scripts). What HttpFetchPlugin, StreamingEngine and SegmentPrefetch do around it is here, each with the name it has there.

import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import { fileURLToPath } from 'node:url';
import { time } from './clock.mjs';

const lib = path.join(path.dirname(fileURLToPath(import.meta.url)), 'node_modules/shaka-player/lib');

function loadShaka() {
    const nothing = () => {};
    globalThis.shaka = {
        abr: {}, log: new Proxy({}, { get: () => nothing }),
        util: {
            EventManager: class { listen() {} listenOnce() {} unlisten() {} release() {} },
            Timer: class { constructor(run) { this.run = run; } tickAfter() {} tickNow() {} stop() {} tickEvery() { return this; } },
            ArrayUtils: { hasSameElements: () => false },
            StreamUtils: { isFastSwitching: () => false, meetsRestrictions: () => true },
        },
    };
    globalThis.goog = { provide: nothing, require: nothing, requireType: nothing, asserts: { assert: nothing } };
    for (const name of ['ewma', 'ewma_bandwidth_estimator', 'simple_abr_manager']) {
        vm.runInThisContext(fs.readFileSync(path.join(lib, 'abr', `${name}.js`), 'utf8'), { filename: name });
    }
    return globalThis.shaka;
}

/** The literal of a block of defaults in `player_configuration.js`, as it is there. */
function defaults(name) {
    const text = fs.readFileSync(path.join(lib, 'util/player_configuration.js'), 'utf8');
    const start = text.indexOf(`const ${name} = {`);
    const block = text.slice(text.indexOf('{', start), text.indexOf('\n    };', start) + 6);
    const number = (key) => Number(text.match(new RegExp(`(?:let|const) ${key} = ([0-9.e]+);`))?.[1]);
    return { block, bandwidthEstimate: number('bandwidthEstimate'), minBytes: number('minBytes') };
}

export async function play(session) {
    const shaka = loadShaka();
    const abr = defaults('abr');
    const config = new Function('bandwidthEstimate', 'minBytes', 'abrMaxHeight', `return ${abr.block};`)(
        abr.bandwidthEstimate, abr.minBytes, Infinity);
    const streaming = defaults('streaming').block;
    const setting = (key) => Number(streaming.match(new RegExp(`\\b${key}: ([0-9.]+)`))[1]);
    const goal = Math.max(setting('rebufferingGoal'), setting('bufferingGoal'));
    const pause = setting('updateIntervalSeconds') / 2;

    const manager = new shaka.abr.SimpleAbrManager();
    manager.configure(config);
    const variants = session.rates.map((bandwidth, index) => ({ bandwidth, index, video: null }));
    let current = null;
    let next = 0;
    let underWay = null;
    let updateTimer = null;

    // Player.switch_, StreamingEngine.switchInternal_: the prefetch is cleared, and what it was fetching is aborted.
    manager.init((variant) => {
        if (variant === current) return;
        current = variant;
        if (underWay) {
            underWay.aborted = true;
            session.abandon();
            underWay = null;
            schedule(0);
        }
    });
    manager.setVariants(variants);
    current = manager.chooseVariant(true);
    manager.enable();

    function schedule(seconds) {
        if (updateTimer !== null) clearTimeout(updateTimer);
        updateTimer = setTimeout(update, seconds * 1000);
    }

    function update() {
        updateTimer = null;
        if (underWay || next >= session.segments) return;
        if (session.level() / 1e9 >= goal) schedule(pause);
        else fetch_(next);
    }

    // HttpFetchPlugin.request_.
    function fetch_(segment) {
        const mine = { aborted: false };
        underWay = mine;
        let lastTime = Date.now();
        let lastLoaded = 0;
        const read = (loaded, done) => {
            const now = Date.now();
            const chunk = loaded - lastLoaded;
            if (!((now - lastTime > 100 && chunk >= abr.minBytes) || done)) return;
            const took = now - lastTime;
            [lastLoaded, lastTime] = [loaded, now];
            manager.segmentDownloaded(took, chunk, true, {}, null);
        };
        session.request(segment, current.index, {
            firstByte: (transfer) => read(transfer.received, false),
            progress: (transfer) => read(transfer.received, false),
            end: (transfer) => {
                if (transfer.total > 1 && !mine.aborted) read(transfer.received, false);
                if (!mine.aborted) read(transfer.received, true);
                if (mine.aborted) return;
                underWay = null;
                session.append(segment);
                next = segment + 1;
                schedule(0);
            },
        });
    }

    schedule(0);
    await session.run(1e15);
}
