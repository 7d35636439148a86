// The PTX, with its counters by line, and where the execution stands.

/** Counters of a line that have a column, with what they are. */
const COLUMNS = [
    ['warps', 'warps', 'warps that executed the line'],
    ['sectors', 'sectors', 'sectors of 32 bytes of global memory'],
    ['wavefronts', 'wavefr.', 'wavefronts: more than the least where lanes conflict in a bank'],
    ['diverged', 'diverg.', 'branches at which a warp diverged'],
];

/** Lines that are there beyond those in view. */
const MARGIN = 40;

/** The PTX of a run, and a text to edit in its place. Of the table, only the lines around those in view are there: some modules have ten thousand. */
class Listing {
    #lines = [];
    #columns = [];
    #counted = new Map();
    #found = new Set();
    #current = 0;
    #edited = 0;
    #rowHeight = 18;
    #shown = [0, 0];

    /** `onLine` is called with the number of a line that the reader chose, `onEdit` when the text changes. */
    constructor({ onLine, onEdit }) {
        this.body = element('tbody');
        this.head = element('thead');
        const table = element('table.listing', {}, this.head, this.body);
        this.scroller = element(
            'div.scroller', { tabindex: 0, role: 'region', 'aria-label': 'PTX, with counters by line' }, table,
        );
        this.editor = element('textarea.editor', {
            hidden: true, spellcheck: 'false', wrap: 'off', 'aria-label': 'PTX', autocapitalize: 'off', autocomplete: 'off',
        });
        this.root = element('div.code', {}, this.scroller, this.editor);
        this.editor.addEventListener('input', () => onEdit(this.editor.value));
        this.scroller.addEventListener('scroll', () => this.#follow());
        this.body.addEventListener('click', ({ target }) => {
            const { line } = target.closest('tr').dataset;
            if (line && !getSelection().toString()) onLine(Number(line));
        });
    }

    /** Shows a module. */
    show(text, counters = []) {
        this.#counted.clear();
        for (const line of counters) {
            const sum = this.#counted.get(line.line) ?? { warps: 0, sectors: 0, wavefronts: 0, diverged: 0 };
            for (const [key] of COLUMNS) sum[key] += line[key];
            this.#counted.set(line.line, sum);
        }
        this.#columns = counters.length ? COLUMNS.filter(([key]) => counters.some((line) => line[key] > 0)) : [];
        const titles = this.#columns.map(([key, name, title]) => element(`th.column-${key}`, { scope: 'col', title }, name));
        this.head.replaceChildren(element('tr', {},
            element('th', { scope: 'col' }, 'line'), ...titles, element('th.text', { scope: 'col' }, 'PTX')));
        this.#lines = text.split('\n');
        this.#found.clear();
        this.#current = 0;
        this.#edited = 0;
        if (this.editor.value !== text) this.editor.value = text;
        this.#render();
    }

    /** Marks lines with findings, and the line that an exercise changes. */
    mark(found, edited) {
        this.#found = new Set(found);
        this.#edited = edited;
        this.#render();
    }

    /** Marks the line where the execution stands, and scrolls there. */
    stand(line) {
        this.#current = line;
        this.reveal(line);
    }

    /** Scrolls a line into view, within the listing. */
    reveal(line) {
        const top = (line - 1) * this.#rowHeight;
        const { scrollTop, clientHeight } = this.scroller;
        if (top < scrollTop + this.#rowHeight || top > scrollTop + clientHeight - 4 * this.#rowHeight) {
            this.scroller.scrollTop = top - clientHeight / 3;
        }
        this.#render();
    }

    /** Renders anew where lines come into view that are not there. */
    #follow() {
        const [first, last] = this.#inView();
        const [from, to] = this.#shown;
        if (first < from || last > to) this.#render();
    }

    #inView() {
        const first = Math.floor(this.scroller.scrollTop / this.#rowHeight);
        const count = Math.ceil((this.scroller.clientHeight || 400) / this.#rowHeight);
        return [Math.max(0, first), Math.min(this.#lines.length, first + count)];
    }

    #render() {
        const [first, last] = this.#inView();
        const [from, to] = [Math.max(0, first - MARGIN), Math.min(this.#lines.length, last + MARGIN)];
        const rows = [];
        for (let index = from; index < to; index += 1) rows.push(this.#row(index + 1));
        const space = (lines) => element('tr', { 'aria-hidden': 'true', style: `height: ${lines * this.#rowHeight}px` });
        this.body.replaceChildren(space(from), ...rows, space(this.#lines.length - to));
        this.#shown = [from, to];
        const { height } = rows[0]?.getBoundingClientRect() ?? { height: 0 };
        if (height && Math.abs(height - this.#rowHeight) > 0.01) {
            this.#rowHeight = height;
            this.#render();
        }
    }

    #row(line) {
        const counts = this.#counted.get(line);
        const cells = this.#columns.map(([key]) => element(`td.column-${key}`, {}, counts && counts[key] ? grouped(counts[key]) : ''));
        const isCurrent = line === this.#current;
        const marks = [[isCurrent, 'current'], [this.#found.has(line), 'found'], [line === this.#edited, 'edited']];
        const name = ['tr', ...marks.filter(([is]) => is).map(([, mark]) => mark)].join('.');
        return element(name, { 'data-line': line, 'aria-current': isCurrent ? 'step' : null },
            element('td.number', {}, String(line)), ...cells, element('td.text', {}, ...coloured(this.#lines[line - 1])));
    }

    /** Whether the text is edited now, instead of listed. */
    set isEditing(isEditing) {
        this.editor.hidden = !isEditing;
        this.scroller.hidden = isEditing;
        if (!isEditing) this.#render();
    }

    get isEditing() {
        return !this.editor.hidden;
    }
}

/** A line of PTX with its colours. */
function coloured(line) {
    const parts = [];
    const pattern = /(\/\/.*$)|(^\s*@!?%?\w+)|([%$][\w.$]+)|(\.[a-z]\w*(?:::\w+)*(?:\.\w+(?:::\w+)*)*)|(\b[a-z][\w]*(?:\.[\w:]+)+)|(\b0[xfF][0-9a-fA-F]+|\b\d+\b)/g;
    const kinds = ['comment', 'guard', 'register', 'directive', 'opcode', 'number'];
    let at = 0;
    for (const match of line.matchAll(pattern)) {
        if (match.index > at) parts.push(line.slice(at, match.index));
        const kind = kinds[match.slice(1).findIndex((part) => part !== undefined)];
        parts.push(element(`span.${kind}`, {}, match[0]));
        at = match.index + match[0].length;
    }
    if (at < line.length) parts.push(line.slice(at));
    return parts;
}
