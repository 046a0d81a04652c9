/** The engine (crates/web) in a page's worker or in Node: a question in JSON, an answer in JSON, and numbers beside it. */

/** @typedef {Record<string, Record<string, Float64Array>>} Series */

export class Engine {
  /** It is given nothing: a module that asked for a clock or for randomness could not be started. */
  constructor(/** @type {WebAssembly.Module} */ module) {
    /** @type {any} */
    this.exports = new WebAssembly.Instance(module, {}).exports;
  }

  /**
   * The answer as it was written: a number that JavaScript would round, or write in another way, stays what it is.
   * Throws the engine's one line.
   * @param {string} call
   * @param {object} [more]
   */
  text(call, more) {
    const { memory, ask, call: answerIt, answer, answer_length } = this.exports;
    const asked = new TextEncoder().encode(JSON.stringify({ call, ...more }));
    const place = ask(asked.length);
    // A memory that grows gets a new buffer: it is looked up after each call.
    new Uint8Array(memory.buffer, place, asked.length).set(asked);
    const isAnswered = answerIt();
    const text = new TextDecoder().decode(new Uint8Array(memory.buffer, answer(), answer_length()));
    if (!isAnswered) throw new Error(text);
    return text;
  }

  /**
   * The answer read.
   * @param {string} call
   * @param {object} [more]
   */
  ask(call, more) {
    return JSON.parse(this.text(call, more));
  }

  /**
   * One session of the scenario that was set up (`ask("stage", …)`).
   * @param {string} sender
   * @param {number} seed
   * @param {boolean} trace
   */
  play(sender, seed, trace) {
    const { record, series: layout } = this.ask("play", { sender, seed, trace });
    let at = this.exports.numbers();
    /** @type {Series} */
    const series = {};
    for (const [name, columns] of layout) {
      series[name] = {};
      for (const [column, length] of columns) {
        series[name][column] = new Float64Array(this.exports.memory.buffer, at, length).slice();
        at += length * Float64Array.BYTES_PER_ELEMENT;
      }
    }
    return { record, series };
  }
}
