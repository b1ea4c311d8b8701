// The generated code beside the layers that it came from. Lines are drawn in parts, of which the
// browser lays out those in sight.
'use strict';
const part = 400; // lines

// owners tells by line which calls it is of, or which kernel.
function owners() {
  const l = links();
  if (l.owner) return l.owner;
  const owner = new Map();
  data.code.kernels.forEach((k, i) => {
    for (let n = k.lines ? k.lines.first : 1; k.lines && n <= k.lines.last; n++) {
      owner.set(n, {kernel: i});
    }
  });
  method().calls.forEach((c, i) => {
    for (let n = c.lines ? c.lines.first : 1; c.lines && n <= c.lines.last; n++) {
      owner.set(n, {layer: c.layer, call: i});
    }
  });
  return l.owner = owner;
}

addView('code', 'Code', {
  whole: true,
  has: () => data.code.text.length > 0,
  draw(to) {
    const owner = owners(), lines = data.code.text.split('\n');
    const calls = el('ul', {id: 'calls', 'aria-label': 'Calls'}), code = el('pre', {id: 'code',
      tabindex: 0, 'aria-label': data.code.name});
    const moves = e => {
      const next = {ArrowDown: 'nextSibling', ArrowUp: 'previousSibling'}[e.key];
      if (e.key === 'Enter') e.currentTarget.click();
      else if (next && e.currentTarget[next]) e.currentTarget[next].focus();
      else return;
      e.preventDefault();
    };
    calls.append(...method().calls.map((c, i) => {
      const l = layers()[c.layer];
      return el('li', {tabindex: 0, role: 'button', 'data-layer': c.layer, onkeydown: moves,
        onclick: () => choose('layer', c.layer)},
      el('div', {}, chip(mainOp(l)), l.name || l.kernel),
      el('div', {class: 'faint'}, l.operators.join(', ') || l.kernel));
    }));
    let comment = false;
    for (let first = 0; first < lines.length; first += part) {
      const block = el('div', {class: 'part',
        style: `contain-intrinsic-size:auto ${18 * Math.min(part, lines.length - first)}px`});
      for (let i = first; i < Math.min(lines.length, first + part); i++) {
        const text = lines[i], bare = text.trimStart(), o = owner.get(i + 1);
        const starts = bare.startsWith('/*') || bare.startsWith('//');
        const kind = comment || starts ? 'comment' : bare.startsWith('#') ? 'macro' : '';
        if (bare.includes('/*') || comment) {
          comment = bare.lastIndexOf('*/') < bare.lastIndexOf('/*') ||
            comment && !bare.includes('*/');
        }
        block.append(el('div', {'data-n': i + 1, class: [kind, o ? 'linked' : ''].join(' ').trim() ||
          null}, text.replaceAll('\t', '    ')));
      }
      code.append(block);
    }
    code.addEventListener('click', e => {
      const n = e.target.closest('[data-n]');
      const o = n && owner.get(+n.dataset.n);
      if (!o || String(getSelection())) return;
      this.clicked = true;
      if (o.layer !== undefined) choose('layer', o.layer);
      else choose('kernel', o.kernel);
    });
    to.append(el('div', {class: 'bar'}, el('b', {}, data.code.name), el('span', {class: 'faint'},
      `${number(lines.length)} lines` + (data.code.cut ? ', the rest is left out' : '') +
      '; a line that belongs to a layer can be chosen')),
    el('div', {class: 'split'}, calls, code));
    this.parts = {calls, code};
  },
  mark(r) {
    const {calls, code} = this.parts, c = state.chosen, m = method();
    code.querySelectorAll('.chosen').forEach(e => e.classList.remove('chosen'));
    let first = null;
    const light = lines => {
      if (!lines) return;
      for (let n = lines.first; n <= lines.last; n++) {
        const block = code.children[Math.floor((n - 1) / part)];
        const e = block && block.children[(n - 1) % part];
        if (!e) continue;
        e.classList.add('chosen');
        if (!first) first = e;
      }
    };
    if (c && c.kind === 'kernel') light(data.code.kernels[c.at].lines);
    r.calls.forEach(i => light(m.calls[i].lines));
    if (c && c.kind !== 'kernel') r.kernel.forEach(k => light(data.code.kernels[k].lines));
    if (first && !this.clicked) first.scrollIntoView({block: 'center'});
    this.clicked = false;
    let near = null;
    for (const li of calls.children) {
      const is = r.layer.has(+li.dataset.layer);
      li.classList.toggle('chosen', is);
      if (is && !near) near = li;
    }
    if (near) near.scrollIntoView({block: 'nearest'});
  },
});
