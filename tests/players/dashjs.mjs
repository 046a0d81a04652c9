// dash.js: its AbrController, rules, ThroughputController, ScheduleController, DashMetrics, MediaPlayerModel and Settings, as they
// are in the package. What StreamProcessor and BufferController do around them is here, each with the name it has there.
// The package ships bundles; its modules are in the source map of one, and are unpacked from there.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { time } from './clock.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

export function unpack() {
    const from = path.join(here, 'node_modules/dashjs');
    const version = JSON.parse(fs.readFileSync(path.join(from, 'package.json'))).version;
    const into = path.join(here, 'node_modules/.unpacked', `dashjs-${version}`);
    if (!fs.existsSync(path.join(into, 'done'))) {
        const map = JSON.parse(fs.readFileSync(path.join(from, 'dist/modern/esm/dash.all.debug.js.map')));
        map.sources.forEach((source, index) => {
            const name = source.replace(/^webpack:\/\/[^/]*\//, '').replace(/^\.\//, '');
            if (!name.startsWith('src/') || !map.sourcesContent[index]) return;
            const file = path.join(into, name);
            fs.mkdirSync(path.dirname(file), { recursive: true });
            fs.writeFileSync(file, map.sourcesContent[index]);
        });
        fs.writeFileSync(path.join(into, 'package.json'), '{"type": "module"}');
        fs.writeFileSync(path.join(into, 'done'), '');
    }
    return (module) => import(pathToFileURL(path.join(into, 'src', `${module}.js`)));
}

const TYPE = 'video';
const STREAM = { id: 'stream', index: 0, isLast: true };

export async function play(session) {
    const load = unpack();
    const of = async (module) => (await load(module)).default;
    const context = {};
    const singleton = async (module) => (await of(module))(context).getInstance();
    const eventBus = await singleton('core/EventBus');
    const Events = await of('core/events/Events');
    const MediaPlayerEvents = await of('streaming/MediaPlayerEvents');
    Events.extend(MediaPlayerEvents);
    const settings = await singleton('core/Settings');
    settings.update({ debug: { logLevel: Number(process.env.DASHJS_LOG ?? 0) } });
    (await of('core/Debug'))(context).getInstance({ settings });

    const streamInfo = { ...STREAM, manifestInfo: { isDynamic: false, duration: session.mediaEnd() / 1e9 } };
    const mediaInfo = { id: 'v', index: 0, type: TYPE, streamInfo, segmentAlignment: true, isText: false };
    const representations = session.rates.map((rate, index) => ({
        id: `r${index}`, index, absoluteIndex: index, bandwidth: rate, bitrateInKbit: rate / 1000, mediaInfo,
        fragmentDuration: session.duration / 1e9, segmentDuration: session.duration / 1e9,
    }));
    const adapter = { getVoRepresentations: () => representations.slice(), areMediaInfosEqual: () => true };
    const playbackController = {
        getIsDynamic: () => false, getLowLatencyModeEnabled: () => false, getLiveDelay: () => NaN,
        getTime: () => session.now() / 1e9, isPaused: () => false, getPlaybackRate: () => 1, isSeeking: () => false,
    };
    const mediaPlayerModel = await singleton('streaming/models/MediaPlayerModel');
    const serviceDescriptionController = { getServiceDescriptionSettings: () => null };
    mediaPlayerModel.setConfig({ playbackController, serviceDescriptionController });
    const dashMetrics = (await of('dash/DashMetrics'))(context).getInstance({ settings });
    const throughputController = await singleton('streaming/controllers/ThroughputController');
    throughputController.setConfig({ settings, playbackController });
    throughputController.initialize();

    let current = null;
    const representationController = {
        getCurrentRepresentation: () => current, getCurrentCompositeRepresentation: () => current,
    };
    const abrController = await singleton('streaming/controllers/AbrController');
    abrController.setConfig({
        streamController: { getActiveStreamInfo: () => streamInfo }, throughputController, mediaPlayerModel, dashMetrics, adapter,
        settings, customParametersModel: { getAbrCustomRules: () => [] }, cmsdModel: { getMaxBitrate: () => -1 },
        domStorage: { getSavedBitrateSettings: () => NaN, setSavedBitrateSettings() {} },
        videoModel: { getPlaybackQuality: () => null }, capabilities: { areKeyIdsUsable: () => true },
    });
    abrController.initialize();

    // FragmentModel: what was fetched, and what is being fetched.
    const executed = [];
    let loading = null;
    const covers = (item, at) => item.startTime <= at && at < item.startTime + item.duration;
    const executedAt = (at) => executed.findLast((item) => covers(item, at));
    const fragmentModel = { getRequests: ({ state, time: at }) => (state === 'loading' ? [loading] : [executedAt(at)]).filter(Boolean) };
    const ScheduleController = await of('streaming/controllers/ScheduleController');
    let completed = false;
    const scheduleController = ScheduleController(context).create({
        streamInfo, type: TYPE, abrController, dashMetrics, mediaPlayerModel, fragmentModel, playbackController,
        representationController, settings, bufferController: { getIsBufferingCompleted: () => completed },
    });
    scheduleController.initialize(true);
    const streamProcessor = {
        getStreamInfo: () => streamInfo, getType: () => TYPE, getMediaInfo: () => mediaInfo, getAllMediaInfos: () => [mediaInfo],
        getScheduleController: () => scheduleController, getRepresentationController: () => representationController,
        getRepresentation: () => current, getLastSegment: () => null, getFragmentModel: () => fragmentModel,
    };
    abrController.registerStreamType(TYPE, streamProcessor);

    // BufferController: the level as of now, and the state that follows from it.
    let state = null;
    const payload = { streamId: STREAM.id, mediaType: TYPE };
    function updateBufferLevel() {
        const level = session.level() / 1e9;
        dashMetrics.addBufferLevel(TYPE, new Date(), level * 1000);
        const isEmpty = level <= settings.get().streaming.buffer.stallThreshold && !completed;
        const next = isEmpty ? 'bufferStalled' : 'bufferLoaded';
        if (next === state || (isEmpty && playbackController.getTime() === 0)) return;
        state = next;
        dashMetrics.addBufferState(TYPE, state, scheduleController.getBufferTarget());
        eventBus.trigger(isEmpty ? Events.BUFFER_EMPTY : Events.BUFFER_LOADED, { mediaType: TYPE }, payload);
    }

    // StreamProcessor.
    let next = 0;
    function load_(segment) {
        const request = {
            mediaType: TYPE, type: 'MediaSegment', url: `s${segment}`, index: segment, representation: current, bandwidth: current.bandwidth,
            startTime: (segment * session.duration) / 1e9, duration: session.duration / 1e9, startDate: new Date(), firstByteDate: null,
            bytesLoaded: 0, bytesTotal: session.sizes[segment][current.index], traces: [], fileLoaderType: 'xhr_loader',
        };
        loading = request;
        next = segment + 1;
        let lastTrace = time();
        let lastBytes = 0;
        const trace = (transfer) => {
            request.traces.push({ s: new Date(), d: (time() - lastTrace) / 1e6, b: [transfer.received - lastBytes], t: undefined });
            [lastTrace, lastBytes] = [time(), transfer.received];
            request.bytesLoaded = transfer.received;
        };
        const report = (transfer) => {
            trace(transfer);
            updateBufferLevel();
            eventBus.trigger(Events.LOADING_PROGRESS, { request }, payload);
        };
        const add = (status) => {
            request.endDate = new Date();
            dashMetrics.addHttpRequest(request, request.url, status, {}, request.traces, null);
        };
        request.abort = () => {
            session.abandon();
            loading = null;
            request.firstByteDate ??= request.startDate;
            add(0);
            eventBus.trigger(MediaPlayerEvents.FRAGMENT_LOADING_ABANDONED, { request, mediaType: TYPE }, payload);
        };
        session.request(segment, current.index, {
            firstByte: (transfer) => {
                if (transfer.left > 0) request.firstByteDate = new Date();
                // XMLHttpRequest: the first progress event comes with the first bytes, further ones 50 ms apart or more.
                request.reportedAt = time();
                report(transfer);
            },
            progress: (transfer) => {
                if (time() - request.reportedAt < 50e6) return;
                request.reportedAt = time();
                report(transfer);
            },
            end: (transfer) => {
                trace(transfer);
                const [start, first, end] = [transfer.requestedAt, transfer.firstByteAt, time()].map((ns) => ns / 1e6);
                request.resourceTimingValues = {
                    startTime: start, responseStart: first, responseEnd: end, duration: end - start,
                    // Resource Timing: 300 B stand for the headers.
                    transferSize: transfer.total + 300, encodedBodySize: transfer.total, decodedBodySize: transfer.total,
                };
                request.firstByteDate ??= request.startDate;
                updateBufferLevel();
                add(200);
                loading = null;
                executed.push(request);
                const chunk = { start: request.startTime, duration: request.duration, representation: request.representation };
                eventBus.trigger(Events.MEDIA_FRAGMENT_LOADED, { chunk, request }, payload);
                session.append(segment);
                updateBufferLevel();
                eventBus.trigger(Events.BYTES_APPENDED_END_FRAGMENT, { startTime: request.startTime, segmentType: request.type }, payload);
                scheduleController.startScheduleTimer(0);
            },
        });
    }
    eventBus.on(Events.INIT_FRAGMENT_NEEDED, () => {
        scheduleController.setLastInitializedRepresentationId(current.id);
        scheduleController.startScheduleTimer(0);
    }, {});
    let repeated = null;
    eventBus.on(Events.MEDIA_FRAGMENT_NEEDED, () => {
        const segment = repeated ?? next;
        if (segment >= session.segments) {
            completed = true;
            return;
        }
        repeated = null;
        const delay = scheduleController.getTimeToLoadDelay();
        scheduleController.setTimeToLoadDelay(0);
        if (delay > 0) setTimeout(() => load_(segment), delay);
        else load_(segment);
    }, {});
    eventBus.on(MediaPlayerEvents.QUALITY_CHANGE_REQUESTED, (e) => {
        current = e.newRepresentation;
        if (e.reason?.forceAbandon) {
            // _prepareForAbandonQualitySwitch
            repeated = loading.index;
            loading.abort();
        } else {
            // _prepareForFastQualitySwitch
            const safe = 1.5 * current.fragmentDuration;
            const target = playbackController.getTime() + safe;
            const there = executedAt(target);
            const isAllowed = abrController.getAbandonmentStateFor(STREAM.id, TYPE) === 'allowload';
            if (there && there.bandwidth < current.bandwidth && session.level() / 1e9 >= safe && isAllowed) next = there.index;
        }
        scheduleController.setShouldCheckPlaybackQuality(false);
        scheduleController.startScheduleTimer();
    }, {});

    current = abrController.getOptimalRepresentationForBitrate(mediaInfo, abrController.getInitialBitrateFor(TYPE), true);
    scheduleController.startScheduleTimer();
    await session.run(1e15, updateBufferLevel);
}
