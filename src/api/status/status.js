// The status page: polls /v1/system, /metrics and the job list, and follows /v1/events. No state but the API key, which
// lives as long as the tab.
'use strict';

const POLL_MS = 2000;
const EVENTS_SHOWN = 200;
const $ = (id) => document.getElementById(id);
let key = sessionStorage.getItem('pawl-key') || '';
let finishedBefore = null;
let lastCursor = '';

class Refused extends Error {}

async function get(path, options = {}) {
  const headers = { ...(options.headers || {}) };
  if (key) headers.Authorization = 'Bearer ' + key;
  const response = await fetch(path, { ...options, headers, cache: 'no-store' });
  if (response.status === 401 || response.status === 403) throw new Refused(response.statusText);
  if (!response.ok) throw new Error(path + ' answered ' + response.status);
  return response;
}

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function row(cells) {
  const made = element('tr');
  for (const cell of cells) {
    const td = element('td');
    td.append(cell instanceof Node ? cell : document.createTextNode(cell));
    made.append(td);
  }
  return made;
}

const number = (value) => Number(value).toLocaleString('en-US');
const micros = (us) => us >= 1000 ? (us / 1000).toFixed(us >= 10000 ? 0 : 1) + ' ms' : us + ' µs';

function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) { value /= 1024; ++at; }
  return value.toFixed(at > 0 && value < 10 ? 1 : 0) + ' ' + units[at];
}

function span(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return seconds + ' s';
  if (seconds < 3600) return Math.floor(seconds / 60) + ' min';
  if (seconds < 86400) return Math.floor(seconds / 3600) + ' h';
  return Math.floor(seconds / 86400) + ' d';
}

function health(text, kind) {
  $('health').textContent = text;
  $('health').className = 'pill ' + kind;
}

const stateKind = { completed: 'good', active: 'cool', available: '', scheduled: '', pending: '', retryable: 'warm',
                    cancelled: '', discarded: 'bad' };
const eventKind = (type) => type.endsWith('.completed') ? 'good' : /failed|discarded|expired/.test(type) ? 'bad'
  : /retrying|requeued|paused|skipped/.test(type) ? 'warm' : /started|triggered|progress/.test(type) ? 'cool' : '';

// name{label="value",…} number
function parseMetrics(text) {
  const families = new Map();
  for (const line of text.split('\n')) {
    const match = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!match) continue;
    const labels = {};
    for (const [, name, value] of (match[2] || '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    if (!families.has(match[1])) families.set(match[1], []);
    families.get(match[1]).push({ labels, value: Number(match[3]) });
  }
  return families;
}

function collectQueues(families) {
  const queues = new Map();
  const of = ({ queue, tenant }) => {
    const name = tenant ? tenant + ' / ' + queue : queue;
    if (!queues.has(name)) queues.set(name, { name, paused: false });
    return queues.get(name);
  };
  for (const family of ['pawl_queue_jobs', 'pawl_queue_jobs_finished_total'])
    for (const { labels, value } of families.get(family) || []) of(labels)[labels.state] = value;
  for (const { labels, value } of families.get('pawl_queue_paused') || []) of(labels).paused = value === 1;
  return [...queues.values()];
}

function showQueues(queues, now) {
  const finished = new Map(queues.map((q) => [q.name, q.completed + q.discarded + q.cancelled]));
  const rate = (name) => {
    if (!finishedBefore || !finishedBefore.counts.has(name)) return '–';
    const per = (finished.get(name) - finishedBefore.counts.get(name)) * 1000 / (now - finishedBefore.at);
    return per === 0 ? '0' : per < 10 ? per.toFixed(1) : number(Math.round(per));
  };
  const rows = queues.map((q) => row([q.name, number(q.available), number(q.active), number(q.scheduled), number(q.retryable),
    number(q.completed), number(q.discarded), rate(q.name), q.paused ? element('span', 'paused', 'pill warm') : '']));
  $('queues').replaceChildren(...(rows.length ? rows : [row([element('span', 'No queue yet: push a job.', 'empty')])]));
  finishedBefore = { counts: finished, at: now };
}

function showTiles(system) {
  const jobs = system.jobs;
  const tiles = [
    ['waiting', number(jobs.available + jobs.scheduled + jobs.retryable + jobs.pending)],
    ['active', number(jobs.active)],
    ['completed', number(jobs.completed)],
    ['dead letter', number(jobs.dead_letter)],
    ['fsync p50', micros(system.store.fsync.p50_us)],
    ['fsync p99', micros(system.store.fsync.p99_us)],
    ['commits', number(system.store.commits)],
    ['memory', bytes(system.process.resident_bytes)],
  ];
  $('tiles').replaceChildren(...tiles.map(([name, value]) => {
    const tile = element('div', undefined, 'tile');
    tile.append(element('b', value), element('span', name));
    return tile;
  }));
  $('about').textContent = 'version ' + system.version + ' · store ' + system.store.type + ' · up ' + span(system.uptime_ms) +
    ' · journal ' + number(system.journal.first) + '–' + number(system.journal.head);
  health(system.draining ? 'draining' : 'ok', system.draining ? 'warm' : 'good');
}

function showJobs(jobs) {
  const rows = jobs.map((job) => row([element('code', short(job.id)), job.type, job.queue,
    element('span', job.state, 'pill ' + (stateKind[job.state] || '')), job.attempt + ' / ' + job.max_attempts,
    span(Date.now() - Date.parse(job.created_at))]));
  $('jobs').replaceChildren(...(rows.length ? rows : [row([element('span', 'No job yet.', 'empty')])]));
}

// A key may be allowed to see the figures and not the jobs.
async function pollJobs() {
  try {
    const list = await get('/ojs/v1/admin/jobs?limit=20').then((r) => r.json());
    showJobs(list.items);
  } catch (error) {
    $('jobs').replaceChildren(row([element('span', 'The jobs cannot be read: ' + error.message, 'empty')]));
  }
}

async function poll() {
  try {
    const [system, metrics] = await Promise.all([get('/v1/system').then((r) => r.json()), get('/metrics').then((r) => r.text())]);
    showTiles(system);
    showQueues(collectQueues(parseMetrics(metrics)), performance.now());
    $('login').hidden = true;
    await pollJobs();
  } catch (error) {
    if (error instanceof Refused) {
      health('needs an API key', 'warm');
      $('login').hidden = false;
      return;
    }
    health('unreachable', 'bad');
  }
  setTimeout(poll, POLL_MS);
}

// The end of an id is the same for all; the part before tells them apart.
const short = (id) => id.length === 36 ? id.slice(24, 32) : id;
const eventText = ({ data, subject }) =>
  [...new Set([data.job_type, data.queue, short(subject)].filter(Boolean))].join(' · ');

function showEvent(event) {
  const item = element('li');
  item.append(element('span', event.time.slice(11, 19), 'quiet'), element('span', event.type, 'pill ' + eventKind(event.type)),
    element('span', eventText(event)));
  $('events').prepend(item);
  while ($('events').children.length > EVENTS_SHOWN) $('events').lastChild.remove();
}

function takeBlock(block) {
  let data = '';
  for (const line of block.split('\n')) {
    if (line.startsWith('id: ')) lastCursor = line.slice(4);
    if (line.startsWith('data: ')) data += line.slice(6);
  }
  if (data) showEvent(JSON.parse(data));
}

// EventSource cannot send the key, hence a reader by hand; it resumes behind the last event it saw.
async function follow() {
  try {
    const headers = { Accept: 'text/event-stream' };
    if (lastCursor) headers['Last-Event-ID'] = lastCursor;
    const response = await get('/v1/events', { headers });
    $('live').textContent = 'live';
    $('live').className = 'pill good';
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      text += value;
      const blocks = text.split('\n\n');
      text = blocks.pop();
      blocks.forEach(takeBlock);
    }
  } catch (error) {
    if (error instanceof Refused) return;
  }
  $('live').textContent = 'reconnecting';
  $('live').className = 'pill warm';
  setTimeout(follow, POLL_MS);
}

async function begin() {
  poll();
  try {
    const newest = await get('/v1/events?stream=false&latest=true&limit=50').then((r) => r.json());
    newest.events.forEach(showEvent);
    lastCursor = newest.cursor;
  } catch (error) {
    if (error instanceof Refused) return;
  }
  follow();
}

$('login').addEventListener('submit', (event) => {
  event.preventDefault();
  key = $('key').value.trim();
  sessionStorage.setItem('pawl-key', key);
  begin();
});
begin();
