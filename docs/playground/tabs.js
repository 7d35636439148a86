// Several views in one place.

class Tabs {
    #tabs = [];

    /** `views` are pairs of a name and an element. `onShow` is called with the name of the one that comes up. */
    constructor(views, onShow) {
        this.onShow = onShow;
        const list = element('div.tablist', { role: 'tablist', 'aria-label': 'Views' });
        this.root = element('div.tabs', {}, list);
        for (const [name, view] of views) {
            const [id, panelId] = [freshId(), freshId()];
            const tab = element('button', { type: 'button', role: 'tab', id, 'aria-controls': panelId, onclick: () => this.show(name) }, name);
            const panel = element('div.panel', { role: 'tabpanel', id: panelId, 'aria-labelledby': id, hidden: true }, view);
            this.#tabs.push({ name, tab, panel });
            list.append(tab);
            this.root.append(panel);
        }
        list.addEventListener('keydown', (event) => {
            const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (!move) return;
            event.preventDefault();
            const at = this.#tabs.findIndex(({ name }) => name === this.shown);
            const next = this.#tabs[(at + move + this.#tabs.length) % this.#tabs.length];
            this.show(next.name);
            next.tab.focus();
        });
        this.show(views[0][0]);
    }

    show(shown) {
        this.shown = shown;
        for (const { name, tab, panel } of this.#tabs) {
            tab.setAttribute('aria-selected', String(name === shown));
            tab.tabIndex = name === shown ? 0 : -1;
            panel.hidden = name !== shown;
        }
        this.onShow?.(shown);
    }
}
