// What a whole player finds in a browser, as far as dash.js looks: a video element, Media Source Extensions, XMLHttpRequest and
// Resource Timing, over a session's link and playback clock. References: HTML (media elements), W3C Media Source Extensions,
// XMLHttpRequest, Resource Timing.

import { time } from './clock.mjs';

/** How often a browser tells of the playback position while the video plays (Chromium: 250 ms). */
const TIME_UPDATE_MS = 250;
/** XMLHttpRequest: progress events are at least so far apart. */
const PROGRESS_NS = 50_000_000;
/** Resource Timing: what stands for the headers. */
const HEADER_BYTES = 300;
const HAVE = { nothing: 0, metadata: 1, future: 3, enough: 4 };

class Target {
    #listeners = {};
    addEventListener(name, run) {
        (this.#listeners[name] ??= []).push(run);
    }
    removeEventListener(name, run) {
        this.#listeners[name] = (this.#listeners[name] ?? []).filter((each) => each !== run);
    }
    tell(name, more = {}) {
        for (const run of [...(this.#listeners[name] ?? [])]) run({ type: name, target: this, ...more });
    }
}

const ranges = (list) => ({ length: list.length, start: (i) => list[i][0], end: (i) => list[i][1] });

/** Bytes that only say which segment they stand for; the session knows how many there would be. */
function marked(segment) {
    const view = new DataView(new ArrayBuffer(12));
    view.setUint32(0, 12);
    view.setUint32(4, 0x66726565); // "free"
    view.setUint32(8, segment);
    return view.buffer;
}

/** An initialisation segment that says its timescale and nothing else. */
function initialisation(timescale) {
    const view = new DataView(new ArrayBuffer(56));
    const boxes = [[56, 0x6d6f6f76], [48, 0x7472616b], [40, 0x6d646961], [32, 0x6d646864]]; // moov, trak, mdia, mdhd
    boxes.forEach(([size, name], i) => {
        view.setUint32(8 * i, size);
        view.setUint32(8 * i + 4, name);
    });
    view.setUint32(44, timescale);
    return view.buffer;
}

/** Puts all of it where a player looks for it. `segmentOf(url)` says { segment, rung } of a media segment, `textOf(url)` the manifest. */
export function furnish(session, { segmentOf, textOf, timescale }) {
    class SourceBuffer extends Target {
        updating = false;
        timestampOffset = 0;
        appendWindowStart = 0;
        appendWindowEnd = Infinity;
        #from = 0;
        get buffered() {
            const end = session.appendedEnd / 1e9;
            return ranges(end > this.#from ? [[this.#from, end]] : []);
        }
        #update(run) {
            this.updating = true;
            queueMicrotask(() => {
                run();
                this.updating = false;
                this.tell('updateend');
            });
        }
        appendBuffer(bytes) {
            this.#update(() => {
                const view = new DataView(bytes.buffer ?? bytes, bytes.byteOffset ?? 0);
                if (view.getUint32(4) === 0x66726565) session.append(view.getUint32(8));
                else video.initialised();
            });
        }
        remove(start, end) {
            this.#update(() => {
                if (start <= this.#from) this.#from = Math.max(this.#from, Math.min(end, session.appendedEnd / 1e9));
            });
        }
        abort() {}
    }

    class MediaSource extends Target {
        static isTypeSupported = () => true;
        readyState = 'closed';
        duration = NaN;
        sourceBuffers = [];
        addSourceBuffer() {
            const buffer = new SourceBuffer();
            this.sourceBuffers.push(buffer);
            return buffer;
        }
        endOfStream() {
            this.readyState = 'ended';
        }
    }

    class Video extends Target {
        nodeName = 'VIDEO';
        readyState = HAVE.nothing;
        paused = true;
        seeking = false;
        playbackRate = 1;
        textTracks = Object.assign(new Target(), { length: 0 });
        get currentTime() {
            return session.now() / 1e9;
        }
        get buffered() {
            return source?.sourceBuffers[0]?.buffered ?? ranges([]);
        }
        get duration() {
            return source?.duration ?? NaN;
        }
        get ended() {
            return session.ended;
        }
        set src(url) {
            source = sources.get(url);
            setTimeout(() => {
                source.readyState = 'open';
                source.tell('sourceopen');
            });
        }
        play() {
            this.paused = false;
            this.tell('play');
            return Promise.resolve();
        }
        pause() {
            throw new Error('a session is not paused');
        }
        initialised() {
            if (this.readyState > HAVE.nothing) return;
            this.readyState = HAVE.metadata;
            this.tell('loadedmetadata');
        }
        plays() {
            const isFirst = this.readyState === HAVE.metadata;
            this.readyState = HAVE.enough;
            for (const name of [...(isFirst ? ['loadeddata'] : []), 'canplay', 'canplaythrough', 'playing']) this.tell(name);
        }
        stands() {
            this.readyState = HAVE.future - 1;
            for (const name of ['timeupdate', 'waiting']) this.tell(name);
        }
    }

    class XMLHttpRequest {
        open(method, url) {
            this.url = url;
        }
        setRequestHeader() {}
        getAllResponseHeaders() {
            return '';
        }
        send() {
            const wanted = segmentOf(this.url);
            if (wanted) this.#fetch(wanted);
            else this.#answerAtOnce();
        }
        /** Manifest and initialisation segments take no time. */
        #answerAtOnce() {
            const response = textOf(this.url) ?? initialisation(timescale);
            setTimeout(() => this.#end(response));
        }
        #fetch({ segment, rung }) {
            this.transfer = session.request(segment, rung, {
                firstByte: (transfer) => this.#progress(transfer),
                progress: (transfer) => {
                    if (time() - this.toldAt >= PROGRESS_NS) this.#progress(transfer);
                },
                end: (transfer) => {
                    const [startTime, responseStart, responseEnd] =
                        [transfer.requestedAt, transfer.firstByteAt, time()].map((ns) => ns / 1e6);
                    resources.push({
                        name: this.url, startTime, responseStart, responseEnd, duration: responseEnd - startTime,
                        transferSize: transfer.total + HEADER_BYTES, encodedBodySize: transfer.total, decodedBodySize: transfer.total,
                    });
                    this.#progress(transfer);
                    this.#end(marked(segment));
                },
            });
        }
        #progress(transfer) {
            this.toldAt = time();
            this.onprogress?.({ lengthComputable: true, loaded: transfer.received, total: transfer.total });
        }
        #end(response) {
            Object.assign(this, { response, status: 200, statusText: 'OK', responseURL: this.url, transfer: null });
            this.onload?.();
            this.onloadend?.();
        }
        abort() {
            if (!this.transfer) return;
            this.transfer = null;
            session.abandon();
            this.onabort?.();
        }
    }

    const resources = [];
    const sources = new Map();
    let source = null;
    const video = new Video();
    globalThis.URL.createObjectURL = (made) => {
        const url = `blob:${sources.size}`;
        sources.set(url, made);
        return url;
    };
    globalThis.URL.revokeObjectURL = () => {};
    Object.assign(globalThis, { MediaSource, SourceBuffer, XMLHttpRequest });
    globalThis.getComputedStyle = () => ({}); // imsc, for subtitles
    globalThis.location = { href: 'http://page/', protocol: 'http:' };
    globalThis.document = { hidden: false, documentElement: {}, createElement: () => ({}), addEventListener() {}, removeEventListener() {} };
    Object.assign(globalThis.performance, {
        getEntriesByType: () => resources, addEventListener() {}, removeEventListener() {}, clearResourceTimings() {},
    });
    let updates = null;
    session.onPlaying = () => {
        updates = setInterval(() => video.tell('timeupdate'), TIME_UPDATE_MS);
        video.plays();
    };
    session.onWaiting = () => {
        clearInterval(updates);
        video.stands();
    };
    return video;
}
