'use strict'
// The page asks the server for JSON every two seconds and shows it. Texts are never taken for HTML.
const PERIOD = 2000
const RELATIONS_PERIOD = 30000
const SVG = 'http://www.w3.org/2000/svg'
const $ = (id) => document.getElementById(id)

let paused = false
let before = null // the last counters, for rates
let database = new URLSearchParams(location.search).get('database')
const plans = new Map() // queryid → { text } of the statements that are open

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value)
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value)
  }
  node.append(...children.filter((child) => child !== null && child !== undefined))
  return node
}
const h = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children)
const s = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children)

const exact = (n) => (n === null || n === undefined ? '' : Number(n).toLocaleString('en'))
function bytes(n) {
  if (n === null || n === undefined) return ''
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let i = 0
  while (n >= 1000 && i < units.length - 1) [n, i] = [n / 1000, i + 1]
  return `${i === 0 ? n : n.toFixed(1)} ${units[i]}`
}
function duration(seconds) {
  if (seconds === null || seconds === undefined) return ''
  if (seconds < 1) return `${Math.max(0, Math.round(seconds * 1000))} ms`
  if (seconds < 100) return `${seconds.toFixed(1)} s`
  if (seconds < 6000) return `${Math.floor(seconds / 60)} min`
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
  return `${Math.floor(seconds / 86400)} days`
}
const milliseconds = (ms) => duration(ms / 1000)

// A part that failed has an error in the place of its rows.
const rowsOf = (part) => (Array.isArray(part) ? part : [])
const problem = (part) => (part && part.error ? h('p', { class: 'error' }, part.error) : null)
const nothing = (text) => h('p', { class: 'none' }, text)

// columns: [{ label, of: (row) => text or node, kind: 'number' | 'wide' }]
function table(rows, columns, classOf = () => null, below = () => null) {
  const cell = (row, column) => {
    const value = column.of(row)
    const empty = value === '' || value === null || value === undefined
    return h('td', { class: [column.kind, empty && 'empty'].filter(Boolean).join(' ') || null, 'data-label': column.label }, empty ? '' : value)
  }
  const body = rows.flatMap((row) => [h('tr', { class: classOf(row) }, ...columns.map((column) => cell(row, column))), below(row, columns.length)].filter(Boolean))
  const head = columns.map((column) => h('th', { scope: 'col', class: column.kind === 'number' ? 'number' : null }, column.label))
  return h('table', {}, h('thead', {}, h('tr', {}, ...head)), h('tbody', {}, ...body))
}

// What somebody has marked to copy it stays.
const shown = new Map()
function show(id, value, make) {
  const place = $(id)
  const text = JSON.stringify(value)
  const selection = getSelection()
  if (shown.get(id) === text) return
  if (selection.type === 'Range' && place.contains(selection.anchorNode)) return
  shown.set(id, text)
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.key : null
  place.replaceChildren(...[make()].flat().filter(Boolean))
  if (focused) place.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus()
}

function figures(live, rates) {
  const sessions = rowsOf(live.sessions)
  const waiting = sessions.filter((one) => rowsOf(one.blocked_by).length).length
  const list = [
    [exact(sessions.length), `of ${exact(live.most_sessions)} sessions`],
    [exact(sessions.filter((one) => one.state === 'active').length), 'active'],
    [exact(waiting), 'wait for others', waiting > 0],
    [rates ? rates.commits.toFixed(1) : '…', 'commits each second'],
    [rates ? rates.rows.toFixed(0) : '…', 'rows read and written each second'],
    [bytes(live.log.file_bytes), 'in the file'],
    [bytes(live.log.log_bytes), 'in the log', live.log.limit && live.log.log_bytes > live.log.limit / 2],
  ]
  return list.map(([value, label, alarm]) => h('div', { class: alarm ? 'figure alarm' : 'figure' }, h('b', {}, value), h('span', {}, label)))
}

// Who is waited for stands above those who wait.
function layers(edges) {
  const depth = new Map()
  const of = (pid, path) => {
    if (depth.has(pid)) return depth.get(pid)
    if (path.includes(pid)) return 0 // a circle: a deadlock that is not resolved yet
    const above = edges.filter((edge) => edge.waiter === pid).map((edge) => of(edge.blocker, [...path, pid]))
    const value = above.length ? Math.max(...above) + 1 : 0
    depth.set(pid, value)
    return value
  }
  const pids = [...new Set(edges.flatMap((edge) => [edge.blocker, edge.waiter]))]
  pids.forEach((pid) => of(pid, []))
  const rows = []
  pids.sort((a, b) => a - b).forEach((pid) => (rows[depth.get(pid)] ??= []).push(pid))
  return rows.filter(Boolean)
}

function graph(sessions) {
  const edges = sessions.flatMap((one) => rowsOf(one.blocked_by).map((blocker) => ({ waiter: one.pid, blocker })))
  if (!edges.length) return nothing('Nobody waits for another session.')
  const [wide, high, gap, down] = [176, 52, 14, 44]
  const rows = layers(edges)
  const places = new Map()
  rows.forEach((row, y) => row.forEach((pid, x) => places.set(pid, { x: x * (wide + gap), y: y * (high + down) })))
  const width = Math.max(...rows.map((row) => row.length)) * (wide + gap)
  const height = rows.length * (high + down) - down + 8
  const arrows = edges.map(({ waiter, blocker }) => {
    const [from, to] = [places.get(waiter), places.get(blocker)]
    const [x1, y1, x2, y2] = [from.x + wide / 2, from.y, to.x + wide / 2, to.y + high]
    return s('path', { d: `M${x1} ${y1}C${x1} ${y1 - down / 2} ${x2} ${y2 + down / 2} ${x2} ${y2 + 3}`, 'marker-end': 'url(#arrow)', 'data-waiter': waiter, 'data-blocker': blocker })
  })
  const waiters = new Set(edges.map((edge) => edge.waiter))
  const boxes = [...places].map(([pid, { x, y }]) => {
    const one = sessions.find((session) => session.pid === pid)
    const name = pid === 0 ? 'a prepared transaction' : one ? `${pid} ${one.user ?? ''}` : String(pid)
    const what = one ? `${one.state ?? ''} ${duration(one.state_age)}` : ''
    return s('g', { 'data-pid': pid }, s('title', {}, one?.query ?? name), s('rect', { class: waiters.has(pid) ? 'box' : 'box root', x: x + 1, y: y + 1, width: wide - 2, height: high - 2, rx: 7 }),
      s('text', { x: x + 10, y: y + 21 }, name.slice(0, 24)), s('text', { class: 'dim', x: x + 10, y: y + 39 }, what.slice(0, 26)))
  })
  const marker = s('marker', { id: 'arrow', viewBox: '0 0 8 8', refX: 4, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' }, s('path', { d: 'M0 0L8 4L0 8z' }))
  const label = edges.map((edge) => `${edge.waiter} waits for ${edge.blocker}`).join(', ')
  return [s('svg', { role: 'img', 'aria-label': label, width, height, viewBox: `0 0 ${width} ${height}` }, s('defs', {}, marker), ...arrows, ...boxes)]
}

function sessionsTable(sessions) {
  const order = (one) => (rowsOf(one.blocked_by).length ? 0 : one.state === 'active' ? 1 : one.state?.startsWith('idle in') ? 2 : 3)
  const rows = [...sessions].sort((a, b) => order(a) - order(b) || a.pid - b.pid)
  const state = (one) => h('span', { class: one.state === 'active' ? 'active' : one.state?.startsWith('idle in') ? 'idle-in' : null }, one.state ?? '')
  const waits = (one) => {
    const blockers = rowsOf(one.blocked_by)
    if (blockers.length) return h('span', { class: 'waits' }, `for ${blockers.map((pid) => (pid === 0 ? 'a prepared transaction' : pid)).join(', ')} (${one.event ?? one.waits_for ?? 'lock'})`)
    return one.state === 'active' && one.event ? `${one.waits_for}: ${one.event}` : ''
  }
  if (!rows.length) return nothing('No sessions.')
  return table(rows, [
    { label: 'Process', of: (one) => String(one.pid), kind: 'number' },
    { label: 'User', of: (one) => one.user },
    { label: 'Database', of: (one) => one.database },
    { label: 'Client', of: (one) => [one.application, one.client].filter(Boolean).join(' @ ') },
    { label: 'State', of: state },
    { label: 'For', of: (one) => duration(one.state_age), kind: 'number' },
    { label: 'Transaction', of: (one) => duration(one.transaction_age), kind: 'number' },
    { label: 'Waits', of: waits },
    { label: 'Progress', of: (one) => one.progress },
    { label: 'Statement', of: (one) => (one.query ? h('code', { class: 'query' }, one.query) : ''), kind: 'wide' },
  ])
}

async function openPlan(row) {
  if (plans.delete(row.queryid)) return draw()
  plans.set(row.queryid, { text: '…' })
  draw()
  try {
    const found = await ask('plan.json', { queryid: row.queryid, database: row.database ?? database })
    plans.set(row.queryid, found.error ? { text: `No plan: ${found.error}`, query: found.query } : { text: found.plan, query: found.query })
  } catch (error) {
    plans.set(row.queryid, { text: `No plan: ${error.message}` })
  }
  draw()
}

function statementsTable(rows) {
  if (!rows.length) return nothing('No statement has been counted yet.')
  const share = (part) => s('svg', { class: 'share', viewBox: '0 0 100 6', preserveAspectRatio: 'none', role: 'img', 'aria-label': `${Math.round(part * 100)} %` }, s('rect', { width: 100, height: 6 }), s('rect', { class: 'part', width: 100 * part, height: 6 }))
  const text = (row) => h('button', { type: 'button', class: 'query', 'aria-expanded': String(plans.has(row.queryid)), 'data-key': row.queryid, onclick: () => openPlan(row) }, h('code', { class: 'query' }, row.query))
  const plan = (row, span) => {
    const open = plans.get(row.queryid)
    return open ? h('tr', { class: 'plan' }, h('td', { colspan: span }, h('pre', {}, open.text))) : null
  }
  return table(rows, [
    { label: 'Share', of: (row) => share(row.share ?? 0) },
    { label: 'Total', of: (row) => milliseconds(row.total), kind: 'number' },
    { label: 'Calls', of: (row) => exact(row.calls), kind: 'number' },
    { label: 'Mean', of: (row) => `${row.mean.toFixed(2)} ms`, kind: 'number' },
    { label: 'Longest', of: (row) => `${row.max.toFixed(1)} ms`, kind: 'number' },
    { label: 'Rows', of: (row) => exact(row.rows), kind: 'number' },
    { label: 'User', of: (row) => [row.user, row.database].filter(Boolean).join(' @ ') },
    { label: 'Statement', of: text, kind: 'wide' },
  ], (row) => (plans.has(row.queryid) ? 'open' : null), plan)
}

function relationsTable(found) {
  const rows = rowsOf(found.relations)
  const calls = found.uses.calls ?? {}
  const tables = rows.filter((one) => one.kind !== 'i')
  const ordered = tables.flatMap((one) => [one, ...rows.filter((index) => index.kind === 'i' && index.table === one.name && index.schema === one.schema)])
  if (!ordered.length) return nothing('No tables.')
  return table(ordered, [
    { label: 'Name', of: (one) => (one.schema === 'public' ? one.name : `${one.schema}.${one.name}`) },
    { label: 'Kind', of: (one) => ({ r: 'table', m: 'materialized view', i: 'index' })[one.kind] },
    { label: 'Size', of: (one) => bytes(one.bytes), kind: 'number' },
    { label: 'Rows', of: (one) => (one.kind === 'i' ? '' : one.rows === null ? 'never analyzed' : exact(one.rows)), kind: 'number' },
    { label: 'Used by', of: (one) => (calls[one.name] ? `${exact(calls[one.name])} ${calls[one.name] === 1 ? 'call' : 'calls'}` : 'no statement seen'), kind: 'number' },
    { label: 'Analyzed', of: (one) => (one.analyzed ? one.analyzed.slice(0, 16).replace('T', ' ') : '') },
  ], (one) => (one.kind === 'i' ? 'child' : null))
}

function logPart(log) {
  const part = log.frames ? log.written_back / log.frames : 1
  const facts = [
    ['Log', `${bytes(log.log_bytes)}: ${exact(log.frames)} pages of ${bytes(log.page_bytes)}`],
    ['Written back', `${exact(log.written_back)} pages (${Math.floor(part * 100)} %)`],
    ['Begun anew', `${exact(log.checkpoints)} times since the start: all of it was in the file then`],
    ['Limit', log.limit ? bytes(log.limit) : 'none'],
    ['Checkpoints', log.left_to_others ? 'left to another program' : 'by the server'],
  ]
  if (log.oldest_reader) facts.push(['Longest reader', `${log.oldest_reader.pid ? `process ${log.oldest_reader.pid}` : 'the server itself'}: the log has grown by ${bytes(log.oldest_reader.grown)} since it began to read`])
  return [
    s('svg', { class: 'bar', viewBox: '0 0 100 6', preserveAspectRatio: 'none', role: 'img', 'aria-label': `${Math.floor(part * 100)} % written back` }, s('rect', { class: 'all', width: 100, height: 6 }), s('rect', { class: 'part', width: 100 * part, height: 6 })),
    h('dl', {}, ...facts.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
  ]
}

function standbyPart(standby) {
  if (!standby.length) return nothing('This server was a standby, and was promoted.')
  return table(standby, [
    { label: 'Standby', of: (one) => one.database },
    { label: 'Behind', of: (one) => (one.lag === null ? 'not begun' : duration(one.lag)), kind: 'number' },
    { label: 'Applied', of: (one) => bytes(one.replayed), kind: 'number' },
    { label: 'Failures', of: (one) => exact(one.failures), kind: 'number' },
  ])
}

function followersPart(followers) {
  return table(followers, [
    { label: 'Followed by', of: (one) => one.name },
    { label: 'Database', of: (one) => one.database },
    { label: 'State', of: (one) => one.state },
    { label: 'Under way', of: (one) => bytes(one.behind), kind: 'number' },
    { label: 'Delay', of: (one) => (one.lag === null ? '' : duration(one.lag)), kind: 'number' },
  ])
}

function archivePart(live) {
  if (!live.archives.length) return nothing('No archive: --archive URL writes a copy of all changes to another place.')
  return table(live.archives, [
    { label: 'Database', of: (one) => one.database },
    { label: 'Behind', of: (one) => (one.lag === null ? 'not begun' : duration(one.lag)), kind: 'number' },
    { label: 'Not copied', of: (one) => bytes(one.lag_bytes), kind: 'number' },
    { label: 'Files', of: (one) => exact(one.files), kind: 'number' },
    { label: 'Failures', of: (one) => exact(one.failures), kind: 'number' },
    { label: 'Last failure', of: (one) => (one.last_failure === null ? '' : `${duration(one.last_failure)} ago`) },
  ])
}

let live = null
let relations = null
let rates = null

function draw() {
  if (!live) return
  const sessions = rowsOf(live.sessions)
  $('version').textContent = live.version
  $('who').textContent = `${live.user} @ ${live.database}, up ${duration(live.uptime)}`
  $('sessions-count').textContent = String(sessions.length)
  choices()
  show('figures', [live, rates], () => figures(live, rates))
  show('graph', live.sessions, () => problem(live.sessions) ?? graph(sessions))
  show('sessions', live.sessions, () => problem(live.sessions) ?? sessionsTable(sessions))
  show('statements', [live.statements, [...plans]], () => problem(live.statements) ?? statementsTable(rowsOf(live.statements)))
  show('log', live.log, () => logPart(live.log))
  show('archive', [live.archives, live.standby, live.followed_by], () => [
    live.standby && standbyPart(live.standby),
    live.followed_by.length && followersPart(live.followed_by),
    (live.archives.length || (!live.standby && !live.followed_by.length)) && archivePart(live),
  ])
  show('clones', live.clones, () => (live.clones.length ? table(live.clones, [
    { label: 'Clone', of: (one) => one.name },
    { label: 'Of', of: (one) => one.original },
    { label: 'Size', of: (one) => bytes(one.bytes), kind: 'number' },
    { label: 'Sessions', of: (one) => exact(sessions.filter((session) => session.database === one.name).length), kind: 'number' },
  ]) : nothing('No clones.')))
  show('prepared', live.prepared, () => problem(live.prepared) ?? (live.prepared.length ? table(live.prepared, [
    { label: 'Name', of: (one) => one.gid },
    { label: 'Owner', of: (one) => one.owner },
    { label: 'Prepared', of: (one) => `${duration(one.age)} ago` },
  ]) : nothing('No prepared transactions.')))
  if (relations) {
    const { uses } = relations
    $('relations-note').textContent = uses.error ? `No uses: ${uses.error}` : `"Used by" counts the calls of the ${uses.statements} statements with the most time whose present plans name the table or index.`
    show('relations', relations, () => problem(relations.relations) ?? relationsTable(relations))
  }
}

function choices() {
  const names = live.names ?? []
  const text = names.join('\n')
  $('choice').hidden = names.length < 2
  if ($('database').dataset.names === text) return
  $('database').dataset.names = text
  $('database').replaceChildren(...names.map((name) => h('option', { value: name, selected: name === live.database }, name)))
}

async function ask(path, parameters = {}) {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries({ database, ...parameters })) if (value) query.set(name, value)
  const response = await fetch(`${path}?${query}`)
  if (!response.ok) throw new Error((await response.text()).trim() || response.statusText)
  return response.json()
}

function rate(now) {
  const all = rowsOf(now.databases)
  const sum = (...names) => all.reduce((total, one) => total + names.reduce((part, name) => part + Number(one[name] ?? 0), 0), 0)
  const counters = { at: performance.now(), commits: sum('commits'), rows: sum('returned', 'inserted', 'updated', 'deleted') }
  if (before && counters.at > before.at) {
    const each = (name) => Math.max(0, ((counters[name] - before[name]) * 1000) / (counters.at - before.at))
    rates = { commits: each('commits'), rows: each('rows') }
  }
  before = counters
}

async function look() {
  try {
    live = await ask('live.json')
    rate(live)
    draw()
    $('state').className = ''
    $('state').textContent = `live, ${new Date().toLocaleTimeString('en-GB')}`
  } catch (error) {
    $('state').className = 'failed'
    $('state').textContent = `no answer: ${error.message}`
  }
}

async function lookAtRelations() {
  const began = performance.now()
  try {
    relations = await ask('relations.json')
    draw()
  } catch (error) {
    $('relations-note').textContent = `no answer: ${error.message}`
  }
  return performance.now() - began
}

async function keepLooking() {
  if (!paused && !document.hidden) await look()
  setTimeout(keepLooking, PERIOD)
}

// (a large file takes long to look at: it is looked at so much more seldom)
async function keepLookingAtRelations() {
  const took = paused || document.hidden ? 0 : await lookAtRelations()
  setTimeout(keepLookingAtRelations, Math.max(RELATIONS_PERIOD, 20 * took))
}

$('pause').addEventListener('click', () => {
  paused = !paused
  $('pause').setAttribute('aria-pressed', String(paused))
  $('pause').textContent = paused ? 'Go on' : 'Pause'
  if (paused) $('state').textContent = 'paused'
  else look()
})
$('relations-again').addEventListener('click', lookAtRelations)
$('database').addEventListener('change', () => {
  database = $('database').value
  history.replaceState(null, '', `?${new URLSearchParams({ database })}`)
  plans.clear()
  before = rates = null
  look()
  lookAtRelations()
})
document.addEventListener('visibilitychange', () => document.hidden || look())
keepLooking()
keepLookingAtRelations()
