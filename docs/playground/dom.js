// Elements, and what else the page is made of. The files of this folder are joined to one script, in the order that
// xtask/src/book/site/playground.rs lists.

/** An element: `element('p.note', { hidden: true }, 'text', other)`. Names that begin with `on` are listeners. */
function element(name, attributes = {}, ...children) {
    const [tag, ...classes] = name.split('.');
    const made = document.createElement(tag);
    made.classList.add(...classes);
    for (const [key, value] of Object.entries(attributes)) {
        if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
        else if (value === true) made.setAttribute(key, '');
        else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
}

const SVG = 'http://www.w3.org/2000/svg';

/** An element of a drawing. */
function shape(name, attributes = {}, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
}

let ids = 0;

/** An id that nothing else has. */
const freshId = () => `playground-${(ids += 1)}`;

/** A control with its label: `labelled('Grid', control)`. */
function labelled(text, control) {
    const id = control.id || (control.id = freshId());
    return element('span.field', {}, element('label', { for: id }, text), control);
}

/** 12 345 */
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, '\u202f');

/** `1 warp`, `2 warps` */
const plural = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;

/** The lanes of a mask, in ascending order. */
const lanesOf = (mask) => Array.from({ length: 32 }, (_, lane) => lane).filter((lane) => (mask >>> lane) & 1);

/** `lanes 0 to 15`, `no lane`, `lanes 0, 2 and 5 more` */
function lanesInWords(mask) {
    const lanes = lanesOf(mask);
    if (lanes.length === 32) return 'all 32 lanes';
    if (lanes.length === 0) return 'no lane';
    if (lanes.length === 1) return `lane ${lanes[0]}`;
    const isRange = lanes[lanes.length - 1] - lanes[0] === lanes.length - 1;
    if (isRange) return `lanes ${lanes[0]} to ${lanes[lanes.length - 1]}`;
    const first = lanes.slice(0, 3).join(', ');
    return `lanes ${first}${lanes.length > 3 ? ` and ${lanes.length - 3} more` : ''}`;
}
