// hls.js: its AbrController with its bandwidth estimator, as they are in the package. What StreamController and LevelController do
// around it is here, each with the name it has there. Media playlists take no time.

import { time } from './clock.mjs';

const TICK_MS = 100;

export async function play(session) {
    const Hls = (await import('hls.js')).default;
    const { Events } = Hls;
    const Controller = Hls.DefaultConfig.abrController;
    const config = { ...Hls.DefaultConfig };
    const rates = session.rates;
    const seconds = session.duration / 1e9;
    const silent = { log() {}, info() {}, warn() {}, error() {}, debug() {}, trace() {} };

    const listeners = {};
    const levels = rates.map((rate) => ({
        bitrate: rate, maxBitrate: rate, averageBitrate: rate, realBitrate: 0, codecSet: '', videoRange: 'SDR', frameRate: 0,
        height: 0, loadError: 0, fragmentError: 0, details: undefined, audioGroups: undefined, attrs: {}, url: [''], score: 0,
    }));
    const details = () => ({ live: false, averagetargetduration: seconds, partTarget: 0 });
    let level = -1;
    let abr = null;
    const hls = {
        config, logger: silent, levels, allAudioTracks: [], firstLevel: 0, minAutoLevel: 0, maxAutoLevel: levels.length - 1,
        autoLevelEnabled: true, on: (event, run, scope) => (listeners[event] ??= []).push(run.bind(scope)), off() {},
        trigger: (event, data) => (listeners[event] ?? []).forEach((run) => run(event, data)),
        media: { get paused() { return false; }, playbackRate: 1, get readyState() { return session.hasStarted ? 4 : 0; } },
        get mainForwardBufferInfo() { return { len: session.level() / 1e9, start: 0, end: session.appendedEnd / 1e9 }; },
        get latestLevelDetails() { return levels.find((each) => each.details)?.details ?? null; },
        get loadLevel() { return level; },
        get loadLevelObj() { return levels[level]; },
        // LevelController.
        get nextLoadLevel() { return abr.nextAutoLevel; },
        set nextLoadLevel(next) {
            level = next;
            levels[next].details ??= details();
            hls.nextAutoLevel = next;
        },
        get nextAutoLevel() { return abr.nextAutoLevel; },
        set nextAutoLevel(next) { abr.nextAutoLevel = next; },
    };
    // LevelController.onManifestLoaded: the first variant's rate, if the default is less.
    const first = Math.min(rates[0], config.abrEwmaDefaultEstimateMax);
    config.abrEwmaDefaultEstimate = Math.max(config.abrEwmaDefaultEstimate, first);
    abr = new Controller(hls);
    hls.trigger(Events.MANIFEST_LOADING, {});

    // StreamController.
    let loading = null;
    let next = 0;
    function load() {
        const stats = { aborted: false, loaded: 0, total: session.sizes[next][level], retry: 0, chunkCount: 0, bwEstimate: 0,
            loading: { start: time() / 1e6, first: 0, end: 0 }, parsing: { start: 0, end: 0 }, buffering: { start: 0, first: 0, end: 0 } };
        const frag = { type: 'main', sn: next, level, duration: seconds, start: next * seconds, stats, bitrate: null, bitrateTest: false,
            abortRequests() { stats.aborted = true; session.abandon(); } };
        loading = frag;
        session.request(next, level, {
            firstByte: (transfer) => { [stats.loading.first, stats.loaded] = [time() / 1e6, transfer.received]; },
            progress: (transfer) => { stats.loaded = transfer.received; },
            end: (transfer) => {
                stats.loaded = transfer.received;
                stats.loading.end = stats.parsing.start = stats.parsing.end = stats.buffering.end = time() / 1e6;
                loading = null;
                hls.trigger(Events.FRAG_LOADED, { frag, part: null });
                session.append(frag.sn);
                next = frag.sn + 1;
                hls.trigger(Events.FRAG_BUFFERED, { frag, part: null });
                tick();
            },
        });
        hls.trigger(Events.FRAG_LOADING, { frag, part: null });
    }
    function tick() {
        if (loading || next >= session.segments) return;
        const chosen = hls.nextLoadLevel;
        hls.nextLoadLevel = chosen;
        // getMaxBufferLength
        const most = Math.min(Math.max((8 * config.maxBufferSize) / rates[chosen], config.maxBufferLength), config.maxMaxBufferLength);
        if (session.level() / 1e9 < most) load();
    }
    hls.on(Events.FRAG_LOAD_EMERGENCY_ABORTED, () => {
        // The next load takes the loader: what was under way is aborted.
        if (loading) {
            loading.stats.aborted = true;
            session.abandon();
            loading = null;
        }
        setTimeout(tick, 0);
    });
    setInterval(tick, TICK_MS);
    // startLoad: hls.startLevel is abr.firstAutoLevel unless it is set.
    hls.nextLoadLevel = abr.firstAutoLevel;
    tick();
    await session.run(1e15);
}
