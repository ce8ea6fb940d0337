// The page is whole without this script: it adds sorting and filtering of tables,
// single files of the data, and turning of surfaces. It asks nobody for anything.
'use strict';

// In the language of the page.
const WORDS = document.body.dataset;

// ---- Tables: a click on a heading sorts, twice the other way round.

// What a cell is sorted by: its number with the prefix of its unit, or its text.
const PREFIX = { n: 1e-9, 'µ': 1e-6, m: 1e-3, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12 };
const UNIT = /^([-+]?[\d.]+(?:e[-+]?\d+)?)\s*(?:([nµmkKMGT]?)(i?)(B\/s|IOPS|TPS|B|s)(?![a-z])|([kM]) IOPS|(%))?/;

function sortKey(cell) {
  const text = cell ? cell.innerText.trim() : '';
  const found = UNIT.exec(text);
  if (!found) return { text };
  const prefix = found[2] || found[5] || '';
  const scale = found[3] ? 1024 ** ('KMGT'.indexOf(prefix) + 1) : PREFIX[prefix] || 1;
  return { number: parseFloat(found[1]) * scale, text };
}

function compare(a, b) {
  const [x, y] = [a.number, b.number];
  if (x !== undefined && y !== undefined) return x - y;
  if (x !== undefined) return -1;
  return y !== undefined ? 1 : a.text.localeCompare(b.text);
}

// Headings of groups and rows that belong to the one before stay where they are.
function sortBody(body, column, descending) {
  const rows = [...body.rows].filter((row) => !row.classList.contains('group'));
  if (rows.some((row) => row.cells.length <= column && row.cells.length < rows[0].cells.length)) {
    rows.sort((a, b) => b.cells.length - a.cells.length);
  }
  const keyed = rows.map((row) => [sortKey(row.cells[column]), row]);
  keyed.sort(([a], [b]) => (descending ? compare(b, a) : compare(a, b)));
  keyed.forEach(([, row]) => body.append(row));
}

function makeSortable(table) {
  table.querySelectorAll('thead th').forEach((head) => {
    const column = head.cellIndex;
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'sort';
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const descending = head.getAttribute('aria-sort') === 'ascending';
      table.querySelectorAll('thead th').forEach((other) => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      [...table.tBodies].forEach((body) => sortBody(body, column, descending));
    });
  });
}

function makeFilterable(table) {
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
  if (rows.length < 8) return;
  const label = document.createElement('label');
  label.className = 'filter';
  const input = document.createElement('input');
  input.type = 'search';
  const count = document.createElement('span');
  count.setAttribute('role', 'status');
  label.append(`${WORDS.filter} `, input, ' ', count);
  const around = table.closest('.scroll') || table;
  around.before(label);
  input.addEventListener('input', () => {
    const wanted = input.value.toLowerCase();
    let shown = 0;
    rows.filter((row) => !row.classList.contains('group')).forEach((row) => {
      row.hidden = !row.innerText.toLowerCase().includes(wanted) && !row.textContent.toLowerCase().includes(wanted);
      shown += row.hidden ? 0 : 1;
    });
    count.textContent = wanted ? `${shown} ${WORDS.shown}` : '';
  });
}

// ---- Data: single files of the archive in the link at the end of the page.

function archiveEntries() {
  const link = document.getElementById('data');
  if (!link || !window.DecompressionStream) return null;
  const bytes = Uint8Array.from(atob(link.href.split(',')[1]), (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  let end = bytes.length - 22;
  while (end > 0 && view.getUint32(end, true) !== 0x06054b50) end -= 1;
  const entries = new Map();
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left -= 1) {
    const size = view.getUint32(at + 20, true);
    const [name, extra, comment] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true));
    const local = view.getUint32(at + 42, true);
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const title = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + name));
    entries.set(title, bytes.subarray(start, start + size));
    at += 46 + name + extra + comment;
  }
  return entries;
}

async function save(entries, name) {
  const inflate = new DecompressionStream('deflate-raw');
  const text = await new Response(new Blob([entries.get(name)]).stream().pipeThrough(inflate)).blob();
  const link = document.createElement('a');
  link.href = URL.createObjectURL(text);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function offerData() {
  let entries;
  document.querySelectorAll('figure[data-chart]').forEach((figure) => {
    const name = `${figure.dataset.chart}.csv`;
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'csv';
    button.textContent = 'CSV';
    button.setAttribute('aria-label', `${WORDS.csv}: ${figure.dataset.chart}`);
    button.addEventListener('click', () => {
      entries = entries || archiveEntries();
      if (entries && entries.has(name)) save(entries, name);
    });
    figure.querySelector('figcaption').append(' ', button);
  });
}

// ---- Surfaces: drawn as chart/svg/surface.rs draws them, from any side.

const CIVIDIS = [[0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115],
  [138, 134, 120], [165, 156, 116], [195, 179, 105], [254, 232, 56]];

function colour(share) {
  const place = Math.min(Math.max(share, 0), 1) * 8;
  const lower = Math.min(Math.floor(place), 7);
  const mix = CIVIDIS[lower].map((from, i) => Math.round(from + (CIVIDIS[lower + 1][i] - from) * (place - lower)));
  return `rgb(${mix.join(',')})`;
}

function add(parent, kind, attributes, text) {
  const element = document.createElementNS(parent.namespaceURI, kind);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  if (text !== undefined) element.textContent = text;
  parent.append(element);
}

function drawSurface(svg, keep, grid, view) {
  const [, , width, height] = svg.getAttribute('viewBox').split(' ').map(Number);
  const values = grid.cells.flat().filter((value) => value !== null);
  const [low, high] = [Math.min(0, ...values), Math.max(...values)];
  const [turn, tilt] = [view.turn, view.tilt].map((degrees) => degrees * Math.PI / 180);
  const scale = width * 0.56 * view.zoom;
  const along = (index, count) => (count > 1 ? index / (count - 1) : 0.5);
  const project = (column, row, up) => {
    const [u, v] = [column - 0.5, row - 0.5];
    const x = u * Math.cos(turn) - v * Math.sin(turn);
    const y = u * Math.sin(turn) + v * Math.cos(turn);
    const drop = y * Math.sin(tilt) - (up - 0.5) * 0.55 * Math.cos(tilt);
    return [width / 2 + scale * x, height * 0.5 + scale * drop, y];
  };
  const [rows, columns] = [grid.rows.length, grid.columns.length];
  const up = (r, c) => (grid.cells[r][c] === null ? null : (grid.cells[r][c] - low) / (high - low || 1));
  const corner = (r, c) => project(along(c, columns), along(r, rows), up(r, c));
  const points = (list) => list.map((p) => `${p[0].toFixed(1)},${p[1].toFixed(1)}`).join(' ');
  svg.replaceChildren(...keep);
  add(svg, 'polygon', { fill: 'none', class: 'grid', points: points([[0, 0], [1, 0], [1, 1], [0, 1]].map(([c, r]) => project(c, r, 0))) });
  const facets = [];
  for (let r = 0; r + 1 < rows; r += 1) {
    for (let c = 0; c + 1 < columns; c += 1) {
      const corners = [[r, c], [r, c + 1], [r + 1, c + 1], [r + 1, c]];
      const ups = corners.map(([i, j]) => up(i, j));
      if (ups.includes(null)) continue;
      const placed = corners.map(([i, j]) => corner(i, j));
      facets.push([placed.reduce((sum, p) => sum + p[2], 0), ups.reduce((a, b) => a + b) / 4, placed]);
    }
  }
  facets.sort((a, b) => a[0] - b[0]).forEach(([, share, placed]) => {
    add(svg, 'polygon', { class: 'mesh', fill: colour(share), points: points(placed) });
  });
  if (grid.edge !== null) {
    const line = grid.columns.map((_, c) => c).filter((c) => grid.cells[grid.edge][c] !== null);
    add(svg, 'polyline', { class: 'edge', points: points(line.map((c) => corner(grid.edge, c))) });
  }
  const centre = project(0.5, 0.5, 0);
  const name = (place, text, kind) => {
    const away = place[0] > centre[0] ? '' : ' end';
    add(svg, 'text', { class: `small${kind}${away}`, x: place[0] + (away ? -6 : 6), y: place[1] + 14 }, text);
  };
  const near = [0, 1].sort((a, b) => project(0.5, b, 0)[2] - project(0.5, a, 0)[2])[0];
  const side = [0, 1].sort((a, b) => project(b, 0.5, 0)[2] - project(a, 0.5, 0)[2])[0];
  const every = (count) => Math.max(1, Math.ceil(count / 6));
  grid.columns.forEach((text, c) => c % every(columns) || name(project(along(c, columns), near, 0), text, ''));
  grid.rows.forEach((text, r) => r % every(rows) || name(project(side, along(r, rows), 0), text, ''));
}

function makeTurnable(figure) {
  const grid = JSON.parse(figure.dataset.surface);
  const svg = figure.querySelector('svg');
  // The line on top and the one at the bottom are no part of the view.
  const keep = [...svg.children].filter((child) => child.tagName === 'text' && child.getAttribute('x') === '0');
  const view = { turn: 35, tilt: 28, zoom: 1 };
  const turn = (turned, tilted, zoomed) => {
    view.turn = (view.turn + turned + 360) % 360;
    view.tilt = Math.min(Math.max(view.tilt + tilted, 5), 85);
    view.zoom = Math.min(Math.max(view.zoom * zoomed, 0.5), 4);
    drawSurface(svg, keep, grid, view);
  };
  const around = document.createElement('div');
  around.className = 'turnable';
  around.tabIndex = 0;
  around.setAttribute('role', 'group');
  around.setAttribute('aria-label', WORDS.turn);
  svg.before(around);
  around.append(svg);
  let from = null;
  around.addEventListener('pointerdown', (event) => {
    from = [event.clientX, event.clientY];
    around.setPointerCapture(event.pointerId);
  });
  around.addEventListener('pointermove', (event) => {
    if (!from) return;
    turn((from[0] - event.clientX) * 0.5, (event.clientY - from[1]) * 0.3, 1);
    from = [event.clientX, event.clientY];
  });
  ['pointerup', 'pointercancel'].forEach((kind) => around.addEventListener(kind, () => { from = null; }));
  around.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && document.activeElement !== around) return;
    event.preventDefault();
    turn(0, 0, event.deltaY < 0 ? 1.1 : 1 / 1.1);
  }, { passive: false });
  const keys = {
    ArrowLeft: [10, 0, 1], ArrowRight: [-10, 0, 1], ArrowUp: [0, -5, 1], ArrowDown: [0, 5, 1], '+': [0, 0, 1.2], '-': [0, 0, 1 / 1.2],
  };
  around.addEventListener('keydown', (event) => {
    if (event.key === '0') Object.assign(view, { turn: 35, tilt: 28, zoom: 1 });
    const step = keys[event.key] || (event.key === '0' ? [0, 0, 1] : null);
    if (!step) return;
    event.preventDefault();
    turn(...step);
  });
}

document.querySelectorAll('table').forEach((table) => {
  if (table.tHead && !table.classList.contains('matrix')) {
    makeSortable(table);
    makeFilterable(table);
  }
});
offerData();
document.querySelectorAll('figure[data-surface]').forEach(makeTurnable);
