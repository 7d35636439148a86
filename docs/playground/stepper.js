// Forwards and backwards through the trace.

class Stepper {
    /** `onStep` is called with the step to stand at. */
    constructor({ onStep }) {
        this.onStep = onStep;
        const button = (text, label, move, key) => element('button', {
            type: 'button', title: `${label} (${key})`, 'aria-label': label, 'aria-keyshortcuts': key.replace('Shift ', 'Shift+'), onclick: move,
        }, text);
        this.slider = element('input', { type: 'range', min: 0, max: 0, value: 0, 'aria-label': 'Step' });
        this.slider.addEventListener('input', () => onStep(Number(this.slider.value)));
        this.warp = element('select', { id: freshId() });
        this.warp.addEventListener('change', () => this.#toWarp());
        this.where = element('p.where', { role: 'status' });
        this.root = element('div.stepper', { role: 'group', 'aria-label': 'Steps', tabindex: -1 },
            element('div.controls', {},
                element('span.buttons', {},
                    button('|\u25c0', 'To the beginning', () => this.go(0), 'Home'),
                    button('\u25c0', 'The warp one step back', () => this.byWarp(-1), 'ArrowLeft'),
                    button('\u25b6', 'The warp one step on', () => this.byWarp(1), 'ArrowRight'),
                    button('\u25b6|', 'To the end', () => this.go(this.steps - 1), 'End')),
                labelled('Warp', this.warp),
                element('span.buttons', {},
                    button('\u2212 1', 'One step of any warp back', () => this.go(this.step - 1), 'Shift ArrowLeft'),
                    button('+ 1', 'One step of any warp on', () => this.go(this.step + 1), 'Shift ArrowRight'))),
            this.slider, this.where);
        this.root.addEventListener('keydown', (event) => this.#key(event));
    }

    /** A new trace. */
    set({ warps, step_warps: ofSteps, step_lines: lines, is_truncated: isTruncated }) {
        this.steps = lines.length;
        this.ofSteps = ofSteps;
        this.lines = lines;
        this.names = warps.map(({ block: [x, y, z], warp }) => `${warp} of block (${z ? [x, y, z] : [x, y]})`.replace(',', ', '));
        this.byWarps = warps.map(() => []);
        ofSteps.forEach((warp, step) => this.byWarps[warp].push(step));
        this.warp.replaceChildren(...this.names.map((name, value) => element('option', { value }, name)));
        this.slider.max = Math.max(0, this.steps - 1);
        this.isTruncated = isTruncated;
        this.step = 0;
    }

    /** Stands at a step. */
    stand(step) {
        this.step = step;
        this.slider.value = step;
        const warp = this.ofSteps[step];
        this.warp.value = warp;
        const own = this.byWarps[warp];
        const cut = this.isTruncated ? '; the trace ends there, the kernel does not' : '';
        this.slider.setAttribute('aria-valuetext', `step ${step + 1} of ${this.steps}, line ${this.lines[step]}`);
        this.where.textContent = `Step ${grouped(step + 1)} of ${grouped(this.steps)}${cut}: warp ${this.names[warp]}, its ${grouped(own.indexOf(step) + 1)} of ${grouped(own.length)}, line ${this.lines[step]}`;
    }

    go(step) {
        if (this.steps) this.onStep(Math.min(this.steps - 1, Math.max(0, step)));
    }

    /** The next or the previous step of the warp. */
    byWarp(direction) {
        const own = this.byWarps?.[this.ofSteps[this.step]] ?? [];
        const next = own[own.indexOf(this.step) + direction];
        if (next !== undefined) this.onStep(next);
    }

    /** The next step, from here on, at that line: after the last one, the first. */
    toLine(line) {
        const warp = this.ofSteps[this.step];
        const from = (start, isIt) => this.lines.findIndex((other, step) => step > start && other === line && isIt(step));
        const isOwn = (step) => this.ofSteps[step] === warp;
        const candidates = [from(this.step, isOwn), from(-1, isOwn), from(this.step, () => true), from(-1, () => true)];
        const found = candidates.find((step) => step >= 0);
        if (found !== undefined) this.onStep(found);
        return found !== undefined;
    }

    /** The first step of a warp from here on, or its last. */
    #toWarp() {
        const own = this.byWarps[Number(this.warp.value)];
        this.onStep(own.find((step) => step >= this.step) ?? own[own.length - 1]);
    }

    #key(event) {
        if (event.target === this.warp || event.ctrlKey || event.altKey || event.metaKey) return;
        const any = event.shiftKey;
        const moves = {
            ArrowLeft: () => (any ? this.go(this.step - 1) : this.byWarp(-1)),
            ArrowRight: () => (any ? this.go(this.step + 1) : this.byWarp(1)),
            Home: () => this.go(0),
            End: () => this.go(this.steps - 1),
        };
        const move = moves[event.key];
        if (!move) return;
        event.preventDefault();
        move();
    }
}
