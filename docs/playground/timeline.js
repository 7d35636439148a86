// What happened over time: a row for each warp, each mbarrier, each stage that copies fill.

const ROW = 22;

const KINDS = {
    wait: 'waits', copy: 'copy under way', 'even phase': 'phase of parity 0', 'odd phase': 'phase of parity 1',
    arrival: 'arrival', barrier: 'barrier completes', mbarrier: 'phase begins', divergence: 'diverged', finding: 'finding',
};

class Timeline {
    /** `onStep` is called with a step that the reader chose. */
    constructor({ onStep }) {
        this.onStep = onStep;
        this.root = element('div.timeline');
        this.note = element('p.note', { 'aria-live': 'polite' });
    }

    /** Draws it, for a trace of so many steps. */
    draw(timeline, steps) {
        const { rows, bars, marks, is_cut: isCut } = timeline;
        const width = 1000;
        const height = rows.length * ROW;
        const x = (step) => (width * step) / Math.max(1, steps);
        this.x = x;
        const at = (row) => row * ROW;
        const drawing = shape('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', height, role: 'img',
            'aria-label': `What ${plural(rows.length, 'row')} did over ${plural(steps, 'step')}: the list of events of a step says it in words` });
        rows.forEach((_, row) => drawing.append(shape('rect', { class: `lane ${row % 2 ? 'odd' : ''}`, x: 0, y: at(row), width, height: ROW })));
        for (const { row, from, to, kind, text } of bars) {
            const length = Math.max(1.5, x(to ?? steps) - x(from));
            const bar = shape('rect', { class: `bar ${kind.replace(' ', '-')}`, x: x(from), y: at(row) + 5, width: length, height: ROW - 10 });
            bar.append(shape('title', {}, `step ${grouped(from + 1)}: ${text}`));
            drawing.append(bar);
        }
        for (const { row, step, kind, text } of marks) {
            const mark = shape('rect', { class: `mark ${kind}`, x: x(step) - 0.75, y: at(row) + 2, width: 1.5, height: ROW - 4 });
            mark.append(shape('title', {}, `step ${grouped(step + 1)}: ${text}`));
            drawing.append(mark);
        }
        this.cursor = shape('rect', { class: 'cursor', x: 0, y: 0, width: 1.5, height });
        drawing.append(this.cursor);
        drawing.addEventListener('click', (event) => {
            const box = drawing.getBoundingClientRect();
            this.onStep(Math.min(steps - 1, Math.max(0, Math.round(((event.clientX - box.left) / box.width) * steps))));
        });
        const labels = element('div.labels', {}, ...rows.map((name) => element('span', { title: name }, name)));
        const used = new Set([...bars, ...marks].map(({ kind }) => kind));
        const legend = element('p.legend', {}, ...Object.entries(KINDS).filter(([kind]) => used.has(kind))
            .map(([kind, name]) => element('span', {}, element(`i.${kind.replace(' ', '-')}`), name)));
        const cut = isCut ? element('p.quiet', {}, 'There is more than can be drawn: only the first of it is.') : null;
        this.root.replaceChildren(legend, element('div.plot', { tabindex: 0, role: 'region', 'aria-label': 'Timeline' }, labels, drawing), ...(cut ? [cut] : []), this.note);
    }

    /** Moves the line to the step, and says what happens there. */
    stand(step, events) {
        this.cursor?.setAttribute('x', this.x(step));
        this.note.textContent = events.length ? `Step ${grouped(step + 1)}: ${events.join('; ')}.` : `Step ${grouped(step + 1)}: nothing besides registers and memory.`;
    }
}
