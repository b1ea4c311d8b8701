// The data, what is chosen, and what all views share. Text of files reaches the page through
// textContent alone, and what does not print in it is shown as its number.
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const NS = 'http://www.w3.org/2000/svg';
const odd = /[\p{C}\p{Zl}\p{Zp}]/gu;
const show = s => String(s).replace(odd, c => '\\u{' + c.codePointAt(0).toString(16) + '}');

function build(e, attributes, children) {
  for (const [k, v] of Object.entries(attributes || {})) {
    if (v === undefined || v === null || v === false && !k.startsWith('aria-')) continue;
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true && !k.startsWith('aria-') ? '' : v);
  }
  for (const c of children.flat(Infinity)) {
    if (c === null || c === undefined) continue;
    e.append(c instanceof Node ? c : show(c));
  }
  return e;
}
const el = (tag, attributes, ...c) => build(document.createElement(tag), attributes, c);
const svg = (tag, attributes, ...c) => build(document.createElementNS(NS, tag), attributes, c);

const number = n => n.toLocaleString('en-US', {maximumFractionDigits: 0});
const digits = x => x === 0 ? '0' : Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3 ?
  x.toExponential(2) : String(+x.toPrecision(4));
function size(n) {
  if (n < 1024) return n + ' B';
  return n < 1 << 20 ? +(n / 1024).toFixed(1) + ' KiB' : +(n / (1 << 20)).toFixed(2) + ' MiB';
}
function count(n) {
  for (const [by, unit] of [[1e9, ' G'], [1e6, ' M'], [1e4, ' k']]) {
    if (n >= by) return +(n / (unit === ' k' ? 1e3 : by)).toPrecision(3) + unit;
  }
  return number(n);
}
const micro = t => t >= 1000 ? +(t / 1000).toPrecision(3) + ' ms' : +t.toPrecision(3) + ' µs';
const sum = list => list.reduce((a, b) => a + b, 0);
const greatest = (list, least = 0) => list.reduce((a, b) => Math.max(a, b), least);
const base = op => op.replace(/^.*?[.:]+/, '').replace(/\..*$/, '').replace(/^(.*)::/, '') || op;

// kinds are families of operators; they have colours of their names in page.css.
const kinds = [
  ['flow', /^(cond|while_loop|scan|map)/, 'control flow'],
  ['delegate', /delegate/, 'delegate'],
  ['quant', /quant|qparams/, 'quantize'],
  ['math', /conv|linear|mm$|mm_|matmul|attention|sums|lstm|gru|einsum|dot$/, 'multiply-accumulate'],
  ['act', /relu|sigmoid|gelu|silu|tanh|hardswish|hardsigmoid|clamp|softmax|elu$|mish/,
    'activation'],
  ['reduce', /norm|pool|mean|sum|amax|amin|argmax|argmin|max$|min$|var|cum/, 'pool, norm, reduce'],
  ['move', /view|reshape|permute|transpose|^t$|cat$|slice|select|expand|flatten|squeeze|split|copy|pad|clone|index|gather|scatter|embedding|stack|repeat|roll|flip|contiguous|detach|alias|getitem|dropout/,
    'move data'],
  ['other', /^/, 'other'],
];
const kindOf = op => kinds.find(k => k[1].test(base(op)))[0];
const chip = op => el('span', {class: 'chip', style: `background:var(--${kindOf(op)})`});

// state is which method is shown, which view of it, and what is chosen: {kind, at}, of kind before,
// after (nodes), layer, buffer, weight or kernel; fresh: nobody has gone elsewhere since.
const state = {method: 0, view: 'overview', chosen: null, graph: 'before',
  fresh: false};
const method = () => data.methods[state.method];
const layers = () => data.takes.methods[state.method].layers;
const graphOf = kind => method()[kind];

// links are, for a method, who belongs to whom: lists of indices.
const linksOf = [];
function links() {
  const at = state.method;
  if (linksOf[at]) return linksOf[at];
  const m = method();
  const list = n => Array.from({length: n}, () => []);
  const l = {
    afterOf: list(m.before.nodes.length), callsOf: list(m.after.nodes.length),
    callsIn: list(layers().length), users: list(m.memory ? m.memory.buffers.length : 0),
    made: {before: new Map(), after: new Map()}, readers: {before: new Map(), after: new Map()},
    lines: [],
  };
  m.after.nodes.forEach((n, i) => (n.from || []).forEach(b => l.afterOf[b].push(i)));
  m.calls.forEach((c, i) => {
    c.nodes.forEach(n => l.callsOf[n].push(i));
    l.callsIn[c.layer].push(i);
    c.arena.forEach(b => l.users[b].push(i));
  });
  for (const kind of ['before', 'after']) {
    m[kind].nodes.forEach((n, i) => {
      n.makes.forEach(v => l.made[kind].set(v, i));
      n.reads.forEach(v => {
        if (!l.readers[kind].has(v)) l.readers[kind].set(v, []);
        l.readers[kind].get(v).push(i);
      });
    });
  }
  return linksOf[at] = l;
}

// related returns what belongs to what is chosen, as sets of indices.
function related(chosen = state.chosen) {
  const l = links(), m = method();
  const r = {before: new Set(), after: new Set(), layer: new Set(), calls: new Set(),
    buffer: new Set(), weight: new Set(), kernel: new Set()};
  if (!chosen) return r;
  const {kind, at} = chosen;
  if (kind === 'before') {
    r.before.add(at);
    l.afterOf[at].forEach(n => r.after.add(n));
  } else if (kind === 'after') {
    r.after.add(at);
  } else if (kind === 'layer') {
    l.callsIn[at].forEach(c => r.calls.add(c));
  } else if (kind === 'buffer') {
    l.users[at].forEach(c => r.calls.add(c));
  } else if (kind === 'kernel') {
    m.calls.forEach((c, i) => c.kernel === at && r.calls.add(i));
  } else if (kind === 'weight') {
    r.weight.add(at);
    for (const g of ['before', 'after']) {
      m[g].values.forEach((v, i) => {
        if (v.weight === at) (l.readers[g].get(i) || []).forEach(n => r[g].add(n));
      });
    }
  }
  r.after.forEach(n => l.callsOf[n].forEach(c => r.calls.add(c)));
  r.calls.forEach(i => {
    const c = m.calls[i];
    r.layer.add(c.layer);
    r.kernel.add(c.kernel);
    c.arena.forEach(b => r.buffer.add(b));
    if (kind !== 'after' && kind !== 'before') c.nodes.forEach(n => r.after.add(n));
  });
  r.after.forEach(n => (m.after.nodes[n].from || []).forEach(b => r.before.add(b)));
  for (const g of ['before', 'after']) {
    r[g].forEach(n => m[g].nodes[n].reads.forEach(v => {
      if (m[g].values[v].weight >= 0) r.weight.add(m[g].values[v].weight);
    }));
  }
  if (r[kind]) r[kind].add(at);
  return r;
}

// choose chooses something, and shows it in a view if one is given.
function choose(kind, at, view) {
  state.chosen = kind ? {kind, at} : null;
  state.fresh = true;
  if (view && view !== state.view) open(view);
  else refresh();
}

// nameOf is a short name of a thing.
function nameOf(kind, at) {
  const m = method();
  switch (kind) {
    case 'before': case 'after': return m[kind].nodes[at].name;
    case 'layer': return layers()[at].name || layers()[at].kernel;
    case 'buffer': return m.memory.buffers[at].name;
    case 'weight': return data.weights[at].name || 'constant ' + at;
    case 'kernel': return data.code.kernels[at].name;
  }
}

const views = {}; // by name: {title, has, draw(to), mark()}
const order = [];
function addView(name, title, view) {
  views[name] = {title, has: () => true, mark() {}, ...view};
  order.push(name);
}

function open(name, push = true) {
  state.view = name;
  const to = $('view');
  to.className = views[name].whole ? 'whole' : '';
  to.setAttribute('aria-labelledby', 'tab-' + name);
  to.replaceChildren();
  to.scrollTop = 0;
  for (const b of $('tabs').children) {
    const is = b.id === 'tab-' + name;
    b.setAttribute('aria-selected', is);
    b.tabIndex = is ? 0 : -1;
  }
  views[name].draw(to);
  refresh();
}

// refresh marks what is chosen and tells of it.
function refresh() {
  const r = related();
  views[state.view].mark(r);
  state.fresh = false;
  about(r);
  const c = state.chosen;
  const hash = `#${state.view}/${state.method}` + (c ? `/${c.kind}/${c.at}` : '');
  if (location.hash !== hash) history.replaceState(null, '', hash);
}

// link is a button that chooses something.
function link(kind, at, view) {
  return el('button', {class: 'link', title: 'Show in ' + views[view].title,
    onclick: () => choose(kind, at, view)}, nameOf(kind, at));
}

function facts(list) {
  return el('dl', {}, list.filter(x => x && x[1] !== '' && x[1] !== undefined && x[1] !== null)
    .map(([k, v, mono]) => [el('dt', {}, k), el('dd', {class: mono ? 'mono' : null}, v)]));
}

// about tells in the panel beside the view what is chosen, and what belongs to it.
function about(r) {
  const to = $('about');
  to.replaceChildren();
  const c = state.chosen;
  if (!c) {
    to.append(el('h2', {}, 'Nothing is chosen'), el('p', {class: 'faint'},
      'Choose a node, a layer, a buffer, a weight or a line of code: what belongs to it in the ',
      'other views is marked there, and listed here.'));
    return;
  }
  const m = method();
  to.append(el('h2', {}, nameOf(c.kind, c.at)));
  to.append(facts(...{
    before: () => [nodeFacts(m.before, c.at)], after: () => [nodeFacts(m.after, c.at)],
    layer: () => [layerFacts(c.at)], buffer: () => [bufferFacts(c.at)],
    weight: () => [weightFacts(c.at)], kernel: () => [kernelFacts(c.at)],
  }[c.kind]()));
  const list = (title, kind, view) => {
    const all = [...r[kind]].filter(i => kind !== c.kind || i !== c.at);
    if (all.length === 0) return;
    to.append(el('h3', {}, `${title} (${all.length})`), el('div', {class: 'links'},
      all.slice(0, 12).map(i => link(kind, i, view)),
      all.length > 12 ? el('span', {class: 'faint'}, '…') : null));
  };
  list('Nodes as read', 'before', 'graph');
  list('Nodes after lowering', 'after', 'graph');
  list('Layers', 'layer', 'kernels');
  list('Kernels in the code', 'kernel', 'code');
  list('Buffers', 'buffer', 'memory');
  list('Weights', 'weight', 'weights');
  for (const w of [...r.weight].slice(0, 3)) {
    to.append(el('h3', {}, nameOf('weight', w)), histogram(data.weights[w]));
  }
}

function nodeFacts(g, at) {
  const n = g.nodes[at];
  return [['operator', n.op, true], ['module', n.module], ['Python', n.line],
    ['makes', n.makes.map(v => g.values[v].type).join(', '), true],
    ['reads', n.reads.map(v => g.values[v].name).join(', ')], ['arguments', n.args, true],
    ['MACs', n.macs ? number(n.macs) : ''], ['dialect', g.dialect],
    ['delegate', n.delegate === undefined ? '' : data.delegates[n.delegate].backend]];
}

function layerFacts(at) {
  const l = layers()[at];
  return [['operators', l.operators.join(', ')], ['Python', l.line], ['kernel', l.kernel, true],
    ['result', l.type, true], ['MACs', l.macs ? number(l.macs) : ''],
    ['weights', size(l.weights)], ['code', l.code ? size(l.code) : ''],
    ['arena', size(l.arena)],
    ['instructions', l.instructions_estimate ? '≈ ' + number(l.instructions_estimate) : ''],
    ...(data.measured || []).map(x => [x.how, micro(x.layers_us[state.method][at])])];
}

function bufferFacts(at) {
  const b = method().memory.buffers[at];
  return [['type', b.type, true], ['bytes', `${number(b.bytes)} (${size(b.bytes)})`],
    ['offset', number(b.offset)], ['memory', method().memory.banks[b.bank].name],
    ['holds', b.live.map(s => s.first === s.last ? `step ${s.first}` :
      `steps ${s.first} to ${s.last}`).join(', ')]];
}

function weightFacts(at) {
  const w = data.weights[at];
  return [['type', w.type, true], ['bytes', size(w.bytes)], ['elements', number(w.count)],
    ['range', w.count ? `${digits(w.min)} to ${digits(w.max)}` : ''], ['mean', digits(w.mean)],
    ['std', digits(w.std)], ['zeros', number(w.zeros)],
    ['not finite', w.not_finite ? number(w.not_finite) : '']];
}

function kernelFacts(at) {
  const k = data.code.kernels[at];
  return [['computes', k.doc], ['made', k.tuned ? 'by hand (a micro-kernel)' :
    'from the operators’ definitions'], ['lines', k.lines ? `${k.lines.first}–${k.lines.last}` : '']];
}

// histogram draws the bins of a weight.
function histogram(w) {
  const most = greatest(w.bins, 1);
  let d = '';
  w.bins.forEach((n, i) => {
    const h = n ? Math.max(1, 40 * n / most) : 0;
    if (h) d += `M${i} 40h.9v${-h.toFixed(2)}h-.9z`;
  });
  if (!w.bins.length && w.count) d = 'M18 40h4v-40h-4z';
  return svg('svg', {class: 'hist', viewBox: '0 0 40 40', preserveAspectRatio: 'none',
    role: 'img', 'aria-label': 'histogram'}, svg('path', {d}));
}

// tip shows a text beside the pointer.
let tip;
function showTip(e, text) {
  if (!tip) document.body.append(tip = el('div', {id: 'tip', role: 'tooltip'}));
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = show(text).replaceAll('\\u{a}', '\n');
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - box.width - 8)) + 'px';
  tip.style.top = Math.max(4, Math.min(e.clientY + 14, innerHeight - box.height - 8)) + 'px';
}

// table draws rows with columns [title, value(row), text(row), options]; a value is what is sorted
// by. Rows are of a kind, or each has its own, 'none' if it cannot be chosen. Options: number;
// share, of the sum; wide, for elements.
function table(to, rows, columns, {kind, sort = -1, down = true, first = 300}) {
  const body = el('tbody'), head = el('tr');
  const take = row => row.kind !== 'none' && choose(row.kind || kind, row.at);
  const sums = columns.map(([, value, , o]) => o && o.share ? greatest(rows.map(value)) : 0);
  let shown = first;
  const more = el('button', {class: 'more', onclick: () => { shown += 1000; fill(); }});
  const fill = () => {
    let all = rows;
    if (sort >= 0) {
      const value = columns[sort][1];
      all = [...rows].sort((a, b) => {
        const x = value(a), y = value(b);
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
      });
    }
    body.replaceChildren(...all.slice(0, shown).map(row => el('tr', {'data-at': row.at,
      'data-kind': row.kind || kind, tabindex: 0, onclick: () => take(row),
      onkeydown: e => {
        if (e.key === 'Enter') take(row);
        const next = {ArrowDown: 'nextSibling', ArrowUp: 'previousSibling'}[e.key];
        if (next && e.currentTarget[next]) { e.currentTarget[next].focus(); e.preventDefault(); }
      }}, columns.map(([, value, text, o = {}], i) => {
      const t = text(row);
      const cell = el('td', {class: (o.number ? 'number ' : '') + (o.share ? 'share ' : '') +
        (o.mono ? 'mono' : ''), title: t instanceof Node || Array.isArray(t) ? null : show(t)}, t);
      if (o.share && sums[i] > 0) {
        cell.append(el('i', {style: `width:calc((100% - 16px) * ${value(row) / sums[i]})`}));
      }
      return cell;
    }))));
    more.hidden = shown >= rows.length;
    more.textContent = `Show more of ${number(rows.length)}`;
    [...head.children].forEach((th, i) => {
      const b = th.firstChild;
      if (i === sort) b.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else b.removeAttribute('aria-sort');
    });
    markRows(related());
  };
  columns.forEach(([title, , , o = {}], i) => head.append(el('th',
    {class: o.number ? 'number' : null}, el('button', {onclick: () => {
      down = sort === i ? !down : !!o.number;
      sort = i;
      fill();
    }}, title))));
  const markRows = r => {
    for (const tr of body.children) {
      const set = r[tr.dataset.kind];
      tr.classList.toggle('chosen', !!set && set.has(+tr.dataset.at));
    }
  };
  to.append(el('table', {}, el('thead', {}, head), body), more);
  fill();
  return {mark: (r, scroll = true) => {
    markRows(r);
    const c = scroll && state.fresh && body.querySelector('tr.chosen');
    if (c) c.scrollIntoView({block: 'nearest'});
  }};
}

// choice is a group of buttons of which one is pressed.
function choice(options, now, change) {
  const group = el('span', {class: 'group', role: 'group'});
  for (const [value, title] of options) {
    group.append(el('button', {'aria-pressed': value === now, 'data-value': value, onclick: e => {
      for (const b of group.children) b.setAttribute('aria-pressed', b === e.currentTarget);
      change(value);
    }}, title));
  }
  return group;
}

function legend(ops) {
  const used = new Set(ops.map(kindOf));
  return el('span', {class: 'legend'}, kinds.filter(k => used.has(k[0])).map(k =>
    el('span', {}, el('span', {class: 'chip', style: `background:var(--${k[0]})`}), k[2])));
}
