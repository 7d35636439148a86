(() => {
  const root = document.documentElement, tip = document.getElementById('tip');
  root.classList.add('js');

  document.getElementById('theme').addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
  });

  // Values: the titles become one box, which the pointer, a tap and the arrow keys bring up.
  const show = (mark) => {
    document.querySelectorAll('.mark.on').forEach((other) => other.classList.remove('on'));
    tip.hidden = !mark;
    if (!mark) return;
    mark.classList.add('on');
    tip.textContent = mark.getAttribute('aria-label');
    const box = mark.getBoundingClientRect(), room = root.clientWidth;
    const x = Math.min(Math.max(box.left + box.width / 2 - tip.offsetWidth / 2, 8), room - tip.offsetWidth - 8);
    const above = box.top - tip.offsetHeight - 8;
    tip.style.left = x + scrollX + 'px';
    tip.style.top = (above < 4 ? box.bottom + 8 : above) + scrollY + 'px';
  };
  for (const svg of document.querySelectorAll('svg.pic')) {
    const marks = [...svg.querySelectorAll('.mark')];
    for (const mark of marks) {
      const title = mark.querySelector('title');
      mark.setAttribute('aria-label', title.textContent);
      mark.setAttribute('role', 'img');
      mark.setAttribute('tabindex', '-1');
      title.remove();
    }
    if (marks.length) marks[0].setAttribute('tabindex', '0');
    svg.addEventListener('pointerover', (event) => show(event.target.closest('.mark')));
    svg.addEventListener('pointerleave', () => show(null));
    svg.addEventListener('click', (event) => show(event.target.closest('.mark')));
    svg.addEventListener('focusin', (event) => show(event.target.closest('.mark')));
    svg.addEventListener('focusout', () => show(null));
    svg.addEventListener('keydown', (event) => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (event.key === 'Escape') show(null);
      if (!step) return;
      event.preventDefault();
      const seen = marks.filter((mark) => mark.getBoundingClientRect().width);
      const next = seen[(seen.indexOf(event.target.closest('.mark')) + step + seen.length) % seen.length];
      if (next) { marks.forEach((mark) => mark.setAttribute('tabindex', mark === next ? '0' : '-1')); next.focus(); }
    });
  }
  document.addEventListener('click', (event) => { if (!event.target.closest('svg.pic')) show(null); });

  // Labels at lines' ends move apart again when others are chosen.
  const chosen = (label) => {
    const key = [...label.parentNode.classList].find((name) => name.startsWith('k-'));
    return document.getElementById('sizes-' + key.slice(2)).checked;
  };
  const spread = () => {
    for (const group of document.querySelectorAll('.labels')) {
      const [gap, top, bottom] = group.dataset.room.split(' ').map(Number);
      const labels = [...group.querySelectorAll('.lab')].filter(chosen);
      const wanted = labels.map((label) => Number(label.dataset.y));
      const order = labels.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
      const blocks = [];
      for (const i of order) {
        blocks.push({ mid: wanted[i], of: [i] });
        for (;;) {
          const [a, b] = blocks.slice(-2);
          if (!b || b.mid - a.mid >= gap * (a.of.length + b.of.length) / 2) break;
          const n = a.of.length, m = b.of.length;
          blocks.splice(-2, 2, { mid: (a.mid * n + b.mid * m) / (n + m), of: [...a.of, ...b.of] });
        }
      }
      const y = [];
      for (const { mid, of } of blocks) of.forEach((i, place) => { y[i] = mid + gap * (place - (of.length - 1) / 2); });
      let bound = top;
      for (const i of order) { y[i] = Math.max(y[i], bound); bound = y[i] + gap; }
      bound = bottom;
      for (const i of order.reverse()) { y[i] = Math.min(y[i], bound); bound = y[i] - gap; }
      labels.forEach((label, i) => {
        const text = label.querySelector('text'), lead = label.querySelector('.lead');
        text.setAttribute('y', y[i] + 0.35 * Number(text.getAttribute('font-size')));
        lead.setAttribute('d', lead.getAttribute('d').replace(/[^ ]+$/, y[i].toFixed(2)));
      });
    }
  };
  document.querySelectorAll('.toggles input').forEach((box) => box.addEventListener('change', spread));
  document.querySelectorAll('.toggles button').forEach((button) => button.addEventListener('click', () => {
    const boxes = [...button.parentNode.querySelectorAll('input:not(#sizes-others)')];
    boxes.forEach((box) => { box.checked = { all: true, none: false, first: box.defaultChecked }[button.value]; });
    spread();
  }));
  spread();

  // Tables: a head sorts its column, numbers the largest first; a second time the other way round.
  const key = (row, column) => row.cells[column].textContent.trim();
  const number = (text) => parseFloat(text.replace(/(\d) (?=\d{3})/g, '$1'));
  for (const table of document.querySelectorAll('table.sortable')) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.textContent) return;
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener('click', () => {
        const isNumber = head.classList.contains('n');
        const up = head.ariaSort ? head.ariaSort === 'descending' : !isNumber;
        heads.forEach((other) => other.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
        const rows = [...table.tBodies[0].rows];
        const compare = (a, b) => {
          if (!isNumber) return (up ? 1 : -1) * key(a, column).localeCompare(key(b, column));
          const [x, y] = [a, b].map((row) => number(key(row, column)));
          // What is no number comes last.
          if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);
          return up ? x - y : y - x;
        };
        table.tBodies[0].append(...rows.sort(compare));
      });
    });
  }
  for (const button of document.querySelectorAll('button.csv')) {
    button.addEventListener('click', () => {
      const table = button.parentNode.nextElementSibling.querySelector('table');
      const quoted = (cell) => /[",\n]/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell;
      const lines = [...table.rows].map((row) => [...row.cells].map((cell) => quoted(cell.textContent.trim())).join(','));
      const link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([lines.join('\r\n') + '\r\n'], { type: 'text/csv' }));
      link.download = table.dataset.name.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') + '.csv';
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href));
    });
  }
})();
