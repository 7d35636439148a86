// The playground: what its parts show, and when.

/** Steps of a trace of pasted PTX at most. */
const LIMIT = 60000;

/** How long nothing is said about the emulator that is loaded or runs, in milliseconds. */
const PATIENCE = 300;

const OWN = 'own';

class Playground {
    #lesson = null;
    #isChanged = false;
    #asked = 0;

    /** In an element: with `data-step`, that step alone; with `data-steps`, a choice of them. */
    constructor(root) {
        this.root = root;
        this.emulator = new Emulator();
        const slugs = root.dataset.steps?.split(' ') ?? [];
        this.choice = element('select', {}, ...slugs.map((slug) => element('option', { value: slug }, slug)), element('option', { value: OWN }, 'your own PTX'));
        this.choice.addEventListener('change', () => this.open(this.choice.value));
        this.run = element('button.run', { type: 'button', onclick: () => this.start() }, 'Run');
        this.halt = element('button', { type: 'button', hidden: true, onclick: () => this.emulator.stop() }, 'Stop');
        this.checks = element('input', { type: 'checkbox', checked: true, id: freshId() });
        this.edit = element('button', { type: 'button', 'aria-pressed': 'false', onclick: () => this.toggleEditor() }, 'Edit the PTX');
        this.idea = element('p.idea');
        this.exercise = element('div.exercise');
        this.form = new LaunchForm();
        this.verdict = element('p.verdict', { role: 'status', 'aria-live': 'polite' });
        this.findings = element('ul.findings');
        this.listing = new Listing({ onLine: (line) => this.toLine(line), onEdit: () => this.stale() });
        this.stepper = new Stepper({ onStep: (step) => this.stand(step) });
        this.lanes = new Lanes({ onWatch: () => this.stand(this.stepper.step) });
        this.accesses = new Accesses();
        this.warps = new Warps({ onWarp: (warp) => this.toWarp(warp) });
        this.timeline = new Timeline({ onStep: (step) => this.stand(step) });
        this.results = element('div');
        this.counters = element('div');
        this.tabs = new Tabs([
            ['Lanes', this.lanes.root], ['Access', this.accesses.root], ['Warps', this.warps.root],
            ['Timeline', this.timeline.root], ['Results', this.results], ['Counters', this.counters],
        ], (name) => this.onTab(name));
        this.trace = element('div.trace', { hidden: true }, this.stepper.root, this.tabs.root);
        root.addEventListener('keydown', (event) => event.stopPropagation()); // mdBook turns its pages by arrows.
        const hasChoice = root.dataset.step === undefined;
        root.replaceChildren(
            element('div.controls', {}, ...(hasChoice ? [labelled('Kernel', this.choice)] : []), this.run, this.halt,
                element('span.field', {}, this.checks, element('label', { for: this.checks.id }, 'with checkers')), this.edit),
            this.idea, this.exercise, this.form.root, this.verdict, this.findings, this.listing.root, this.trace);
    }

    /** Shows a lesson, or an editor. */
    async open(slug) {
        this.emulator.stop();
        this.stale();
        this.verdict.textContent = '';
        if (slug === OWN) {
            this.own();
            return;
        }
        try {
            const lesson = await loadLesson(slug);
            this.#lesson = lesson;
            this.#isChanged = false;
            this.choice.value = slug;
            const { case: { modules, launches, memory, traced }, summary, sizes } = lesson;
            this.text = modules[0];
            this.idea.textContent = sizes ? `${slug}: ${summary}; m, n, k = ${sizes.join(', ')}` : `${slug}: ${summary}`;
            this.form.show(launches[traced], memory);
            this.setEditor(false);
            this.listing.show(this.text);
            this.listing.reveal(entryLine(this.text, launches[traced].kernel));
            this.showExercise();
        } catch (error) {
            this.fail(error);
        }
    }

    /** An editor for PTX that the reader has. What stands in it stays. */
    own() {
        this.#lesson = null;
        this.choice.value = OWN;
        this.exercise.replaceChildren();
        this.idea.textContent = 'Paste PTX, as nvcc -ptx or any compiler writes it, and run it. The form below asks for its launch once it was read.';
        this.form.show({ kernel: '', grid: [1, 1, 1], block: [32, 1, 1], cluster: [1, 1, 1], shared_bytes: 0, module: 0, arguments: [] }, [], []);
        this.form.root.open = true;
        this.form.kernel.onchange = () => this.read(this.form.kernel.value);
        this.setEditor(true);
    }

    /** Reads pasted PTX: its kernels, and what their launch needs. */
    async read(name) {
        const { kernels } = await this.emulator.reply({ do: 'kernels', ptx: this.text });
        const kernel = kernels.find((kernel) => kernel.name === name) ?? kernels[0];
        if (!kernel) throw new Error('there is no kernel (.entry) in it');
        if (kernel.error) throw new Error(kernel.error);
        const known = `${kernel.name} ${kernel.params.map(({ ty, bytes }) => ty + bytes)}`;
        if (this.known === known) return;
        this.known = known;
        const parameters = kernel.params.map((param, index) => ({ name: `argument ${index + 1} (.${param.ty})`, value: { spec: guessed(param) } }));
        const block = kernel.block ?? [128, 1, 1];
        this.form.show({ kernel: kernel.name, grid: [1, 1, 1], block, cluster: [1, 1, 1], shared_bytes: 0, module: 0, arguments: parameters }, [], kernels.map(({ name }) => name));
    }

    /** What to try, and the button that does it. */
    showExercise() {
        const { text, line, to } = this.#lesson.exercise;
        const isDeleted = to.startsWith('//');
        const name = this.#isChanged ? 'Put it back and run' : isDeleted ? `Delete line ${line} and run` : `Change line ${line} and run`;
        const change = element('button', { type: 'button', onclick: () => this.apply() }, name);
        const show = element('button', { type: 'button', onclick: () => { this.setEditor(false); this.listing.reveal(line); } }, `Show line ${line}`);
        const hadFocus = this.exercise.contains(document.activeElement);
        this.exercise.replaceChildren(element('p', {}, element('strong', {}, 'Try it. '), text), element('p.controls', {}, change, show));
        if (hadFocus) change.focus();
        this.listing.mark([], line);
    }

    /** Makes the change of the exercise, or takes it back, and runs. */
    async apply() {
        const { line, from, to } = this.#lesson.exercise;
        const lines = this.currentText().split('\n');
        this.#isChanged = !this.#isChanged;
        lines[line - 1] = this.#isChanged ? to : from;
        this.text = lines.join('\n');
        this.setEditor(false);
        this.listing.show(this.text);
        this.showExercise();
        await this.start();
    }

    currentText() {
        return this.listing.isEditing ? this.listing.editor.value : this.text;
    }

    toggleEditor() {
        const isEditing = !this.listing.isEditing;
        this.text = this.currentText();
        if (!isEditing) this.listing.show(this.text);
        this.setEditor(isEditing);
        if (isEditing) this.listing.editor.focus();
    }

    setEditor(isEditing) {
        if (isEditing) this.listing.editor.value = this.text ?? '';
        this.listing.isEditing = isEditing;
        this.edit.setAttribute('aria-pressed', String(isEditing));
        this.edit.textContent = isEditing ? 'Show as a listing' : 'Edit the PTX';
    }

    /** What is shown of a run is of another text now. */
    stale() {
        this.trace.hidden = true;
        this.findings.replaceChildren();
    }

    /** What is run, as the page has it now. */
    request() {
        const launch = this.form.read();
        const checks = this.checks.checked;
        if (!this.#lesson) return { do: 'run', modules: [this.text], memory: [], launches: [launch], traced: 0, checks, limit: LIMIT };
        const { modules, launches, traced, ...rest } = this.#lesson.case;
        const all = launches.map((other, index) => (index === traced ? launch : other));
        return { do: 'run', ...rest, modules: [this.text, ...modules.slice(1)], launches: all, traced, checks };
    }

    /** Runs. */
    async start() {
        if (this.isBusy) return;
        this.text = this.currentText();
        this.stale();
        this.busy = true;
        const begin = performance.now();
        try {
            if (!this.#lesson) await this.read(this.form.kernel.value);
            const reply = await this.emulator.reply(this.request());
            this.show(reply, performance.now() - begin);
        } catch (error) {
            this.fail(error);
        }
        this.busy = false;
    }

    set busy(isBusy) {
        this.root.setAttribute('aria-busy', String(isBusy));
        clearTimeout(this.patience);
        // Not disabled: it would lose the focus.
        this.run.setAttribute('aria-disabled', String(isBusy));
        this.isBusy = isBusy;
        if (!isBusy) this.halt.hidden = true;
        else this.patience = setTimeout(() => {
            this.halt.hidden = false;
            this.verdict.textContent = 'The emulator runs \u2026';
        }, PATIENCE);
    }

    fail(error) {
        this.verdict.className = 'verdict bad';
        this.verdict.textContent = error.message;
    }

    /** Shows what came of a run. */
    show(reply, milliseconds) {
        const { findings, counters, trace, is_clean: isClean, blocks } = reply;
        const grave = findings.filter(({ rank }) => rank !== 'remark').length;
        const said = this.checks.checked ? (isClean ? 'clean' : plural(grave, 'finding')) : isClean ? 'ran, without checkers' : plural(grave, 'finding');
        const instructions = Object.values(counters.instructions).reduce((sum, count) => sum + count, 0);
        this.verdict.className = `verdict ${isClean ? 'good' : 'bad'}`;
        this.verdict.textContent = `${said}: ${plural(blocks, 'block')}, ${plural(instructions, 'warp instruction')}, in ${milliseconds.toFixed(0)} ms`;
        this.findings.replaceChildren(...findingsList(findings, (line) => this.toLine(line)));
        this.setEditor(false);
        this.listing.show(this.text, counters.lines);
        this.listing.mark(findings.flatMap(({ line, other }) => (other ? [line, other] : [line])), this.#lesson?.exercise.line ?? 0);
        this.results.replaceChildren(resultsView(reply));
        this.counters.replaceChildren(countersView(counters));
        this.lanes.setNames(trace.registers);
        this.hasTimeline = false;
        this.trace.hidden = trace.step_lines.length === 0;
        if (this.trace.hidden) return;
        this.stepper.set(trace);
        const first = findings.length ? trace.step_lines.indexOf(findings[0].line) : 0;
        this.stand(Math.max(0, first));
        if (this.tabs.shown === 'Timeline') this.onTab('Timeline');
    }

    /** Stands at a step of the trace. */
    async stand(step) {
        this.stepper.stand(step);
        const asked = (this.#asked += 1);
        try {
            const view = await this.emulator.reply({ do: 'step', step, watched: this.lanes.watched });
            if (asked !== this.#asked) return;
            this.listing.stand(view.line);
            this.lanes.show(view);
            this.accesses.show(view);
            this.warps.show(view, this.stepper.names, this.text);
            this.view = view;
            if (this.hasTimeline) this.timeline.stand(step, view.events);
        } catch (error) {
            this.fail(error);
        }
    }

    /** The timeline is drawn when it is first looked at. */
    async onTab(name) {
        if (name !== 'Timeline' || this.hasTimeline || !this.stepper?.steps) return;
        this.hasTimeline = true;
        try {
            this.timeline.draw(await this.emulator.reply({ do: 'timeline' }), this.stepper.steps);
            this.timeline.stand(this.stepper.step, this.view?.events ?? []);
        } catch (error) {
            this.fail(error);
        }
    }

    toLine(line) {
        if (this.trace.hidden || !this.stepper.toLine(line)) this.listing.reveal(line);
    }

    toWarp(warp) {
        this.stepper.warp.value = warp;
        this.stepper.warp.dispatchEvent(new Event('change'));
    }
}

/** The line of a kernel's `.entry`. */
function entryLine(text, kernel) {
    const line = text.split('\n').findIndex((line) => line.includes('.entry') && line.includes(kernel));
    return Math.max(1, line + 1);
}
