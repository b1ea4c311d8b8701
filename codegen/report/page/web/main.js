// What is around the views: tabs, search, keys, theme, printing.
'use strict';
const tabOrder = ['overview', 'graph', 'operators', 'kernels', 'memory', 'flash', 'code', 'weights',
  'quantization', 'delegates'];
const shownViews = () => tabOrder.filter(v => views[v].has());

function drawTabs() {
  $('tabs').replaceChildren(...shownViews().map(v => el('button', {id: 'tab-' + v, role: 'tab',
    'aria-controls': 'view', onclick: () => open(v), onkeydown: e => {
      const all = [...$('tabs').children], at = all.indexOf(e.currentTarget);
      const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1}[e.key];
      if (to === undefined || !all[to]) return;
      open(shownViews()[to]);
      all[to].focus();
      e.preventDefault();
    }}, views[v].title)));
}

// Search looks through names, operators, modules and lines of the method that is shown.
let things = null, found = [], marked = 0;
function everything() {
  if (things) return things;
  const m = method();
  things = [];
  const add = (kind, at, view, note, ...words) => things.push({kind, at, view, note,
    text: words.join(' ').toLowerCase()});
  m.before.nodes.forEach((n, i) => add('before', i, 'graph', base(n.op), n.name, n.op, n.module, n.line));
  m.after.nodes.forEach((n, i) => add('after', i, 'graph', base(n.op) + ', lowered', n.name, n.op,
    n.module, n.line));
  layers().forEach((l, i) => add('layer', i, 'kernels', 'layer', l.name, l.kernel, ...l.operators));
  if (m.memory) m.memory.buffers.forEach((b, i) => add('buffer', i, 'memory', 'buffer', b.name));
  data.weights.forEach((w, i) => add('weight', i, 'weights', 'weight', w.name));
  data.code.kernels.forEach((k, i) => add('kernel', i, 'code', 'kernel', k.name));
  return things;
}

function look() {
  const words = $('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  found = words.length ? everything().filter(t => words.every(w => t.text.includes(w))).slice(0, 40) :
    [];
  marked = 0;
  $('found').hidden = !found.length;
  $('search').setAttribute('aria-expanded', found.length > 0);
  $('found').replaceChildren(...found.map((t, i) => el('li', {role: 'option', id: 'found-' + i,
    onmousedown: e => { e.preventDefault(); take(i); }},
  nameOf(t.kind, t.at), ' ', el('span', {class: 'faint'}, t.note))));
  hint();
}

function hint() {
  [...$('found').children].forEach((li, i) => {
    li.setAttribute('aria-selected', i === marked);
    if (i === marked) {
      li.scrollIntoView({block: 'nearest'});
      $('search').setAttribute('aria-activedescendant', li.id);
    }
  });
}

function take(i) {
  const t = found[i];
  $('found').hidden = true;
  if (!t) return;
  const nodes = t.kind === 'before' || t.kind === 'after';
  if (nodes) state.graph = t.kind;
  choose(t.kind, t.at, nodes && state.view === 'operators' ? 'operators' : t.view);
  $('view').focus();
}

function theme(dark) {
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
}
const isDark = () => document.documentElement.dataset.theme === 'dark';

function chooseMethod(i) {
  state.method = i;
  state.chosen = null;
  things = null;
  graphView.path = [];
  memoryView.bank = 0;
  drawTabs();
  open(views[state.view].has() ? state.view : 'overview');
}

function start() {
  theme(matchMedia('(prefers-color-scheme: dark)').matches);
  const t = data.takes;
  document.title = show(t.model) + ' – etgen report';
  $('model').append(show(t.model), el('small', {},
    `${t.language === 'c' ? 'C' : 'Go'} for ${t.target}, optimized for ${t.optimize}`));
  $('model').title = show(data.command);
  $('method').append(...data.methods.map((m, i) => el('option', {value: i}, m.name)));
  $('method').hidden = data.methods.length < 2;
  $('method').addEventListener('change', e => chooseMethod(+e.target.value));
  $('theme').addEventListener('click', () => theme(!isDark()));
  $('search').addEventListener('input', look);
  $('search').addEventListener('focus', look);
  $('search').addEventListener('blur', () => { $('found').hidden = true; });
  $('search').addEventListener('keydown', e => {
    if (e.key === 'ArrowDown') marked = Math.min(found.length - 1, marked + 1);
    else if (e.key === 'ArrowUp') marked = Math.max(0, marked - 1);
    else if (e.key === 'Enter') return take(marked);
    else if (e.key === 'Escape') { $('search').value = ''; look(); $('search').blur(); return; }
    else return;
    hint();
    e.preventDefault();
  });
  document.addEventListener('keydown', e => {
    if (e.target.matches('input, select') || e.ctrlKey || e.metaKey || e.altKey) return;
    const by = {'+': 1.3, '=': 1.3, '-': 1 / 1.3, '0': 0}[e.key];
    if (e.key === '/') $('search').focus();
    else if (/^[1-9]$/.test(e.key) && shownViews()[e.key - 1]) open(shownViews()[e.key - 1]);
    else if (by !== undefined && state.view === 'graph') by ? zoom(by) : fit();
    else if (by !== undefined && state.view === 'memory') zoomMemory(by);
    else if (e.key === '[' || e.key === ']') {
      state.graph = e.key === '[' ? 'before' : 'after';
      graphView.path = [];
      const c = state.chosen;
      if (c && (c.kind === 'before' || c.kind === 'after') && c.kind !== state.graph) {
        const [n] = related()[state.graph];
        state.chosen = n === undefined ? null : {kind: state.graph, at: n};
      }
      open(state.view);
    } else if (e.key === 't') theme(!isDark());
    else if (e.key === 'Escape') choose(null);
    else return;
    e.preventDefault();
  });
  let resized;
  addEventListener('resize', () => {
    clearTimeout(resized);
    resized = setTimeout(() => { if (state.view === 'memory') zoomMemory(1); }, 150);
  });
  addEventListener('beforeprint', () => { start.dark = isDark(); theme(false); });
  addEventListener('afterprint', () => theme(start.dark));
  const [view, m, kind, at] = location.hash.slice(1).split('/');
  if (data.methods[+m]) state.method = +m;
  $('method').value = state.method;
  drawTabs();
  if (Object.hasOwn(related(), kind) && nameAt(kind, +at)) state.chosen = {kind, at: +at};
  if (kind === 'after') state.graph = 'after';
  open(Object.hasOwn(views, view) && views[view].has() ? view : 'overview', false);
}

// nameAt reports whether there is such a thing.
function nameAt(kind, at) {
  try {
    return nameOf(kind, at) !== undefined;
  } catch {
    return false;
  }
}
start();
