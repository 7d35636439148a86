// Playgrounds of the page: one that has the page to itself opens at once, one of a chapter when the reader asks for it.

for (const place of document.querySelectorAll('.gpu-playground')) {
    const begin = () => {
        const playground = new Playground(place);
        place.playground = playground;
        return playground;
    };
    if (place.dataset.steps) {
        const asked = new URLSearchParams(location.search).get('kernel');
        const slugs = place.dataset.steps.split(' ');
        begin().open(slugs.includes(asked) ? asked : slugs[0]);
    } else {
        const slug = place.dataset.step;
        const open = element('button.run', { type: 'button', onclick: async () => {
            const playground = begin();
            playground.run.focus();
            await playground.open(slug);
            await playground.start();
        } }, `Run ${slug} here`);
        place.replaceChildren(element('p.controls', {}, open),
            element('p.quiet', {}, 'In the emulator, in this page: step by step, with the lanes of each warp, its accesses, and one thing to try.'));
    }
    (place.closest('section.in-page') ?? place).hidden = false;
}
