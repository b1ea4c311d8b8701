// The graph: a level at a time, whose boxes are nodes, groups of nodes of a module, and ports. A
// level is laid out by dagre when it is opened, so a large model costs what is looked at.
'use strict';
const graphView = {level: [], fold: null, box: null, scale: 1};
const mostFlat = 60; // nodes of a level that modules are not folded in by themselves
const mostItems = 160; // boxes of a level

// levelOf gives the regions and nodes of a level: [{title, nodes}]. A path has steps {node} and
// {from, to, depth, title}, the latter of a run of the nodes of the level above.
function levelOf(g, path) {
  let clusters = [{title: '', region: 0, nodes: inRegion(g, 0), depth: 0}];
  for (const step of path) {
    if (step.node !== undefined) {
      clusters = g.regions.map((r, i) => ({title: r.name, region: i, nodes: inRegion(g, i), depth: 0}))
        .filter((c, i) => g.regions[i].node === step.node);
    } else {
      const c = clusters.find(c => c.region === step.region);
      clusters = [{...c, nodes: c.nodes.filter(n => n >= step.from && n <= step.to),
        depth: step.depth}];
    }
  }
  return clusters;
}
const inRegion = (g, region) => g.nodes.map((n, i) => i).filter(i => g.nodes[i].region === region);

// itemsOf folds runs of nodes of one module, and long lists, into groups.
function itemsOf(g, cluster) {
  let {nodes, depth} = cluster;
  const wants = graphView.fold === null ? nodes.length > mostFlat : graphView.fold;
  const part = (i, d) => (g.nodes[i].module || '').split('.').slice(0, d + 1).join('.');
  let items = nodes.map(i => ({node: i, nodes: [i]}));
  const deepest = greatest(nodes.map(i => (g.nodes[i].module || '').split('.').length));
  for (let d = depth; wants && d < deepest; d++) {
    const runs = [];
    for (const i of nodes) {
      const name = part(i, d), last = runs[runs.length - 1];
      const inside = g.nodes[i].module.split('.').length > d && name;
      if (last && inside && last.name === name) last.nodes.push(i);
      else runs.push({name: inside ? name : '', nodes: [i]});
    }
    if (runs.length > 1 || d === deepest - 1) {
      items = runs.map(r => r.nodes.length > 1 && runs.length > 1 ?
        {title: r.name, nodes: r.nodes, depth: d + 1} : null)
        .flatMap((x, k) => x || runs[k].nodes.map(i => ({node: i, nodes: [i]})));
      break;
    }
  }
  if (items.length > mostItems) {
    const per = Math.max(40, Math.ceil(items.length / mostItems)), long = items;
    items = [];
    for (let i = 0; i < long.length; i += per) {
      const some = long.slice(i, i + per);
      const all = some.flatMap(x => x.nodes);
      items.push(some.length === 1 ? some[0] : {title: `nodes ${i + 1} to ${i + some.length}`,
        nodes: all, depth});
    }
  }
  return items;
}

// boxes of a level, with the edges between them.
function boxesOf(g, path) {
  const clusters = levelOf(g, path), boxes = [], edges = new Map(), where = new Map();
  const l = links(), kind = state.graph;
  clusters.forEach((c, k) => itemsOf(g, c).forEach(item => {
    const id = boxes.length;
    boxes.push({...item, id, cluster: clusters.length > 1 || path.length && path[path.length - 1].node
      !== undefined ? k : -1, region: c.region});
    item.nodes.forEach(n => where.set(n, id));
  }));
  const ports = new Map();
  const port = (v, cluster, out) => {
    const key = v + (out ? 'out' : 'in') + cluster;
    if (!ports.has(key)) {
      ports.set(key, boxes.length);
      boxes.push({id: boxes.length, port: v, out, cluster, nodes: []});
    }
    return ports.get(key);
  };
  const edge = (from, to, v) => {
    if (from !== to) edges.set(from + '-' + to, {from, to, v});
  };
  // Nodes of a region read those of the ones around it: they are in the box of the node that has it.
  const boxOf = n => {
    while (n !== undefined && n >= 0 && !where.has(n)) n = g.regions[g.nodes[n].region].node;
    return where.get(n);
  };
  const outside = boxes.map(b => b.id);
  for (const id of outside) {
    const b = boxes[id], own = new Set(b.nodes);
    const all = b.nodes.flatMap(n => [n, ...below(g, n)]);
    all.forEach(n => own.add(n));
    for (const n of all) {
      for (const v of g.nodes[n].reads) {
        const from = l.made[kind].get(v);
        if (from !== undefined && own.has(from) || g.values[v].weight >= 0) continue;
        const at = from === undefined ? undefined : where.get(from);
        if (at !== undefined) edge(at, id, v);
        else if (!inner(g, n, b, v)) edge(port(v, b.cluster, false), id, v);
      }
    }
  }
  clusters.forEach((c, k) => {
    const of = boxes.find(b => b.region === c.region);
    if (c.nodes.length !== inRegion(g, c.region).length) { // a part: what others read goes out
      for (const n of c.nodes) {
        for (const v of g.nodes[n].makes) {
          const read = (l.readers[kind].get(v) || []).some(r => boxOf(r) === undefined);
          if (read) edge(where.get(n), port(v, -1, true), v);
        }
      }
      return;
    }
    for (const v of g.regions[c.region].outputs) {
      const from = l.made[kind].get(v), cluster = of ? of.cluster : path.length ? k : -1;
      const at = from === undefined ? undefined : where.get(from);
      edge(at === undefined ? port(v, cluster, false) : at, port(v, cluster, true), v);
    }
  });
  return {boxes, edges: [...edges.values()], clusters};
}

// below are the nodes in the regions of a node.
function below(g, n) {
  const out = [];
  g.regions.forEach((r, i) => {
    if (r.node === n) inRegion(g, i).forEach(x => out.push(x, ...below(g, x)));
  });
  return out;
}

// inner reports whether a value is an input of a region in a box.
function inner(g, n, b, v) {
  for (let r = g.nodes[n].region; r !== b.region && r > 0; r = g.nodes[g.regions[r].node].region) {
    if (g.regions[r].inputs.includes(v)) return true;
  }
  return false;
}

const measureText = document.createElement('canvas').getContext('2d');
function textWidth(text, font) {
  measureText.font = font;
  return measureText.measureText(text).width;
}
const clip = (s, n) => s.length > n ? s.slice(0, n - 1) + '…' : s;

function labelsOf(g, b) {
  if (b.port !== undefined) {
    const v = g.values[b.port];
    return {title: clip(show(v.name), 30), sub: clip(show(v.type), 34)};
  }
  if (b.node === undefined) {
    return {title: clip(show(b.title), 34), sub: b.nodes.length + ' nodes'};
  }
  const n = g.nodes[b.node];
  const types = n.makes.map(v => g.values[v].type);
  return {title: clip(show(base(n.op)), 34),
    sub: clip(show(types.length > 1 ? `${types[0]}, … ${types.length}` : types[0] || ''), 36)};
}

function drawGraph(to) {
  const g = graphOf(state.graph);
  const canvas = svg('svg', {id: 'graph', tabindex: 0, role: 'application',
    'aria-label': 'Graph: arrows go from box to box, Enter opens, Backspace goes up'});
  const crumbs = el('span', {class: 'crumbs'});
  graphView.path ||= [];
  to.append(el('div', {class: 'bar'},
    choice([['before', 'As read'], ['after', 'After lowering']], state.graph, v => {
      const r = related();
      state.graph = v;
      graphView.path = [];
      const [n] = r[v];
      if (n !== undefined) reveal(v, n);
      layout();
      views.graph.mark(related());
    }), crumbs, el('span', {class: 'space'}), legend(g.nodes.map(n => n.op)),
    el('label', {}, el('input', {type: 'checkbox', id: 'fold', onchange: e => {
      graphView.fold = e.target.checked;
      graphView.path = [];
      layout();
      views.graph.mark(related());
    }}), ' fold modules'),
    el('span', {class: 'group'},
      el('button', {title: 'Smaller ( - )', onclick: () => zoom(1 / 1.3)}, '−'),
      el('button', {title: 'All of it ( 0 )', onclick: fit}, 'Fit'),
      el('button', {title: 'Larger ( + )', onclick: () => zoom(1.3)}, '+'))), canvas);
  graphView.canvas = canvas;
  graphView.crumbs = crumbs;
  panning(canvas);
  layout();
}

// layout lays the level out and draws it.
function layout() {
  const g = graphOf(state.graph), canvas = graphView.canvas;
  const {boxes, edges, clusters} = boxesOf(g, graphView.path);
  const graph = new dagre.graphlib.Graph({compound: true, multigraph: false});
  graph.setGraph({rankdir: 'TB', nodesep: 22, ranksep: 30, marginx: 20, marginy: 26,
    ranker: boxes.length > 400 ? 'longest-path' : 'network-simplex'});
  graph.setDefaultEdgeLabel(() => ({}));
  const used = new Set(boxes.map(b => b.cluster).filter(c => c >= 0));
  used.forEach(c => graph.setNode('c' + c, {}));
  for (const b of boxes) {
    b.label = labelsOf(g, b);
    b.w = Math.max(76, 24 + Math.max(textWidth(b.label.title, '12.5px system-ui'),
      textWidth(b.label.sub, '10.5px monospace')));
    b.h = b.label.sub ? 40 : 28;
    graph.setNode('b' + b.id, {width: b.w, height: b.h});
    if (b.cluster >= 0) graph.setParent('b' + b.id, 'c' + b.cluster);
  }
  edges.forEach(e => graph.setEdge('b' + e.from, 'b' + e.to));
  dagre.layout(graph);
  const content = svg('g', {id: 'content'});
  used.forEach(c => {
    const n = graph.node('c' + c);
    content.append(svg('rect', {class: 'cluster', x: n.x - n.width / 2, y: n.y - n.height / 2,
      width: n.width, height: n.height, rx: 10}), svg('text', {class: 'cluster-name',
      x: n.x - n.width / 2 + 4, y: n.y - n.height / 2 - 6}, clusters[c].title));
  });
  for (const e of edges) {
    const points = graph.edge('b' + e.from, 'b' + e.to).points;
    content.append(svg('path', {class: 'edge', 'marker-end': 'url(#arrow)', d: curve(points)},
      svg('title', {}, `${g.values[e.v].name}: ${g.values[e.v].type}`)));
  }
  for (const b of boxes) {
    const at = graph.node('b' + b.id);
    Object.assign(b, {x: at.x, y: at.y});
    content.append(boxElement(g, b));
  }
  canvas.replaceChildren(svg('defs', {}, svg('marker', {id: 'arrow', viewBox: '0 0 8 8', refX: 7,
    refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto'},
  svg('path', {d: 'M0 0L8 4L0 8z', fill: 'var(--faint)'}))), content);
  const size = graph.graph();
  Object.assign(graphView, {boxes, edges, width: size.width || 100, height: size.height || 100});
  $('fold').checked = graphView.fold === null ? levelOf(g, []).some(c => c.nodes.length > mostFlat) :
    graphView.fold;
  trail();
  home();
}

function boxElement(g, b) {
  const kind = b.node === undefined ? null : kindOf(g.nodes[b.node].op);
  const opens = b.node === undefined ? b.port === undefined : below(g, b.node).length > 0;
  const x = b.x - b.w / 2, y = b.y - b.h / 2;
  const name = b.node === undefined ? b.label.title : nameOf(state.graph, b.node);
  const e = svg('g', {class: 'box' + (b.port !== undefined ? ' port' : opens ? ' group' : ''),
    id: 'box-' + b.id, tabindex: -1, role: 'button', 'aria-label': `${name}, ${b.label.title}, ${b.label.sub}` +
    (opens ? ', Enter opens it' : ''), onclick: () => pick(b), ondblclick: () => enter(b),
    onfocus: () => { graphView.box = b; }},
  svg('title', {}, b.node === undefined ? b.label.title :
    `${name}\n${g.nodes[b.node].op}\n${g.nodes[b.node].line} ${g.nodes[b.node].module}`),
  svg('rect', {class: 'body', x, y, width: b.w, height: b.h, rx: b.port !== undefined ? 14 : 6}));
  if (kind) {
    e.append(svg('rect', {class: 'stripe', x: x + 1, y: y + 5, width: 4, height: b.h - 10, rx: 2,
      style: `fill:var(--${kind})`}));
  }
  const middle = b.x + (kind ? 2 : 0);
  e.append(svg('text', {x: middle, y: b.label.sub ? b.y - 3 : b.y + 4, 'text-anchor': 'middle'},
    b.label.title + (opens ? '  ▸' : '')));
  if (b.label.sub) {
    e.append(svg('text', {class: 'sub', x: middle, y: b.y + 12, 'text-anchor': 'middle'},
      b.label.sub));
  }
  return e;
}

// curve is a smooth way through points.
function curve(p) {
  let d = `M${p[0].x.toFixed(1)} ${p[0].y.toFixed(1)}`;
  for (let i = 1; i < p.length - 1; i++) {
    const mx = (p[i].x + p[i + 1].x) / 2, my = (p[i].y + p[i + 1].y) / 2;
    const [ex, ey] = i === p.length - 2 ? [p[i + 1].x, p[i + 1].y] : [mx, my];
    d += `Q${p[i].x.toFixed(1)} ${p[i].y.toFixed(1)} ${ex.toFixed(1)} ${ey.toFixed(1)}`;
  }
  if (p.length === 2) d += `L${p[1].x.toFixed(1)} ${p[1].y.toFixed(1)}`;
  return d;
}

function pick(b) {
  graphView.box = b;
  $('box-' + b.id).focus({preventScroll: true});
  if (b.node !== undefined) choose(state.graph, b.node);
}

// enter opens a group, or the regions of a node.
function enter(b) {
  const g = graphOf(state.graph);
  if (b.port !== undefined) return;
  if (b.node === undefined) {
    graphView.path.push({region: b.region, from: b.nodes[0], to: b.nodes[b.nodes.length - 1],
      depth: b.depth, title: b.title});
  } else if (below(g, b.node).length) {
    graphView.path.push({node: b.node, title: nameOf(state.graph, b.node)});
  } else {
    return;
  }
  layout();
  views.graph.mark(related());
  focusBox(graphView.boxes[0]);
}

function up(to = graphView.path.length - 1) {
  if (to < 0) return;
  graphView.path.length = to;
  layout();
  views.graph.mark(related());
  graphView.canvas.focus();
}

function trail() {
  const steps = [nameOf2(), ...graphView.path.map(s => s.title)];
  graphView.crumbs.replaceChildren(...steps.flatMap((s, i) => [
    i ? el('span', {class: 'faint'}, ' › ') : '',
    i < steps.length - 1 ? el('button', {class: 'link', onclick: () => up(i)}, s) : el('b', {}, s)]));
}
const nameOf2 = () => method().name;

// reveal opens the level that a node is in.
function reveal(kind, n) {
  state.graph = kind;
  const g = graphOf(kind);
  graphView.path = [];
  for (let guard = 0; guard < 64; guard++) {
    const {boxes} = boxesOf(g, graphView.path);
    const chain = new Set([n]);
    for (let r = g.nodes[n].region; r > 0; r = g.nodes[g.regions[r].node].region) {
      chain.add(g.regions[r].node);
    }
    const b = boxes.find(b => b.nodes.some(x => chain.has(x)));
    if (!b || b.node === n) return;
    graphView.path.push(b.node === undefined ? {region: b.region, from: b.nodes[0],
      to: b.nodes[b.nodes.length - 1], depth: b.depth, title: b.title} :
      {node: b.node, title: nameOf(kind, b.node)});
  }
}

function place() {
  const v = graphView;
  $('content').setAttribute('transform', `translate(${v.x} ${v.y}) scale(${v.scale})`);
}

function fit() {
  const v = graphView, box = v.canvas.getBoundingClientRect();
  v.scale = Math.min(1.2, (box.width || 900) / v.width, (box.height || 600) / v.height);
  v.x = ((box.width || 900) - v.width * v.scale) / 2;
  v.y = ((box.height || 600) - v.height * v.scale) / 2;
  place();
}

// home shows the top of the graph as large as can be read.
function home() {
  fit();
  const v = graphView, box = v.canvas.getBoundingClientRect();
  if (v.scale < .75) {
    v.scale = Math.max(v.scale, Math.min(.95, (box.width || 900) / v.width));
    v.scale = Math.max(v.scale, .45);
    v.x = ((box.width || 900) - v.width * v.scale) / 2;
    v.y = 0;
    place();
  }
}

function zoom(by, at) {
  const v = graphView, box = v.canvas.getBoundingClientRect();
  const cx = at ? at.clientX - box.left : box.width / 2;
  const cy = at ? at.clientY - box.top : box.height / 2;
  const scale = Math.min(4, Math.max(.02, v.scale * by));
  v.x = cx - (cx - v.x) * scale / v.scale;
  v.y = cy - (cy - v.y) * scale / v.scale;
  v.scale = scale;
  place();
}

// focusBox moves the focus to a box, and the box into sight.
function focusBox(b) {
  if (!b) return;
  graphView.box = b;
  const v = graphView, size = v.canvas.getBoundingClientRect();
  const sx = v.x + b.x * v.scale, sy = v.y + b.y * v.scale;
  if (sx < 60 || sx > size.width - 60) v.x += size.width / 2 - sx;
  if (sy < 40 || sy > size.height - 40) v.y += size.height / 2 - sy;
  place();
  $('box-' + b.id).focus({preventScroll: true});
}

// toward returns the nearest thing in a direction.
function toward(all, from, key) {
  const [dx, dy] = {ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0]}[key];
  let best = null, least = Infinity;
  for (const b of all) {
    const x = b.x - from.x, y = b.y - from.y;
    const along = x * dx + y * dy, across = Math.abs(x * dy) + Math.abs(y * dx);
    const cost = along + 2.5 * across;
    if (b !== from && along > 1 && cost < least) [best, least] = [b, cost];
  }
  return best;
}

function panning(canvas) {
  let last = null;
  canvas.addEventListener('pointerdown', e => { last = e; });
  canvas.addEventListener('pointermove', e => {
    if (!last || !(e.buttons & 1)) return;
    graphView.x += e.clientX - last.clientX;
    graphView.y += e.clientY - last.clientY;
    last = e;
    place();
  });
  canvas.addEventListener('wheel', e => {
    e.preventDefault();
    if (e.ctrlKey || e.metaKey) return zoom(Math.exp(-e.deltaY / 200), e);
    graphView.x -= e.deltaX;
    graphView.y -= e.deltaY;
    place();
  }, {passive: false});
  canvas.addEventListener('keydown', e => {
    const b = graphView.boxes.includes(graphView.box) ? graphView.box : null;
    if (e.key.startsWith('Arrow')) focusBox(b ? toward(graphView.boxes, b, e.key) : graphView.boxes[0]);
    else if (e.key === 'Enter' && b) { pick(b); enter(b); }
    else if (e.key === ' ' && b) pick(b);
    else if (e.key === 'Backspace' || e.key === 'Escape' && graphView.path.length) up();
    else return;
    e.preventDefault();
    e.stopPropagation();
  });
}

addView('graph', 'Graph', {
  whole: true,
  draw(to) {
    const c = state.chosen;
    if (c) {
      const r = related();
      const kind = c.kind === 'before' || c.kind === 'after' ? c.kind :
        r[state.graph].size ? state.graph : 'after';
      const [n] = c.kind === kind ? [c.at] : r[kind];
      if (n !== undefined) reveal(kind, n);
    }
    drawGraph(to);
  },
  mark(r) {
    const set = r[state.graph], c = state.chosen;
    if (state.fresh && c && c.kind !== state.graph && (c.kind === 'before' || c.kind === 'after')) {
      // another form was asked for: it is what the view shows
      return void open('graph');
    }
    if (state.fresh && c && c.kind === state.graph && !graphView.boxes.some(b => b.node === c.at)) {
      reveal(state.graph, c.at);
      layout();
    }
    let first = null;
    for (const b of graphView.boxes) {
      const e = $('box-' + b.id), has = b.nodes.some(n => set.has(n));
      e.classList.toggle('related', has);
      e.classList.toggle('chosen', !!c && c.kind === state.graph && b.node === c.at);
      if (has && !first) first = b;
    }
    if (first && state.fresh && !graphView.canvas.contains(document.activeElement)) {
      const v = graphView, size = v.canvas.getBoundingClientRect();
      const sy = v.y + first.y * v.scale, sx = v.x + first.x * v.scale;
      if (sy < 30 || sy > size.height - 30) v.y += size.height / 2 - sy;
      if (sx < 60 || sx > size.width - 60) v.x += size.width / 2 - sx;
      place();
    }
  },
});
