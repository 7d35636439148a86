// The emulator, on a thread of its own, so that the page answers while it runs and can end it.

/** What the worker does. Its text becomes a script: it may use nothing from around it. */
function emulatorWorker() {
    let compiled;
    let instance;

    const text = (start, bytes) => new TextDecoder().decode(new Uint8Array(instance.exports.memory.buffer, start, bytes));

    /** After a trap an instance is in no state to go on. */
    async function answer(request) {
        instance ??= await WebAssembly.instantiate(compiled, {});
        const { memory, request: room, answer, reply, panic_bytes, panic_text } = instance.exports;
        const bytes = new TextEncoder().encode(request);
        try {
            const place = room(bytes.length); // Before the buffer is asked for: making room may move it.
            new Uint8Array(memory.buffer, place, bytes.length).set(bytes);
            const length = answer();
            return text(reply(), length);
        } catch (trap) {
            let said = '';
            try {
                said = text(panic_text(), panic_bytes());
            } catch { /* There was no room for it. */ }
            instance = undefined;
            return JSON.stringify({ error: `the emulator failed, and was started again: ${said || trap.message}` });
        }
    }

    let last = Promise.resolve();
    onmessage = ({ data }) => {
        if (data.compiled) compiled = data.compiled;
        else last = last.then(async () => postMessage({ id: data.id, reply: await answer(data.request) }));
    };
}

/** The emulator as the page has it. */
class Emulator {
    #compiled;
    #worker = null;
    #asked = new Map();
    #next = 0;

    /** `compiled` is a promise of the module; the site's where none is given, which is loaded for the first request. */
    constructor(compiled = null) {
        this.#compiled = compiled;
    }

    /** The reply to a request, as text. */
    async ask(request) {
        const worker = await this.#start().catch((error) => {
            this.#worker = null;
            throw error;
        });
        const id = (this.#next += 1);
        return new Promise((resolve) => {
            this.#asked.set(id, resolve);
            worker.postMessage({ id, request: JSON.stringify(request) });
        });
    }

    /** The reply as an object. An error is thrown. */
    async reply(request) {
        const reply = JSON.parse(await this.ask(request));
        if (reply.error !== undefined) throw new Error(reply.error);
        return reply;
    }

    /** Ends what runs. The next request starts anew. */
    stop() {
        this.#worker?.then((worker) => worker.terminate());
        this.#worker = null;
        for (const resolve of this.#asked.values()) resolve('{"error":"stopped"}');
        this.#asked.clear();
    }

    #start() {
        this.#worker ??= (async () => {
            const compiled = await (this.#compiled ?? siteEmulator());
            const source = new Blob([`(${emulatorWorker})()`], { type: 'text/javascript' });
            const url = URL.createObjectURL(source);
            const worker = new Worker(url);
            worker.onmessage = ({ data: { id, reply } }) => {
                this.#asked.get(id)?.(reply);
                this.#asked.delete(id);
            };
            worker.postMessage({ compiled });
            return worker;
        })();
        return this.#worker;
    }
}

let compiledEmulator;

/** The emulator that lies beside the page, compiled once for all playgrounds. */
function siteEmulator() {
    compiledEmulator ??= load('emulator').then((bytes) => WebAssembly.compile(bytes));
    compiledEmulator.catch(() => (compiledEmulator = undefined));
    return compiledEmulator;
}
