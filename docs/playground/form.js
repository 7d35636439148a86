// The launch: grid, block, shared memory, arguments.

/** What an argument of pasted PTX is at first. */
function guessed({ ty, bytes }) {
    if (bytes !== 8 && bytes > 8) return `bytes:${'00'.repeat(bytes)}`;
    if (bytes === 8) return 'inout:f32:1024';
    return /^f/.test(ty) ? `${ty}:1` : `${ty}:256`;
}

class LaunchForm {
    constructor() {
        this.grid = element('input', { size: 9, inputmode: 'text', spellcheck: 'false' });
        this.block = element('input', { size: 9, spellcheck: 'false' });
        this.shared = element('input', { size: 6, inputmode: 'numeric', spellcheck: 'false' });
        this.kernel = element('select');
        this.kernelField = labelled('Kernel', this.kernel);
        this.arguments = element('div.arguments');
        this.summary = element('summary');
        this.root = element('details.launch', {}, this.summary,
            element('p.controls', {}, this.kernelField, labelled('Grid', this.grid), labelled('Block', this.block), labelled('Dynamic shared memory', this.shared)),
            this.arguments,
            element('p.quiet', {}, 'An argument is ', element('code', {}, 'TYPE:VALUE'), ', such as ', element('code', {}, 'u32:5'),
                ', or memory: ', element('code', {}, 'in:f32:64'), ', ', element('code', {}, 'out:f32:64'), ', ', element('code', {}, 'inout:f32:64:fill=iota'), '.'));
        for (const input of [this.grid, this.block]) input.addEventListener('input', () => this.#summarise());
    }

    /** Shows a launch of a case. */
    show(launch, memory, kernels = null) {
        this.launch = launch;
        this.grid.value = launch.grid.join(' ');
        this.block.value = launch.block.join(' ');
        this.shared.value = launch.shared_bytes;
        this.kernelField.hidden = kernels === null;
        this.kernel.replaceChildren(...(kernels ?? [launch.kernel]).map((name) => element('option', { selected: name === launch.kernel }, name)));
        this.inputs = launch.arguments.map(({ name, value }) => {
            const text = value.spec ?? (value.pointer ? pointed(value.pointer, memory) : `tensor map of ${pointed(value.map.at, memory)}, box ${value.map.copied.join(' x ')}`);
            return { name, value, input: element('input', { value: text, size: 24, spellcheck: 'false', disabled: value.spec === undefined, id: freshId() }) };
        });
        this.arguments.replaceChildren(...this.inputs.map(({ name, input }) => labelled(name, input)));
        this.#summarise();
    }

    /** The launch as the form has it. An error says which field is none. */
    read() {
        return {
            ...this.launch,
            kernel: this.kernel.value || this.launch.kernel,
            grid: dimensions(this.grid.value, 'Grid'),
            block: dimensions(this.block.value, 'Block'),
            shared_bytes: whole(this.shared.value, 'Dynamic shared memory'),
            arguments: this.inputs.map(({ name, value, input }) => ({ name, value: value.spec === undefined ? value : { spec: input.value.trim() } })),
        };
    }

    #summarise() {
        const by = (text) => text.trim().split(/[\s,x]+/).join(' x ');
        this.summary.textContent = `Launch: grid ${by(this.grid.value)}, block ${by(this.block.value)}`;
    }
}

const pointed = ({ memory: index, offset }, memory) => `${memory[index].name}${offset ? ` + ${offset} bytes` : ''}: ${memory[index].spec}`;

function whole(text, name) {
    if (!/^\s*\d{1,9}\s*$/.test(text)) throw new Error(`${name}: '${text}' is no whole number`);
    return Number(text);
}

function dimensions(text, name) {
    const parts = text.trim().split(/[\s,x]+/).map((part) => whole(part, name));
    if (parts.length > 3) throw new Error(`${name}: there are at most three dimensions`);
    return [...parts, 1, 1].slice(0, 3);
}
