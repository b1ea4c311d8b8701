// Memory over time: a rectangle for each buffer, from its first byte up, from its first step on.
'use strict';
const memoryView = {zoom: 1, bank: 0};

// callAt tells by step which call it is.
function callsByStep() {
  const at = new Map();
  method().calls.forEach((c, i) => at.set(c.step, i));
  return at;
}

function stepName(step, at) {
  const c = at.get(step);
  if (c === undefined) return `step ${step}`;
  const l = layers()[method().calls[c].layer];
  return `step ${step}: ${l.name} (${l.operators.join(', ') || l.kernel})`;
}

// liveAt returns the indices of the buffers that hold something at a step.
const liveAt = (m, bank, step) => m.buffers.map((b, i) => i).filter(i => m.buffers[i].bank === bank &&
  m.buffers[i].live.some(s => s.first <= step && step <= s.last));

// colourOf is that of what writes a buffer first.
function colourOf(i) {
  const calls = links().users[i];
  if (!calls.length) return 'other';
  const l = layers()[method().calls[calls[0]].layer];
  return kindOf(l.operators.find(o => kindOf(o) === 'math') || l.operators[0] || '');
}

function drawMemory(to) {
  const m = method().memory, bank = m.banks[memoryView.bank] || m.banks[0];
  const at = callsByStep();
  const gap = bank.bytes - bank.lower_bound;
  const bar = el('div', {class: 'bar', style: 'padding:0 0 10px'},
    el('b', {}, `${size(bank.bytes)} of ${bank.name}`),
    el('span', {class: 'faint'}, gap > 0 ? `no plan takes less than ${size(bank.lower_bound)}` :
      'no plan takes less'),
    el('span', {class: 'space'}));
  if (m.banks.length > 1) {
    bar.append(choice(m.banks.map((b, i) => [i, b.name]), memoryView.bank, i => {
      memoryView.bank = i;
      open('memory');
    }));
  }
  bar.append(legendOf(m), el('span', {class: 'group'},
    el('button', {title: 'Narrower ( - )', onclick: () => zoomMemory(1 / 1.4)}, '−'),
    el('button', {title: 'All steps ( 0 )', onclick: () => zoomMemory(0)}, 'Fit'),
    el('button', {title: 'Wider ( + )', onclick: () => zoomMemory(1.4)}, '+')));
  const holder = el('div', {class: 'scroll'});
  to.append(bar, holder, el('h2', {}, 'The peak'), peak(m, at), el('h2', {}, 'All buffers'));
  memoryView.holder = holder;
  drawPlan(holder, m, bank, at);
  const rows = m.buffers.map((b, at) => ({...b, at})).filter(b => b.live.length);
  memoryView.table = table(to, rows, [
    ['buffer', b => b.name, b => b.name],
    ['type', b => b.type, b => b.type, {mono: true}],
    ['bytes', b => b.bytes, b => number(b.bytes), {number: true, share: true}],
    ['offset', b => b.offset, b => number(b.offset), {number: true}],
    ['first step', b => b.live[0].first, b => number(b.live[0].first), {number: true}],
    ['last step', b => b.live[b.live.length - 1].last,
      b => number(b.live[b.live.length - 1].last), {number: true}],
  ], {kind: 'buffer', sort: 2, first: 40});
}

function legendOf(m) {
  const used = new Set(m.buffers.map((b, i) => colourOf(i)));
  return el('span', {class: 'legend'}, kinds.filter(k => used.has(k[0])).map(k => el('span', {},
    el('span', {class: 'chip', style: `background:var(--${k[0]})`}), 'made by ' + k[2])));
}

function zoomMemory(by) {
  memoryView.zoom = by ? Math.min(64, Math.max(1, memoryView.zoom * by)) : 1;
  const m = method().memory;
  drawPlan(memoryView.holder, m, m.banks[memoryView.bank] || m.banks[0], callsByStep());
  markMemory(related());
}

function drawPlan(holder, m, bank, at) {
  const left = 64, top = 70, high = 380, foot = 22;
  const wide = (Math.max(420, (holder.clientWidth || 900) - left - 12)) * memoryView.zoom;
  const x = s => left + wide * s / Math.max(1, m.steps);
  const y = b => top + high - high * b / Math.max(1, bank.bytes);
  const plan = svg('svg', {class: 'plan', width: left + wide + 10, height: top + high + foot,
    role: 'application', tabindex: 0, 'aria-label': 'Memory plan: arrows go from buffer to buffer'});
  for (const b of new Set([0, 1, 2, 3, 4].map(i => Math.round(bank.bytes * i / 4)))) {
    plan.append(svg('path', {class: 'grid', d: `M${left} ${y(b)}H${left + wide}`}),
      svg('text', {x: left - 6, y: y(b) + 4, 'text-anchor': 'end'}, size(b)));
  }
  const every = Math.max(1, Math.ceil(m.steps * 46 / wide));
  for (let s = 0; s < m.steps; s += every) {
    plan.append(svg('text', {x: x(s + .5), y: top + high + 15, 'text-anchor': 'middle'}, s));
  }
  // What is alive in all, above the plan.
  const alive = new Array(m.steps).fill(0), inBank = memoryView.bank;
  m.buffers.forEach(b => b.bank === inBank && b.live.forEach(s => {
    for (let i = s.first; i <= s.last; i++) alive[i] += b.bytes;
  }));
  const most = greatest(alive, 1), low = top - 12;
  plan.append(svg('path', {class: 'live', d: `M${left} ${low}` + alive.map((b, s) =>
    `V${(low - 40 * b / most).toFixed(1)}H${x(s + 1).toFixed(1)}`).join('') + `V${low}z`}),
  svg('text', {x: left - 6, y: low - 30, 'text-anchor': 'end'}, 'alive'),
  svg('text', {x: left - 6, y: low - 17, 'text-anchor': 'end'}, size(most)));
  const atPeak = new Set(liveAt(m, inBank, bank.peak_step)), boxes = [];
  m.buffers.forEach((b, i) => {
    if (b.bank !== inBank) return;
    for (const s of b.live) {
      const w = x(s.last + 1) - x(s.first), h = Math.max(1.2, y(b.offset) - y(b.offset + b.bytes));
      const box = {at: i, x: x(s.first) + w / 2, y: y(b.offset + b.bytes) + h / 2};
      const tell = `${b.name}  ${b.type}\n${number(b.bytes)} bytes at ${number(b.offset)}\n` +
        `from ${stepName(s.first, at)}\nto ${stepName(s.last, at)}`;
      box.e = svg('rect', {class: 'buffer' + (atPeak.has(i) && s.first <= bank.peak_step &&
        bank.peak_step <= s.last ? ' peak' : ''), 'data-at': i,
        x: x(s.first), y: y(b.offset + b.bytes), width: w, height: h, tabindex: -1, role: 'button',
        'aria-label': tell, style: `fill:var(--${colourOf(i)})`,
        onmousemove: e => showTip(e, tell), onmouseleave: e => showTip(e, ''),
        onclick: () => choose('buffer', i),
        onkeydown: e => {
          if (e.key === 'Enter' || e.key === ' ') choose('buffer', i);
          else if (e.key.startsWith('Arrow')) {
            const next = toward(boxes, box, e.key);
            if (next) next.e.focus();
          } else return;
          e.preventDefault();
          e.stopPropagation();
        }});
      plan.append(box.e);
      boxes.push(box);
      const name = show(b.name), room = Math.floor((w - 8) / 6.2);
      if (h >= 13 && room >= Math.min(4, name.length)) {
        plan.append(svg('text', {class: 'in', x: x(s.first) + 4,
          y: y(b.offset + b.bytes) + h / 2 + 4}, clip(name, room)));
      }
    }
  });
  if (bank.peak_step >= 0) {
    const p = x(bank.peak_step + .5);
    plan.append(svg('path', {class: 'at', d: `M${p} ${low - 46}V${top + high}`}),
      svg('text', {x: Math.min(p + 5, left + wide - 90), y: 10}, `peak: step ${bank.peak_step}`));
  }
  plan.addEventListener('keydown', e => {
    if (e.target === plan && e.key.startsWith('Arrow') && boxes.length) {
      boxes[0].e.focus();
      e.preventDefault();
    }
  });
  holder.replaceChildren(plan);
}

// peak explains what is alive at the step that needs most.
function peak(m, at) {
  const bank = m.banks[memoryView.bank] || m.banks[0];
  if (bank.peak_step < 0) return el('p', {class: 'faint'}, 'Nothing is in this memory.');
  const live = liveAt(m, memoryView.bank, bank.peak_step)
    .sort((a, b) => m.buffers[b].bytes - m.buffers[a].bytes);
  const c = at.get(bank.peak_step), l = links();
  const role = i => {
    const s = m.buffers[i].live.find(s => s.first <= bank.peak_step && bank.peak_step <= s.last);
    const later = l.users[i].filter(c => method().calls[c].step > bank.peak_step);
    if (s.first === bank.peak_step && s.last === s.first) return 'scratch of this step';
    if (s.first === bank.peak_step) return 'made by this step';
    if (s.last === bank.peak_step) return 'read by this step for the last time';
    const next = later.length ? layers()[method().calls[later[0]].layer] : null;
    return 'kept for ' + (next ? next.name || next.kernel : `step ${s.last}`);
  };
  return el('div', {}, el('p', {}, 'At ', c === undefined ? `step ${bank.peak_step}` :
    link('layer', method().calls[c].layer, 'kernels'), ` (step ${bank.peak_step} of ${m.steps}) `,
  live.length === 1 ? '1 buffer holds ' : `${live.length} buffers hold `,
  size(sum(live.map(i => m.buffers[i].bytes))),
  sum(live.map(i => m.buffers[i].bytes)) > bank.bytes ? ', some of them in one another’s place:' :
    bank.bytes > bank.lower_bound ? ` of ${size(bank.bytes)}; the rest are gaps:` : ':'),
  el('ul', {class: 'peaks'}, live.slice(0, 14).map(i => el('li', {}, link('buffer', i, 'memory'),
    ` ${size(m.buffers[i].bytes)}, `, el('span', {class: 'faint'}, role(i)))),
  live.length > 14 ? el('li', {class: 'faint'}, `${live.length - 14} smaller ones`) : null));
}

function markMemory(r) {
  for (const e of memoryView.holder.querySelectorAll('rect.buffer')) {
    e.classList.toggle('chosen', r.buffer.has(+e.dataset.at) &&
      (state.chosen.kind !== 'buffer' || state.chosen.at === +e.dataset.at));
  }
}

addView('memory', 'Memory', {
  has: () => method().memory && method().memory.buffers.length,
  draw: drawMemory,
  mark(r) {
    markMemory(r);
    memoryView.table.mark(r, false);
  },
});
