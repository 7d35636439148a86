// What lies beside the page: the emulator and the steps. They are scripts, because a page that was opened as a file may read no others.

const FOLDER = new URL('.', document.currentScript.src);
const loading = new Map();

/** What the script of that name in the playground's folder gives: it calls `playgroundData(name, text)`. */
function load(name) {
    if (!loading.has(name)) {
        loading.set(name, new Promise((resolve, reject) => {
            const script = element('script', { src: new URL(`${name}.js`, FOLDER).href });
            script.onerror = () => {
                loading.delete(name);
                reject(new Error(`${name}.js of the playground was not found: is the site's folder complete?`));
            };
            arrivals.set(name, resolve);
            document.head.append(script);
        }).then(inflate));
    }
    return loading.get(name);
}

const arrivals = new Map();
window.playgroundData = (name, text) => arrivals.get(name)?.(text);

/** The bytes of base64 of gzip. */
async function inflate(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).arrayBuffer();
}

/** A step of the ladder, or a sample. */
const loadLesson = async (slug) => JSON.parse(new TextDecoder().decode(await load(`steps/${slug}`)));
