// What came of a run: findings, results, counters of the whole launch.

const rankName = { error: '', warning: 'warning: ', remark: 'remark: ' };

/** A list of findings; `onLine` is called with the line that the reader chose. */
function findingsList(findings, onLine) {
    const place = ([x, y, z]) => (z ? `(${x}, ${y}, ${z})` : `(${x}, ${y})`);
    const item = ({ kind, rank, line, other, instruction, thread, block, what }) => element('li', {},
        element('button', { type: 'button', onclick: () => onLine(line) }, `line ${line}`),
        ` ${rankName[rank]}${kind}: `, element('code', {}, instruction), `, thread ${place(thread)} of block ${place(block)}: ${what}`,
        ...(other && other !== line ? [' ', element('button', { type: 'button', onclick: () => onLine(other) }, `line ${other}`)] : []));
    const shown = findings.slice(0, 6).map(item);
    const rest = findings.slice(6).map(item);
    const more = rest.length ? [element('li', {}, element('details', {}, element('summary', {}, `${rest.length} more`), element('ul', {}, ...rest)))] : [];
    return [...shown, ...more];
}

/** The first values of each result. */
function resultsView({ results, printed, findings }) {
    const parts = results.map(({ name, ty, elements, values, digest }) => element('div.result', {},
        element('p.name', {}, element('code', {}, name), ` ${ty}[${grouped(elements)}], `, element('span', { title: 'FNV-1a of all bytes' }, digest)),
        element('p.values', {}, values.join('  '), elements > values.length ? '  \u2026' : '')));
    const printedText = printed ? [element('pre', {}, printed)] : [];
    const none = element('p.quiet', {}, findings.length ? 'The launch was ended by a fault: there are no results.' : 'No argument is a result.');
    return element('div', {}, ...printedText, ...(parts.length ? parts : [none]));
}

/** Counters of the launch. */
function countersView(counters) {
    const sum = (of) => Object.values(of).reduce((total, count) => total + count, 0);
    const fmas = counters.thread_fmas + sum(counters.tensor_core_fmas);
    const rows = [
        ['warp instructions', sum(counters.instructions)],
        ['FMAs of all threads', fmas],
        ['global loads', counters.global_loads.requests, ['sectors', counters.global_loads.sectors]],
        ['global stores', counters.global_stores.requests, ['sectors', counters.global_stores.sectors]],
        ['shared loads', counters.shared_loads.requests, ['wavefronts', counters.shared_loads.wavefronts]],
        ['shared stores', counters.shared_stores.requests, ['wavefronts', counters.shared_stores.wavefronts]],
        ['arrivals at barriers', counters.barriers],
        ['shuffles', counters.shuffles],
        ['divergent branches', counters.divergent_branches],
    ];
    const row = ([name, count, more]) => element('tr', {}, element('th', { scope: 'row' }, name), element('td', {}, grouped(count)),
        element('td', {}, more ? `${grouped(more[1])} ${more[0]}` : ''),
        element('td', {}, more && count ? `${(more[1] / count).toFixed(1)} for each` : ''));
    return element('div.wide', {}, element('table.totals', {}, element('tbody', {}, ...rows.filter(([, count]) => count > 0).map(row))));
}
