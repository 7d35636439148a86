// The warps between two steps: where each stands, and why it does not go on.

class Warps {
    /** `onWarp` is called with the index of a warp that the reader chose. */
    constructor({ onWarp }) {
        this.onWarp = onWarp;
        this.root = element('div.wide');
    }

    show({ warps, warp: current }, names, text) {
        const lines = text.split('\n');
        const row = ({ next, line, lanes, waiting }, index) => {
            const isEnded = next === null;
            const state = isEnded ? (waiting ? 'waits for ever' : 'has ended') : waiting ? 'waits' : index === current ? 'is next' : 'can go on';
            const choose = element('button', { type: 'button', onclick: () => this.onWarp(index), disabled: isEnded }, names[index]);
            const bar = element('span.maskbar', { role: 'img', 'aria-label': isEnded ? 'no lane' : lanesInWords(lanes) },
                ...Array.from({ length: 32 }, (_, lane) => element(`i${!isEnded && (lanes >>> lane) & 1 ? '.on' : ''}`)));
            return element(`tr${index === current ? '.current' : ''}`, {},
                element('td', {}, choose), element('td', {}, state), element('td', {}, bar),
                element('td', {}, isEnded ? '' : String(line)), element('td.text', {}, isEnded ? '' : (lines[line - 1] ?? '').trim()));
        };
        const head = ['warp', 'state', 'its lanes at the next line', 'line', 'instruction'].map((name) => element('th', { scope: 'col' }, name));
        this.root.replaceChildren(element('table.warps', {},
            element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...warps.map(row))));
    }
}
