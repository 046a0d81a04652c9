// dash.js: its LoL+ and L2A rules and its CatchupController, as they are in the package, asked one question after the other; prints the answers. What they ask of the rest of the player (throughput, buffer, latency, speed) is the question.
// node laws.mjs < questions.json

import fs from 'node:fs';
import { install } from './clock.mjs';
import { unpack } from './dashjs.mjs';

install();
const load = unpack();
const of = async (module) => (await load(module)).default;
const context = {};
const questions = JSON.parse(fs.readFileSync(0));
const representations = questions.rates.map((bandwidth, index) => ({
    id: `r${index}`, index, absoluteIndex: index, bandwidth, bitrateInKbit: bandwidth / 1000, fragmentDuration: questions.segment_s,
}));
const eventBus = (await of('core/EventBus'))(context).getInstance();
const Events = await of('core/events/Events');
const MediaPlayerEvents = await of('streaming/MediaPlayerEvents');
Events.extend(MediaPlayerEvents);
const settings = (await of('core/Settings'))(context).getInstance();
settings.update({ debug: { logLevel: 0 } });
(await of('core/Debug'))(context).getInstance({ settings });
const mediaInfo = { type: 'video' };
const optimal = (kbps) => representations.findLast((r) => r.bitrateInKbit <= kbps) ?? representations[0];

/** A rule's rungs: one for each question. */
async function rungs(Rule) {
    let asked = null;
    let current = optimal(questions.initial_kbps);
    let number = 0;
    const dashMetrics = {
        getCurrentBufferState: () => ({}), getCurrentBufferLevel: () => asked.buffer_s,
        getCurrentHttpRequest: () => ({ url: `s${number}`, type: 'MediaSegment', tresponse: new Date(), trequest: new Date() }),
    };
    const rule = Rule(context).create({ dashMetrics });
    const throughputController = {
        getSafeAverageThroughput: () => asked.safe_kbps, getAverageThroughput: () => asked.last_kbps,
    };
    const abrController = {
        getOptimalRepresentationForBitrate: (_, kbps) => optimal(kbps),
        getPossibleVoRepresentationsFilteredBySettings: () => representations.slice(),
        getRepresentationByAbsoluteIndex: (index) => representations[index], getAbandonmentStateFor: () => 'allowload',
    };
    const playbackController = { getCurrentLiveLatency: () => asked.latency_s, getPlaybackRate: () => asked.speed };
    const rulesContext = {
        getMediaInfo: () => mediaInfo, getMediaType: () => 'video', getStreamInfo: () => ({ id: 's' }),
        getRepresentation: () => current, getAbrController: () => abrController, getThroughputController: () => throughputController,
        getVideoModel: () => ({ getPlaybackRate: () => asked.speed }),
        getScheduleController: () => ({ setTimeToLoadDelay() {}, getPlaybackController: () => playbackController }),
    };
    return questions.segments.map((question) => {
        asked = question;
        number += 1;
        const chunk = { start: number * questions.segment_s, duration: questions.segment_s, representation: { ...current, mediaInfo } };
        eventBus.trigger(Events.MEDIA_FRAGMENT_LOADED, { chunk });
        const wanted = rule.getSwitchRequest(rulesContext).representation;
        if (wanted) current = wanted;
        return current.index;
    });
}

/** The speeds of the catch-up controller in a mode. */
async function speeds(mode) {
    settings.update({ streaming: { liveCatchup: { mode } } });
    let asked = null;
    let speed = 1;
    const controller = await (await of('streaming/controllers/CatchupController'))(context).getInstance();
    controller.setConfig({
        settings, streamController: { getActiveStreamInfo: () => ({ id: 's' }) },
        videoModel: { getPlaybackRate: () => speed, setPlaybackRate: (rate) => { speed = rate; } },
        mediaPlayerModel: {
            getCatchupModeEnabled: () => true, getCatchupPlaybackRates: () => ({ min: -0.5, max: 0.5 }), getCatchupMaxDrift: () => NaN,
        },
        playbackController: {
            getIsDynamic: () => true, isPaused: () => false, isSeeking: () => false, getTime: () => 100, getPlaybackStalled: () => false,
            getCurrentLiveLatency: () => Number(asked.latency_s.toFixed(3)), getLiveDelay: () => questions.target_s,
            getOriginalLiveDelay: () => questions.target_s, getBufferLevel: () => asked.buffer_s,
        },
    });
    controller.initialize();
    let state = null;
    const answers = questions.segments.map((question) => {
        asked = question;
        const next = asked.buffer_s <= 0.3 ? 'bufferStalled' : 'bufferLoaded';
        const bus = (event, payload = {}) => eventBus.trigger(event, { streamId: 's', ...payload });
        bus(MediaPlayerEvents.BUFFER_LEVEL_UPDATED);
        if (next !== state) bus(MediaPlayerEvents.BUFFER_LEVEL_STATE_CHANGED, { state: next });
        state = next;
        bus(MediaPlayerEvents.PLAYBACK_TIME_UPDATED);
        return speed;
    });
    controller.reset();
    return answers;
}
const answers = {
    'lol+': await rungs(await of('streaming/rules/abr/lolp/LoLpRule')),
    l2a: await rungs(await of('streaming/rules/abr/L2ARule')),
    'speed dash.js': await speeds('liveCatchupModeDefault'),
    'speed lol+': await speeds('liveCatchupModeLoLP'),
};
process.stdout.write(JSON.stringify(answers));
