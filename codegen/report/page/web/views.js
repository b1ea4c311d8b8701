// The views that are tables and cards.
'use strict';

const card = (title, value, note) => el('div', {class: 'card'}, el('span', {class: 'faint'}, title),
  el('b', {}, value), note ? el('span', {class: 'faint'}, note) : null);

addView('overview', 'Overview', {
  draw(to) {
    const t = data.takes, m = t.methods[state.method];
    to.append(el('div', {class: 'cards'},
      card('weights', size(t.weights), `${data.weights.filter(w => !w.lowered).length} constants`),
      t.code ? card('code', size(t.code), t.code_measured ? 'measured' : 'estimated') : null,
      card('arena', size(m.arena), m.arena > m.lower_bound ? `at best ${size(m.lower_bound)}` :
        'no plan takes less'),
      t.state ? card('state', size(t.state)) : null,
      card('inputs and outputs', size(t.inputs_and_outputs)),
      card('multiply-accumulates', count(m.macs)),
      m.instructions_estimate ? card('instructions', count(m.instructions_estimate), 'estimated') :
        null,
      (data.measured || []).map(x => card('time of a call', micro(x.totals_us[state.method]), x.how)),
      card('nodes', `${method().before.nodes.length} → ${method().after.nodes.length}`,
        'as read → after lowering'),
      card('kernels', data.code.kernels.length, `${method().calls.length} calls`)));
    const ports = kind => {
      const g = method().before;
      const v = kind === 'in' ? g.regions[0].inputs.filter(v => g.values[v].kind === 'input') :
        g.regions[0].outputs;
      return el('ul', {}, v.map(v => el('li', {}, el('b', {}, g.values[v].name), ' ',
        el('span', {class: 'mono faint'}, g.values[v].type))));
    };
    const halves = el('div', {class: 'halves'}, el('div', {}, el('h2', {}, 'Takes'), ports('in')),
      el('div', {}, el('h2', {}, 'Gives'), ports('out')));
    to.append(halves);
    const top = (title, value, text) => {
      const rows = layers().map((l, at) => ({...l, at})).filter(l => value(l) > 0)
        .sort((a, b) => value(b) - value(a)).slice(0, 6);
      if (!rows.length) return;
      const part = el('div', {}, el('h2', {}, title));
      halves.append(part);
      table(part, rows, [['layer', l => l.name, l => [chip(mainOp(l)), l.name || l.kernel]],
        ['operators', l => l.operators.join(), l => l.operators.join(', ')],
        ['', value, l => text(value(l)), {number: true, share: true}]], {kind: 'layer'});
    };
    if (data.measured) {
      top('Slowest layers', l => data.measured[0].layers_us[state.method][l.at], micro);
    }
    top('Most multiply-accumulates', l => l.macs, count);
    top('Most flash', l => l.weights + l.code, size);
    top('Most memory while computed', l => l.arena, size);
    const ops = new Map();
    method().after.nodes.forEach(n => ops.set(base(n.op), (ops.get(base(n.op)) || 0) + 1));
    const part = el('div', {}, el('h2', {}, 'Operators after lowering'));
    part.append(el('ul', {style: 'columns:2;padding-left:0;list-style:none'},
      [...ops].sort((a, b) => b[1] - a[1]).slice(0, 24).map(([op, n]) =>
        el('li', {}, chip(op), `${op} `, el('span', {class: 'faint'}, `× ${n}`)))));
    halves.append(part, el('div', {}, el('h2', {}, 'Keys'), keys()));
  },
});

const keys = () => el('dl', {}, [['/', 'search'], ['1 … 9', 'the views in their order'],
  ['arrows', 'from box to box, from row to row'], ['Enter', 'choose; open a group or a region'],
  ['Backspace', 'out of a group'], ['+  −  0', 'zoom, fit'], ['[  ]', 'as read, after lowering'],
  ['t', 'dark or light'], ['Escape', 'choose nothing']].map(([k, v]) =>
  [el('dt', {}, el('kbd', {}, k)), el('dd', {}, v)]));

// mainOp is the operator that a layer is coloured by.
const mainOp = l => l.operators.find(o => kindOf(o) === 'math') || l.operators[0] || '';
const typesOf = (g, n) => n.makes.map(v => g.values[v].type).join(', ');

function tableView(name, title, make, has = () => true) {
  let t;
  addView(name, title, {has, draw(to) { t = make(to); }, mark(r) { if (t) t.mark(r); }});
}

tableView('operators', 'Operators', to => {
  const g = graphOf(state.graph), weightsIn = n => n.reads.map(v => g.values[v].weight)
    .filter(w => w >= 0);
  to.append(el('div', {class: 'bar', style: 'padding:0 0 10px'}, choice([['before', 'As read'],
    ['after', 'After lowering']], state.graph, v => { state.graph = v; open('operators'); }),
  el('span', {class: 'faint'}, `${number(g.nodes.length)} nodes, dialect ${g.dialect || 'unknown'}`)));
  const bytes = n => sum(weightsIn(n).map(w => data.weights[w].bytes));
  return table(to, g.nodes.map((n, at) => ({...n, at})), [
    ['#', n => n.at, n => n.at, {number: true}],
    ['operator', n => n.op, n => [chip(n.op), base(n.op)]],
    ['node', n => n.name, n => n.name], ['result', n => typesOf(g, n), n => typesOf(g, n), {mono: true}],
    ['module', n => n.module, n => n.module], ['Python', n => n.line, n => n.line],
    ...g.nodes.some(n => n.macs) ? [['MACs', n => n.macs || 0, n => n.macs ? count(n.macs) : '',
      {number: true}]] : [],
    ['weights', bytes, n => bytes(n) ? size(bytes(n)) : '', {number: true}],
    ['values', n => weightsIn(n).length, n => weightsIn(n).length ?
      histogram(data.weights[weightsIn(n)[0]]) : ''],
  ], {kind: state.graph});
});

const layerRows = () => layers().map((l, at) => ({...l, at}));
const layerName = ['layer', l => l.name, l => [chip(mainOp(l)), l.name || l.kernel]];

tableView('kernels', 'Kernels', to => {
  const l = links(), calls = method().calls, t = data.takes;
  const moved = x => sum(l.callsIn[x.at].map(c => calls[c].times * (calls[c].reads + calls[c].writes)));
  to.append(el('p', {class: 'faint'}, `For ${t.target}, optimized for ${t.optimize}. `,
    layers().some(x => x.instructions_estimate) ? 'Instructions are estimated. ' : '',
    'Bytes moved are those of the operands of all calls; a loop that the data ends counts once.',
    (data.measured || []).length ? ' Times are medians, of an instrumented copy.' : ''));
  return table(to, layerRows(), [layerName,
    ['MACs', x => x.macs, x => x.macs ? count(x.macs) : '', {number: true, share: true}],
    ['bytes moved', moved, x => size(moved(x)), {number: true, share: true}],
    ...layers().some(x => x.instructions_estimate) ? [['instructions ≈',
      x => x.instructions_estimate || 0, x => count(x.instructions_estimate || 0),
      {number: true, share: true}]] : [],
    ...(data.measured || []).flatMap(m => {
      const time = x => m.layers_us[state.method][x.at];
      return [[m.how, time, x => time(x) ? micro(time(x)) : '', {number: true, share: true}],
        ['MACs/ns', x => time(x) ? x.macs / time(x) : 0, x => time(x) && x.macs ?
          digits(x.macs / time(x) / 1000) : '', {number: true}]];
    }),
    ['operators', x => x.operators.join(), x => x.operators.join(', ')],
    ['kernel', x => x.kernel, x => x.kernel, {mono: true}],
    ['result', x => x.type, x => x.type, {mono: true}],
    ['calls', x => x.calls, x => x.calls, {number: true}],
    ['Python', x => x.line, x => x.line],
  ], {kind: 'layer'});
});

tableView('flash', 'Flash', to => {
  const t = data.takes, all = x => x.weights + x.code;
  const rows = layerRows().filter(x => all(x) > 0);
  const rest = t.weights + t.code - sum(layers().map(all));
  to.append(el('p', {}, el('b', {}, size(t.weights + t.code)), ' in all: ', size(t.weights),
    ' of weights', t.code ? `, ${size(t.code)} of code (${t.code_measured ? 'measured' : 'estimated'})` :
      '; code is estimated for microcontrollers alone, and measured with --measure',
    rest > 0 && t.methods.length < 2 ? `; of this ${size(rest)} is no layer’s own` : '', '.'));
  to.append(strip(rows.map(x => [x.at, all(x), mainOp(x), x.name])));
  return table(to, rows, [layerName,
    ['operators', x => x.operators.join(), x => x.operators.join(', ')],
    ['weights', x => x.weights, x => x.weights ? size(x.weights) : '', {number: true, share: true}],
    ['code', x => x.code, x => x.code ? size(x.code) : '', {number: true, share: true}],
    ['both', all, x => size(all(x)), {number: true, share: true}],
    ['part', all, x => (100 * all(x) / Math.max(1, t.weights + t.code)).toFixed(1) + ' %',
      {number: true}],
  ], {kind: 'layer', sort: 4});
});

// strip shows parts of a whole side by side.
function strip(parts) {
  const all = sum(parts.map(p => p[1])) || 1;
  return el('div', {class: 'strip'}, parts.map(([at, n, op, name]) => el('button', {
    style: `flex-grow:${n};background:var(--${kindOf(op)})`, tabindex: -1,
    'aria-label': `${name}: ${size(n)}`, onclick: () => choose('layer', at),
    onmousemove: e => showTip(e, `${name}\n${size(n)}, ${(100 * n / all).toFixed(1)} %`),
    onmouseleave: e => showTip(e, '')})));
}

addView('weights', 'Weights', {
  has: () => data.weights.length > 0,
  draw(to) {
    const rows = data.weights.map((w, at) => ({...w, at})).sort((a, b) => b.bytes - a.bytes);
    const grid = el('div', {class: 'cards wide'});
    let shown = 0;
    const more = el('button', {class: 'more'}, 'Show more');
    const fill = () => {
      grid.append(...rows.slice(shown, shown += 120).map(w => el('div', {class: 'card',
        tabindex: 0, role: 'button', 'data-at': w.at, style: 'cursor:pointer',
        onclick: () => choose('weight', w.at),
        onkeydown: e => { if (e.key === 'Enter') choose('weight', w.at); }},
      el('div', {class: 'name', title: show(w.name)}, w.name || 'constant ' + w.at),
      el('div', {class: 'faint mono name'}, w.type, w.lowered ? ', lowered' : ''), histogram(w),
      el('div', {class: 'faint', style: 'display:flex;justify-content:space-between'},
        el('span', {}, w.count ? digits(w.min) : ''), el('span', {}, size(w.bytes)),
        el('span', {}, w.count ? digits(w.max) : '')))));
      more.hidden = shown >= rows.length;
    };
    more.addEventListener('click', fill);
    to.append(el('p', {class: 'faint'}, 'Constants of the model as it was read, and those that ',
      'lowering made; the largest first. Histograms go from the least element to the greatest.'),
    grid, more);
    fill();
  },
  mark(r) {
    let first = null;
    for (const e of $('view').querySelectorAll('.card')) {
      const is = r.weight.has(+e.dataset.at);
      e.style.borderColor = is ? 'var(--accent)' : '';
      if (is && !first) first = e;
    }
    if (first) first.scrollIntoView({block: 'nearest'});
  },
});

// nodeNamed looks a value's node up, in the form that was read first.
function nodeNamed(name) {
  for (const kind of ['before', 'after']) {
    const g = method()[kind];
    const v = g.values.findIndex(v => v.name === name);
    if (v < 0) continue;
    const n = links().made[kind].get(v);
    if (n !== undefined) return [kind, n];
    if (g.values[v].weight >= 0) return ['weight', g.values[v].weight];
    const reader = links().readers[kind].get(v);
    if (reader) return [kind, reader[0]];
  }
  const node = method().before.nodes.findIndex(n => n.name === name);
  return node >= 0 ? ['before', node] : null;
}

addView('quantization', 'Quantization', {
  has: () => !!data.quantization,
  draw(to) {
    const q = data.quantization, noise = x => x >= 999 ? 'exact' : digits(x);
    this.tables = [];
    const go = name => {
      const found = nodeNamed(name);
      return found ? {kind: found[0], at: found[1]} : {kind: 'none', at: -1};
    };
    to.append(el('p', {}, 'Scheme: ', el('b', {}, q.scheme), '. ',
      el('span', {class: 'faint'}, 'Integers q stand for (q − zero point) · scale.')));
    const errors = (q.errors || []).filter(e => e.method === state.method);
    if (errors.length) {
      to.append(el('h2', {}, 'Error by layer'), el('p', {class: 'faint'},
        'Signal over noise in decibels, the more the better: of the layer alone, and of all that ',
        'has come together behind it. Exact is without noise.'));
      this.tables.push(table(to, errors.map(e => ({...e, ...go(e.layer)})), [
        ['layer', e => e.layer, e => [chip(e.op), e.layer]],
        ['operator', e => e.op, e => base(e.op)], ['Python', e => e.line, e => e.line],
        ['own dB', e => e.own_sqnr_db, e => e.float ? 'float32' : noise(e.own_sqnr_db),
          {number: true}],
        ['', e => -e.own_sqnr_db, e => decibels(e.own_sqnr_db)],
        ['in all dB', e => e.total_sqnr_db, e => noise(e.total_sqnr_db), {number: true}],
        ['', e => -e.total_sqnr_db, e => decibels(e.total_sqnr_db)],
      ], {}));
    }
    const values = q.values.filter(v => v.method === state.method);
    const least = -greatest(values.map(v => -v.min)), most = greatest(values.map(v => v.max));
    for (const [title, part] of [['Activations', values.filter(v => !v.weight)],
      ['Weights', values.filter(v => v.weight)]]) {
      if (!part.length) continue;
      to.append(el('h2', {}, title));
      this.tables.push(table(to, part.map(v => ({...v, ...go(v.value)})), [
        ['value', v => v.value, v => v.value], ['dtype', v => v.dtype, v => v.dtype, {mono: true}],
        ['range', v => v.max - v.min, v => v.scales ? `${digits(v.min)} … ${digits(v.max)}` :
          v.how || '', {mono: true}],
        ['', v => v.max - v.min, v => v.scales ? range(v.min, v.max, least, most) : ''],
        ['scale', v => v.scale, v => v.scales > 1 ? `${v.scales}: ${digits(v.scale)} … ` +
          digits(v.largest_scale) : v.scales ? digits(v.scale) : v.how || '', {mono: true}],
        ['zero point', v => v.zero_point, v => !v.scales ? '' :
          v.zero_point === v.largest_zero_point ? v.zero_point :
            `${v.zero_point} … ${v.largest_zero_point}`, {number: true}],
      ], {}));
    }
  },
  mark(r) { this.tables.forEach(t => t.mark(r)); },
});

function range(a, b, least, most) {
  // Ranges differ by magnitudes: lengths are logarithms of either side.
  const unit = Math.max(most, -least) / 1000 || 1, f = x => Math.asinh(x / unit);
  const at = x => 100 * (f(x) - f(least)) / ((f(most) - f(least)) || 1);
  return el('span', {class: 'range'}, el('i', {style: `left:${at(a)}%;width:${at(b) - at(a)}%`}),
    el('b', {style: `left:${at(0)}%`}));
}
const decibels = x => el('span', {class: 'range'},
  el('i', {style: `left:0;width:${Math.max(0, Math.min(100, x / 60 * 100))}%`}));

addView('delegates', 'Delegates', {
  has: () => (data.delegates || []).length + (data.not_delegated || []).length > 0,
  draw(to) {
    this.table = null;
    for (const [i, d] of (data.delegates || []).entries()) {
      const calls = method().after.nodes.map((n, at) => ({...n, at})).filter(n => n.delegate === i);
      const nodes = d.nodes[state.method];
      to.append(el('h2', {}, d.name), facts([['backend', d.backend], ['payload', size(d.bytes)],
        ['called by', calls.length ? el('span', {class: 'links'},
          calls.map(c => link('after', c.at, 'graph'))) : ''],
        ['took', nodes.length ? el('span', {class: 'links'}, nodes.map(n => link('before', n, 'graph'))) :
          ''],
        ['stands for', (d.origins || []).map(base).join(', ')]]));
    }
    const rest = (data.not_delegated || []).filter(r => r.method === state.method);
    if (!rest.length) return;
    to.append(el('h2', {}, 'Not delegated'));
    const g = method().before;
    this.table = table(to, rest.map(r => ({...r, at: r.node})), [
      ['node', r => g.nodes[r.node].name, r => [chip(g.nodes[r.node].op), g.nodes[r.node].name]],
      ['operator', r => g.nodes[r.node].op, r => base(g.nodes[r.node].op)],
      ['why', r => r.why, r => r.why]], {kind: 'before'});
  },
  mark(r) { if (this.table) this.table.mark(r); },
});
