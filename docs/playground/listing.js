// The PTX, with its counters by line, and where the execution stands.

/** Counters of a line that have a column, with what they are. */
const COLUMNS = [
    ['warps', 'warps', 'warps that executed the line'],
    ['sectors', 'sectors', 'sectors of 32 bytes of global memory'],
    ['wavefronts', 'wavefr.', 'wavefronts: more than the least where lanes conflict in a bank'],
    ['diverged', 'diverg.', 'branches at which a warp diverged'],
];

/** The PTX of a run: a table, and a text to edit in its place. */
class Listing {
    #rows = [];
    #current = null;
    #edited = null;

    /** `onLine` is called with the number of a line that the reader chose. */
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
        this.body.addEventListener('click', ({ target }) => {
            const row = target.closest('tr');
            if (row && !getSelection().toString()) onLine(Number(row.dataset.line));
        });
    }

    /** Shows a module. */
    show(text, counters = []) {
        const counted = new Map();
        for (const line of counters) {
            const sum = counted.get(line.line) ?? { warps: 0, sectors: 0, wavefronts: 0, diverged: 0 };
            for (const [key] of COLUMNS) sum[key] += line[key];
            counted.set(line.line, sum);
        }
        const columns = counters.length ? COLUMNS.filter(([key]) => counters.some((line) => line[key] > 0)) : [];
        const titles = columns.map(([key, name, title]) => element(`th.${key}`, { scope: 'col', title }, name));
        this.head.replaceChildren(element('tr', {},
            element('th', { scope: 'col' }, 'line'), ...titles, element('th.text', { scope: 'col' }, 'PTX')));
        const lines = text.split('\n');
        this.#rows = lines.map((line, index) => {
            const counts = counted.get(index + 1);
            const cells = columns.map(([key]) => element(`td.${key}`, {}, counts && counts[key] ? grouped(counts[key]) : ''));
            const code = element('td.text', {}, ...coloured(line));
            return element('tr', { 'data-line': index + 1 }, element('td.number', {}, String(index + 1)), ...cells, code);
        });
        this.#current = null;
        this.#edited = null;
        this.body.replaceChildren(...this.#rows);
        if (this.editor.value !== text) this.editor.value = text;
    }

    /** Marks lines with findings. */
    mark(lines) {
        for (const line of lines) this.#rows[line - 1]?.classList.add('found');
    }

    /** Marks the line that was changed. */
    markEdited(line) {
        this.#edited?.classList.remove('edited');
        this.#edited = this.#rows[line - 1] ?? null;
        this.#edited?.classList.add('edited');
    }

    /** Marks the line where the execution stands, and scrolls there. */
    stand(line) {
        this.#current?.classList.remove('current');
        this.#current?.removeAttribute('aria-current');
        this.#current = this.#rows[line - 1] ?? null;
        this.#current?.classList.add('current');
        this.#current?.setAttribute('aria-current', 'step');
        this.reveal(line);
    }

    /** Scrolls a line into view, within the listing. */
    reveal(line) {
        const row = this.#rows[line - 1];
        if (!row) return;
        const { top, bottom } = row.getBoundingClientRect();
        const view = this.scroller.getBoundingClientRect();
        if (top < view.top + 40 || bottom > view.bottom - 20) {
            this.scroller.scrollTop += top - view.top - view.height / 3;
        }
    }

    /** Whether the text is edited now, instead of listed. */
    set isEditing(isEditing) {
        this.editor.hidden = !isEditing;
        this.scroller.hidden = isEditing;
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
