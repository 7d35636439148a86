// The lanes of a warp: a value of each, in a grid of 32 cells.

/** A grid of a register's lanes. `texts` has one for each; `classOf` says how a cell looks. */
function laneGrid(name, texts, classOf, titleOf) {
    const cells = texts.map((text, lane) => element(`span.lane${classOf(lane)}`, { title: titleOf(lane) },
        element('span.index', {}, String(lane)), element('span.value', {}, text)));
    return element('div.lanes', { role: 'img', 'aria-label': `${name}, lanes 0 to 31: ${texts.join(', ')}` }, ...cells);
}

/** What the instruction does with registers. */
class Lanes {
    constructor({ onWatch }) {
        this.format = element('select', {},
            ...Object.entries(FORMATS).map(([value, text]) => element('option', { value }, text)));
        this.watch = element('input', { size: 8, placeholder: '%r5', list: freshId(), spellcheck: 'false', autocapitalize: 'off' });
        this.names = element('datalist', { id: this.watch.getAttribute('list') });
        this.registers = element('div');
        this.mask = element('p.mask');
        this.root = element('div', {},
            this.mask,
            element('p.controls', {}, labelled('Values as', this.format), labelled('Also show', this.watch), this.names),
            this.registers);
        this.format.addEventListener('change', () => this.#draw());
        this.watch.addEventListener('change', onWatch);
    }

    /** Names that can be chosen. */
    setNames(names) {
        const distinct = [...new Set(names)].slice(0, 500);
        this.names.replaceChildren(...distinct.map((name) => element('option', { value: name })));
    }

    get watched() {
        return this.watch.value.split(/[\s,]+/).filter(Boolean);
    }

    show(view) {
        this.view = view;
        this.#draw();
    }

    #draw() {
        const { view } = this;
        if (!view) return;
        const { lanes, active, waiting } = view;
        const off = (lanes & ~active) >>> 0;
        const parts = [`At this instruction: ${lanesInWords(lanes)}`];
        if (off) parts.push(`its guard is false in ${lanesInWords(off)}`);
        if (waiting) parts.push(`${lanesInWords(waiting)} ${lanesOf(waiting).length === 1 ? 'waits' : 'wait'} here`);
        const isDiverged = lanes !== 0xffffffff;
        this.mask.replaceChildren(`${parts.join('; ')}.`, ...(isDiverged ? [' ', element('strong', {}, 'The warp has diverged.')] : []));
        const grids = view.registers.map((register) => this.#register(register));
        const none = element('p.quiet', {}, 'This instruction reads and writes no register.');
        this.registers.replaceChildren(...(grids.length ? grids : [none]));
    }

    #register({ name, ty, is_read: isRead, is_written: isWritten, before, after }) {
        const { active, instruction } = this.view;
        const type = typeOf(instruction, ty);
        const text = (digits) => valueText(digits, type, this.format.value);
        const shown = after ?? before;
        const changed = (lane) => after !== null && before[lane] !== after[lane];
        const role = isWritten ? (isRead ? 'read and written' : 'written') : isRead ? 'read' : 'as it stands';
        return element('div.register', {},
            element('p.name', {}, element('code', {}, name), ` .${ty}, ${role}`),
            laneGrid(name, shown.map(text),
                (lane) => ((active >>> lane) & 1 ? '' : '.off') + (changed(lane) ? '.changed' : ''),
                (lane) => changed(lane) ? `lane ${lane}: ${text(before[lane])} becomes ${text(after[lane])}` : `lane ${lane}: ${text(shown[lane])}`));
    }
}
