// Accesses to memory: the sectors of a request, and the banks of an access to shared memory.

const SECTOR = 32n;
const BANKS = 32;

/** What the instruction does with memory. */
class Accesses {
    constructor() {
        this.root = element('div');
    }

    show({ accesses, instruction }) {
        const none = element('p.quiet', {}, 'This instruction does not access memory. Go to one that does: its line has requests among its counters.');
        this.root.replaceChildren(...(accesses.length ? accesses.map((access) => described(access, instruction)) : [none]));
    }
}

function described(access, instruction) {
    const { places, bytes, space, kind, sectors, wavefronts, is_async: isAsync, more } = access;
    const total = (places.length + more) * bytes;
    const verb = { read: 'read', write: 'write', atomic: 'update' }[kind];
    const lanes = new Set(places.map(({ lane }) => lane)).size;
    const who = isAsync ? `A copy of line ${access.line} completes here: it ${verb}s`
        : instruction.startsWith('wgmma') ? `The tensor cores ${verb}`
        : `${plural(lanes, 'lane')} ${verb}${lanes === 1 ? 's' : ''}`;
    const words = [`${who} ${plural(total, 'byte')} of ${space} memory`];
    if (sectors !== null) words.push(`in ${plural(sectors, 'sector')} of 32 bytes`);
    if (wavefronts !== null) words.push(`in ${plural(wavefronts, 'wavefront')}`);
    const picture = space === 'shared' ? banks(access) : space === 'global' ? requested(access) : null;
    return element('div.access', {}, element('p', {}, `${words.join(', ')}.`), picture, table(access, instruction));
}

/** Each sector, with the lane of each of its words. */
function requested({ places, bytes, more }) {
    const sectors = new Map();
    for (const { lane, address } of places) {
        const first = BigInt(address);
        for (let byte = 0; byte < bytes; byte += 4) {
            const at = first + BigInt(byte);
            const sector = at / SECTOR;
            if (!sectors.has(sector)) sectors.set(sector, Array.from({ length: 8 }, () => []));
            const lanes = sectors.get(sector)[Number((at % SECTOR) / 4n)];
            if (!lanes.includes(lane)) lanes.push(lane);
        }
    }
    const order = [...sectors.keys()].sort((a, b) => (a < b ? -1 : 1));
    const cells = (words) => words.map((lanes) => {
        const text = lanes.length === 0 ? '' : lanes.length === 1 ? String(lanes[0]) : `${lanes.length}\u00d7`;
        return element(`span.word${lanes.length ? '.used' : ''}`, { title: lanes.length ? `lanes ${lanes.join(', ')}` : 'not asked for' }, text);
    });
    const used = order.reduce((sum, sector) => sum + sectors.get(sector).filter((lanes) => lanes.length).length, 0);
    const strips = order.map((sector) => element('span.sector', { title: `sector at 0x${(sector * SECTOR).toString(16)}` }, ...cells(sectors.get(sector))));
    const share = order.length ? Math.round((100 * used) / (8 * order.length)) : 0;
    const label = `${order.length} sectors of 8 words each; ${share} % of their words are asked for`;
    return element('figure', {},
        element('div.sector-map', { role: 'img', 'aria-label': label }, ...strips),
        element('figcaption', {}, `Each strip is a sector of 8 words, with the number of the lane that asks for it; ${share} % of the bytes are asked for.`
            + (more ? ` ${plural(more, 'place')} more are not drawn.` : '')));
}

/** The 32 banks, with the words that lanes ask of each. Lanes that ask for 8 or 16 bytes are served by halves or quarters of the warp. */
function banks({ places, bytes, wavefronts, more }) {
    const parts = bytes > 8 ? 4 : bytes > 4 ? 2 : 1;
    const asked = Array.from({ length: BANKS }, () => Array.from({ length: parts }, () => new Map()));
    for (const { lane, address } of places) {
        const part = Math.floor((lane * parts) / 32);
        for (let byte = 0; byte < Math.max(bytes, 4); byte += 4) {
            const word = Number(BigInt(address) / 4n) + byte / 4;
            const words = asked[word % BANKS][part];
            words.set(word, [...(words.get(word) ?? []), lane]);
        }
    }
    const tile = (index, [word, lanes], isCrowded) => element(`span.word.used${isCrowded ? '.crowded' : ''}`, {
        title: `bank ${index}, word ${word}: lanes ${lanes.join(', ')}`,
    }, lanes.length === 1 ? String(lanes[0]) : `${lanes.length}\u00d7`);
    const stack = (bank, index) => element('span.bank', {}, element('span.index', {}, String(index)),
        ...bank.flatMap((words) => [...words].map((word) => tile(index, word, words.size > 1))));
    const depths = asked.map((bank) => Math.max(...bank.map((words) => words.size)));
    const depth = Math.max(...depths);
    const conflict = depth > 1
        ? `Bank ${depths.indexOf(depth)} is asked for ${depth} words at once, and gives one in a wavefront.`
        : 'No bank is asked for more than one word at once: there is no conflict.';
    const wide = parts > 1 ? ` With ${bytes} bytes for each lane, a ${parts > 2 ? 'quarter' : 'half'} of the warp is served at once.` : '';
    return element('figure', {},
        element('div.bank-map', { role: 'img', 'aria-label': conflict, tabindex: 0 }, ...asked.map(stack)),
        element('figcaption', {}, conflict, wide, wavefronts === null ? '' : ` ${plural(wavefronts, 'wavefront')} in all.`,
            more ? ` ${plural(more, 'place')} more are not drawn.` : ''));
}

/** The places in numbers. */
function table({ places, more, bytes }, instruction) {
    const type = typeOf(instruction, `b${Math.min(8 * bytes, 32)}`);
    const rows = places.map(({ lane, name, before, after }) => element('tr', {},
        element('td', {}, String(lane)), element('td', {}, element('code', {}, name)),
        element('td', {}, memoryText(before, type, 'auto')), element('td', {}, after === null ? '' : memoryText(after, type, 'auto'))));
    const head = ['lane', 'where', 'before', 'after'].map((name) => element('th', { scope: 'col' }, name));
    return element('details.places', {}, element('summary', {}, `${plural(places.length + more, 'place')} in numbers`),
        element('div.wide', {}, element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows))));
}
